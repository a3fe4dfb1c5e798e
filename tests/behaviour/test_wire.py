"""The exact JSON that crosses the wire, at each revision of the protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import (
    CallToolResult,
    ElicitRequestURLParams,
    InputRequiredResult,
    JSONRPCNotification,
    JSONRPCRequest,
    TextContent,
)

from mcp_guard import Guard

pytestmark = pytest.mark.anyio

ERROR = "io.github.mcp-guard/error"
MODERN = "2026-07-28"
REVISIONS = ["2025-06-18", "2025-11-25", MODERN]
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(params=REVISIONS)
def revision(request: pytest.FixtureRequest) -> str:
    return request.param


class Wire:
    """A client that speaks JSON-RPC itself."""

    def __init__(self, revision: str, read: Any, write: Any) -> None:
        self.revision = revision
        self._read, self._write = read, write
        self._last_id = 0

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the whole answer, as a transport would write it."""
        self._last_id += 1
        meta = {"_meta": ENVELOPE} if self.revision == MODERN else {}
        request = JSONRPCRequest(jsonrpc="2.0", id=self._last_id, method=method, params={**params, **meta})
        await self._write.send(SessionMessage(request))
        message = (await self._read.receive()).message
        answer: dict[str, Any] = json.loads(message.model_dump_json(by_alias=True, exclude_unset=True))
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self._last_id)
        return answer

    async def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments or {}})

    async def shake_hands(self) -> None:
        answer = await self.ask(
            "initialize",
            {
                "protocolVersion": self.revision,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        assert answer["result"]["protocolVersion"] == self.revision
        await self._write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")))


@asynccontextmanager
async def wired(server: Any, revision: str) -> AsyncIterator[Wire]:
    low_level = getattr(server, "_lowlevel_server", None) or server._mcp_server
    async with create_client_server_memory_streams() as (client, (read, write)), anyio.create_task_group() as group:
        group.start_soon(low_level.run, read, write, low_level.create_initialization_options())
        wire = Wire(revision, *client)
        if revision != MODERN:
            await wire.shake_hands()
        with anyio.fail_after(10):
            yield wire
        group.cancel_scope.cancel()


@pytest.fixture
def server(library: Any) -> Any:
    return serve(library)


def serve(library: Any, **options: Any) -> Any:
    server = library.server("s")
    guard = Guard(server, **options)

    @server.tool()
    @guard.reads
    def head(path: str, lines: int = 10) -> str:
        return f"{lines} of {path}"

    @server.tool()
    @guard.writes
    def crash() -> str:
        raise ValueError("oh")

    def loose(lines: int = 1):  # without a return annotation, so without an output schema
        raise ValueError("oh")

    server.tool()(guard.writes(loose))

    @server.tool()
    def bare(n: int) -> int:
        return n

    return server


def assert_result_envelope(result: dict[str, Any], revision: str) -> None:
    """Check what each revision wants of a result: `resultType` and `serverInfo` came with 2026-07-28."""
    meta = result.get("_meta", {})
    if revision == MODERN:
        assert result["resultType"] == "complete"
        assert meta["io.modelcontextprotocol/serverInfo"]["name"] == "s"
    else:
        assert "resultType" not in result
        assert "io.modelcontextprotocol/serverInfo" not in meta


async def test_a_good_result_is_the_bare_one(server: Any, revision: str) -> None:
    async with wired(server, revision) as wire:
        result = (await wire.call("head", {"path": "todo", "lines": 3}))["result"]

    assert_result_envelope(result, revision)
    assert result["content"] == [{"type": "text", "text": "3 of todo"}]
    assert result["structuredContent"] == {"result": "3 of todo"}
    assert result.get("isError", False) is False
    assert ERROR not in result.get("_meta", {})


async def test_a_refused_call_is_an_error_result(server: Any, revision: str) -> None:
    async with wired(server, revision) as wire:
        answer = await wire.call("head", {"path": "todo", "lines": "three"})

    result = answer["result"]
    assert "error" not in answer
    assert_result_envelope(result, revision)
    assert result["isError"] is True
    assert [block["type"] for block in result["content"]] == ["text"]
    lines = result["content"][0]["text"].splitlines()
    assert lines[0] == "[validate] head.lines: expected an integer, got 'three'"
    assert lines[-2] == "Retry: after fixing the argument. Effects: none, the tool did not run."
    told = result["_meta"][ERROR]
    assert lines[-1] == f"Ref: {told['correlationId']}"
    assert {name: told[name] for name in ("stage", "tool", "code", "field", "retry", "retryable", "faultSide")} == {
        "stage": "validate",
        "tool": "head",
        "code": "INVALID_ARGUMENTS",
        "field": "lines",
        "retry": "after_fix",
        "retryable": True,
        "faultSide": "caller",
    }
    assert told["effects"] == "none"
    assert told["problems"][0]["field"] == "lines"


async def test_an_error_result_has_the_envelope_under_its_key(server: Any, revision: str) -> None:
    async with wired(server, revision) as wire:
        result = (await wire.call("crash"))["result"]

    assert_result_envelope(result, revision)
    assert result["isError"] is True
    told = result["_meta"][ERROR]
    assert (told["stage"], told["code"], told["effects"], told["faultSide"]) == (
        "exec",
        "INTERNAL",
        "may_remain",
        "server",
    )
    assert "oh" not in result["content"][0]["text"].split()
    assert all("_" not in name for name in told), "the envelope is spelled in camelCase"


@pytest.mark.parametrize(("tool", "arguments"), [("loose", {}), ("loose", {"lines": "x"})])
async def test_structured_content_of_an_error_is_set_only_without_an_output_schema(
    server: Any, revision: str, tool: str, arguments: dict[str, Any]
) -> None:
    async with wired(server, revision) as wire:
        without = (await wire.call(tool, arguments))["result"]
        refused = (await wire.call("head", {}))["result"]
        crashed = (await wire.call("crash"))["result"]

    assert without["structuredContent"] == without["_meta"][ERROR]
    assert "structuredContent" not in refused
    assert "structuredContent" not in crashed


async def test_an_unknown_tool_is_the_protocols_error_with_the_envelope_as_data(server: Any, revision: str) -> None:
    async with wired(server, revision) as wire:
        answer = await wire.call("haed", {"path": "todo"})

    assert "result" not in answer
    error = answer["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("[service] haed: no tool of this name")
    assert "'head'" in error["message"]
    told = error["data"]
    assert (told["stage"], told["code"], told["tool"], told["effects"]) == ("service", "UNKNOWN_TOOL", "haed", "none")
    assert told["suggestion"] == "head"
    assert told["correlationId"] in error["message"]


async def test_an_unknown_tool_is_a_result_where_the_author_wants_it(library: Any, revision: str) -> None:
    async with wired(serve(library, unknown_tool="result"), revision) as wire:
        result = (await wire.call("haed"))["result"]

    assert_result_envelope(result, revision)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("[service] haed: no tool of this name")
    assert result["_meta"][ERROR]["code"] == "UNKNOWN_TOOL"


async def test_an_unguarded_tool_is_left_alone(server: Any, revision: str) -> None:
    async with wired(server, revision) as wire:
        good = (await wire.call("bare", {"n": 1}))["result"]
        wrong = (await wire.call("bare", {"n": "one"}))["result"]

    assert good["structuredContent"] == {"result": 1}
    assert wrong["isError"] is True
    assert ERROR not in wrong.get("_meta", {})


async def test_the_list_of_tools_says_which_only_read(server: Any, revision: str) -> None:
    async with wired(server, revision) as wire:
        tools = (await wire.ask("tools/list", {}))["result"]["tools"]

    assert {tool["name"]: tool.get("annotations", {}).get("readOnlyHint") for tool in tools} == {
        "head": True,
        "crash": False,
        "loose": False,
        "bare": None,
    }


async def test_a_request_without_arguments_is_a_call_without_arguments(server: Any, revision: str) -> None:
    async with wired(server, revision) as wire:
        result = (await wire.ask("tools/call", {"name": "head"}))["result"]

    assert result["content"][0]["text"].startswith("[validate] head.path: ")


class TestWhatPassesUntouched:
    @pytest.mark.parametrize(
        "option", [{}, {"fails_when": lambda result: not result["ok"]}], ids=["plain", "fails_when"]
    )
    async def test_a_request_for_input(self, library: Any, option: dict[str, Any], records: list[Any]) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server, max_chars=5).writes(**option)
        def confirm() -> InputRequiredResult:
            return InputRequiredResult(request_state="a state of more than five characters")

        async with wired(server, MODERN) as wire:
            result = (await wire.call("confirm"))["result"]

        assert result["resultType"] == "input_required"
        assert result["requestState"]
        assert "isError" not in result
        assert records == []

    @pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
    async def test_url_elicitation_required(self, library: Any, sync: bool, records: list[Any]) -> None:
        server = library.server("s")
        guard = Guard(server)
        error = UrlElicitationRequiredError(
            [ElicitRequestURLParams(message="log in", url="https://example.org/login", elicitation_id="e1")]
        )

        if sync:

            @server.tool()
            @guard.reads
            def visit() -> str:
                raise error
        else:

            @server.tool()
            @guard.reads
            async def visit() -> str:
                await anyio.lowlevel.checkpoint()
                raise error

        async with wired(server, "2025-11-25") as wire:
            answer = await wire.call("visit")

        assert answer["error"]["code"] == -32042
        assert answer["error"]["data"]["elicitations"][0]["url"] == "https://example.org/login"
        assert records == []

    async def test_a_missing_client_capability(self, library: Any) -> None:
        server = library.server("s")
        error = MCPError(code=-32021, message="no sampling", data={"requiredCapabilities": {"sampling": {}}})

        @server.tool()
        @Guard(server).reads
        def visit() -> str:
            raise error

        async with wired(server, MODERN) as wire:
            answer = await wire.call("visit")

        assert answer["error"]["code"] == -32021
        assert answer["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


async def test_another_protocol_error_that_an_author_raises_is_a_message_in_an_error_result(
    server: Any, revision: str
) -> None:
    @server.tool()
    @Guard().reads
    def sample() -> str:
        raise MCPError(code=-32600, message="buy a licence first")

    async with wired(server, revision) as wire:
        result = (await wire.call("sample"))["result"]

    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("[exec] sample: buy a licence first\n")
    assert result["_meta"][ERROR]["code"] == "TOOL_FAILED"


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_client_that_cannot_do_what_the_tool_asks_is_a_dependency_that_failed(library: Any, mode: str) -> None:
    server = library.server("s")

    async def confirm(ctx) -> str:
        await ctx.session.elicit_form("sure?", {"type": "object", "properties": {"sure": {"type": "boolean"}}})
        return "confirmed"

    confirm.__annotations__["ctx"] = library.context
    server.tool()(Guard(server).writes(confirm))

    async with library.connect(server, mode=mode) as client:
        result = await client.call_tool("confirm")

    told = result.meta[ERROR]
    assert (told["stage"], told["code"], told["faultSide"]) == ("exec", "DEPENDENCY_FAILED", "dependency")


@pytest.mark.parametrize("with_schema", [True, False])
async def test_an_error_result_of_the_author_is_sent_word_for_word_with_the_envelope_beside_it(
    library: Any, revision: str, with_schema: bool
) -> None:
    server = library.server("s")
    returned = CallToolResult(
        content=[TextContent(type="text", text="quota used up"), TextContent(type="text", text="try tomorrow")],
        is_error=True,
        _meta={"example.org/shop": "7"},
    )

    if with_schema:

        @server.tool(output_schema={"type": "object"}) if library.name == "fastmcp" else server.tool()
        @Guard(server).writes
        def buy() -> CallToolResult:
            return returned
    else:

        def buy():
            return returned

        server.tool()(Guard(server).writes(buy))

    async with wired(server, revision) as wire:
        result = (await wire.call("buy"))["result"]

    assert_result_envelope(result, revision)
    assert result["isError"] is True
    assert [block["text"] for block in result["content"]] == ["quota used up", "try tomorrow"]
    assert result["_meta"]["example.org/shop"] == "7"
    told = result["_meta"][ERROR]
    assert (told["code"], told["stage"], told["effects"]) == ("TOOL_FAILED", "exec", "may_remain")
    assert told["message"] == "quota used up try tomorrow"
