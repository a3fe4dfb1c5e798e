"""The bodies that are running, wherever they run, and how each one ends as an outcome."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import logging
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from types import CoroutineType
from typing import Any, Final, cast

from mcp_guard.call import Call, Failed, Ok, Outcome
from mcp_guard.faults import OutputTooLarge
from mcp_guard.translation import translate

logger = logging.getLogger("mcp_guard")

MAX_ITEMS: Final = 10_000
"""How many items of a generator tool are collected."""

_PLAIN: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, type(None)})
"""What most bodies return, and what there is nothing to wait for in."""

_YIELD_EVERY = 100


class TooManyItems(Exception):
    """A generator tool did not end within `MAX_ITEMS` items."""


@dataclass(slots=True, eq=False)
class Body:
    """One body that is running.

    Attributes:
        call: The call that it works for.
        started: When it started, in seconds of the monotonic clock.
        abandoned: Whether the call was answered, or taken back, while the body went on.
        cancelled: Whether the guard asked the body to stop; a `CancelledError` is a stray one otherwise.
        task: The task that runs an async body on the server's loop, once the body has had to wait.
        result: The outcome of an async body, or the exception that must pass.
        done: Resolved with `result` when the body ends.
        ask_to_stop: Asks a body that runs elsewhere to stop; None where it cannot be asked.
    """

    call: Call
    started: float = field(default_factory=time.monotonic)
    abandoned: bool = False
    cancelled: bool = False
    task: asyncio.Task[Any] | None = None
    result: Outcome | BaseException | None = None
    done: asyncio.Future[Outcome | BaseException | None] | None = None
    ask_to_stop: Callable[[], None] | None = None


class Bodies:
    """The bodies of one guard that are running; the log names those that the process leaves behind."""

    def __init__(self) -> None:
        self.running: set[Body] = set()
        _all_bodies.add(self)

    def left_behind(self) -> list[Body]:
        """Return the bodies that are still running, the longest-running first."""
        return sorted(self.running, key=lambda body: body.started)

    def log_left_behind(self) -> None:
        """Name in the log what is still running, once per body."""
        for body in self.left_behind():
            logger.warning(
                "the server ended while %s was still running after %.1f s; what it was doing may be half done",
                body.call.tool,
                time.monotonic() - body.started,
                extra={"tool": body.call.tool, "correlation_id": body.call.correlation_id},
            )
            self.running.discard(body)


_all_bodies: weakref.WeakSet[Bodies] = weakref.WeakSet()


@atexit.register
def log_all_left_behind() -> None:
    """Name every body that this process leaves behind; runs when the interpreter exits."""
    for bodies in list(_all_bodies):
        bodies.log_left_behind()


def conclude(error: BaseException, body: Body) -> Outcome:
    """Return the outcome of a body that raised.

    Raises:
        BaseException: The error itself, if it is none that the guard may answer for: somebody wants the process to end,
            the guard itself cancelled the body, or a protocol error that must reach the client as it is.
    """
    call = body.call
    if isinstance(error, KeyboardInterrupt) or (isinstance(error, GeneratorExit) and _is_being_closed(body)):
        raise error
    if isinstance(error, asyncio.CancelledError) and body.cancelled:
        raise error
    if isinstance(error, TooManyItems):
        return Failed(OutputTooLarge(f"the tool gave more than {MAX_ITEMS:,} items"))
    fault = translate(error, call)
    if fault is None:
        raise error
    if fault.tool is not None:
        return Failed(fault.passed_on())
    # Whatever it is named after, it happened in the body.
    return Failed(fault if fault.stage in ("exec", "rollback") else fault.told(stage="exec"))


def _is_being_closed(body: Body) -> bool:
    """Whether the loop has gone and the body's coroutine is being closed, as opposed to a body that raised the same."""
    try:
        return body.task is not None and asyncio.current_task() is not body.task
    except RuntimeError:
        return True


def run_sync(body: Body) -> Outcome:
    """Run a sync body on this thread and return its outcome; a generator is collected."""
    call = body.call
    call.ran = True
    try:
        value = call.contract.fn(*call.args, **call.kwargs)
        return Ok(_collected(value) if inspect.isgenerator(value) else value)
    except BaseException as error:
        return conclude(error, body)


async def run_async(body: Body) -> Outcome:
    """Run an async body in the current task and return its outcome; an async generator is collected.

    Raises:
        asyncio.CancelledError: If the guard cancelled the body; a stray one becomes a fault.
    """
    call = body.call
    call.ran = True
    try:
        value = call.contract.fn(*call.args, **call.kwargs)
        if isinstance(value, CoroutineType):
            value = await cast("Coroutine[Any, Any, Any]", value)
        return Ok(value if type(value) in _PLAIN else await awaited(value))
    except BaseException as error:
        return conclude(error, body)


async def awaited(value: Any) -> Any:
    """Return what an awaitable or an async generator gives; any other value as it is."""
    if inspect.isawaitable(value):
        value = await value
    if inspect.isasyncgen(value):
        return await _collected_async(value)
    return value


def _collected(items: Iterator[Any]) -> list[Any]:
    collected: list[Any] = []
    for item in items:
        if len(collected) == MAX_ITEMS:
            raise TooManyItems
        collected.append(item)
    return collected


async def _collected_async(items: AsyncIterator[Any]) -> list[Any]:
    collected: list[Any] = []
    async for item in items:
        if len(collected) == MAX_ITEMS:
            raise TooManyItems
        collected.append(item)
        if len(collected) % _YIELD_EVERY == 0:
            # A generator that never awaits would keep the loop, and with it every deadline.
            await asyncio.sleep(0)
    return collected
