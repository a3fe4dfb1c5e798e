from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any

import anyio.from_thread
import pytest
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError as FastmcpToolError
from fastmcp.server.middleware import Middleware
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from mcp_guard import Fault, Guard, Internal, NotFound, TimedOut, current_call

pytestmark = pytest.mark.anyio

ERROR = "io.github.mcp-guard/error"
REF = re.compile(r"Ref: ([0-9a-f]{12})")


class NoteMissing(Fault):
    """There is no note of this name."""

    code = "NOTE_MISSING"
    message = "no note called {name}"
    fix = "Call list_notes."


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


@pytest.fixture
def notes(library: Any) -> Any:
    """A server whose tools call `read_note`, which knows only one note, in every way there is."""
    server = library.server("notes")
    guard = Guard(server)

    @server.tool()
    @guard.reads
    def read_note(name: str, lines: int = 1) -> str:
        if name != "todo":
            raise NoteMissing
        return f"{lines} of {name}"

    @server.tool()
    @guard.reads
    async def directly(name: str) -> str:
        return await read_note(name)

    @server.tool()
    @guard.reads
    async def by_name(name: str, lines: int | str = 1) -> str:
        return text_of(await server.call_tool("read_note", {"name": name, "lines": lines}))

    @server.tool()
    @guard.reads
    async def directly_and_go_on(name: str) -> str:
        try:
            return await read_note(name)
        except NoteMissing as fault:
            return f"went on without: {fault.tool}, {fault.effects}"

    @server.tool()
    @guard.reads
    async def by_name_and_go_on(name: str) -> str:
        try:
            return text_of(await server.call_tool("read_note", {"name": name}))
        except library.tool_error as error:
            return f"went on without: {error}"

    @server.tool()
    @guard.reads
    def from_a_thread(name: str) -> str:
        return anyio.from_thread.run(read_note, name)

    @server.tool()
    async def unguarded(name: str) -> str:
        return text_of(await server.call_tool("read_note", {"name": name}))

    return server


CALLERS = pytest.mark.parametrize("caller", ["directly", "by_name", "from_a_thread"])


