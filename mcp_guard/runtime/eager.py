"""Starting a task with its first step at once, instead of in the next turn of the event loop.

A body that never has to wait then costs no turn of the loop, and one that waits runs in a task of its own from its very
first instruction, so that `asyncio.timeout`, cancel scopes and task groups in it belong to that task. Python 3.12 has
this as eager tasks; the swap of the current task below is what `asyncio` documents for task implementations
("Extending", asyncio documentation).
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Started(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine whose first step has been taken; the task that drives it goes on from there.

    Args:
        coroutine: The coroutine, not started.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._awaited: Any = None
        self._waits = False
        self._ended = False

    def take_first_step(self) -> None:
        """Run to the first point where the coroutine has to wait, or to its end.

        Raises:
            BaseException: What the coroutine raised.
        """
        try:
            self._awaited = self._coroutine.send(None)
        except StopIteration:
            # What it returned is told elsewhere; the exception would keep this frame, and the frame this object.
            self._ended = True
        except BaseException:
            self._ended = True
            raise
        else:
            self._waits = True

    @property
    def ended(self) -> bool:
        """Whether the first step was the last."""
        return self._ended

    def send(self, value: Any) -> Any:
        """Go on; the first time, give what the first step waits for."""
        if self._waits:
            self._waits = False
            awaited, self._awaited = self._awaited, None
            return awaited
        if self._ended:
            raise StopIteration
        return self._coroutine.send(value)

    def throw(self, error: Any, *more: Any) -> Any:
        """Raise an error where the coroutine waits."""
        self._waits = False
        if self._ended:
            # It cancelled its own task and returned without waiting again.
            raise error
        return self._coroutine.throw(error, *more)

    def give_up(self) -> None:
        """Let the task end without another step."""
        self._ended = True
        self._coroutine.close()

    def close(self) -> None:
        """Close the coroutine."""
        self._coroutine.close()

    def __await__(self) -> Any:
        """Not for use: a task drives it."""
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        # anyio looks at the state of a task's coroutine (`cr_running`, `cr_suspended`, `cr_frame`).
        return getattr(self._coroutine, name)


def start_task(coroutine: Coroutine[Any, Any, T], name: str) -> tuple[asyncio.Task[T], bool]:
    """Return a new task for `coroutine` whose first step has been taken, and whether that was all of it.

    What a coroutine returns in its first step is lost; this is for those that tell their result by other means.

    Args:
        coroutine: The coroutine, not started; it must not raise in its first step.
        name: The name of the task.
    """
    loop, current = asyncio.get_running_loop(), asyncio.current_task()
    context = copy_context()
    started = Started(coroutine)
    try:
        task: asyncio.Task[T] = asyncio.Task(started, loop=loop, name=name, context=context)
    except BaseException:
        coroutine.close()
        raise
    if current is not None:
        _leave_task(loop, current)
    _enter_task(loop, task)
    try:
        context.run(started.take_first_step)
    except BaseException:
        # It may not even have begun (the recursion limit), and must not begin when the loop comes to the task.
        started.give_up()
        raise
    finally:
        _leave_task(loop, task)
        if current is not None:
            _enter_task(loop, current)
    return task, started.ended
