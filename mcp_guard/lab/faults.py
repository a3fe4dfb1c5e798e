"""The six faults: one call each, with one thing wrong, and what it takes to have caught it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcp_guard.faults import Stage
from mcp_guard.lab import FaultName
from mcp_guard.lab.evidence import Observation, names
from mcp_guard.lab.service import LONG, MAX_CHARS, SLOW_SECONDS, Notes

Part = Literal["stage", "tool", "field", "value"]
"""What an answer can name, so that its reader knows what to change."""

_SLACK = 0.5
"""Seconds that an answer may come after its budget: the way there and back, on a busy machine."""

_MARKER_CHARS = 300
"""How long a marker may be, in characters, beyond the limit."""


def _as_it_is(_: Notes) -> None:
    """Leave the world as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One fault.

    Attributes:
        name: Its name.
        about: What is wrong, in one sentence.
        tool: The tool that is called.
        arguments: With what.
        stages: The stages it may be caught at; the first is where a call ends that never reaches a body.
        nameable: What an answer could name, and how it is spelled; the stage stands for any stage tag.
        held: Whether what was seen is what a caught fault looks like, beyond an answer that names something.
        prepare: What is done to the world beforehand.
        lasts: Seconds after which the tool ends by itself, if that is the fault; a larger budget has nothing to catch.
    """

    name: FaultName
    about: str
    tool: str
    arguments: Mapping[str, Any]
    stages: tuple[Stage, ...]
    nameable: Mapping[Part, str]
    held: Callable[[Observation], bool]
    prepare: Callable[[Notes], None] = _as_it_is
    lasts: float | None = None

    def due(self, budget: float) -> bool:
        """Return whether a budget of so many seconds leaves something to catch."""
        return self.lasts is None or budget < self.lasts


def _in_time(seen: Observation) -> bool:
    return seen.reply.elapsed <= seen.budget + _SLACK


def _body_spared(seen: Observation) -> bool:
    return not seen.ran


def _nothing_changed(seen: Observation) -> bool:
    return seen.after == seen.before


def _marked(seen: Observation) -> bool:
    return len(seen.reply.text) <= MAX_CHARS + _MARKER_CHARS and names(seen.reply.text, _TOTAL)


def _world_told_truly(seen: Observation) -> bool:
    return seen.after == seen.before or "Effects: may remain" in seen.reply.text


_TOTAL = f"{len(LONG):,}"

TRIALS: Final[tuple[Trial, ...]] = (
    Trial(
        name="timeout",
        about=f"slow_head takes {SLOW_SECONDS:g} s",
        tool="slow_head",
        arguments={"path": "todo.md"},
        stages=("transport",),
        nameable={"stage": "", "tool": "slow_head"},
        held=_in_time,
        lasts=SLOW_SECONDS,
    ),
    Trial(
        name="unknown_tool",
        about="read_head is called, which does not exist",
        tool="read_head",
        arguments={"path": "todo.md"},
        stages=("service",),
        nameable={"stage": "", "tool": "read_head"},
        held=_body_spared,
    ),
    Trial(
        name="bad_params",
        about='head is called with lines="three"',
        tool="head",
        arguments={"path": "todo.md", "lines": "three"},
        stages=("validate",),
        nameable={"stage": "", "tool": "head", "field": "lines", "value": "three"},
        held=_body_spared,
    ),
    Trial(
        name="exec_throw",
        about="head is to read archive, which is a directory",
        tool="head",
        arguments={"path": "archive"},
        stages=("exec",),
        nameable={"stage": "", "tool": "head", "field": "path", "value": "archive"},
        held=_nothing_changed,
    ),
    Trial(
        name="silent_truncate",
        about=f"dump reads {_TOTAL} characters, and {MAX_CHARS:,} may be shown",
        tool="dump",
        arguments={"path": "long.md"},
        stages=("exec",),
        nameable={"value": _TOTAL},
        held=_marked,
    ),
    Trial(
        name="partial_write",
        about="append_note writes its line, then fails at the index",
        tool="append_note",
        arguments={"path": "todo.md", "text": "buy stamps"},
        stages=("exec", "rollback"),
        nameable={"stage": "", "tool": "append_note"},
        held=_world_told_truly,
        prepare=Notes.break_index,
    ),
)
