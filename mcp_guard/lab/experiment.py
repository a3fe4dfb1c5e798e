"""The run itself: the lines are opened, checked with clean calls, then tried with each fault."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_guard.lab import LineName, Transport
from mcp_guard.lab.evidence import Observation, Reply
from mcp_guard.lab.faults import Trial
from mcp_guard.lab.lines import Line, open_line
from mcp_guard.lab.service import CHORES
from mcp_guard.lab.verdicts import Verdict, judge

_LINE = "buy stamps"
_QUOTED_CHARS = 200


@dataclass(frozen=True, slots=True)
class Control:
    """What became of the clean calls on one line.

    Attributes:
        line: The line.
        problem: What was wrong, None if all was well.
    """

    line: LineName
    problem: str | None


@asynccontextmanager
async def open_lines(names: Sequence[LineName], transport: Transport, budget: float) -> AsyncGenerator[list[Line]]:
    """Yield the lines, each with a folder of its own, and remove everything afterwards."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mcp-guard-lab-")))
        yield [await stack.enter_async_context(open_line(name, transport, folder / name, budget)) for name in names]


async def check(line: Line) -> Control:
    """Make clean calls on a line: without them, a line on which nothing works would look like one that catches all."""
    line.notes.restore()
    first, second, _ = CHORES.splitlines()
    calls = (
        ("head", {"path": "todo.md", "lines": 2}, f"{first}\n{second}"),
        ("dump", {"path": "todo.md"}, CHORES),
        ("append_note", {"path": "todo.md", "text": _LINE}, "appended to todo.md"),
    )
    for tool, arguments, expected in calls:
        reply = await line.call(tool, arguments)
        if reply.text != expected:
            return Control(line.name, f"{tool} answered {_quoted(reply)}")
    written = line.notes.state()["todo.md"]
    if written != f"{CHORES}{_LINE}\n":
        return Control(line.name, "append_note answered, but the note is not what it should be")
    return Control(line.name, None)


async def attempt(trial: Trial, line: Line, budget: float) -> Verdict:
    """Try one fault on one line, in a fresh folder."""
    line.notes.restore()
    trial.prepare(line.notes)
    before = line.notes.state()
    reply = await line.call(trial.tool, trial.arguments)
    seen = Observation(reply, ran=line.notes.ran(), before=before, after=line.notes.state(), budget=budget)
    return judge(trial, line.name, seen)


def _quoted(reply: Reply) -> str:
    return repr(reply.text if len(reply.text) <= _QUOTED_CHARS else f"{reply.text[:_QUOTED_CHARS]}…")
