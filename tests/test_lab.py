from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mcp_guard.cli import main
from mcp_guard.lab.evidence import Observation, Reply
from mcp_guard.lab.faults import TRIALS
from mcp_guard.lab.service import CHORES, LONG, MAX_CHARS, Notes
from mcp_guard.lab.verdicts import Verdict, judge

QUICK = ("unknown_tool", "bad_params", "exec_throw", "silent_truncate", "partial_write")


class Run:
    """One run of `mcp-guard lab --json`: its exit status, and its verdicts by fault and line."""

    def __init__(self, status: int, printed: str) -> None:
        self.status = status
        self.told = json.loads(printed)
        self.verdicts: dict[tuple[str, str], dict[str, Any]] = {
            (verdict["fault"], verdict["line"]): verdict for verdict in self.told["verdicts"]
        }

    def caught(self, line: str) -> dict[str, str]:
        return {fault: verdict["caught"] for (fault, of), verdict in self.verdicts.items() if of == line}


@pytest.fixture
def run_lab(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*options: str) -> Run:
        with pytest.raises(SystemExit) as ended:
            main(["lab", "--json", *options])
        return Run(int(ended.value.code or 0), capsys.readouterr().out)

    return run


def options(name: str, *values: str) -> list[str]:
    return [word for value in values for word in (f"--{name}", value)]


GUARDED = {
    "timeout": "transport",
    "unknown_tool": "service",
    "bad_params": "validate",
    "exec_throw": "exec",
    "silent_truncate": "exec(marker)",
    "partial_write": "exec",
}


@pytest.mark.slow
def test_the_guarded_line_catches_every_fault_at_its_stage(run_lab: Any) -> None:
    run = run_lab("--line", "guarded")

    assert run.caught("guarded") == GUARDED
    assert run.status == 0


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_guarded_line_catches_every_fault_over_a_real_transport(run_lab: Any, transport: str) -> None:
    run = run_lab("--line", "guarded", "--transport", transport)

    assert run.caught("guarded") == GUARDED
    assert run.told["transport"] == transport
    assert run.status == 0


def test_the_guarded_line_names_everything_that_there_is_to_name(run_lab: Any) -> None:
    run = run_lab("--line", "guarded", *options("fault", *QUICK))

    for verdict in run.verdicts.values():
        assert verdict["named"] == verdict["nameable"], verdict


def test_a_refused_call_never_reaches_the_body_on_the_guarded_line(run_lab: Any) -> None:
    run = run_lab(*options("fault", "bad_params", "unknown_tool"))

    assert run.verdicts["bad_params", "guarded"]["ran"] is False
    assert run.verdicts["bad_params", "guarded"]["reached"] == "validate"
    assert run.verdicts["unknown_tool", "guarded"]["reached"] == "service"
    assert run.verdicts["bad_params", "wire"]["ran"] is True
    assert run.verdicts["bad_params", "wire"]["reached"] == "exec"


@pytest.mark.slow
def test_a_first_draft_catches_nothing(run_lab: Any) -> None:
    run = run_lab("--line", "wire")

    assert set(run.caught("wire").values()) == {"-"}
    assert run.verdicts["timeout", "wire"]["elapsed"] > 1.9
    assert run.verdicts["unknown_tool", "wire"]["text"] == "KeyError: 'read_head'"
    assert run.status == 0, "only the guarded line has to catch anything"


def test_the_bare_sdk_gets_credit_for_what_it_stops(run_lab: Any) -> None:
    run = run_lab("--line", "sdk", *options("fault", *QUICK))

    assert run.caught("sdk") == {
        "unknown_tool": "service",
        "bad_params": "validate",
        "exec_throw": "exec",
        "silent_truncate": "-",
        "partial_write": "-",
    }
    assert run.verdicts["bad_params", "sdk"]["named"] == ["tool", "field", "value"]
    assert run.verdicts["exec_throw", "sdk"]["named"] == ["tool"]


def test_the_world_after_a_failed_write_is_shown(run_lab: Any) -> None:
    run = run_lab("--fault", "partial_write")

    assert {verdict["world"] for verdict in run.verdicts.values()} == {"todo.md: 1 line more"}
    assert "Effects: may remain" in run.verdicts["partial_write", "guarded"]["text"]


