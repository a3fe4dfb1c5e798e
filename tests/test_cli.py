from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_guard import __version__
from mcp_guard.cli import main
from mcp_guard.lab.service import Notes


def append_note(self: Notes, path: str, text: str) -> str:
    """Write nothing."""
    return f"appended to {path}"


def run(*words: str, setup: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, after `setup`."""
    program = f"{setup}\nimport sys; sys.argv = ['mcp-guard', *sys.argv[1:]]\nfrom mcp_guard.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert capsys.readouterr().out.strip() == __version__
    assert not ended.value.code


def test_help_for_the_lab_explains_each_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "--help"])

    told = capsys.readouterr().out
    for option in ("--fault", "--line", "--budget", "--transport", "--selftest", "--json"):
        assert option in told


@pytest.mark.slow
def test_without_its_extra_the_command_line_says_how_to_install_it() -> None:
    ended = run("lab", "--selftest", setup="import sys; sys.modules['cyclopts'] = None")

    assert ended.stderr == "mcp-guard needs its command line extra: pip install 'mcp-guard[cli]'\n"
    assert ended.stdout == ""
    assert ended.returncode == 1


@pytest.mark.slow
def test_the_package_can_be_run_as_a_module() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mcp_guard", "--version"], capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.stdout.strip() == __version__
    assert ended.returncode == 0


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf"])
def test_a_budget_that_is_no_time_is_refused_in_a_sentence(budget: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lab", f"--budget={budget}"])

    assert "--budget is a number of seconds above 0" in capsys.readouterr().err
    assert ended.value.code == 2


def test_the_control_is_the_first_line_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "--fault", "bad_params"])

    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "control: passed, clean calls succeed on wire, sdk, guarded"
    assert any(line.startswith("bad_params") and "validate" in line for line in rest)


def test_a_failed_control_is_printed_and_nothing_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Notes, "append_note", append_note)

    with pytest.raises(SystemExit) as ended:
        main(["lab", "--line", "wire"])

    (only,) = capsys.readouterr().out.splitlines()
    assert only == (
        "control: FAILED, so no fault is judged: wire: append_note answered, but the note is not what it should be"
    )
    assert ended.value.code == 2


def test_piped_output_is_plain_text_with_every_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "--fault", "silent_truncate", "--fault", "exec_throw"])

    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "│" not in told
    assert "| [exec] head.path: " in told
    assert "[truncated: 2,000 of 20,000 characters shown" in told
    assert told.rstrip().endswith("caught: wire 0/2, sdk 1/2, guarded 2/2")


def test_a_terminal_gets_a_table_with_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")

    with pytest.raises(SystemExit):
        main(["lab", "--fault", "bad_params"])

    told = capsys.readouterr().out
    assert "\x1b[32mvalidate" in told
    assert "─" in told


@pytest.mark.slow
def test_a_reader_that_leaves_early_ends_the_lab_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    errors = tmp_path / "errors"
    with errors.open("w") as log:
        ended = subprocess.run(
            [sys.executable, "-m", "mcp_guard", "lab", "--fault", "bad_params"],
            stdout=writing,
            stderr=log,
            timeout=60,
            check=False,
        )
    os.close(writing)

    assert errors.read_text() == ""
    assert ended.returncode == 1


@pytest.mark.slow
def test_help_does_not_wait_for_a_server_library() -> None:
    ended = run("lab", "--help", setup="import sys; sys.modules['mcp'] = None")

    assert ended.returncode == 0, ended.stderr