class TestAGuardedToolThatCallsAnother:
    @CALLERS
    async def test_gets_its_value(self, library: Any, notes: Any, caller: str, records: list[Any]) -> None:
        async with library.connect(notes) as client:
            result = await client.call_tool(caller, {"name": "todo"})

        assert text_of(result) == "1 of todo"
        assert records == []

    @CALLERS
    async def test_fails_with_it_in_its_own_name_and_names_it(self, library: Any, notes: Any, caller: str) -> None:
        async with library.connect(notes) as client:
            result = await client.call_tool(caller, {"name": "nope"})

        told = result.meta[ERROR]
        assert text_of(result).startswith(f"[exec] {caller}: read_note failed: no note called nope\n")
        assert (told["tool"], told["code"], told["stage"]) == (caller, "NOTE_MISSING", "exec")

    @CALLERS
    async def test_shares_one_correlation_id_with_it_and_each_has_one_record(
        self, library: Any, notes: Any, caller: str, records: list[Any]
    ) -> None:
        async with library.connect(notes) as client:
            result = await client.call_tool(caller, {"name": "nope"})

        (ref,) = REF.findall(text_of(result))
        assert [(record.tool, record.code, record.correlation_id) for record in records] == [
            ("read_note", "NOTE_MISSING", ref),
            (caller, "NOTE_MISSING", ref),
        ]

    async def test_may_catch_its_fault_and_go_on(self, library: Any, notes: Any, records: list[Any]) -> None:
        async with library.connect(notes) as client:
            result = await client.call_tool("directly_and_go_on", {"name": "nope"})

        assert not result.is_error
        assert text_of(result) == "went on without: read_note, none"
        assert [record.tool for record in records] == ["read_note"]

    async def test_by_name_may_catch_the_librarys_tool_error_and_go_on(self, library: Any, notes: Any) -> None:
        async with library.connect(notes) as client:
            result = await client.call_tool("by_name_and_go_on", {"name": "nope"})

        assert not result.is_error
        assert "[exec] read_note: no note called nope" in text_of(result)

    async def test_by_name_with_wrong_arguments_is_told_which(
        self, library: Any, notes: Any, records: list[Any]
    ) -> None:
        async with library.connect(notes) as client:
            result = await client.call_tool("by_name", {"name": "todo", "lines": "three"})

        assert text_of(result).startswith("[exec] by_name: read_note failed: ")
        assert "validation error" not in text_of(result)
        assert [(record.tool, record.code) for record in records] == [
            ("read_note", "INVALID_ARGUMENTS"),
            ("by_name", "INVALID_ARGUMENTS"),
        ]

    async def test_can_be_called_by_itself(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads
        async def count_down(n: int) -> str:
            if n == 0:
                return "0"
            if n % 2:
                return f"{n} {await count_down(n - 1)}"
            return f"{n} {text_of(await server.call_tool('count_down', {'n': n - 1}))}"

        async with library.connect(server) as client:
            assert text_of(await client.call_tool("count_down", {"n": 4})) == "4 3 2 1 0"

    async def test_may_call_several_at_once(self, library: Any, records: list[Any]) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        async def square(n: int) -> int:
            await asyncio.sleep(0.01)
            if n == 2:
                raise NoteMissing(name=n)
            return n * n

        @server.tool()
        @guard.reads
        async def squares(n: int) -> str:
            return str(await asyncio.gather(*(square(i) for i in range(n)), return_exceptions=True))

        async with library.connect(server) as client:
            assert text_of(await client.call_tool("squares", {"n": 4})).startswith("[0, 1, NoteMissing")

        assert [record.tool for record in records] == ["square"]

    async def test_says_what_the_called_one_left_behind(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.writes
        def save() -> str:
            raise ValueError

        @server.tool()
        @guard.reads
        async def look_and_save() -> str:
            return await save()

        async with library.connect(server) as client:
            result = await client.call_tool("look_and_save")

        assert result.meta[ERROR]["effects"] != "none"
        assert "only reads" not in text_of(result)

    async def test_says_what_the_called_one_may_still_be_doing_when_time_is_over(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @guard.writes
        async def save() -> None:
            await asyncio.sleep(3)

        @server.tool()
        @guard.reads(timeout=0.1)
        async def look_and_save() -> str:
            await save()
            return "late"

        async with library.connect(server) as client:
            result = await client.call_tool("look_and_save")

        assert result.meta[ERROR]["code"] == "TIMED_OUT"
        assert result.meta[ERROR]["effects"] != "none"


class TestAnUnguardedTool:
    async def test_that_calls_a_guarded_one_by_name_gets_its_value(self, library: Any, notes: Any) -> None:
        async with library.connect(notes) as client:
            assert text_of(await client.call_tool("unguarded", {"name": "todo"})) == "1 of todo"

    async def test_that_calls_a_failing_guarded_one_by_name_fails_in_the_librarys_words(
        self, library: Any, notes: Any, records: list[Any]
    ) -> None:
        async with library.connect(notes) as client:
            result = await client.call_tool("unguarded", {"name": "nope"})

        assert result.is_error
        assert "[exec] read_note: no note called nope" in text_of(result)
        assert ERROR not in (result.meta or {})
        assert [record.tool for record in records] == ["read_note"]

    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("good", {"n": 1}),
            ("good", {"n": "one"}),
            ("good", {}),
            ("crash", {}),
            ("say", {}),
            ("give_up", {}),
        ],
    )
    @pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
    async def test_answers_on_a_guarded_server_exactly_as_on_a_bare_one(
        self, library: Any, mode: str, tool: str, arguments: dict[str, Any], records: list[Any]
    ) -> None:
        def serve(*, guarded: bool) -> Any:
            server = library.server("s")
            if guarded:
                Guard(server)

            @server.tool()
            def good(n: int) -> int:
                return n

            @server.tool()
            def crash() -> int:
                raise ValueError("oh")

            @server.tool()
            def say() -> int:
                raise library.tool_error("the author's own words")

            @server.tool()
            def give_up() -> CallToolResult:
                return CallToolResult(content=[TextContent(type="text", text="no")], is_error=True)

            return server

        answers = []
        for guarded in (False, True):
            async with library.connect(serve(guarded=guarded), mode=mode) as client:
                answers.append((await client.call_tool(tool, arguments)).model_dump())

        assert answers[0] == answers[1]
        assert records == []


class TestTwoServersUnderOneGuard:
    async def test_both_answer_and_share_their_threads(self, library: Any) -> None:
        first, second = library.server("first"), library.server("second")
        guard = Guard(first, threads=1)
        guard.bind(second)

        @second.tool(name="look")
        @first.tool(name="look")
        @guard.reads
        def look(n: int) -> int:
            return n

        if library.name == "mcpserver":
            # Its decorator gives the function back, as it came.
            assert look.contract.name == "look"

        for server in (first, second):
            async with library.connect(server) as client:
                assert text_of(await client.call_tool("look", {"n": 1})) == "1"
                refused = await client.call_tool("look", {"n": "one"})
                assert refused.meta[ERROR]["stage"] == "validate"
        assert guard.threads.free == 1

    async def test_one_function_may_have_another_name_on_each(self, library: Any) -> None:
        first, second = library.server("first"), library.server("second")
        guard = Guard(first)
        guard.bind(second)

        @guard.reads
        def look(n: int) -> int:
            raise NoteMissing(name="it")

        first.tool(name="peek")(look)
        second.tool(name="stare")(look)

        for server, name in ((first, "peek"), (second, "stare")):
            async with library.connect(server) as client:
                result = await client.call_tool(name, {"n": 1})
                assert text_of(result).startswith(f"[exec] {name}: no note called it")
                assert result.meta[ERROR]["tool"] == name

    async def test_a_tool_of_one_may_call_a_tool_of_the_other(self, library: Any, records: list[Any]) -> None:
        first, second = library.server("first"), library.server("second")
        guard = Guard(first)
        guard.bind(second)

        @second.tool()
        @guard.reads
        def inner() -> str:
            raise NoteMissing(name="it")

        @first.tool()
        @guard.reads
        async def outer() -> str:
            return text_of(await second.call_tool("inner", {}))

        async with library.connect(first) as client:
            result = await client.call_tool("outer")

        assert text_of(result).startswith("[exec] outer: inner failed: no note called it")
        assert len({record.correlation_id for record in records}) == 1


class TestADecoratedFunctionInAPlainUnitTest:
    async def test_returns_the_authors_value(self) -> None:
        @Guard().reads
        def point(x: int, y: int = 2) -> tuple[int, int]:
            return (x, y)

        assert await point(1) == (1, 2)
        assert await point(1, y=3) == (1, 3)

    async def test_raises_the_fault(self, records: list[Any]) -> None:
        @Guard().writes
        def read(name: str) -> str:
            raise NoteMissing

        with pytest.raises(NoteMissing) as caught:
            await read("nope")

        assert (caught.value.tool, caught.value.effects) == ("read", "may_remain")
        assert [record.code for record in records] == ["NOTE_MISSING"]

    async def test_raises_the_fault_that_stands_for_a_foreign_exception(self) -> None:
        error = ZeroDivisionError("oh")

        @Guard().reads
        def divide() -> float:
            raise error

        with pytest.raises(Internal) as caught:
            await divide()

        assert caught.value.__cause__ is error

    async def test_raises_the_fault_that_the_author_mapped(self) -> None:
        @Guard().reads(raises={KeyError: NoteMissing})
        def read(name: str) -> str:
            raise KeyError(name)

        with pytest.raises(NoteMissing) as caught:
            await read("nope")

        assert isinstance(caught.value.__cause__, KeyError)

    async def test_keeps_its_budget(self) -> None:
        @Guard().reads(timeout=0.05)
        async def slow() -> None:
            await asyncio.sleep(3)

        with pytest.raises(TimedOut):
            await slow()

    async def test_cuts_nothing(self) -> None:
        @Guard().reads(max_chars=10)
        def dump() -> str:
            return "x" * 1_000

        assert await dump() == "x" * 1_000

    @pytest.mark.parametrize("arguments", [{}, {"x": 1, "z": 2}])
    async def test_is_a_type_error_for_a_wrong_call_and_nothing_is_logged(
        self, arguments: dict[str, int], records: list[Any]
    ) -> None:
        @Guard().reads
        def double(x: int) -> int:
            return 2 * x

        with pytest.raises(TypeError):
            await double(**arguments)

        assert records == []

    async def test_carries_the_authors_function_and_the_declaration(self) -> None:
        def double(x: int) -> int:
            """Double it."""
            return 2 * x

        tool = Guard().reads(timeout=5)(double)

        assert tool.fn is double
        assert tool.fn(2) == 4
        assert (tool.contract.effect, tool.contract.timeout, tool.contract.name) == ("reads", 5, "double")
        assert (tool.__name__, tool.__doc__) == ("double", "Double it.")

    async def test_describes_its_stages_outermost_first(self) -> None:
        @Guard(timeout=7, max_chars=99).writes
        def save() -> None: ...

        stages = save.describe()

        assert [stage["stage"] for stage in stages] == ["truncation", "budget", "check"]
        assert stages[0]["max_chars"] == 99
        assert stages[1]["timeout"] == 7

    async def test_of_a_class_works_as_a_method(self) -> None:
        guard = Guard()

        class Notes:
            def __init__(self, owner: str) -> None:
                self.owner = owner

            @guard.reads
            def whose(self) -> str:
                return self.owner

        assert await Notes("Ada").whose() == "Ada"

    async def test_is_registered_as_a_bound_method(self, library: Any) -> None:
        guard = Guard()

        class Notes:
            def __init__(self, owner: str) -> None:
                self.owner = owner

            @guard.reads
            def whose(self, suffix: str) -> str:
                return self.owner + suffix

        server = library.server("s")
        guard.bind(server)
        server.tool()(Notes("Ada").whose)

        async with library.connect(server) as client:
            assert text_of(await client.call_tool("whose", {"suffix": "!"})) == "Ada!"
            refused = await client.call_tool("whose", {"suffix": 1})
            assert refused.meta[ERROR]["stage"] == "validate"


class TestMiddlewareOfTheAuthor:
    async def test_of_mcp_runs_before_arguments_are_refused(self, records: list[Any]) -> None:
        seen = []

        async def watch(ctx: Any, call_next: Any) -> Any:
            if ctx.method == "tools/call":
                seen.append(ctx.params["arguments"])
            return await call_next(ctx)

        server = MCPServer("s", middleware=[watch])

        @server.tool()
        @Guard(server).reads
        def head(lines: int) -> str:
            return "x"

        async with Client(server, mode="2026-07-28", cache=None) as client:
            result = await client.call_tool("head", {"lines": "three"})

        assert seen == [{"lines": "three"}]
        assert result.meta[ERROR]["stage"] == "validate"
        assert len(records) == 1

    @pytest.mark.parametrize("added", ["before", "after"])
    async def test_of_fastmcp_runs_before_arguments_are_refused(self, added: str, records: list[Any]) -> None:

        seen = []

        class Watch(Middleware):
            async def on_call_tool(self, context: Any, call_next: Any) -> Any:
                seen.append(dict(context.message.arguments))
                return await call_next(context)

        server = FastMCP("s")
        guard = Guard()
        if added == "before":
            server.add_middleware(Watch())
        guard.bind(server)
        if added == "after":
            server.add_middleware(Watch())

        @server.tool()
        @guard.reads
        def head(lines: int) -> str:
            return "x"

        async with Client(server._mcp_server, mode="2026-07-28", cache=None) as client:
            result = await client.call_tool("head", {"lines": "three"})

        assert seen == [{"lines": "three"}]
        assert result.meta[ERROR]["stage"] == "validate"
        assert len(records) == 1

    async def test_of_fastmcp_may_rewrite_arguments(self) -> None:

        class Rewrite(Middleware):
            async def on_call_tool(self, context: Any, call_next: Any) -> Any:
                arguments = {"lines": int(context.message.arguments["rows"])}
                return await call_next(
                    context.copy(message=context.message.model_copy(update={"arguments": arguments}))
                )

        server = FastMCP("s", middleware=[Rewrite()])

        @server.tool()
        @Guard(server).reads
        def head(lines: int) -> str:
            return str(lines)

        async with Client(server._mcp_server, mode="2026-07-28", cache=None) as client:
            assert text_of(await client.call_tool("head", {"rows": "3"})) == "3"

    async def test_of_fastmcp_that_refuses_a_call_keeps_its_words_and_the_body_does_not_run(
        self, records: list[Any]
    ) -> None:

        class Refuse(Middleware):
            async def on_call_tool(self, context: Any, call_next: Any) -> Any:
                raise FastmcpToolError("not on Sundays")

        server = FastMCP("s", middleware=[Refuse()])
        ran = []

        @server.tool()
        @Guard(server).writes
        def save() -> str:
            ran.append(True)
            return "saved"

        async with Client(server._mcp_server, mode="2026-07-28", cache=None) as client:
            result = await client.call_tool("save")

        assert result.is_error
        assert "not on Sundays" in text_of(result)
        assert result.meta[ERROR]["effects"] == "none"
        assert ran == []
        assert len(records) == 1

    async def test_of_fastmcp_that_fails_after_a_write_does_not_make_it_say_that_nothing_changed(self) -> None:

        class Late(Middleware):
            async def on_call_tool(self, context: Any, call_next: Any) -> Any:
                await call_next(context)
                raise FastmcpToolError("too late")

        server = FastMCP("s", middleware=[Late()])

        @server.tool()
        @Guard(server).writes
        def save() -> str:
            return "saved"

        async with Client(server._mcp_server, mode="2026-07-28", cache=None) as client:
            result = await client.call_tool("save")

        assert result.is_error
        assert "the tool did not run" not in text_of(result)
        assert result.meta[ERROR]["effects"] != "none"


class TestAnOverriddenCallTool:
    @staticmethod
    def serve(call_tool: Any) -> Any:
        server = type("Custom", (MCPServer,), {"call_tool": call_tool})("custom")

        @server.tool()
        @Guard(server).writes
        def head(lines: int) -> str:
            return str(lines)

        return server

    async def test_may_answer_names_that_the_server_does_not_know(self) -> None:
        async def call_tool(self: Any, name: str, arguments: Any, context: Any = None) -> Any:
            if name == "virtual":
                return CallToolResult(content=[TextContent(type="text", text="here")])
            return await MCPServer.call_tool(self, name, arguments, context)

        async with Client(self.serve(call_tool), mode="2026-07-28", cache=None) as client:
            assert text_of(await client.call_tool("virtual")) == "here"
            assert text_of(await client.call_tool("head", {"lines": 3})) == "3"
            with pytest.raises(MCPError, match="no tool of this name"):
                await client.call_tool("hed")

    async def test_may_rewrite_arguments(self, records: list[Any]) -> None:
        async def call_tool(self: Any, name: str, arguments: Any, context: Any = None) -> Any:
            return await MCPServer.call_tool(self, name, {"lines": arguments["rows"]}, context)

        async with Client(self.serve(call_tool), mode="2026-07-28", cache=None) as client:
            assert text_of(await client.call_tool("head", {"rows": 3})) == "3"
            refused = await client.call_tool("head", {"rows": "three"})

        assert text_of(refused).startswith("[validate] head.lines: ")
        assert refused.meta[ERROR]["effects"] == "none"
        assert len(records) == 1

    async def test_that_fails_after_a_write_does_not_make_it_say_that_nothing_changed(self) -> None:

        async def call_tool(self: Any, name: str, arguments: Any, context: Any = None) -> Any:
            await MCPServer.call_tool(self, name, arguments, context)
            raise ToolError("too late")

        async with Client(self.serve(call_tool), mode="2026-07-28", cache=None) as client:
            result = await client.call_tool("head", {"lines": 3})

        assert result.is_error
        assert "the tool did not run" not in text_of(result)
        assert result.meta[ERROR]["effects"] != "none"


class TestAServerThatIsAskedWithoutAClient:
    async def test_checks_arguments_and_raises_the_librarys_tool_error(
        self, library: Any, notes: Any, records: list[Any]
    ) -> None:
        assert text_of(await notes.call_tool("read_note", {"name": "todo", "lines": 2})) == "2 of todo"

        with pytest.raises(library.tool_error, match=r"\[validate\] read_note\.lines: expected an integer"):
            await notes.call_tool("read_note", {"name": "todo", "lines": "x"})
        with pytest.raises(library.tool_error, match=r"\[exec\] read_note: no note called nope"):
            await notes.call_tool("read_note", {"name": "nope"})

        assert [record.code for record in records] == ["INVALID_ARGUMENTS", "NOTE_MISSING"]


class TestAResolverOfTheSdk:
    @staticmethod
    async def ask(resolver: Any, ran: list[str]) -> Any:
        server = MCPServer("s")

        def look(name: str, owner) -> str:
            ran.append(name)
            return f"{name} of {owner}"

        look.__annotations__["owner"] = Annotated[str, Resolve(resolver)]
        server.tool()(Guard(server).writes(look))

        async with Client(server, mode="2026-07-28", cache=None) as client:
            return await client.call_tool("look", {"name": "todo"})

    async def test_gives_its_value_to_the_body(self, records: list[Any]) -> None:
        def owner(name: str) -> str:
            return f"the owner of {name}"

        assert text_of(await self.ask(owner, [])) == "todo of the owner of todo"
        assert records == []

    @pytest.mark.parametrize(
        ("error", "code", "said"),
        [
            (ToolError("nobody owns it"), "TOOL_FAILED", "nobody owns it"),
            (ValueError("a secret"), "INTERNAL", "unexpectedly"),
        ],
    )
    async def test_that_fails_is_answered_for_and_the_body_does_not_run(
        self, error: Exception, code: str, said: str, records: list[Any]
    ) -> None:
        def owner(name: str) -> str:
            raise error

        ran: list[str] = []
        result = await self.ask(owner, ran)

        assert ran == []
        assert (result.meta[ERROR]["code"], result.meta[ERROR]["effects"]) == (code, "none")
        assert said in text_of(result)
        assert "a secret" not in text_of(result)
        assert len(records) == 1


class TestAMountedServerOfFastmcp:
    @pytest.fixture
    def mounted(self) -> Any:
        parent, child = FastMCP("parent"), FastMCP("child")
        guard = Guard(parent)
        guard.bind(child)

        @child.tool()
        @guard.reads(max_chars=5)
        def head(lines: int) -> str:
            if lines == 0:
                raise NoteMissing(name="it")
            return "x" * lines

        parent.mount(child, namespace="notes")
        return parent

    async def test_is_guarded_under_its_longer_names(self, mounted: Any, records: list[Any]) -> None:
        async with Client(mounted._mcp_server, mode="2026-07-28", cache=None) as client:
            (listed,) = (await client.list_tools()).tools
            good = await client.call_tool("notes_head", {"lines": 3})
            cut = await client.call_tool("notes_head", {"lines": 50})
            refused = await client.call_tool("notes_head", {"lines": "x"})
            failed = await client.call_tool("notes_head", {"lines": 0})

        assert listed.annotations is not None
        assert listed.annotations.read_only_hint is True
        assert text_of(good) == "xxx"
        assert "5 of 50 characters" in text_of(cut)
        assert "[validate]" in text_of(refused)
        assert "no note called it" in text_of(failed)
        assert [record.code for record in records] == ["INVALID_ARGUMENTS", "NOTE_MISSING"]

    async def test_has_the_envelope_beside_its_errors(self, mounted: Any) -> None:
        async with Client(mounted._mcp_server, mode="2026-07-28", cache=None) as client:
            refused = await client.call_tool("notes_head", {"lines": "x"})
            failed = await client.call_tool("notes_head", {"lines": 0})

        assert refused.meta[ERROR]["code"] == "INVALID_ARGUMENTS"
        assert failed.meta[ERROR]["code"] == "NOTE_MISSING"


async def test_each_call_has_a_call_object_of_its_own(library: Any) -> None:
    server = library.server("s")
    guard = Guard(server)
    seen: dict[str, Any] = {}

    @guard.reads
    async def inner(n: int) -> int:
        seen["inner"] = current_call()
        await asyncio.sleep(0)
        return n

    @server.tool()
    @guard.writes
    async def outer(n: int) -> int:
        result = await inner(n + 1)
        seen["outer"] = current_call()
        return result

    async with library.connect(server) as client:
        await client.call_tool("outer", {"n": 1})

    assert seen["inner"].parent is seen["outer"]
    assert seen["outer"].parent is None
    assert (seen["inner"].values["n"], seen["outer"].values["n"]) == (2, 1)
    assert (seen["inner"].reads, seen["outer"].reads) == (True, False)


async def test_a_built_in_fault_may_be_raised_with_the_authors_words(library: Any) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads
    def read(name: str) -> str:
        raise NotFound(f"there is no {name}")

    async with library.connect(server) as client:
        result = await client.call_tool("read", {"name": "todo"})

    assert text_of(result).startswith("[exec] read: there is no todo\n")
    assert result.meta[ERROR]["code"] == "NOT_FOUND"
