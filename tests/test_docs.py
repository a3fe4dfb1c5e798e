"""Every Python block of the README and the docs runs, in order, and what it prints is the text block after it."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_guard import Fault, Guard, faults
from mcp_guard.contract import Options

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>[a-z]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
REFERENCE = re.compile(r"\b[0-9a-f]{12}\b")


@dataclass(frozen=True)
class Snippet:
    line: int
    code: str
    printed: str | None


def snippets_of(page: Path) -> list[Snippet]:
    text = page.read_text()
    blocks = [*BLOCK.finditer(text), None]
    return [
        Snippet(
            text[: block.start()].count("\n") + 2,
            block["body"],
            after["body"] if after is not None and after["language"] == "text" else None,
        )
        for block, after in itertools.pairwise(blocks)
        if block is not None and block["language"] == "python"
    ]


RUNNABLE = [page for page in PAGES if snippets_of(page)]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_snippets_of_a_page_run_and_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "snippet"}
    for snippet in snippets_of(page):
        printed = io.StringIO()
        code = compile("\n" * (snippet.line - 1) + snippet.code, str(page), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)  # noqa: S102 - the snippet is the thing under test
        if snippet.printed is not None:
            assert REFERENCE.sub("…", printed.getvalue().strip()) == REFERENCE.sub("…", snippet.printed.strip())


def test_links_between_pages_lead_somewhere() -> None:
    missing = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_option_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/options.md").read_text()
    options = [*inspect.signature(Guard).parameters, *Options.__annotations__]
    assert [option for option in options if f"| `{option}` |" not in page] == []


def test_every_test_that_the_promises_name_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "docs/reference/promises.md").read_text())
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).exists() or (name and f" {name}" not in (ROOT / path).read_text())
    ]
    assert named
    assert missing == []


def test_every_built_in_fault_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/faults.md").read_text()
    built_in = [
        cls for cls in vars(faults).values() if isinstance(cls, type) and issubclass(cls, Fault) and cls is not Fault
    ]
    assert built_in
    assert [cls.__name__ for cls in built_in if f"| `{cls.code}` | `{cls.__name__}` | {cls.stage} |" not in page] == []
