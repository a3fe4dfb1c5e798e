"""From what was seen of a call to what a line made of a fault."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_guard.lab import FaultName, LineName
from mcp_guard.lab.evidence import Observation, change, names, stage_in
from mcp_guard.lab.faults import Part, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one line made of one fault.

    Attributes:
        fault: The fault.
        line: The line.
        caught: The stage that caught it, or `-`.
        due: Whether there was something to catch within the budget.
        reached: The stage that the call came to.
        ran: Whether the tool's body was started.
        elapsed: Seconds until the answer.
        named: What the answer names.
        nameable: What it could name.
        world: What is different afterwards.
        text: The answer.
    """

    fault: FaultName
    line: LineName
    caught: str
    due: bool
    reached: str
    ran: bool
    elapsed: float
    named: tuple[Part, ...]
    nameable: tuple[Part, ...]
    world: str
    text: str

    @property
    def passed(self) -> bool:
        """Whether the fault was caught, or there was none."""
        return self.caught != "-" or not self.due


def judge(trial: Trial, line: LineName, seen: Observation) -> Verdict:
    """Return the verdict on one call.

    Caught means that an answer came, that it names at least one of the things that could be named, and that what
    was seen is what the fault looks like when something stood in its way (`Trial.held`). An answer that names a
    stage names one where this fault can be caught.
    """
    text = seen.reply.text
    stage = stage_in(text)
    named: tuple[Part, ...] = tuple(part for part in trial.nameable if _is_named(part, trial, text))
    right_stage = stage is None or stage.partition("(")[0] in trial.stages
    caught = seen.reply.answered and named and right_stage and trial.held(seen)
    return Verdict(
        fault=trial.name,
        line=line,
        caught=(stage or trial.stages[0]) if caught else "-",
        due=trial.due(seen.budget),
        reached=_reached(trial, seen),
        ran=seen.ran,
        elapsed=seen.reply.elapsed,
        named=named,
        nameable=tuple(trial.nameable),
        world=change(seen.before, seen.after),
        text=text,
    )


def _is_named(part: Part, trial: Trial, text: str) -> bool:
    return stage_in(text) is not None if part == "stage" else names(text, trial.nameable[part])


def _reached(trial: Trial, seen: Observation) -> str:
    if not seen.ran:
        return trial.stages[0]
    return "rollback" if stage_in(seen.reply.text) == "rollback" or "rolled back" in seen.reply.text else "exec"
