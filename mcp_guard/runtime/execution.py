"""Running a body so that the answer comes at the deadline, whatever the body does.

An async body has a task of its own: cancelling the task that must answer cannot work when the body swallows the
cancellation. A sync body has a worker thread. `in_thread=False` keeps it on the event loop's thread.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final

import anyio

from mcp_guard.call import Call, Failed, Ok, Outcome
from mcp_guard.contract import Contract
from mcp_guard.faults import Busy
from mcp_guard.ports import Proceed
from mcp_guard.runtime.bodies import Bodies, Body, awaited, conclude, run_async, run_sync
from mcp_guard.runtime.countdown import overran
from mcp_guard.runtime.eager import start_task
from mcp_guard.runtime.lag import LagWatch
from mcp_guard.runtime.offload import run_offloaded
from mcp_guard.runtime.threads import Threads

CANCEL_GRACE: Final = 0.1
"""How long a cancelled async body may take to end, in seconds, before the call is answered without it."""


class Execution:
    """Where the bodies of one guard run.

    Args:
        threads: How many sync bodies may be in threads at once.
    """

    def __init__(self, threads: int) -> None:
        self.bodies = Bodies()
        self.threads = Threads(threads, self.bodies)
        self._lag = LagWatch(self.bodies)

    def body_of(self, contract: Contract) -> Proceed:
        """Return the innermost step of a contract's pipeline."""
        if contract.awaits:
            return self._in_offload if contract.offload else self._in_task
        return self._in_thread if contract.in_thread else self._on_loop

    async def _in_task(self, call: Call) -> Outcome:
        return await self._run_in_task(call, run_async)

    async def _in_offload(self, call: Call) -> Outcome:
        return await self._run_in_thread(call, run_offloaded(call))

    async def _in_thread(self, call: Call) -> Outcome:
        outcome = await self._run_in_thread(call, run_sync)
        if isinstance(outcome, Ok) and (inspect.isawaitable(outcome.value) or inspect.isasyncgen(outcome.value)):
            # A plain function around an async one, as an unaware decorator makes it: the rest belongs on the loop.
            rest = outcome.value
            return await self._run_in_task(call, lambda body: _run_rest(body, rest))
        return outcome

    async def _on_loop(self, call: Call) -> Outcome:
        body = Body(call)
        self.bodies.running.add(body)
        self._lag.look_at(asyncio.get_running_loop())
        try:
            outcome = run_sync(body)
            if isinstance(outcome, Ok) and inspect.isawaitable(outcome.value):
                return await _run_rest(body, outcome.value)
            return outcome
        finally:
            self.bodies.running.discard(body)

    async def _run_in_task(self, call: Call, work: Callable[[Body], Coroutine[Any, Any, Outcome]]) -> Outcome:
        loop = asyncio.get_running_loop()
        self._lag.look_at(loop)
        body = Body(call)
        self.bodies.running.add(body)
        try:
            task, ended = start_task(self._resolve(body, work), call.tool)
        except BaseException:
            # Nothing runs: the recursion limit was reached on the way, or somebody pressed Ctrl-C.
            self.bodies.running.discard(body)
            raise
        if ended:
            # It never had to wait: no timer, no turn of the loop.
            result: Outcome = _outcome(body.result)
            return result
        body.task = task
        body.done = loop.create_future()
        try:
            outcome: Outcome | None = await _outcome_or_deadline(call, body.done)
        except asyncio.CancelledError:
            await self._stop(body, task)
            raise
        if outcome is not None:
            return outcome
        if not await self._stop(body, task):
            return Failed(overran(call, still_running=True))
        # A body that was quick enough to end with a value after all has succeeded; saying otherwise would be wrong.
        return body.result if isinstance(body.result, Ok) else Failed(overran(call, still_running=False))

    async def _resolve(self, body: Body, work: Callable[[Body], Coroutine[Any, Any, Outcome]]) -> None:
        """Run a body, and tell whoever waits in the last step of its own task, which saves a turn of the loop."""
        try:
            body.result = await work(body)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            body.result = error
        finally:
            self.bodies.running.discard(body)
            if body.done is not None and not body.done.done():
                body.done.set_result(body.result)

    async def _stop(self, body: Body, task: asyncio.Task[Any]) -> bool:
        """Cancel a body once and give it a moment; return whether it ended."""
        body.cancelled = True
        task.cancel()
        # Shielded: inside a cancelled scope anyio cancels every wait again and again, and the CPU spins.
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task}, timeout=CANCEL_GRACE)
        if task.done():
            return True
        body.abandoned = True
        # A loop that shuts down waits for every task it knows, and this one may never end: take it off the list.
        asyncio._unregister_task(task)  # noqa: SLF001 - documented for task implementations ("Extending", asyncio docs)
        _keep_until_it_ends(task)
        return False

    async def _run_in_thread(self, call: Call, work: Callable[[Body], Outcome]) -> Outcome:
        if (refusal := await self._take_slot(call)) is not None:
            return refusal
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            job = self.threads.start(call, work, done)
        except RuntimeError:
            return Failed(Busy("the system gives this server no further thread").told(retry_after=1.0))
        try:
            outcome: Outcome | None = await _outcome_or_deadline(call, done)
        except asyncio.CancelledError:
            self.threads.abandon(job)
            raise
        if outcome is None:
            self.threads.abandon(job)
            return Failed(overran(call, still_running=True))
        return outcome

    async def _take_slot(self, call: Call) -> Outcome | None:
        """Take a thread's slot, waiting within the budget; return a refusal if there is none to be had."""
        slot = self.threads.take_slot()
        if slot is True:
            return None
        if slot is not False:
            try:
                granted = await _outcome_or_deadline(call, slot)
            except asyncio.CancelledError:
                self.threads.leave(slot)
                raise
            if granted and not _is_too_late(call):
                return None
            if granted:
                self.threads.leave(slot)
            if granted is not False:
                part = "most of its" if granted else "the whole"
                waited = f"all {self.threads.size} worker threads were busy for {part} {call.budget or 0:g} s"
                return Failed(Busy(waited).told(retry_after=1.0))
        busy = Busy(threads=self.threads.size)
        return Failed(busy.told(retry_after=self.threads.seconds_until_free()))


