"""The time budget: one absolute deadline for everything that a call waits for."""

from __future__ import annotations

from typing import Any

from mcp_guard.call import Call, Failed, Outcome
from mcp_guard.contract import Contract
from mcp_guard.faults import Fault, InvalidArguments
from mcp_guard.ports import Proceed
from mcp_guard.redaction import quoted
from mcp_guard.runtime.countdown import Countdown


class Budget:
    """Starts the clock of a call. Whoever waits on the call's behalf waits no longer than it runs.

    A call made by another call also ends at that one's deadline.

    Args:
        contract: Whose `timeout` and `max_timeout` count.
    """

    def __init__(self, contract: Contract) -> None:
        self._timeout = contract.timeout
        self._cap = contract.max_timeout

    async def __call__(self, call: Call, proceed: Proceed) -> Outcome:
        """Start the clock and go on."""
        parent = call.parent.countdown if call.parent is not None and not call.parent.ended else None
        seconds = self._seconds(call)
        if seconds is not None and not seconds > 0:
            return Failed(self._refusal(call))
        if seconds is None and parent is not None:
            seconds = parent.remaining
        if seconds is not None:
            call.budget = seconds
            call.countdown = Countdown(seconds, parent.deadline if parent is not None else None)
        return await proceed(call)

    def describe(self) -> dict[str, Any]:
        """Return the stage and its options."""
        return {"stage": "budget", "timeout": self._timeout, "max_timeout": self._cap}

    def _seconds(self, call: Call) -> float | None:
        if not isinstance(self._timeout, str):
            return self._timeout
        asked = call.values.get(self._timeout)
        if isinstance(asked, bool) or not isinstance(asked, int | float):
            return self._cap
        # The smaller one first: an integer may be too large for a float. NaN is above nothing.
        return float(min(asked, self._cap)) if asked > 0 else 0.0

    def _refusal(self, call: Call) -> Fault:
        name = str(self._timeout)
        given = quoted(call.arguments.get(name, call.values.get(name)))
        return InvalidArguments(f"expected a number of seconds above 0, got {given}").told(
            field=name, received=given, effects="none", fix=f"Send a larger {name}.", problem_count=1
        )