@pytest.mark.slow
def test_a_budget_longer_than_the_tool_has_nothing_to_catch(run_lab: Any) -> None:
    run = run_lab("--fault", "timeout", "--line", "guarded", "--budget", "5")

    verdict = run.verdicts["timeout", "guarded"]
    assert (verdict["caught"], verdict["due"]) == ("-", False)
    assert verdict["text"] == CHORES.rstrip("\n")
    assert run.status == 0, "a budget is a bound, not a detector"


def head(self: Notes, path: str, lines: int = 10) -> str:
    """Read nothing."""
    return ""


def test_a_failed_control_ends_the_run_without_verdicts(run_lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Notes, "head", head)

    run = run_lab()

    assert run.told["control"] == dict.fromkeys(("wire", "sdk", "guarded"), "head answered ''")
    assert run.verdicts == {}
    assert run.status == 2


def test_the_selftest_only_makes_the_clean_calls(run_lab: Any) -> None:
    run = run_lab("--selftest")

    assert run.told["control"] == {"wire": "passed", "sdk": "passed", "guarded": "passed"}
    assert run.verdicts == {}
    assert run.status == 0


def test_the_lab_leaves_no_folder_behind(run_lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    run_lab("--fault", "bad_params")

    assert list(tmp_path.iterdir()) == []


CLEAN = {"todo.md": CHORES}


def judged(fault: str, text: str, **seen: Any) -> Verdict:
    trial = next(trial for trial in TRIALS if trial.name == fault)
    facts: dict[str, Any] = {"answered": True, "elapsed": 0.0, "ran": True, "after": CLEAN, **seen}
    reply = Reply(text, answered=facts["answered"], elapsed=facts["elapsed"])
    return judge(trial, "guarded", Observation(reply, facts["ran"], CLEAN, facts["after"], budget=0.5))


@pytest.mark.parametrize(
    ("fault", "text", "true", "false"),
    [
        ("timeout", "[transport] slow_head: no result", {"elapsed": 0.6}, {"elapsed": 2.0}),
        ("unknown_tool", "[service] read_head: no such tool", {"ran": False}, {"ran": True}),
        ("bad_params", "[validate] head.lines: got 'three'", {"ran": False}, {"ran": True}),
        ("exec_throw", "[exec] head.path: archive is a directory", {}, {"answered": False}),
        ("partial_write", "[exec] append_note: rolled back", {"after": CLEAN}, {"after": {"todo.md": f"{CHORES}x\n"}}),
        ("partial_write", "[rollback] append_note: rolled back", {}, {"after": {"todo.md": ""}}),
    ],
)
def test_the_same_words_count_only_while_the_world_agrees(
    fault: str, text: str, true: dict[str, Any], false: dict[str, Any]
) -> None:
    assert judged(fault, text, **true).caught != "-"
    assert judged(fault, text, **false).caught == "-"


def test_a_marker_counts_only_with_the_true_total() -> None:
    shown = LONG[:MAX_CHARS]

    marked = judged("silent_truncate", f"{shown}\n[truncated: 2,000 of 20,000 characters shown.]")
    assert marked.caught == "exec(marker)"
    assert judged("silent_truncate", f"{shown}\n[truncated: 2,000 of 9,000 characters shown.]").caught == "-"
    assert judged("silent_truncate", shown).caught == "-"
    assert judged("silent_truncate", f"{LONG}\n20000 characters").caught == "-"


def test_a_stage_that_cannot_be_right_does_not_count() -> None:
    assert judged("exec_throw", "[validate] head.path: archive is a directory").caught == "-"


def test_an_answer_that_names_nothing_does_not_count() -> None:
    assert judged("exec_throw", "something went wrong").caught == "-"


def test_a_tool_is_named_only_by_its_whole_name() -> None:
    assert judged("exec_throw", "slow_head failed").named == ()
    assert judged("exec_throw", "head.path failed").named == ("tool", "field")


def test_a_rollback_is_as_far_as_a_call_can_get() -> None:
    assert judged("partial_write", "[exec] append_note: failed. Effects: rolled back").reached == "rollback"


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({}, "todo.md: gone"),
        ({**CLEAN, "new.md": "x"}, "new.md: new"),
        ({"todo.md": "else"}, "todo.md: rewritten"),
        ({"todo.md": f"{CHORES}a\nb\n"}, "todo.md: 2 lines more"),
    ],
)
def test_every_kind_of_change_to_the_world_is_told(after: dict[str, str], told: str) -> None:
    assert judged("partial_write", "failed", after=after).world == told
