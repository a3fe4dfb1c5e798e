from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

from mcp_guard import Guard

pytestmark = pytest.mark.anyio

ERROR = "io.github.mcp-guard/error"
MODES = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """What a hung body waits for; it is let go when the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def eventually(happened: Callable[[], object]) -> bool:
    for _ in range(200):
        if happened():
            return True
        await asyncio.sleep(0.01)
    return False


async def call_and_take_back(call: Callable[[], Awaitable[Any]], started: Callable[[], object]) -> None:
    """Make a call, and cancel it as soon as its body has started."""
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        assert await eventually(started)
        group.cancel_scope.cancel()


@MODES
class TestACallThatTheClientTakesBack:
    async def test_stops_its_async_body_which_may_clean_up(self, library: Any, mode: str) -> None:
        server = library.server("s")
        started, cleaned = anyio.Event(), []

        @server.tool()
        @Guard(server).writes
        async def save() -> str:
            started.set()
            try:
                await asyncio.sleep(5)
            finally:
                await asyncio.sleep(0.01)
                cleaned.append("cleaned")
            return "late"

        async with library.connect(server, mode=mode) as client:
            await call_and_take_back(lambda: client.call_tool("save"), started.is_set)
            assert await eventually(lambda: cleaned)

        assert cleaned == ["cleaned"]

    async def test_is_logged_once_for_an_async_body(self, library: Any, mode: str, records: list[Any]) -> None:
        server = library.server("s")
        started = anyio.Event()

        @server.tool()
        @Guard(server).reads
        async def scan() -> str:
            started.set()
            await asyncio.sleep(5)
            return "late"

        async with library.connect(server, mode=mode) as client:
            await call_and_take_back(lambda: client.call_tool("scan"), started.is_set)
            assert await eventually(lambda: records)

        (record,) = records
        assert (record.tool, record.stage, record.code, record.levelno) == (
            "scan",
            "transport",
            "CANCELLED",
            logging.INFO,
        )

    async def test_leaves_its_sync_body_at_work_in_a_thread_that_is_counted(
        self, library: Any, mode: str, records: list[Any], hang: threading.Event
    ) -> None:
        server = library.server("s")
        guard = Guard(server)
        started, finished = threading.Event(), threading.Event()

        @server.tool()
        @guard.writes
        def save() -> str:
            started.set()
            hang.wait(5)
            finished.set()
            return "late"

        async with library.connect(server, mode=mode) as client:
            await call_and_take_back(lambda: client.call_tool("save"), started.is_set)
            assert await eventually(lambda: guard.threads.abandoned == 1)
            assert not finished.is_set()
            hang.set()
            assert await eventually(lambda: guard.threads.abandoned == 0)

        assert finished.is_set()
        (record,) = records
        assert (record.tool, record.code, record.levelno) == ("save", "CANCELLED", logging.INFO)

    async def test_is_answered_no_more_and_the_next_call_is(self, library: Any, mode: str) -> None:
        server = library.server("s")
        started = anyio.Event()

        @server.tool()
        @Guard(server).reads
        async def scan(quick: bool) -> str:
            started.set()
            await asyncio.sleep(0 if quick else 5)
            return "done"

        async with library.connect(server, mode=mode) as client:
            await call_and_take_back(lambda: client.call_tool("scan", {"quick": False}), started.is_set)
            assert (await client.call_tool("scan", {"quick": True})).content[0].text == "done"

    async def test_does_not_spin_the_cpu_while_its_body_swallows_the_cancellation(
        self, library: Any, mode: str
    ) -> None:
        server = library.server("s")
        started, over, cancellations = anyio.Event(), anyio.Event(), 0

        @server.tool()
        @Guard(server).reads
        async def cling() -> str:
            nonlocal cancellations
            started.set()
            while not over.is_set():
                try:
                    await over.wait()
                except asyncio.CancelledError:
                    cancellations += 1
            return "late"

        async with library.connect(server, mode=mode) as client:
            await call_and_take_back(lambda: client.call_tool("cling"), started.is_set)
            await asyncio.sleep(0.2)
            over.set()

        assert cancellations == 1

    async def test_asks_an_offloaded_body_to_stop(self, library: Any, mode: str) -> None:
        server = library.server("s")
        guard = Guard(server)
        started, stopped = threading.Event(), threading.Event()

        @server.tool()
        @guard.reads(offload=True)
        async def scan() -> str:
            started.set()
            try:
                await asyncio.sleep(5)
            finally:
                stopped.set()
            return "late"

        async with library.connect(server, mode=mode) as client:
            await call_and_take_back(lambda: client.call_tool("scan"), started.is_set)
            assert await eventually(stopped.is_set)
            assert await eventually(lambda: guard.threads.running == guard.threads.abandoned == 0)


class Panic(BaseException):
    """As a Rust extension raises it: outside `Exception`."""


def raise_stray_cancelled() -> None:
    raise asyncio.CancelledError


def raise_system_exit() -> None:
    sys.exit("bye, with a secret")


def raise_panic() -> None:
    raise Panic("a secret")


def raise_base_group() -> None:
    raise BaseExceptionGroup("a secret", [asyncio.CancelledError(), ValueError("a secret")])


def raise_generator_exit() -> None:
    raise GeneratorExit


@pytest.mark.parametrize(
    "fail",
    [raise_stray_cancelled, raise_system_exit, raise_panic, raise_base_group, raise_generator_exit],
    ids=["CancelledError", "SystemExit", "a BaseException", "a BaseExceptionGroup", "GeneratorExit"],
)
@pytest.mark.parametrize("where", ["sync", "awaiting", "offloaded", "on_loop", "rest", "generator"])
async def test_no_body_can_stop_the_server_by_what_it_raises(
    library: Any, where: str, fail: Callable[[], None]
) -> None:
    server = library.server("s")
    guard = Guard(server)

    @server.tool()
    @guard.writes
    def sync() -> str:
        fail()
        return "done"

    @server.tool()
    @guard.writes
    async def awaiting() -> str:
        await asyncio.sleep(0)
        fail()
        return "done"

    @server.tool()
    @guard.writes(offload=True)
    async def offloaded() -> str:
        await asyncio.sleep(0)
        fail()
        return "done"

    @server.tool()
    @guard.writes(in_thread=False, timeout=None)
    def on_loop() -> str:
        fail()
        return "done"

    @server.tool()
    @guard.writes
    def rest() -> str:
        return awaiting.fn()  # type: ignore[no-any-return]

    @server.tool()
    @guard.writes
    def generator() -> list[str]:
        yield "first"  # type: ignore[misc]
        fail()

    @server.tool()
    @guard.reads
    async def breathe() -> str:
        await asyncio.sleep(0)
        return "here"

    async with library.connect(server, mode="legacy") as client:
        with anyio.fail_after(5):
            result = await client.call_tool(where)
            assert (await client.call_tool("breathe")).content[0].text == "here"

    assert result.meta[ERROR]["code"] == "INTERNAL"
    assert result.meta[ERROR]["effects"] == "may_remain"
    assert "a secret" not in result.content[0].text


async def test_a_body_that_cancels_a_task_of_its_own_and_awaits_it_fails_alone(library: Any) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads
    async def race() -> str:
        loser = asyncio.create_task(asyncio.sleep(5))
        await asyncio.sleep(0)
        loser.cancel()
        await loser
        return "late"

    async with library.connect(server) as client:
        result = await client.call_tool("race")
        assert result.meta[ERROR]["code"] == "INTERNAL"
        assert (await client.call_tool("race")).is_error


async def test_a_body_that_cancels_its_own_task_fails_alone(library: Any) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads
    async def suicidal() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "late"

    async with library.connect(server) as client:
        result = await client.call_tool("suicidal")
        assert result.meta[ERROR]["code"] == "INTERNAL"
        assert (await client.call_tool("suicidal")).is_error


async def test_a_direct_call_that_is_cancelled_passes_the_cancellation_on_after_cleanup(
    records: list[Any],
) -> None:
    cleaned = []

    @Guard().writes
    async def save() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            cleaned.append(True)

    task = asyncio.create_task(save())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert cleaned
    assert [record.code for record in records] == ["CANCELLED"]
    assert task.cancelling() == 1
