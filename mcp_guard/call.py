"""What travels through the guard: one call in flight, and the outcome that a policy returns."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_guard.contract import Contract
    from mcp_guard.faults import Fault
    from mcp_guard.runtime.countdown import Countdown


class Call:
    """One invocation of one tool.

    Attributes:
        contract: What the author declared.
        tool: The name the tool is registered under.
        arguments: The arguments as they came over the wire, by wire name.
        values: The validated arguments, by parameter name; what the body receives, less what the server injects.
        parent: The call whose body made this one; None for a call that came over the wire.
        reads: Whether this call leaves the world as it was (`reads`, or `reads_when` said so).
        args: What the body is called with, by position (a method's `self`).
        kwargs: What the body is called with, by parameter name.
        budget: The time budget in seconds; None without one.
        countdown: The running clock of the budget; None before it starts or without a budget.
        ran: Whether the body was started.
        ended: Whether the call has its outcome.
        writes_within: How many calls of writing tools this call's body has made that may have left something.
        notes: What the answer tells in `_meta` beside the result, by key.
    """

    __slots__ = (
        "_correlation_id",
        "args",
        "arguments",
        "budget",
        "contract",
        "countdown",
        "ended",
        "kwargs",
        "notes",
        "parent",
        "ran",
        "reads",
        "tool",
        "values",
        "writes_within",
    )

    def __init__(
        self,
        contract: Contract,
        *,
        tool: str,
        arguments: Mapping[str, Any],
        values: Mapping[str, Any],
        parent: Call | None = None,
    ) -> None:
        self.contract = contract
        self.tool = tool
        self.arguments = arguments
        self.values = values
        self.parent = parent
        self.reads = contract.effect == "reads"
        self.args: tuple[Any, ...] = ()
        self.kwargs: Mapping[str, Any] = {}
        self.budget: float | None = None
        self.countdown: Countdown | None = None
        self.ran = False
        self.ended = False
        self.writes_within = 0
        self.notes: dict[str, Any] = {}
        self._correlation_id: str | None = None

    @property
    def only_reads(self) -> bool:
        """Whether the world is as it was, whatever happened: the call reads, and so did those that it made."""
        return self.reads and not self.writes_within

    @property
    def correlation_id(self) -> str:
        """Twelve hexadecimal digits that the answer and the log share; a call made by a tool has its caller's."""
        if self._correlation_id is None:
            self._correlation_id = self.parent.correlation_id if self.parent else secrets.token_hex(6)
        return self._correlation_id


@dataclass(frozen=True, slots=True)
class Ok:
    """The call succeeded with `value`, the author's own return value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed with `fault`; its `__cause__` is the exception it was made from, if any."""

    fault: Fault


Outcome = Ok | Failed
