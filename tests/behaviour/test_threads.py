from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.from_thread
import pytest

from mcp_guard import Fault, Guard, current_call

pytestmark = pytest.mark.anyio

ERROR = "io.github.mcp-guard/error"


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """What a hung body waits for; it is let go when the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def settled(guard: Guard, *, running: int = 0, abandoned: int = 0) -> bool:
    """Wait until the guard counts so many threads: the count follows the end of a thread at once, but not before."""
    for _ in range(200):
        state = guard.threads
        if (state.running, state.abandoned) == (running, abandoned):
            return True
        await asyncio.sleep(0.01)
    return False


class TestAbandonedThreads:
    async def test_are_counted_and_freed_when_they_really_end(self, library: Any, hang: threading.Event) -> None:
        server = library.server("s")
        guard = Guard(server, threads=3)

        @server.tool()
        @guard.reads(timeout=0.1)
        def nap() -> str:
            hang.wait(5)
            return "late"

        async with library.connect(server) as client:
            await client.call_tool("nap")
            state = guard.threads
            assert (state.running, state.abandoned, state.free) == (0, 1, 2)
            await client.call_tool("nap")
            assert (guard.threads.abandoned, guard.threads.free) == (2, 1)
            hang.set()
            assert await settled(guard)
            assert guard.threads.free == 3

    async def test_that_hold_all_slots_have_the_next_call_refused_at_once(
        self, library: Any, hang: threading.Event
    ) -> None:
        server = library.server("s")
        guard = Guard(server, threads=2)
        ran = []

        @server.tool()
        @guard.reads(timeout=0.1)
        def nap() -> str:
            hang.wait(5)
            return "late"

        @server.tool()
        @guard.writes(timeout=5)
        def save() -> str:
            ran.append("save")
            return "saved"

        async with library.connect(server) as client:
            await client.call_tool("nap")
            await client.call_tool("nap")
            started = time.monotonic()
            result = await client.call_tool("save")
            elapsed = time.monotonic() - started

        told = result.meta[ERROR]
        assert (told["code"], told["stage"], told["retry"], told["effects"]) == (
            "BUSY",
            "service",
            "after_delay",
            "none",
        )
        assert told["retryAfter"] >= 1
        assert "2 worker threads" in result.content[0].text
        assert "Retry: after " in result.content[0].text
        assert elapsed < 0.5
        assert ran == []

    async def test_refuse_those_that_already_wait_when_the_last_slot_is_abandoned(
        self, library: Any, hang: threading.Event
    ) -> None:
        server = library.server("s")
        guard = Guard(server, threads=1)

        @server.tool()
        @guard.reads(timeout=0.2)
        def nap() -> str:
            hang.wait(5)
            return "late"

        @server.tool()
        @guard.reads(timeout=5)
        def quick() -> str:
            return "done"

        async with library.connect(server) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "nap")
            assert await settled(guard, running=1)
            started = time.monotonic()
            result = await client.call_tool("quick")
            elapsed = time.monotonic() - started

        assert result.meta[ERROR]["code"] == "BUSY"
        assert elapsed < 1

    async def test_leave_async_tools_and_refusals_answering(self, library: Any, hang: threading.Event) -> None:
        server = library.server("s")
        guard = Guard(server, threads=1)

        @server.tool()
        @guard.reads(timeout=0.1)
        def nap(lines: int = 1) -> str:
            hang.wait(5)
            return "late"

        @server.tool()
        @guard.reads
        async def breathe() -> str:
            await asyncio.sleep(0)
            return "here"

        async with library.connect(server) as client:
            await client.call_tool("nap")
            assert guard.threads.free == 0
            assert (await client.call_tool("breathe")).content[0].text == "here"
            refused = await client.call_tool("nap", {"lines": "three"})

        assert refused.meta[ERROR]["stage"] == "validate"


class TestAFullButHealthyPool:
    async def test_is_waited_for_and_the_waiter_gets_its_slot(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server, threads=1)
        together, most = 0, 0

        @server.tool()
        @guard.reads(timeout=5)
        def work() -> str:
            nonlocal together, most
            together += 1
            most = max(most, together)
            time.sleep(0.05)
            together -= 1
            return "done"

        results = []
        async with library.connect(server) as client:

            async def call() -> None:
                results.append(await client.call_tool("work"))

            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(call)

        assert [result.content[0].text for result in results] == ["done"] * 5
        assert most == 1
        assert (guard.threads.running, guard.threads.abandoned, guard.threads.free) == (0, 0, 1)

    async def test_that_stays_full_for_the_whole_budget_is_busy_and_the_body_does_not_run(
        self, library: Any, hang: threading.Event
    ) -> None:
        server = library.server("s")
        guard = Guard(server, threads=1)
        ran = []

        @server.tool()
        @guard.reads(timeout=5)
        def work() -> str:
            hang.wait(5)
            return "done"

        @server.tool()
        @guard.writes(timeout=0.2)
        def save() -> str:
            ran.append("save")
            return "saved"

        async with library.connect(server) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "work")
            assert await settled(guard, running=1)
            started = time.monotonic()
            result = await client.call_tool("save")
            elapsed = time.monotonic() - started
            hang.set()

        told = result.meta[ERROR]
        assert (told["code"], told["retry"], told["effects"]) == ("BUSY", "after_delay", "none")
        assert "all 1 worker threads were busy for the whole 0.2 s" in result.content[0].text
        assert 0.19 <= elapsed < 1
        assert ran == []
        assert await settled(guard)
        assert guard.threads.free == 1

    async def test_does_not_let_a_write_begin_whose_time_is_nearly_over(
        self, library: Any, hang: threading.Event
    ) -> None:
        server = library.server("s")
        guard = Guard(server, threads=1)
        ran = []

        @server.tool()
        @guard.reads(timeout=5)
        def work() -> str:
            hang.wait(5)
            return "done"

        @server.tool()
        @guard.writes(timeout=1)
        def save() -> str:
            ran.append("save")
            return "saved"

        async with library.connect(server) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "work")
            assert await settled(guard, running=1)
            asyncio.get_running_loop().call_later(0.7, hang.set)
            result = await client.call_tool("save")

        assert result.meta[ERROR]["code"] == "BUSY"
        assert result.meta[ERROR]["effects"] == "none"
        assert "busy for most of its 1 s" in result.content[0].text
        assert ran == []
        assert guard.threads.running == 0

    async def test_does_not_lose_the_slot_of_a_waiter_that_is_cancelled(
        self, library: Any, hang: threading.Event
    ) -> None:
        server = library.server("s")
        guard = Guard(server, threads=1)

        @server.tool()
        @guard.reads(timeout=5)
        def work() -> str:
            hang.wait(5)
            return "done"

        async with library.connect(server) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "work")
            assert await settled(guard, running=1)
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(client.call_tool, "work")
                await asyncio.sleep(0.1)
                waiting.cancel_scope.cancel()
            hang.set()
            assert await settled(guard)
            assert guard.threads.free == 1
            assert (await client.call_tool("work")).content[0].text == "done"

    async def test_passes_a_slot_on_when_its_waiter_goes_away_as_it_is_granted(self, hang: threading.Event) -> None:
        guard = Guard(threads=1)

        @guard.reads(timeout=5)
        def work() -> str:
            hang.wait(5)
            return "done"

        first = asyncio.create_task(work())
        assert await settled(guard, running=1)
        second, third = asyncio.create_task(work()), asyncio.create_task(work())
        await asyncio.sleep(0.05)
        hang.set()
        # The loop stands still, so the slot is on its way to the second call when that is cancelled.
        time.sleep(0.1)
        second.cancel()

        assert await first == "done"
        assert await third == "done"
        with pytest.raises(asyncio.CancelledError):
            await second
        assert await settled(guard)
        assert guard.threads.free == 1


async def test_200_mixed_calls_leave_no_thread_behind(library: Any) -> None:
    class Odd(Fault):
        code = "ODD"

    server = library.server("s")
    guard = Guard(server, threads=8)

    @server.tool()
    @guard.reads(timeout=20)
    def sync(n: int) -> int:
        time.sleep(0.002)
        if n % 5 == 0:
            raise Odd
        return n

    @server.tool()
    @guard.reads(timeout=20)
    async def awaiting(n: int) -> int:
        await asyncio.sleep(0.002)
        return n

    @server.tool()
    @guard.reads(timeout=0.02)
    def slow(n: int) -> int:
        time.sleep(0.04)
        return n

    results = []
    async with library.connect(server) as client:

        async def call(n: int) -> None:
            name = ("sync", "awaiting", "slow", "sync")[n % 4]
            results.append(await client.call_tool(name, {"n": n if n % 7 else "seven"}))

        async with anyio.create_task_group() as group:
            for n in range(200):
                group.start_soon(call, n)
        assert len(results) == 200
        assert await settled(guard)

    assert guard.threads.free == 8
    codes = {result.meta[ERROR]["code"] for result in results if result.is_error}
    assert codes <= {"ODD", "INVALID_ARGUMENTS", "TIMED_OUT", "BUSY"}
    assert {"ODD", "INVALID_ARGUMENTS"} <= codes


class TestInsideASyncBody:
    async def test_progress_can_be_reported_as_in_a_bare_tool(self, library: Any) -> None:
        server, Context = library.server("s"), library.context

        def work(ctx) -> str:
            anyio.from_thread.run(ctx.report_progress, 1.0, 2.0)
            return "done"

        work.__annotations__["ctx"] = Context
        server.tool()(Guard(server).reads(work))
        seen: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, _message: str | None) -> None:
            seen.append((done, total))

        async with library.connect(server, mode="legacy") as client:
            result = await client.call_tool("work", progress_callback=progress)

        assert result.content[0].text == "done"
        assert seen == [(1.0, 2.0)]

    async def test_check_cancelled_ends_a_body_whose_time_is_over(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)
        ended = threading.Event()

        @server.tool()
        @guard.reads(timeout=0.1)
        def work() -> str:
            try:
                for _ in range(200):
                    time.sleep(0.02)
                    anyio.from_thread.check_cancelled()
            finally:
                ended.set()
            return "late"

        async with library.connect(server) as client:
            result = await client.call_tool("work")
            assert result.meta[ERROR]["code"] == "TIMED_OUT"
            assert await settled(guard)

        assert ended.is_set()

    async def test_check_cancelled_lets_a_body_work_whose_call_is_waited_for(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads
        def work() -> str:
            anyio.from_thread.check_cancelled()
            return "done"

        async with library.connect(server) as client:
            assert (await client.call_tool("work")).content[0].text == "done"

    async def test_another_event_loop_can_be_run(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads
        def work() -> str:
            async def rest() -> str:
                await anyio.sleep(0)
                return "done"

            return anyio.run(rest) + asyncio.run(rest())

        async with library.connect(server) as client:
            assert (await client.call_tool("work")).content[0].text == "donedone"


REQUEST: ContextVar[str] = ContextVar("request", default="nobody")


class TestContextVariables:
    @pytest.fixture
    def server(self, library: Any) -> Any:
        if library.name == "fastmcp":
            from fastmcp.server.middleware import Middleware

            class Named(Middleware):
                async def on_call_tool(self, context: Any, call_next: Any) -> Any:
                    REQUEST.set("middleware")
                    return await call_next(context)

            server = library.server("s")
            server.add_middleware(Named())
            return server

        async def named(ctx: Any, call_next: Any) -> Any:
            REQUEST.set("middleware")
            return await call_next(ctx)

        return library.server("s", middleware=[named])

    async def test_that_middleware_set_are_visible_in_bodies(self, library: Any, server: Any) -> None:
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def sync() -> str:
            return REQUEST.get()

        @server.tool()
        @guard.reads
        async def awaiting() -> str:
            await asyncio.sleep(0)
            return REQUEST.get()

        @server.tool()
        @guard.reads(offload=True)
        async def offloaded() -> str:
            await asyncio.sleep(0)
            return REQUEST.get()

        @server.tool()
        @guard.reads(in_thread=False, timeout=None)
        def on_loop() -> str:
            return REQUEST.get()

        async with library.connect(server) as client:
            for name in ("sync", "awaiting", "offloaded", "on_loop"):
                assert (await client.call_tool(name)).content[0].text == "middleware", name

    async def test_include_the_call_itself(self, library: Any, server: Any) -> None:
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def sync() -> str:
            return current_call().tool

        @server.tool()
        @guard.reads(offload=True)
        async def offloaded() -> str:
            await asyncio.sleep(0)
            return current_call().tool

        async with library.connect(server) as client:
            assert (await client.call_tool("sync")).content[0].text == "sync"
            assert (await client.call_tool("offloaded")).content[0].text == "offloaded"


async def test_there_is_no_current_call_outside_a_body() -> None:
    with pytest.raises(LookupError, match="inside the body of a guarded tool"):
        current_call()


class TestWhereABodyRuns:
    async def test_a_sync_body_leaves_the_loops_thread_unless_told_to_stay(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def elsewhere() -> int:
            return threading.get_ident()

        @server.tool()
        @guard.reads(in_thread=False, timeout=None)
        def here() -> int:
            return threading.get_ident()

        async with library.connect(server) as client:
            assert (await client.call_tool("elsewhere")).content[0].text != str(threading.get_ident())
            assert (await client.call_tool("here")).content[0].text == str(threading.get_ident())
            assert guard.threads.running == 0

    async def test_a_body_on_the_loops_thread_fails_like_any_other(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads(in_thread=False, timeout=None)
        def here() -> int:
            raise ValueError("a secret")

        async with library.connect(server) as client:
            result = await client.call_tool("here")

        assert result.meta[ERROR]["code"] == "INTERNAL"
        assert "a secret" not in result.content[0].text

    async def test_a_plain_function_that_returns_a_coroutine_is_awaited_on_the_loop(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        async def rest(n: int) -> int:
            await asyncio.sleep(0)
            assert threading.current_thread() is threading.main_thread()
            return n + 1

        @server.tool()
        @guard.reads
        def plain(n: int) -> int:
            return rest(n)  # type: ignore[return-value]

        @server.tool()
        @guard.reads(in_thread=False, timeout=None)
        def here(n: int) -> int:
            return rest(n)  # type: ignore[return-value]

        async with library.connect(server) as client:
            assert (await client.call_tool("plain", {"n": 1})).content[0].text == "2"
            assert (await client.call_tool("here", {"n": 2})).content[0].text == "3"

    async def test_a_coroutine_that_a_plain_function_returned_has_the_rest_of_the_budget(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads(timeout=0.2)
        def plain() -> str:
            return asyncio.sleep(3, "late")  # type: ignore[return-value]

        async with library.connect(server) as client:
            started = time.monotonic()
            result = await client.call_tool("plain")

        assert result.meta[ERROR]["code"] == "TIMED_OUT"
        assert time.monotonic() - started < 1


class TestAnOffloadedBody:
    async def test_runs_on_another_thread_and_leaves_the_loop_free(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads(offload=True)
        async def block() -> int:
            time.sleep(0.3)
            return threading.get_ident()

        @server.tool()
        @guard.reads
        async def breathe() -> str:
            await asyncio.sleep(0)
            return "here"

        results: dict[str, Any] = {}
        async with library.connect(server) as client:

            async def call() -> None:
                results["block"] = await client.call_tool("block")

            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await settled(guard, running=1)
                started = time.monotonic()
                await client.call_tool("breathe")
                assert time.monotonic() - started < 0.2

        assert results["block"].content[0].text != str(threading.get_ident())

    async def test_reports_progress_through_the_context_of_the_servers_loop(self, library: Any) -> None:
        server, Context = library.server("s"), library.context

        async def work(ctx) -> str:
            await ctx.report_progress(1, 3)
            await ctx.report_progress(2, 3)
            return threading.current_thread().name

        work.__annotations__["ctx"] = Context
        server.tool()(Guard(server).reads(offload=True)(work))
        seen: list[float] = []

        async def progress(done: float, _total: float | None, _message: str | None) -> None:
            seen.append(done)

        async with library.connect(server, mode="legacy") as client:
            result = await client.call_tool("work", progress_callback=progress)

        assert not result.is_error, result.content[0].text
        assert seen == [1, 2]
        assert result.content[0].text != threading.current_thread().name

    async def test_times_out_like_a_sync_one_and_is_asked_to_stop(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)
        stopped = threading.Event()

        @server.tool()
        @guard.reads(timeout=0.2, offload=True)
        async def work() -> str:
            try:
                await asyncio.sleep(5)
            finally:
                stopped.set()
            return "late"

        async with library.connect(server) as client:
            started = time.monotonic()
            result = await client.call_tool("work")
            elapsed = time.monotonic() - started
            assert await settled(guard)

        assert result.meta[ERROR]["code"] == "TIMED_OUT"
        assert elapsed < 1
        assert stopped.is_set()

    async def test_that_blocks_past_its_budget_is_answered_at_the_deadline(
        self, library: Any, hang: threading.Event
    ) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.writes(timeout=0.2, offload=True)
        async def work() -> str:
            hang.wait(5)
            return "late"

        async with library.connect(server) as client:
            result = await client.call_tool("work")
            assert guard.threads.abandoned == 1

        assert (result.meta[ERROR]["code"], result.meta[ERROR]["effects"]) == ("OUTCOME_UNKNOWN", "unknown")

    async def test_fails_like_any_other(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads(offload=True)
        async def work() -> str:
            await asyncio.sleep(0)
            raise ValueError("a secret")

        async with library.connect(server) as client:
            result = await client.call_tool("work")

        assert result.meta[ERROR]["code"] == "INTERNAL"


class TestAGeneratorTool:
    async def test_is_collected_into_a_list(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def count(n: int) -> list[int]:
            yield from range(n)  # type: ignore[misc]

        @server.tool()
        @guard.reads
        async def count_slowly(n: int) -> list[int]:
            for item in range(n):
                await asyncio.sleep(0)
                yield item  # type: ignore[misc]

        async with library.connect(server) as client:
            for name in ("count", "count_slowly"):
                result = await client.call_tool(name, {"n": 3})
                assert result.structured_content == {"result": [0, 1, 2]}, name

    @pytest.mark.parametrize("name", ["sync", "awaiting"])
    async def test_of_10_000_items_is_whole_and_one_more_is_too_many(self, library: Any, name: str) -> None:
        server = library.server("s")
        guard = Guard(server, max_chars=None)

        @server.tool(name="sync")
        @guard.reads
        def sync(n: int) -> list[int]:
            yield from range(n)  # type: ignore[misc]

        @server.tool(name="awaiting")
        @guard.reads
        async def awaiting(n: int) -> list[int]:
            await asyncio.sleep(0)
            for item in range(n):
                yield item

        async with library.connect(server) as client:
            whole = await client.call_tool(name, {"n": 10_000})
            beyond = await client.call_tool(name, {"n": 10_001})

        assert not whole.is_error
        assert beyond.is_error
        told = beyond.meta[ERROR]
        assert (told["code"], told["stage"]) == ("OUTPUT_TOO_LARGE", "exec")
        assert "more than 10,000 items" in beyond.content[0].text

    async def test_that_never_ends_is_closed(self, library: Any) -> None:
        server = library.server("s")
        closed = threading.Event()

        @server.tool()
        @Guard(server).reads
        def forever() -> list[int]:
            try:
                while True:
                    yield 1  # type: ignore[misc]
            finally:
                closed.set()

        async with library.connect(server) as client:
            result = await client.call_tool("forever")

        assert result.meta[ERROR]["code"] == "OUTPUT_TOO_LARGE"
        assert closed.is_set()

    async def test_that_never_awaits_is_stopped_by_the_deadline(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads(timeout=0.2, offload=False)
        async def forever() -> list[int]:
            while True:
                time.sleep(0.0005)
                yield 1

        async with library.connect(server) as client:
            started = time.monotonic()
            result = await client.call_tool("forever")
            elapsed = time.monotonic() - started

        assert result.meta[ERROR]["code"] == "TIMED_OUT"
        assert elapsed < 1.5
