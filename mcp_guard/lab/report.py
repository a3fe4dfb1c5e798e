"""How the findings read: rows for a table, plain lines, JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from mcp_guard.lab.faults import TRIALS
from mcp_guard.lab.verdicts import Verdict

if TYPE_CHECKING:
    from mcp_guard.lab.experiment import Control

COLUMNS = ("fault", "line", "caught", "reached", "body", "elapsed", "names", "world")

_SHOWN_LINES = 6
_SHOWN_CHARS = 160
_END_CHARS = 40
_ABOUT = {trial.name: trial.about for trial in TRIALS}


def control_line(controls: Sequence[Control]) -> str:
    """Return the positive control in one line."""
    failed = [f"{control.line}: {control.problem}" for control in controls if control.problem is not None]
    if failed:
        return f"control: FAILED, so no fault is judged: {'; '.join(failed)}"
    return f"control: passed, clean calls succeed on {', '.join(control.line for control in controls)}"


def row(verdict: Verdict) -> tuple[str, ...]:
    """Return a verdict as one cell for each of `COLUMNS`."""
    return (
        verdict.fault,
        verdict.line,
        verdict.caught if verdict.due else "- (in time)",
        verdict.reached,
        "ran" if verdict.ran else "not run",
        f"{verdict.elapsed:.2f} s",
        f"{len(verdict.named)}/{len(verdict.nameable)} {' '.join(verdict.named)}".rstrip(),
        verdict.world,
    )


def table(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts as lines of text, one each, under the names of their columns."""
    rows = [COLUMNS, *(row(verdict) for verdict in verdicts)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in rows
    )


def answers(verdicts: Sequence[Verdict]) -> str:
    """Return what came back, fault by fault and line by line; long answers lose their middle."""
    told: list[str] = []
    for fault, group in groupby(verdicts, key=lambda verdict: verdict.fault):
        told.append(f"\n{fault}: {_ABOUT[fault]}")
        for verdict in group:
            shown = _abridged(verdict.text).splitlines() or [""]
            told.extend(
                f"  {name:<8}| {line}"
                for name, line in zip([verdict.line, *[""] * (len(shown) - 1)], shown, strict=True)
            )
    return "\n".join(told)


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return how many faults each line caught, of those that there were to catch."""
    counted: list[str] = []
    for line in dict.fromkeys(verdict.line for verdict in verdicts):
        due = [verdict for verdict in verdicts if verdict.line == line and verdict.due]
        counted.append(f"{line} {sum(verdict.passed for verdict in due)}/{len(due)}")
    return f"caught: {', '.join(counted)}"


def as_json(transport: str, budget: float, controls: Sequence[Control], verdicts: Sequence[Verdict]) -> str:
    """Return everything as one JSON object, the control first and every answer in full."""
    return json.dumps(
        {
            "control": {control.line: control.problem or "passed" for control in controls},
            "transport": transport,
            "budget": budget,
            "verdicts": [asdict(verdict) for verdict in verdicts],
        },
        indent=2,
        ensure_ascii=False,
    )


def _abridged(text: str) -> str:
    lines = [
        line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - _END_CHARS]} … {line[-_END_CHARS:]}"
        for line in text.splitlines()
    ]
    if len(lines) > _SHOWN_LINES:
        kept = _SHOWN_LINES // 2
        lines[kept : 1 - kept] = [f"… {len(lines) - 2 * kept + 1} lines …"]
    return "\n".join(lines)
