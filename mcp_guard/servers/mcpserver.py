"""The adapter for `MCPServer` of the official SDK, mcp 2."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.server import MCPServer
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp_types import CallToolResult, InputRequiredResult
from mcp_types import Tool as ListedTool
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from mcp_guard.call import Call
from mcp_guard.faults import ConfigurationError, Fault, InvalidOutput
from mcp_guard.rendering import TRUNCATED_KEY, render_text
from mcp_guard.runtime.current import handed_over
from mcp_guard.runtime.invocation import fail
from mcp_guard.servers.answers import annotated, contradiction, cut_blocks, error_result, noted, wrong_order
from mcp_guard.servers.boundary import Boundary
from mcp_guard.servers.plan import Plan, arrived, contract_of

if TYPE_CHECKING:
    from mcp_guard.guard import Guard


def install(server: MCPServer[Any], guard: Guard) -> MCPServerAdapter:
    """Put a guard on a server.

    Raises:
        ConfigurationError: If the server has one already.
    """
    return MCPServerAdapter(server, guard)


class MCPServerAdapter:
    """A guard on one `MCPServer`: the boundary, and the metadata of each guarded tool."""

    def __init__(self, server: MCPServer[Any], guard: Guard) -> None:
        self._server = server
        self._guard = guard
        # The SDK has no public access to a tool's metadata, nor a hook when one is registered: looking a tool up is
        # the one step that every call shares, by the wire or by name, for tools from before and after the binding.
        self._manager = server._tool_manager  # noqa: SLF001
        if isinstance(getattr(self._manager.get_tool, "__self__", None), MCPServerAdapter):
            raise ConfigurationError(
                f"Guard.bind: the server {server.name!r} is bound already; one guard can serve all its tools"
            )
        self._unusable: dict[str, str] = {}
        self._find = self._manager.get_tool
        self._manager.get_tool = self._get_tool  # type: ignore[method-assign]
        self._boundary = Boundary(server._lowlevel_server, self, guard.unknown_tool)  # noqa: SLF001

    async def check(self) -> list[str]:
        """Return what is wrong with the declared tools."""
        return list((await self._boundary.check()).values())

    async def plan_of(self, name: str) -> Plan | None:
        """Return the plan of a guarded tool."""
        tool = self._get_tool(name)
        if tool is None or not isinstance(tool.fn_metadata, GuardedMetadata):
            return None
        return tool.fn_metadata.plan

    def early_plan(self, name: str) -> Plan | None:
        """Return the plan of a guarded tool, unless the author's own `call_tool` may rewrite its arguments."""
        if self._overridden:
            return None
        tool = self._get_tool(name)
        return tool.fn_metadata.plan if tool is not None and isinstance(tool.fn_metadata, GuardedMetadata) else None

    async def is_unknown(self, name: str, said: str | None = None) -> bool:
        """Return whether neither the tool manager nor an overridden `call_tool` answers to a name."""
        if self._find(name) is not None:
            return False
        return said == f"Unknown tool: {name}" if self._overridden else True

    async def names(self) -> list[str]:
        """Return the names of all tools."""
        return [tool.name for tool in self._manager.list_tools()]

    async def wrong(self) -> dict[str, str]:
        """Return what is wrong with the declared tools."""
        wrong: dict[str, str] = {}
        for tool in self._manager.list_tools():
            if tool.fn in self._guard.functions:
                wrong[tool.name] = wrong_order(tool.name)
            elif (contract := contract_of(tool.fn)) is not None:
                self._prepare(tool)
                problem = self._unusable.get(tool.name) or contradiction(tool.name, tool.annotations, contract)
                if problem is not None:
                    wrong[tool.name] = problem
        return wrong

    def misplaced(self, name: str) -> str | None:
        """Return a sentence about a tool that was registered past its guard, or that cannot be guarded."""
        tool = self._find(name)
        if tool is None:
            return None
        return wrong_order(name) if tool.fn in self._guard.functions else self._unusable.get(name)

    def complete(self, tools: list[ListedTool]) -> list[ListedTool]:
        """Return listed tools with the annotations that their contracts imply."""
        contracts = {tool.name: contract_of(tool.fn) for tool in self._manager.list_tools()}
        return [
            tool
            if (contract := contracts.get(tool.name)) is None
            else tool.model_copy(update={"annotations": annotated(tool.annotations, contract)})
            for tool in tools
        ]

    @property
    def _overridden(self) -> bool:
        return type(self._server).call_tool is not MCPServer.call_tool or "call_tool" in vars(self._server)

    def _get_tool(self, name: str) -> Tool | None:
        tool = self._find(name)
        if tool is not None and not isinstance(tool.fn_metadata, GuardedMetadata):
            self._prepare(tool)
        return tool

    def _prepare(self, tool: Tool) -> None:
        contract = contract_of(tool.fn)
        if contract is None:
            return
        injected = [*tool.resolved_params, tool.context_kwarg]
        try:
            plan = Plan(
                contract,
                tool.fn,
                tool=tool.name,
                hidden=frozenset(name for name in injected if name is not None),
                published=frozenset(tool.parameters.get("properties", {})),
                has_output_schema=tool.fn_metadata.output_schema is not None,
            )
        except ConfigurationError as error:
            # One tool's declaration must not keep the others from answering.
            self._unusable[tool.name] = str(error)
            return
        bare = tool.fn_metadata
        guarded = GuardedMetadata(
            arg_model=bare.arg_model,
            output_schema=bare.output_schema,
            output_model=bare.output_model,
            wrap_output=bare.wrap_output,
        )
        guarded.follow(plan)
        tool.fn_metadata = guarded


