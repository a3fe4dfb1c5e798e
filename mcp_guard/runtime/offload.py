"""Running an async body in a thread with an event loop of its own, for bodies that block the loop they run on."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from mcp_guard.call import Call, Outcome
from mcp_guard.runtime.bodies import Body, run_async


class Bridged:
    """An object that belongs to the server's event loop, for use on another one: its coroutines run where they belong.

    Args:
        target: A request context or its session.
        home: The event loop that it belongs to.
    """

    def __init__(self, target: Any, home: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._home = home

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if inspect.iscoroutinefunction(value):
            return functools.partial(self._await_at_home, value)
        return Bridged(value, self._home) if name == "session" else value

    async def _await_at_home(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(*args, **kwargs), self._home))


def run_offloaded(call: Call) -> Callable[[Body], Outcome]:
    """Return what a worker thread does for an offloaded call; made on the server's loop, which contexts belong to."""
    home = asyncio.get_running_loop()
    call.args = tuple(_bridged(value, home) for value in call.args)
    call.kwargs = {name: _bridged(value, home) for name, value in call.kwargs.items()}

    def work(body: Body) -> Outcome:
        with asyncio.Runner() as runner:
            return runner.run(_stoppable(body))

    return work


async def _stoppable(body: Body) -> Outcome:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def ask_to_stop() -> None:
        if task is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)

    body.ask_to_stop = ask_to_stop
    return await run_async(body)


def _bridged(value: Any, home: asyncio.AbstractEventLoop) -> Any:
    is_context = any(
        cls.__name__ == "Context" and cls.__module__.partition(".")[0] in ("mcp", "fastmcp")
        for cls in type(value).__mro__
    )
    return Bridged(value, home) if is_context else value
