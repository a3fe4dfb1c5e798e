from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from mcp_guard import Fault, Guard, InvalidArguments, TimedOut, current_call

pytestmark = pytest.mark.anyio

ERROR = "io.github.mcp-guard/error"
FAR_BELOW_THE_BODY = 0.9
"""Seconds: far above any budget here, far below the bodies that overrun them."""


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """What a hung body waits for; it is let go when the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def swallow_cancellation(until: anyio.Event) -> str:
    while not until.is_set():
        with contextlib.suppress(asyncio.CancelledError):
            await until.wait()
    return "ended"


async def test_a_sync_body_that_sleeps_past_its_budget_is_answered_at_the_deadline(library: Any) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads(timeout=0.2)
    def nap() -> str:
        time.sleep(3)
        return "late"

    async with library.connect(server) as client:
        await client.list_tools()
        started = time.monotonic()
        result = await client.call_tool("nap")
        elapsed = time.monotonic() - started

    assert result.is_error
    assert result.meta[ERROR]["code"] == "TIMED_OUT"
    assert 0.19 <= elapsed < FAR_BELOW_THE_BODY


async def test_an_async_body_that_swallows_cancellation_is_answered_after_the_grace(library: Any) -> None:
    server = library.server("s")
    over = anyio.Event()

    @server.tool()
    @Guard(server).reads(timeout=0.2)
    async def cling() -> str:
        return await swallow_cancellation(over)

    async with library.connect(server) as client:
        await client.list_tools()
        started, worked = time.monotonic(), time.process_time()
        result = await client.call_tool("cling")
        elapsed, cpu = time.monotonic() - started, time.process_time() - worked
        over.set()

    assert result.meta[ERROR]["code"] == "TIMED_OUT"
    assert 0.29 <= elapsed < FAR_BELOW_THE_BODY
    assert cpu < 0.2, "the CPU spins while the body swallows its cancellation"


async def test_an_async_body_is_cancelled_exactly_once_at_the_deadline(library: Any) -> None:
    server = library.server("s")
    over, cancellations = anyio.Event(), 0

    @server.tool()
    @Guard(server).reads(timeout=0.1)
    async def cling() -> str:
        nonlocal cancellations
        while not over.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                cancellations += 1
        return "ended"

    async with library.connect(server) as client:
        await client.call_tool("cling")
        await asyncio.sleep(0.15)
        over.set()

    assert cancellations == 1


async def test_a_reading_tool_that_overruns_says_nothing_changed_and_asks_for_less(library: Any) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads(timeout=0.1)
    async def scan() -> str:
        await asyncio.sleep(3)
        return "late"

    async with library.connect(server) as client:
        result = await client.call_tool("scan")

    text, told = result.content[0].text, result.meta[ERROR]
    assert text.startswith("[transport] scan: no result within 0.1 s")
    assert "narrower" in text
    assert "Effects: none, the tool only reads." in text
    assert (told["stage"], told["effects"], told["retryable"], told["transient"]) == ("transport", "none", True, True)


@pytest.mark.parametrize("stops", ["at once", "never"])
async def test_a_writing_tool_that_overruns_must_be_checked_before_it_is_repeated(
    library: Any, stops: str, hang: threading.Event
) -> None:
    server = library.server("s")
    guard = Guard(server)

    if stops == "never":

        @server.tool()
        @guard.writes(timeout=0.1)
        def save() -> str:
            hang.wait(5)
            return "late"
    else:

        @server.tool()
        @guard.writes(timeout=0.1)
        async def save() -> str:
            await asyncio.sleep(3)
            return "late"

    async with library.connect(server) as client:
        result = await client.call_tool("save")

    text, told = result.content[0].text, result.meta[ERROR]
    assert "heck first whether it took effect" in text
    assert told["retry"] == "check_first"
    if stops == "never":
        assert (told["code"], told["effects"]) == ("OUTCOME_UNKNOWN", "unknown")
        assert "Effects: unknown" in text
    else:
        assert (told["code"], told["effects"]) == ("TIMED_OUT", "may_remain")
        assert "Effects: may remain" in text


async def test_a_call_that_reads_when_says_so_is_told_that_nothing_changed(library: Any, hang: threading.Event) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).writes(timeout=0.1, reads_when=lambda action: action == "list")
    def notes(action: str) -> str:
        hang.wait(5)
        return "late"

    async with library.connect(server) as client:
        listed = await client.call_tool("notes", {"action": "list"})
        added = await client.call_tool("notes", {"action": "add"})

    assert (listed.meta[ERROR]["code"], listed.meta[ERROR]["effects"]) == ("TIMED_OUT", "none")
    assert (added.meta[ERROR]["code"], added.meta[ERROR]["effects"]) == ("OUTCOME_UNKNOWN", "unknown")


async def test_a_body_that_ends_with_a_value_within_the_grace_is_a_success(library: Any) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).writes(timeout=0.1)
    async def save() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3)
        return "saved after all"

    async with library.connect(server) as client:
        result = await client.call_tool("save")

    assert not result.is_error
    assert result.content[0].text == "saved after all"


async def test_a_body_that_raises_within_the_grace_is_still_a_time_out(library: Any) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).writes(timeout=0.1)
    async def save() -> str:
        try:
            await asyncio.sleep(3)
        except asyncio.CancelledError:
            raise ValueError("cleanup failed") from None
        return "late"

    async with library.connect(server) as client:
        result = await client.call_tool("save")

    assert (result.meta[ERROR]["code"], result.meta[ERROR]["effects"]) == ("TIMED_OUT", "may_remain")


async def test_a_body_may_clean_up_when_its_time_is_over(library: Any) -> None:
    server = library.server("s")
    cleaned = anyio.Event()

    @server.tool()
    @Guard(server).reads(timeout=0.1)
    async def scan() -> str:
        try:
            await asyncio.sleep(3)
        finally:
            await asyncio.sleep(0.02)
            cleaned.set()
        return "late"

    async with library.connect(server) as client:
        result = await client.call_tool("scan")
        assert cleaned.is_set()

    assert result.meta[ERROR]["code"] == "TIMED_OUT"


class TestATimeoutTakenFromAParameter:
    async def test_it_is_the_budget_of_the_call(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads(timeout="seconds")
        async def wait(seconds: float) -> str:
            await asyncio.sleep(2)
            return "late"

        async with library.connect(server) as client:
            started = time.monotonic()
            result = await client.call_tool("wait", {"seconds": 0.1})
            elapsed = time.monotonic() - started

        assert "no result within 0.1 s" in result.content[0].text
        assert elapsed < FAR_BELOW_THE_BODY

    @pytest.mark.parametrize(
        "sent",
        [{"seconds": 3_600}, {"seconds": 10**400}, {"seconds": None}, {}],
        ids=["above the cap", "an integer beyond floats", "null", "missing"],
    )
    async def test_it_is_capped_and_the_cap_stands_in_for_a_missing_one(
        self, library: Any, sent: dict[str, Any]
    ) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads(timeout="seconds", max_timeout=0.1)
        async def wait(seconds: int | None = None) -> str:
            await asyncio.sleep(2)
            return "late"

        async with library.connect(server) as client:
            started = time.monotonic()
            result = await client.call_tool("wait", sent)
            elapsed = time.monotonic() - started

        assert result.meta[ERROR]["code"] == "TIMED_OUT", result.content[0].text
        assert "no result within 0.1 s" in result.content[0].text
        assert elapsed < FAR_BELOW_THE_BODY

    @pytest.mark.parametrize("seconds", [0, -1, float("nan")])
    async def test_what_is_no_time_at_all_is_refused_and_the_body_does_not_run(self, seconds: float) -> None:
        """A direct call, because JSON has no NaN."""
        ran = []

        @Guard().reads(timeout="seconds")
        async def wait(seconds: float) -> str:
            ran.append(seconds)
            await asyncio.sleep(0)
            return "late"

        with pytest.raises(InvalidArguments, match="a number of seconds above 0") as caught:
            await wait(seconds)

        assert (caught.value.field, caught.value.stage, caught.value.effects) == ("seconds", "validate", "none")
        assert ran == []


async def test_without_a_timeout_a_tool_takes_the_time_it_needs(library: Any) -> None:
    server = library.server("s")
    guard = Guard(server, timeout=0.1)

    @server.tool()
    @guard.reads(timeout=None)
    async def patient() -> str:
        await asyncio.sleep(0.25)
        return "done"

    @server.tool()
    @guard.reads
    async def hasty() -> str:
        await asyncio.sleep(0.25)
        return "done"

    async with library.connect(server) as client:
        assert (await client.call_tool("patient")).content[0].text == "done"
        assert (await client.call_tool("hasty")).meta[ERROR]["code"] == "TIMED_OUT"


class TestATimeBudgetOfNestedCalls:
    async def test_a_called_tool_ends_at_the_deadline_of_its_caller(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)
        ended: list[float] = []

        @guard.reads(timeout=30)
        async def inner() -> str:
            try:
                await asyncio.sleep(3)
            finally:
                ended.append(time.monotonic())
            return "late"

        @server.tool()
        @guard.reads(timeout=0.2)
        async def outer() -> str:
            return await inner()

        async with library.connect(server) as client:
            started = time.monotonic()
            result = await client.call_tool("outer")

        assert result.content[0].text.startswith("[transport] outer: no result within 0.2 s")
        assert ended[0] - started < FAR_BELOW_THE_BODY

    async def test_a_called_tool_without_a_timeout_has_the_rest_of_its_callers(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)
        deadlines: list[float] = []

        @guard.reads(timeout=None)
        async def inner() -> str:
            call = current_call()
            assert call.countdown is not None
            assert call.parent is not None
            assert call.parent.countdown is not None
            deadlines.extend([call.countdown.deadline, call.parent.countdown.deadline])
            await asyncio.sleep(0)
            return "done"

        @server.tool()
        @guard.reads(timeout=5)
        async def outer() -> str:
            await asyncio.sleep(0.05)
            return await inner()

        async with library.connect(server) as client:
            assert not (await client.call_tool("outer")).is_error

        assert deadlines[0] == pytest.approx(deadlines[1])

    async def test_a_called_tool_with_less_time_fails_alone_and_its_caller_may_go_on(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @guard.reads(timeout=0.1)
        async def inner() -> str:
            await asyncio.sleep(3)
            return "late"

        @server.tool()
        @guard.reads(timeout=5)
        async def outer() -> str:
            try:
                return await inner()
            except TimedOut as fault:
                return f"without it: {fault}"

        async with library.connect(server) as client:
            result = await client.call_tool("outer")

        assert not result.is_error
        assert result.content[0].text == "without it: no result within 0.1 s"

    async def test_a_called_tool_that_its_callers_deadline_ends_is_not_logged_as_taken_back_by_the_client(
        self, library: Any, records: list[Any]
    ) -> None:
        server = library.server("s")
        guard = Guard(server)

        @guard.reads(timeout=30)
        async def inner() -> str:
            await asyncio.sleep(3)
            return "late"

        @server.tool()
        @guard.reads(timeout=0.1)
        async def outer() -> str:
            return await inner()

        async with library.connect(server) as client:
            await client.call_tool("outer")

        assert {(record.tool, record.code) for record in records} == {("inner", "TIMED_OUT"), ("outer", "TIMED_OUT")}


class TestTheClockStopsWhileTheClientIsAsked:
    @staticmethod
    async def answer(_context: Any, _params: ElicitRequestParams) -> ElicitResult:
        await asyncio.sleep(0.5)
        return ElicitResult(action="accept", content={"value": "Ada"})

    @staticmethod
    async def ask(library: Any, ctx: Any) -> str:
        if library.name == "fastmcp":
            return (await ctx.elicit("name?", str)).data
        from pydantic import create_model

        return (await ctx.elicit("name?", create_model("Answer", value=(str, ...)))).data.value

    async def test_in_an_async_body(self, library: Any) -> None:
        server, Context = library.server("s"), library.context

        async def greet(ctx) -> str:
            return f"hello {await self.ask(library, ctx)}"

        # A name of this function's scope: a string annotation could not be evaluated.
        greet.__annotations__["ctx"] = Context
        server.tool()(Guard(server).reads(timeout=0.2)(greet))

        async with library.connect(server, mode="legacy", elicitation_callback=self.answer) as client:
            result = await client.call_tool("greet")

        assert result.content[0].text == "hello Ada"

    async def test_in_a_sync_body(self, library: Any) -> None:
        server, Context = library.server("s"), library.context

        def greet(ctx) -> str:
            return f"hello {anyio.from_thread.run(self.ask, library, ctx)}"

        greet.__annotations__["ctx"] = Context
        server.tool()(Guard(server).reads(timeout=0.2)(greet))

        async with library.connect(server, mode="legacy", elicitation_callback=self.answer) as client:
            result = await client.call_tool("greet")

        assert result.content[0].text == "hello Ada"

    async def test_in_an_offloaded_body(self, library: Any) -> None:
        server, Context = library.server("s"), library.context

        async def greet(ctx) -> str:
            return f"hello {await self.ask(library, ctx)}"

        greet.__annotations__["ctx"] = Context
        server.tool()(Guard(server).reads(timeout=0.2, offload=True)(greet))

        async with library.connect(server, mode="legacy", elicitation_callback=self.answer) as client:
            result = await client.call_tool("greet")

        assert result.content[0].text == "hello Ada"

    async def test_for_the_caller_of_the_tool_that_asks(self, library: Any) -> None:
        server, Context = library.server("s"), library.context
        guard = Guard(server)

        @guard.reads(timeout=0.2)
        async def ask(ctx: Any) -> str:
            return await self.ask(library, ctx)

        async def greet(ctx) -> str:
            return f"hello {await ask(ctx)}"

        greet.__annotations__["ctx"] = Context
        server.tool()(guard.reads(timeout=0.2)(greet))

        async with library.connect(server, mode="legacy", elicitation_callback=self.answer) as client:
            result = await client.call_tool("greet")

        assert result.content[0].text == "hello Ada"

    async def test_and_runs_on_afterwards(self, library: Any) -> None:
        server, Context = library.server("s"), library.context

        async def greet(ctx) -> str:
            await self.ask(library, ctx)
            await asyncio.sleep(2)
            return "late"

        greet.__annotations__["ctx"] = Context
        server.tool()(Guard(server).reads(timeout=0.2)(greet))

        async with library.connect(server, mode="legacy", elicitation_callback=self.answer) as client:
            started = time.monotonic()
            result = await client.call_tool("greet")
            elapsed = time.monotonic() - started

        assert result.meta[ERROR]["code"] == "TIMED_OUT"
        assert 0.65 < elapsed < 1.5


async def test_a_fault_of_a_body_that_fails_in_time_is_not_a_time_out(library: Any) -> None:
    class Gone(Fault):
        code = "GONE"
        message = "it is gone"

    server = library.server("s")

    @server.tool()
    @Guard(server).reads(timeout=0.5)
    async def look() -> str:
        await asyncio.sleep(0)
        raise Gone

    async with library.connect(server) as client:
        result = await client.call_tool("look")

    assert result.meta[ERROR]["code"] == "GONE"
