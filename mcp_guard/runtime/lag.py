"""Naming the tool that blocks the event loop; no deadline can help while it does."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import threading
import time
from types import FrameType
from typing import Final

from mcp_guard.runtime.bodies import Bodies, Body

logger = logging.getLogger("mcp_guard")

BLOCKED_SECONDS: Final = 0.5
"""How long the loop must stand still before the tool that holds it is named."""

_TICK_SECONDS = 0.25
_IDLE_TICKS = 40


class LagWatch:
    """Looks at an event loop from a thread of its own while guarded async bodies run on it.

    A thread that ticks at a fixed pace costs a call nothing; it ends by itself after ten seconds without a body.
    """

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._loop: asyncio.AbstractEventLoop | None = None

    def look_at(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make sure that `loop`, which runs on this thread, is being watched."""
        if self._loop is loop:
            return
        self._loop = loop
        watch = threading.Thread(
            target=self._watch, args=(loop, threading.get_ident()), name="mcp_guard lag watch", daemon=True
        )
        watch.start()

    def _watch(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        idle = 0
        while self._loop is loop and idle < _IDLE_TICKS:
            ticked = threading.Event()
            try:
                loop.call_soon_threadsafe(ticked.set)
            except RuntimeError:
                break
            if not ticked.wait(BLOCKED_SECONDS):
                self._name_blocker(loop, thread_id)
                # Without a limit: a loop that never ticks again has nothing more to tell.
                ticked.wait()
            time.sleep(_TICK_SECONDS)
            idle = 0 if self._bodies.running else idle + 1
        if self._loop is loop:
            self._loop = None

    def _name_blocker(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        frame = sys._current_frames().get(thread_id)  # noqa: SLF001 - the documented way to see another thread's stack
        body = self._blocking_body(asyncio.current_task(loop), frame)
        if body is None or frame is None:
            return
        code = frame.f_code
        logger.warning(
            "%s has blocked the event loop for more than %.1f s, in %s (%s:%d): the whole server waits, and no time "
            "budget can hold%s",
            body.call.tool,
            BLOCKED_SECONDS,
            code.co_qualname,
            code.co_filename,
            frame.f_lineno,
            "; write def instead of async def, or offload=True" if body.call.contract.awaits else "",
            extra={"tool": body.call.tool, "correlation_id": body.call.correlation_id},
        )

    def _blocking_body(self, task: asyncio.Task[object] | None, frame: FrameType | None) -> Body | None:
        """The body whose task runs now, else one whose function is on the stack (a task that a body started)."""
        running = list(self._bodies.running)
        for body in running:
            if task is not None and body.task is task:
                return body
        on_stack: set[object] = set()
        while frame is not None:
            on_stack.add(frame.f_code)
            frame = frame.f_back
        for body in running:
            if getattr(inspect.unwrap(body.call.contract.fn), "__code__", None) in on_stack:
                return body
        return None
