"""The seams: what the core asks of the parts that can be exchanged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from mcp_guard.call import Call, Outcome

Proceed = Callable[[Call], Awaitable[Outcome]]
"""The rest of the pipeline, from the next policy to the body."""


class Policy(Protocol):
    """One concern around a body. A policy never raises for a failed call: it returns `Failed`."""

    async def __call__(self, call: Call, proceed: Proceed) -> Outcome:
        """Return the outcome of `call`, asking `proceed` for the inner one or not."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the stage's name and options, for docs and for an author's tests."""
        ...


class ServerAdapter(Protocol):
    """What puts a guard on one server of one library."""

    async def check(self) -> list[str]:
        """Return what is wrong with the declared tools, one sentence each: wrong order, contradicting annotations."""
        ...
