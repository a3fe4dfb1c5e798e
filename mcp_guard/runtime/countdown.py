"""The clock of one call: it ends at the deadline, and stands still while the client is asked something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from mcp_guard.call import Call
from mcp_guard.faults import Fault, OutcomeUnknown, TimedOut


class Countdown:
    """A deadline that can be held.

    All times are seconds of the event loop's own clock.

    Args:
        seconds: The budget.
        limit: A deadline that must not be passed, or None; a call made by another call has that one's.
    """

    __slots__ = ("_held", "_held_since", "_loop", "_timer", "_wake", "deadline")

    def __init__(self, seconds: float, limit: float | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        deadline = self._loop.time() + seconds
        self.deadline = deadline if limit is None else min(deadline, limit)
        self._timer: asyncio.TimerHandle | None = None
        self._wake: Callable[[], None] | None = None
        self._held = 0
        self._held_since = 0.0

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, at least 0."""
        now = self._held_since if self._held else self._loop.time()
        return max(0.0, self.deadline - now)

    def start(self, wake: Callable[[], None]) -> None:
        """Call `wake` once, at the deadline."""
        self._wake = wake
        if not self._held:
            self._timer = self._loop.call_at(self.deadline, wake)

    def stop(self) -> None:
        """Forget `wake`."""
        self._wake = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def hold(self) -> None:
        """Stop the clock; every `hold` needs a `release`."""
        self._held += 1
        if self._held == 1:
            self._held_since = self._loop.time()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def release(self) -> None:
        """Let the clock run again: the deadline moves by the time that it stood still."""
        self._held -= 1
        if self._held == 0:
            self.deadline += self._loop.time() - self._held_since
            if self._wake is not None:
                self._timer = self._loop.call_at(self.deadline, self._wake)


@contextmanager
def waiting_for_client(call: Call) -> Generator[None]:
    """Stop the clock of `call` and of the calls that wait for it: a person who answers is not a slow tool."""
    held: list[Countdown] = []
    ancestor: Call | None = call
    while ancestor is not None:
        if ancestor.countdown is not None:
            ancestor.countdown.hold()
            held.append(ancestor.countdown)
        ancestor = ancestor.parent
    try:
        yield
    finally:
        for countdown in held:
            countdown.release()


def overran(call: Call, *, still_running: bool) -> Fault:
    """Return the fault of a call whose time was over before its body had ended."""
    budget = call.budget or 0.0
    if call.only_reads:
        fix = "Repeat it with a narrower request, one that takes less time."
        return TimedOut(budget=budget).told(effects="none", fix=fix)
    fix = "Check first whether it took effect; repeat it only if it did not."
    if still_running:
        return OutcomeUnknown(budget=budget).told(effects="unknown", fix=fix)
    return TimedOut(budget=budget).told(effects="may_remain", retry="check_first", fix=fix)
