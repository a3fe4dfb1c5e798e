"""An async body runs as if the author had made a task for it, from its first instruction."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from mcp_guard import Fault, Guard
from mcp_guard.faults import ResourceExhausted

pytestmark = pytest.mark.anyio

STATE: ContextVar[str] = ContextVar("state", default="as before")


class Gone(Fault):
    code = "GONE"
    message = "it is gone"


async def test_a_timeout_of_the_body_ends_what_it_surrounds_and_nothing_else() -> None:
    @Guard().reads
    async def look() -> str:
        try:
            async with asyncio.timeout(0.02):
                await asyncio.sleep(5)
        except TimeoutError:
            pass
        with anyio.move_on_after(0.02):
            await anyio.sleep(5)
        return await asyncio.wait_for(asyncio.sleep(0, "done"), 1)

    assert await look() == "done"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_task_groups_of_the_body_belong_to_it() -> None:
    @Guard().reads
    async def look() -> list[int]:
        seen: list[int] = []

        async def child(number: int) -> None:
            await asyncio.sleep(0.001 * number)
            seen.append(number)

        async with anyio.create_task_group() as group:
            group.start_soon(child, 1)
            group.start_soon(child, 2)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(child(3))
        async with anyio.create_task_group() as group:
            group.start_soon(child, 1_000)
            group.cancel_scope.cancel()
        return seen

    assert await look() == [1, 2, 3]


async def test_a_failure_in_a_task_group_is_the_fault_that_caused_it() -> None:
    @Guard().reads
    async def look() -> None:
        async def child() -> None:
            await asyncio.sleep(0)
            raise Gone

        async with anyio.create_task_group() as group:
            group.start_soon(child)
            await anyio.sleep(5)

    with pytest.raises(Gone):
        await look()


async def test_it_is_one_and_the_same_task_before_and_after_it_waits() -> None:
    @Guard().reads
    async def look() -> bool:
        before = asyncio.current_task()
        await asyncio.sleep(0)
        return before is asyncio.current_task() and before in asyncio.all_tasks()

    caller = asyncio.current_task()

    assert await look()
    assert asyncio.current_task() is caller


async def test_context_variables_that_a_body_sets_stay_inside() -> None:
    @Guard().reads
    async def change() -> str:
        STATE.set("changed")
        await asyncio.sleep(0)
        return STATE.get()

    assert await change() == "changed"
    assert STATE.get() == "as before"


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_a_cancellation_at_any_early_moment_lets_the_body_clean_up_once(turns: int, records: list[Any]) -> None:
    cleaned = []

    @Guard().reads
    async def look() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            cleaned.append("cleaned")

    task = asyncio.create_task(look())
    await asyncio.sleep(0)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert cleaned == ["cleaned"]
    assert [record.code for record in records] == ["CANCELLED"]


async def test_a_body_that_cancels_itself_and_returns_without_waiting_makes_no_noise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @Guard().reads(offload=False)
    async def look() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done"

    assert await look() == "done"
    await asyncio.sleep(0)
    gc.collect()

    assert caplog.messages == []


async def test_a_tool_that_calls_itself_without_end_fails_and_leaves_nothing_behind(records: list[Any]) -> None:
    guard = Guard()

    @guard.reads
    async def dig() -> int:
        return await dig()

    async def from_depth(n: int) -> int:
        """Let the recursion limit strike elsewhere each time, in the guard's own code as well."""
        return await (from_depth(n - 1) if n else dig())

    logging.getLogger("mcp_guard").setLevel(logging.WARNING)
    with warnings.catch_warnings():
        # On the very last frame a coroutine can be made but not awaited any more, and asyncio leaves half a task; both
        # are let go of here, whichever test would come next.
        warnings.simplefilter("ignore", RuntimeWarning)
        for depth in range(20):
            with pytest.raises(ResourceExhausted):
                await from_depth(depth)
        gc.collect()
    records.clear()
    guard.log_left_behind()

    assert records == []


@pytest.mark.parametrize("anyio_backend", [("asyncio", {"debug": True})], ids=["debug"])
async def test_bodies_run_in_the_debug_mode_of_asyncio_too(
    library: Any, anyio_backend: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = library.server("s")
    guard = Guard(server)

    @server.tool()
    @guard.reads
    async def look() -> str:
        await asyncio.sleep(0)
        return "done"

    @server.tool()
    @guard.reads(timeout=0.05)
    async def wait() -> str:
        await asyncio.sleep(5)
        return "late"

    async with library.connect(server) as client:
        assert (await client.call_tool("look")).content[0].text == "done"
        assert (await client.call_tool("wait")).is_error

    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
