from __future__ import annotations

import asyncio
import inspect
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_guard import Guard

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def hold_the_loop(seconds: float) -> None:
    time.sleep(seconds)


def line_of(function: Any, code: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(first + index for index, line in enumerate(lines) if code in line)


async def blocked(records: list[Any]) -> list[Any]:
    """Return the records of the lag watch, which writes from a thread of its own."""
    for _ in range(100):
        if found := [record for record in records if "blocked the event loop" in record.getMessage()]:
            return found
        await asyncio.sleep(0.01)
    return []


async def test_an_async_body_that_blocks_the_loop_is_named_with_file_and_line(library: Any, records: list[Any]) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads
    async def block() -> str:
        await asyncio.sleep(0)
        hold_the_loop(0.95)
        return "done"

    async with library.connect(server) as client:
        assert (await client.call_tool("block")).content[0].text == "done"
        (record,) = await blocked(records)

    message = record.getMessage()
    assert message.startswith("block has blocked the event loop")
    assert "hold_the_loop" in message
    assert f"{Path(__file__).name}:{line_of(hold_the_loop, 'time.sleep')}" in message
    assert record.tool == "block"


async def test_a_body_that_blocks_before_it_first_awaits_is_named_as_well(records: list[Any]) -> None:
    @Guard().reads
    async def block() -> str:
        hold_the_loop(0.95)
        await asyncio.sleep(0)
        return "done"

    await block()

    (record,) = await blocked(records)
    assert record.tool == "block"
    assert "hold_the_loop" in record.getMessage()


async def test_a_sync_body_on_the_loops_thread_is_named_as_well(records: list[Any]) -> None:
    @Guard().reads(in_thread=False, timeout=None)
    def block() -> str:
        hold_the_loop(0.95)
        return "done"

    await block()

    (record,) = await blocked(records)
    assert record.tool == "block"


async def test_a_task_that_a_body_started_is_traced_to_nobody_or_to_its_tool(records: list[Any]) -> None:
    """The loop stands still in code that is no tool's: naming an innocent tool would be worse than silence."""
    guard = Guard()

    @guard.reads
    async def innocent() -> str:
        await asyncio.sleep(1.2)
        return "done"

    async def block() -> None:
        await asyncio.sleep(0.05)
        hold_the_loop(0.95)

    await asyncio.gather(innocent(), block())

    assert [record.tool for record in records] == []


async def test_bodies_that_wait_or_work_elsewhere_are_not_named(library: Any, records: list[Any]) -> None:
    server = library.server("s")
    guard = Guard(server)

    @server.tool()
    @guard.reads
    async def wait() -> str:
        await asyncio.sleep(0.9)
        return "done"

    @server.tool()
    @guard.reads
    def work() -> str:
        time.sleep(0.9)
        return "done"

    @server.tool()
    @guard.reads(offload=True)
    async def block_elsewhere() -> str:
        await asyncio.sleep(0)
        time.sleep(0.9)
        return "done"

    async with library.connect(server) as client:
        await asyncio.gather(*(client.call_tool(name) for name in ("wait", "work", "block_elsewhere")))

    assert records == []
