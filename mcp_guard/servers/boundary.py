"""The boundary: around the `tools/call` and `tools/list` handlers of an mcp 2 low-level server.

There it stands innermost, behind the author's middleware (authorisation comes first), and what it answers itself gets
the right envelope of every protocol revision. `MCPServer` and fastmcp 4 are both built on that server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from mcp_guard.call import Call
from mcp_guard.faults import ConfigurationError, Fault, Internal, ToolFailed
from mcp_guard.rendering import ERROR_KEY
from mcp_guard.runtime.countdown import waiting_for_client
from mcp_guard.runtime.current import in_flight
from mcp_guard.runtime.invocation import fail
from mcp_guard.servers.answers import error_result, misdeclared, unknown_tool
from mcp_guard.servers.plan import Arrival, Plan, arrived

logger = logging.getLogger("mcp_guard")

_Context = ServerRequestContext[Any, Any]
_Handler = Callable[[Any, Any], Awaitable[Any]]


class Registry(Protocol):
    """The tools of one server, as its library keeps them."""

    def early_plan(self, name: str) -> Plan | None:
        """Return the plan of a guarded tool, if its arguments may be checked before the server's own handler runs."""
        ...

    async def plan_of(self, name: str) -> Plan | None:
        """Return the plan of a guarded tool; None for a tool without a guard, and for none at all."""
        ...

    async def is_unknown(self, name: str, said: str | None = None) -> bool:
        """Return whether nothing answers to a name; `said` is the text of the server's own error result, if it ran."""
        ...

    async def names(self) -> list[str]:
        """Return the names of all tools."""
        ...

    async def wrong(self) -> dict[str, str]:
        """Return what is wrong with the declared tools: a sentence by tool name."""
        ...

    def misplaced(self, name: str) -> str | None:
        """Return a sentence about a tool that is registered past its guard, where that can be told without waiting."""
        ...

    def complete(self, tools: list[Tool]) -> list[Tool]:
        """Return listed tools with the annotations that their contracts imply."""
        ...


class Boundary:
    """The two wrapped handlers of one server.

    Args:
        server: The low-level server.
        registry: Its tools.
        answer_unknown: See `Guard.unknown_tool`.
    """

    def __init__(self, server: Server[Any], registry: Registry, answer_unknown: Literal["protocol", "result"]) -> None:
        self._registry = registry
        self._answer_unknown: Literal["protocol", "result"] = answer_unknown
        self._wrong: dict[str, str] | None = None
        self._call = _handler_of(server, "tools/call")
        self._list = _handler_of(server, "tools/list")
        server.add_request_handler("tools/call", CallToolRequestParams, self._handle_call)
        server.add_request_handler("tools/list", PaginatedRequestParams, self._handle_list)

    async def check(self) -> dict[str, str]:
        """Return what is wrong with the declared tools; looked up once, and logged."""
        if self._wrong is None:
            require_asyncio()
            self._wrong = await self._registry.wrong()
            for problem in self._wrong.values():
                logger.error("%s", problem)
        return self._wrong

    async def _handle_list(self, ctx: _Context, params: PaginatedRequestParams) -> Any:
        await self.check()
        result = await self._list(ctx, params)
        if not isinstance(result, ListToolsResult):
            return result
        return result.model_copy(update={"tools": self._registry.complete(result.tools)})

    async def _handle_call(self, ctx: _Context, params: CallToolRequestParams) -> Any:
        wrong = self._wrong if self._wrong is not None else await self.check()
        if params.name in wrong:
            return misdeclared(params.name, wrong[params.name])
        arrival = Arrival(params.name, params.arguments or {})
        plan = self._registry.early_plan(params.name)
        if plan is not None:
            call, refusal = plan.admit(arrival.sent)
            if refusal is not None:
                return error_result(refusal, call, has_output_schema=plan.has_output_schema)
            arrival.admitted = call
        elif (problem := self._registry.misplaced(params.name)) is not None:
            return misdeclared(params.name, problem)
        elif await self._registry.is_unknown(params.name):
            return unknown_tool(params.name, await self._registry.names(), self._answer_unknown)
        hold_clock_while_client_is_asked(ctx.session)
        token = arrived.set(arrival)
        try:
            result = await self._call(ctx, params)
        finally:
            arrived.reset(token)
        if not isinstance(result, CallToolResult) or not result.is_error:
            return result
        if arrival.passing is not None:
            raise arrival.passing
        return await self._answer_failure(arrival, result)

    async def _answer_failure(self, arrival: Arrival, result: CallToolResult) -> CallToolResult:
        if result.meta is not None and ERROR_KEY in result.meta:
            return result
        said = _text_of(result)
        plan = await self._registry.plan_of(arrival.name)
        has_output_schema = plan is not None and plan.has_output_schema
        if arrival.failure is not None and plan is not None:
            fault, call = arrival.failure
            if call.correlation_id in said:
                return error_result(fault, call, has_output_schema=has_output_schema)
        if plan is None:
            if await self._registry.is_unknown(arrival.name, said):
                return unknown_tool(arrival.name, await self._registry.names(), self._answer_unknown)
            return result
        # The server's library failed before the body ran, in a resolver say, and has put it in its own words.
        call = arrival.admitted or Call(plan.contract, tool=plan.tool, arguments=arrival.sent, values={})
        return error_result(fail(call, _library_fault(said, arrival.name)), call, has_output_schema=has_output_schema)


def hold_clock_while_client_is_asked(session: Any) -> None:
    """Make a request's session stop the clock of a call that asks the client (elicitation, sampling, roots)."""
    if type(session) is ServerSession:
        # Not a wrapper kept on the session: that is a reference cycle, which the collector has to clear for each call.
        session.__class__ = _HeldSession


class _HeldSession(ServerSession):
    """The SDK's own session, made anew for each request, with one method more."""

    async def send_request(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Ask the client, while the clock of the call that asks stands still."""
        call = in_flight.get()
        if call is None or request.method == "ping":
            return await super().send_request(request, *args, **kwargs)
        with waiting_for_client(call):
            return await super().send_request(request, *args, **kwargs)


def require_asyncio() -> None:
    """Refuse to work on another event loop.

    Raises:
        ConfigurationError: On trio.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError(
            "mcp_guard needs asyncio and this server runs on another event loop; run it with backend='asyncio'"
        ) from None


def _library_fault(said: str, name: str) -> Fault:
    for prefix in (f"Error executing tool {name}", f"Error calling tool {name!r}"):
        said = said.removeprefix(prefix).removeprefix(": ")
    return ToolFailed(said) if said else Internal()


def _text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _handler_of(server: Server[Any], method: str) -> _Handler:
    entry = server.get_request_handler(method)
    if entry is None:
        raise ConfigurationError(f"Guard(): this server handles no {method}; give it tools first")
    return entry.handler
