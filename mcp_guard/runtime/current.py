"""The call in flight, for code that runs inside a body."""

from __future__ import annotations

from contextvars import ContextVar

from mcp_guard.call import Call

in_flight: ContextVar[Call | None] = ContextVar("mcp_guard_in_flight", default=None)
"""The call whose body is running here."""

handed_over: ContextVar[Call | None] = ContextVar("mcp_guard_handed_over", default=None)
"""A call that a server adapter prepared for the next invocation of its tool; taken once."""


def current_call() -> Call:
    """Return the call whose body is running.

    Raises:
        LookupError: Outside the body of a guarded tool.
    """
    call = in_flight.get()
    if call is None:
        raise LookupError("current_call() works inside the body of a guarded tool, and none is running here")
    return call
