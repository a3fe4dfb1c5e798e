"""Worker threads whose slots come back only when the body has really ended.

A thread cannot be stopped from outside, so a body that overruns its budget is abandoned: the call is answered, the
thread goes on, and its slot stays taken. The threads are daemons: a hung body must not keep a finished server alive.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel

# anyio.from_thread.run(...) in a body works only where anyio's own worker threads would have set these; there is no
# public way to say "this thread is a worker of that loop".
from anyio._core._eventloop import (
    set_current_async_library,  # pyright: ignore[reportUnknownVariableType] - anyio leaves its token untyped
    threadlocals,
)

from mcp_guard.call import Call, Outcome
from mcp_guard.runtime.bodies import Bodies, Body

_IDLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ThreadState:
    """How the worker threads of a guard are doing.

    Attributes:
        running: Bodies whose calls wait for them.
        abandoned: Bodies that overran their budget and still run.
        free: Slots that a call could take now.
    """

    running: int
    abandoned: int
    free: int


@dataclass(slots=True, eq=False)
class Job:
    """One body on its way through a worker thread."""

    work: Callable[[Body], Outcome]
    body: Body
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Any]
    context: Context
    token: anyio.lowlevel.EventLoopToken
    scope: anyio.CancelScope


class Threads:
    """The worker threads of one guard.

    Args:
        size: How many bodies may be in a thread at once, abandoned ones included.
        bodies: Where running bodies are kept.
    """

    def __init__(self, size: int, bodies: Bodies) -> None:
        self.size = size
        self._bodies = bodies
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._taken = 0
        self._abandoned: set[Body] = set()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[bool]]] = deque()
        self._token: tuple[asyncio.AbstractEventLoop, anyio.lowlevel.EventLoopToken] | None = None

    @property
    def state(self) -> ThreadState:
        """The present counts."""
        with self._lock:
            abandoned = len(self._abandoned)
            return ThreadState(
                running=self._taken - abandoned, abandoned=abandoned, free=max(0, self.size - self._taken)
            )

    def take_slot(self) -> bool | asyncio.Future[bool]:
        """Take a slot: True if there was one, False if abandoned bodies hold all, else a future that says which."""
        with self._lock:
            if self._taken < self.size:
                self._taken += 1
                return True
            if len(self._abandoned) >= self.size:
                return False
            loop = asyncio.get_running_loop()
            turn: asyncio.Future[bool] = loop.create_future()
            self._waiting.append((loop, turn))
            return turn

    def leave(self, turn: asyncio.Future[bool]) -> None:
        """Stop waiting for a slot; one that was granted meanwhile goes to the next call."""
        if turn.done() and not turn.cancelled() and turn.result():
            self._give_back_slot()
        else:
            turn.cancel()

    def start(self, call: Call, work: Callable[[Body], Outcome], done: asyncio.Future[Any]) -> Job:
        """Run `work` in a thread, in a slot that was taken, and resolve `done` with its outcome.

        Raises:
            RuntimeError: If the system gives no further thread; the slot is free again.
        """
        loop = asyncio.get_running_loop()
        if self._token is None or self._token[0] is not loop:
            self._token = (loop, anyio.lowlevel.current_token())
        body = Body(call)
        job = Job(work, body, loop, done, copy_context(), self._token[1], anyio.CancelScope())
        self._bodies.running.add(body)
        with self._lock:
            if self._idle:
                self._idle -= 1
                # Within the lock: an idle thread that gives up looks into the queue within it.
                self._jobs.put(job)
                return job
        try:
            threading.Thread(target=self._serve, args=(job,), name="mcp_guard body", daemon=True).start()
        except RuntimeError:
            self._bodies.running.discard(body)
            self._give_back_slot()
            raise
        return job

    def abandon(self, job: Job) -> None:
        """Stop waiting for a job: it keeps its slot until it really ends. Called on the job's event loop."""
        with self._lock:
            if job.body not in self._bodies.running:
                return
            job.body.abandoned = True
            self._abandoned.add(job.body)
            full = len(self._abandoned) >= self.size
            refused = [*self._waiting] if full else []
            if full:
                self._waiting.clear()
        # A body that asks anyio.from_thread.check_cancelled() learns that nobody waits for it.
        job.scope.cancel()
        job.body.cancelled = True
        if job.body.ask_to_stop is not None:
            job.body.ask_to_stop()
        for loop, turn in refused:
            _call_soon(loop, _answer, turn, False)

    def seconds_until_free(self) -> float:
        """Guess when an abandoned body will end: one that ran for so long goes on for as long again, 1 to 60 s."""
        with self._lock:
            started = max((body.started for body in self._abandoned), default=time.monotonic())
        return min(60.0, max(1.0, time.monotonic() - started))

    def _serve(self, job: Job | None) -> None:
        while job is not None:
            self._run(job)
            job = None
            job = self._next_job()

    def _next_job(self) -> Job | None:
        while True:
            try:
                return self._jobs.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._idle -= 1
                        return None

    def _run(self, job: Job) -> None:
        threadlocals.current_token = job.token
        threadlocals.current_cancel_scope = job.scope
        outcome: Outcome | BaseException | None = None
        try:
            # A body that was given up before its thread came to it has been answered for, and must not begin now.
            if not job.body.abandoned:
                job.context.run(_forget_async_library)
                outcome = job.context.run(job.work, job.body)
        except BaseException as error:
            outcome = error
        finally:
            del threadlocals.current_token, threadlocals.current_cancel_scope
        with self._lock:
            self._bodies.running.discard(job.body)
            self._abandoned.discard(job.body)
            self._idle += 1
        self._give_back_slot()
        _call_soon(job.loop, _answer, job.done, outcome)

    def _give_back_slot(self) -> None:
        with self._lock:
            if not self._waiting:
                self._taken -= 1
                return
            loop, turn = self._waiting.popleft()
        if not _call_soon(loop, self._grant, turn):
            self._give_back_slot()

    def _grant(self, turn: asyncio.Future[bool]) -> None:
        if turn.done():
            # The call went away while its slot was on the way.
            self._give_back_slot()
        else:
            turn.set_result(True)


def _forget_async_library() -> None:
    # A body may call anyio.run(...), which refuses to work where a loop seems to be running.
    set_current_async_library(None)


def _answer(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *args: object) -> bool:
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        # The loop has closed: whoever waited there was answered long ago.
        return False
    return True
