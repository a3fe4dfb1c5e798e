from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from mcp.client import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools.base import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations

from mcp_guard import ConfigurationError, Guard

pytestmark = pytest.mark.anyio

ERROR = "io.github.mcp-guard/error"


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


class TestDecoratorsInTheWrongOrder:
    @pytest.fixture
    def server(self, library: Any) -> Any:
        server = library.server("s")
        self.guard = Guard(server)
        self.ran: list[str] = []

        @self.guard.reads()
        @server.tool()
        def upside_down(n: int) -> int:
            self.ran.append("upside_down")
            return n

        @server.tool()
        @self.guard.reads()
        def upright(n: int) -> int:
            return n

        return server

    async def test_are_named_by_ready_with_the_order_to_write(self, server: Any) -> None:
        with pytest.raises(ConfigurationError) as caught:
            await self.guard.ready()

        assert "upside_down: " in str(caught.value)
        assert "write @mcp.tool() first, the guard's decorator below it" in str(caught.value)
        assert "upright" not in str(caught.value)

    async def test_have_that_tool_refused_while_the_others_work(self, library: Any, server: Any) -> None:
        async with library.connect(server) as client:
            refused = await client.call_tool("upside_down", {"n": 1})
            assert text_of(await client.call_tool("upright", {"n": 1})) == "1"
            again = await client.call_tool("upside_down", {"n": 1})

        assert refused.is_error
        assert again.is_error
        assert text_of(refused).startswith("[service] upside_down: ")
        told = refused.meta[ERROR]
        assert (told["stage"], told["effects"], told["faultSide"]) == ("service", "none", "server")
        assert self.ran == []

    async def test_are_logged_once_with_the_order_to_write(self, library: Any, server: Any, records: list[Any]) -> None:
        async with library.connect(server) as client:
            await client.list_tools()
            await client.list_tools()

        (record,) = records
        assert record.levelno == logging.ERROR
        assert "write @mcp.tool() first" in record.getMessage()

    async def test_are_not_told_to_the_client(self, library: Any, server: Any) -> None:
        async with library.connect(server) as client:
            refused = await client.call_tool("upside_down", {"n": 1})

        assert "decorator" not in text_of(refused)