class Carried(dict[str, Any]):
    """Validated arguments in the SDK's spelling, on their way from validation to the function with their call.

    Attributes:
        call: The call they belong to.
        over_wire: Whether it answers a request, so that a failure becomes a result; otherwise it is raised.
    """

    call: Call
    over_wire: bool


_leaving: ContextVar[Carried | None] = ContextVar("mcp_guard_leaving", default=None)
"""The call whose value the SDK converts next."""


class GuardedMetadata(FuncMetadata):
    """The metadata of a guarded tool: the same schemas, but the guard's validation and conversion."""

    plan: ClassVar[Plan]
    """The guard's side of this tool."""

    spelling: ClassVar[dict[str, str]]
    """The SDK's name for a validated argument, which is its alias where it has one, by parameter name."""

    def follow(self, plan: Plan) -> None:
        """Validate, call and convert as `plan` says."""
        # Past pydantic: reading one of its private attributes takes 2 us, and each call reads the plan six times.
        vars(self)["plan"] = plan
        vars(self)["spelling"] = {
            name: field.alias
            for name, field in self.arg_model.model_fields.items()
            if field.alias and field.alias != name
        }

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        """Return the call's validated values: those that the boundary checked, else checked here.

        Raises:
            ValidationError: With the guard's text, if the arguments do not fit; the SDK makes a `ToolError` of it.
        """
        arrival = arrived.get()
        over_wire = arrival is not None and not arrival.taken and arrival.name == self.plan.tool
        call, refusal = None, None
        if over_wire and arrival is not None:
            arrival.taken = True
            if arguments_to_validate is arrival.sent or not (arguments_to_validate or arrival.sent):
                call = arrival.admitted
        if call is None:
            call, refusal = self.plan.admit(arguments_to_validate)
        if over_wire and arrival is not None:
            arrival.admitted = call
        if refusal is not None:
            if over_wire and arrival is not None:
                arrival.failure = (refusal, call)
            raise _as_validation_error(refusal, call) from refusal
        carried = Carried(call.values)
        for name, alias in self.spelling.items():
            if name in carried:
                carried[alias] = carried.pop(name)
        carried.call = call
        carried.over_wire = over_wire
        return carried

    async def call_fn(
        self,
        fn: Callable[..., Any | Awaitable[Any]],
        fn_is_async: bool,
        arguments: dict[str, Any],
        arguments_to_pass_directly: dict[str, Any] | None = None,
    ) -> Any:
        """Call the guarded function; a failure becomes an error result on the wire, and a `ToolError` elsewhere."""
        if not isinstance(arguments, Carried):
            return await super().call_fn(fn, fn_is_async, arguments, arguments_to_pass_directly)
        call = arguments.call
        token = handed_over.set(call)
        try:
            value = await fn(**call.values, **(arguments_to_pass_directly or {}))
        except Fault as fault:
            if arguments.over_wire:
                return error_result(fault, call, has_output_schema=self.plan.has_output_schema)
            raise ToolError(render_text(fault, call)) from fault
        finally:
            handed_over.reset(token)
        _leaving.set(arguments)
        return value

    def convert_result(self, result: Any) -> CallToolResult | InputRequiredResult:
        """Convert a value as the SDK does, cut to the tool's limit, with the call's notes beside it."""
        carried = _leaving.get()
        if carried is None:
            return super().convert_result(result)
        _leaving.set(None)
        call = carried.call
        if isinstance(result, InputRequiredResult):
            return result
        truncation = self.plan.truncation
        if isinstance(result, str):
            result, cut = truncation.cut(result)
            if cut is not None:
                call.notes[TRUNCATED_KEY] = cut.note()
            converted = self._converted(result, carried)
        else:
            converted = self._converted(result, carried)
            if (
                isinstance(converted, CallToolResult)
                and converted.structured_content is None
                and not converted.is_error
            ):
                blocks = cut_blocks(converted.content, truncation, call)
                if blocks is not converted.content:
                    converted = converted.model_copy(update={"content": blocks})
        return noted(converted, call) if isinstance(converted, CallToolResult) else converted

    def _converted(self, result: Any, carried: Carried) -> CallToolResult | InputRequiredResult:
        try:
            return super().convert_result(result)
        except Exception as error:
            call = carried.call
            fault = fail(call, InvalidOutput.caused_by(error))
            if carried.over_wire:
                return error_result(fault, call, has_output_schema=self.plan.has_output_schema)
            raise ToolError(render_text(fault, call)) from fault


def _as_validation_error(refusal: Fault, call: Call) -> ValidationError:
    """The one exception of a validation that the SDK passes on with its text."""
    error = PydanticCustomError("mcp_guard", "{text}", {"text": render_text(refusal, call)})
    return ValidationError.from_exception_data(
        call.tool, [InitErrorDetails(type=error, loc=(), input=None)], hide_input=True
    )