async def _run_rest(body: Body, rest: Any) -> Outcome:
    try:
        return Ok(await awaited(rest))
    except BaseException as error:
        return conclude(error, body)


def _is_too_late(call: Call) -> bool:
    """Whether so much time went by in waiting that a write had better not begin: it would end as unknown."""
    if call.only_reads or call.countdown is None or call.budget is None:
        return False
    return call.countdown.remaining < call.budget / 2


def _keep_until_it_ends(task: asyncio.Task[Any]) -> None:
    """Keep an abandoned task from being destroyed, even when the interpreter ends.

    Destroying it would run the body once more (GeneratorExit), and one that catches everything in a loop never returns.
    What a daemon thread refers to is left alone.
    """
    ended = threading.Event()
    task.add_done_callback(lambda _: ended.set())
    threading.Thread(target=_hold, args=(task, ended), name="mcp_guard abandoned body", daemon=True).start()


def _hold(_task: asyncio.Task[Any], ended: threading.Event) -> None:
    ended.wait()


async def _outcome_or_deadline(call: Call, done: asyncio.Future[Any]) -> Any:
    """Return what `done` is resolved with, None at the deadline.

    Raises:
        BaseException: What `done` was resolved with, if it is an exception that must pass.
    """
    countdown = call.countdown
    if countdown is None:
        outcome = await done
    else:
        countdown.start(lambda: None if done.done() else done.set_result(None))
        try:
            outcome = await done
        finally:
            countdown.stop()
    return _outcome(outcome)


def _outcome(result: Any) -> Any:
    """Return a result, or raise it: an exception of the body that must pass."""
    if isinstance(result, BaseException):
        raise result
    return result