class TestTools:
    async def test_registered_before_the_binding_count(self, library: Any) -> None:
        server, guard = library.server("s"), Guard()

        @server.tool()
        @guard.reads
        def look(n: int) -> int:
            return n

        guard.bind(server)

        async with library.connect(server) as client:
            assert (await client.list_tools()).tools[0].annotations.read_only_hint is True
            assert text_of(await client.call_tool("look", {"n": 1})) == "1"
            assert (await client.call_tool("look", {"n": "one"})).meta[ERROR]["stage"] == "validate"

    async def test_given_to_the_constructor_count(self) -> None:
        guard = Guard()

        @guard.reads(timeout=0.05)
        async def look(n: int) -> int:
            await asyncio.sleep(n)
            return n

        server = MCPServer("s", tools=[Tool.from_function(look)])
        guard.bind(server)

        async with Client(server, mode="2026-07-28", cache=None) as client:
            assert text_of(await client.call_tool("look", {"n": 0})) == "0"
            assert (await client.call_tool("look", {"n": 5})).meta[ERROR]["code"] == "TIMED_OUT"
            assert (await client.call_tool("look", {"n": "one"})).meta[ERROR]["stage"] == "validate"

    async def test_added_while_the_server_runs_count(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def first(n: int) -> int:
            return n

        async with library.connect(server) as client:
            await client.call_tool("first", {"n": 1})

            @server.tool()
            @guard.reads
            def second(n: int) -> int:
                return n + 1

            assert text_of(await client.call_tool("second", {"n": 1})) == "2"
            assert (await client.call_tool("second", {"n": "one"})).meta[ERROR]["stage"] == "validate"
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}

        assert listed["second"].annotations.read_only_hint is True

    async def test_added_in_the_wrong_order_while_the_server_runs_do_not_run_without_their_guard(
        self, library: Any
    ) -> None:
        server = library.server("s")
        guard = Guard(server)
        ran = []

        @server.tool()
        @guard.reads
        def first(n: int) -> int:
            return n

        async with library.connect(server) as client:
            await client.call_tool("first", {"n": 1})

            @guard.reads
            @server.tool()
            def second(n: int) -> int:
                ran.append(n)
                return n

            result = await client.call_tool("second", {"n": 1})

        assert result.is_error
        assert ran == []

    async def test_replaced_while_the_server_runs_are_the_new_ones(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        async def version(n: int) -> str:
            await asyncio.sleep(0)
            return f"first {n}"

        async def version_two(n: str) -> str:
            await asyncio.sleep(0)
            return f"second {n}"

        server.tool(name="version")(guard.reads(version))
        async with library.connect(server) as client:
            assert text_of(await client.call_tool("version", {"n": 1})) == "first 1"
            if library.name == "fastmcp":
                server.local_provider.remove_tool("version")
            else:
                server.remove_tool("version")
            server.tool(name="version")(guard.reads(version_two))

            assert text_of(await client.call_tool("version", {"n": "x"})) == "second x"
            assert (await client.call_tool("version", {"n": 1})).meta[ERROR]["stage"] == "validate"

    async def test_removed_while_the_server_runs_are_unknown(self, library: Any) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads
        def look(n: int) -> int:
            return n

        async with library.connect(server) as client:
            await client.call_tool("look", {"n": 1})
            if library.name == "fastmcp":
                server.local_provider.remove_tool("look")
            else:
                server.remove_tool("look")
            with pytest.raises(MCPError, match="no tool of this name"):
                await client.call_tool("look", {"n": 1})


class TestBinding:
    @pytest.mark.parametrize("by", ["the same guard", "another guard"])
    async def test_twice_is_refused_and_leaves_the_first_one_working(self, library: Any, by: str) -> None:
        server = library.server("notes")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def look(n: int) -> int:
            return n

        with pytest.raises(ConfigurationError, match="'notes' is bound already"):
            (guard if by == "the same guard" else Guard()).bind(server)

        async with library.connect(server) as client:
            assert text_of(await client.call_tool("look", {"n": 1})) == "1"

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            (object(), "a builtins.object"),
            (MCPServer, "the class mcp.server.mcpserver.server.MCPServer"),
            (Server("low"), "a mcp.server.lowlevel.server.Server"),
            ("notes", "a builtins.str"),
        ],
        ids=["an object", "a class", "a low-level server", "a name"],
    )
    def test_of_something_else_says_what_a_guard_takes_and_what_it_got(self, given: object, named: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            Guard(given)

        assert "MCPServer" in str(caught.value)
        assert "FastMCP" in str(caught.value)
        assert named in str(caught.value)
        assert "write Guard(mcp)" in str(caught.value)

    async def test_of_a_subclass_works(self, library: Any) -> None:
        server = type("Mine", (library.server,), {})("s")

        @server.tool()
        @Guard(server).reads
        def look(n: int) -> int:
            return n

        async with library.connect(server) as client:
            assert (await client.call_tool("look", {"n": "one"})).meta[ERROR]["stage"] == "validate"

    async def test_needs_no_event_loop_and_ready_may_be_asked_again(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def look() -> int:
            return 1

        await guard.ready()
        await guard.ready()

    async def test_is_not_needed_for_ready(self) -> None:
        await Guard().ready()


class TestAnnotations:
    async def hints(self, library: Any, server: Any) -> dict[str, Any]:
        async with library.connect(server) as client:
            return {
                tool.name: tool.annotations and tool.annotations.model_dump(exclude_none=True)
                for tool in (await client.list_tools()).tools
            }

    async def test_are_completed_by_what_the_contract_says(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def look() -> None: ...

        @server.tool()
        @guard.writes
        def save() -> None: ...

        @server.tool()
        def bare() -> None: ...

        assert await self.hints(library, server) == {
            "look": {"read_only_hint": True},
            "save": {"read_only_hint": False},
            "bare": None,
        }

    async def test_of_the_author_stay(self, library: Any) -> None:
        server = library.server("s")

        @server.tool(annotations=ToolAnnotations(title="Look", idempotent_hint=True, open_world_hint=False))
        @Guard(server).reads
        def look() -> None: ...

        assert await self.hints(library, server) == {
            "look": {
                "title": "Look",
                "idempotent_hint": True,
                "open_world_hint": False,
                "read_only_hint": True,
            }
        }

    @pytest.mark.parametrize(
        ("effect", "annotations"),
        [
            ("reads", ToolAnnotations(read_only_hint=False)),
            ("reads", ToolAnnotations(destructive_hint=True)),
            ("writes", ToolAnnotations(read_only_hint=True)),
        ],
        ids=["a reading tool not read-only", "a reading tool destructive", "a writing tool read-only"],
    )
    async def test_that_contradict_the_contract_are_named_and_the_tool_is_refused(
        self, library: Any, effect: str, annotations: ToolAnnotations
    ) -> None:
        server = library.server("s")
        guard = Guard(server)
        ran = []

        def tool() -> str:
            ran.append(True)
            return "x"

        server.tool(annotations=annotations)(getattr(guard, effect)(tool))

        with pytest.raises(ConfigurationError, match=rf"tool: annotations= say .*guard\.{effect}"):
            await guard.ready()
        async with library.connect(server) as client:
            refused = await client.call_tool("tool")

        assert refused.meta[ERROR]["stage"] == "service"
        assert ran == []


async def test_several_mistakes_are_all_named_at_once(library: Any) -> None:
    server = library.server("s")
    guard = Guard(server)

    @guard.reads
    @server.tool()
    def one() -> None: ...

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    @guard.writes
    def two() -> None: ...

    with pytest.raises(ConfigurationError) as caught:
        await guard.ready()

    assert {line.partition(":")[0] for line in str(caught.value).splitlines()} == {"one", "two"}


class TestOnTrio:
    @pytest.fixture
    def anyio_backend(self) -> str:
        pytest.importorskip("trio")
        return "trio"

    async def test_ready_says_that_a_guard_needs_asyncio(self, library: Any) -> None:
        with pytest.raises(ConfigurationError, match="needs asyncio"):
            await Guard(library.server("s")).ready()

    async def test_the_first_message_says_so_in_the_log(self, library: Any, caplog: pytest.LogCaptureFixture) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads
        def look() -> int:
            return 1

        async with library.connect(server) as client:
            with pytest.raises(MCPError):
                await client.call_tool("look")

        assert "needs asyncio" in caplog.text
