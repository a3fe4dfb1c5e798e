"""The command line: `mcp-guard`. The only module that prints."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, get_args

import anyio

from mcp_guard import __version__
from mcp_guard.lab import FaultName, LineName, Transport, report
from mcp_guard.lab.faults import TRIALS, Trial
from mcp_guard.lab.verdicts import Verdict

if TYPE_CHECKING:
    from rich.table import Table

    from mcp_guard.lab.experiment import Control

ALL_CAUGHT, NOT_ALL_CAUGHT, NOT_JUDGED = 0, 1, 2
"""Exit statuses of the lab; a command line that makes no sense also ends with 2."""


def main(tokens: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status.

    Args:
        tokens: The words after `mcp-guard`; those of this process if None.
    """
    try:
        # An extra: the library itself works without it.
        from cyclopts import App, Parameter  # noqa: PLC0415
    except ModuleNotFoundError:
        print("mcp-guard needs its command line extra: pip install 'mcp-guard[cli]'", file=sys.stderr)
        sys.exit(1)
    app = App(
        name="mcp-guard",
        help="Decorators that answer for what happens after an MCP tool call arrives.",
        version=__version__,
        default_parameter=Parameter(negative=()),
    )
    app.command(lab)
    unread = False
    try:
        app(tokens)
    except* BrokenPipeError:
        # The reader has left, as `| head` does; what Python would flush at exit has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        unread = True
    if unread:
        sys.exit(NOT_ALL_CAUGHT)


def lab(
    *,
    fault: list[FaultName] | None = None,
    line: list[LineName] | None = None,
    budget: float = 0.5,
    transport: Transport = "memory",
    selftest: bool = False,
    json: bool = False,
) -> int:
    """Inject six faults into the same tools behind three lines, and show what each line makes of them.

    The lines are `wire` (the functions called directly), `sdk` (a plain MCP server) and `guarded` (with a guard).
    The exit status is 0 if the guarded line caught every fault that the budget allows, 1 if it did not, and 2 if
    nothing was judged because clean calls failed.

    Args:
        fault: Inject only this fault; may be repeated.
        line: Try only this line; may be repeated.
        budget: The time budget of the guarded tools, in seconds.
        transport: How the two servers are reached; the wire line is always called directly.
        selftest: Only make the clean calls.
        json: Print one JSON object, with every answer in full.
    """
    if not 0 < budget < math.inf:
        print(f"--budget is a number of seconds above 0, and {budget:g} is none", file=sys.stderr)
        return NOT_JUDGED
    trials = () if selftest else tuple(trial for trial in TRIALS if fault is None or trial.name in fault)
    lines: tuple[LineName, ...] = tuple(name for name in get_args(LineName) if line is None or name in line)
    return anyio.run(_experiment, trials, lines, budget, transport, json)


async def _experiment(
    trials: Sequence[Trial], names: Sequence[LineName], budget: float, transport: Transport, json: bool
) -> int:
    # It brings the server library with it, which --help and --version can do without.
    from mcp_guard.lab.experiment import attempt, check, open_lines  # noqa: PLC0415

    async with open_lines(names, transport, budget) as lines:
        controls = [await check(line) for line in lines]
        if not json:
            print(report.control_line(controls), flush=True)
        sound = all(control.problem is None for control in controls)
        verdicts = [await attempt(trial, line, budget) for trial in trials if sound for line in lines]
    if json:
        print(report.as_json(transport, budget, controls, verdicts))
    elif verdicts:
        _show(verdicts, budget, transport)
    return _status(controls, verdicts)


def _show(verdicts: Sequence[Verdict], budget: float, transport: Transport) -> None:
    from rich.console import Console  # noqa: PLC0415 - an extra, as above

    print(f"transport: {transport} (wire: called directly), budget: {budget:g} s\n")
    console = Console()
    table = _table(verdicts)
    natural = console.measure(table, options=console.options.update(max_width=10 * console.width)).maximum
    if console.is_terminal and natural <= console.width:
        console.print(table)
    else:
        # Lines that a narrow terminal wraps lose nothing; a table there cuts the very cells that carry the verdict.
        print(report.table(verdicts))
    print(report.answers(verdicts))
    print(f"\n{report.summary(verdicts)}")


def _table(verdicts: Sequence[Verdict]) -> Table:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - an extra, as above
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(*report.COLUMNS, box=SIMPLE_HEAD, pad_edge=False)
    for verdict, following in zip_longest(verdicts, verdicts[1:]):
        style = "green" if verdict.caught != "-" else "red" if verdict.due else ""
        fault, line, caught, *rest = report.row(verdict)
        table.add_row(
            fault, line, Text(caught, style), *rest, end_section=following is None or following.fault != fault
        )
    return table


def _status(controls: Sequence[Control], verdicts: Sequence[Verdict]) -> int:
    if any(control.problem is not None for control in controls):
        return NOT_JUDGED
    guarded = (verdict for verdict in verdicts if verdict.line == "guarded")
    return ALL_CAUGHT if all(verdict.passed for verdict in guarded) else NOT_ALL_CAUGHT
