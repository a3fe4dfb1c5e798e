"""The adapter for `FastMCP` of fastmcp 4, whose protocol side is the same low-level server as the SDK's."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar

from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
from fastmcp.server.server import FastMCP
from fastmcp.server.transforms import GetToolNext, Transform
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from fastmcp.tools.function_tool import FunctionTool
from fastmcp.tools.tool_transform import TransformedTool
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Tool as ListedTool
from uncalled_for import get_dependency_parameters

from mcp_guard.call import Call
from mcp_guard.contract import Contract
from mcp_guard.faults import ConfigurationError, Fault, InvalidArguments, InvalidOutput
from mcp_guard.rendering import ERROR_KEY, TRUNCATED_KEY, render_text
from mcp_guard.runtime.current import handed_over
from mcp_guard.runtime.invocation import fail
from mcp_guard.servers.answers import annotated, contradiction, cut_blocks, error_result, misdeclared, wrong_order
from mcp_guard.servers.boundary import Boundary
from mcp_guard.servers.plan import Arrival, Plan, arrived, contract_of
from mcp_guard.translation import translate

if TYPE_CHECKING:
    from mcp_guard.guard import Guard

_KEPT_TOOLS = 1_000


def install(server: FastMCP[Any], guard: Guard) -> FastMCPAdapter:
    """Put a guard on a server.

    Raises:
        ConfigurationError: If the server has one already.
    """
    return FastMCPAdapter(server, guard)


class FastMCPAdapter:
    """A guard on one `FastMCP`: the boundary, and a transform that hands out guarded tools."""

    def __init__(self, server: FastMCP[Any], guard: Guard) -> None:
        if any(isinstance(transform, GuardedTools) for transform in server.transforms):
            raise ConfigurationError(
                f"Guard.bind: the server {server.name!r} is bound already; one guard can serve all its tools"
            )
        self._server = server
        self._guard = guard
        server.add_transform(GuardedTools(guard))
        self._boundary = Boundary(server._mcp_server, self, guard.unknown_tool)  # noqa: SLF001 - it has no public name

    async def check(self) -> list[str]:
        """Return what is wrong with the declared tools."""
        return list((await self._boundary.check()).values())

    def early_plan(self, name: str) -> Plan | None:  # noqa: ARG002 - the port gives it
        """Return None: the author's middleware may still rewrite or refuse the call, and comes first."""
        return None

    async def plan_of(self, name: str) -> Plan | None:
        """Return the plan of a guarded tool."""
        tool = await self._server.get_tool(name)
        while isinstance(tool, TransformedTool | FastMCPProviderTool):
            tool = await _beneath(tool)
        return tool.plan if isinstance(tool, GuardedFunctionTool) else None

    async def is_unknown(self, name: str, said: str | None = None) -> bool:
        """Return whether fastmcp found no tool; only fastmcp can tell, after middleware and transforms."""
        return said == f"Unknown tool: {name!r}" and await self._server.get_tool(name) is None

    async def names(self) -> list[str]:
        """Return the names of all tools."""
        return [tool.name for tool in await self._server.list_tools(run_middleware=False)]

    async def wrong(self) -> dict[str, str]:
        """Return what is wrong with the declared tools."""
        wrong: dict[str, str] = {}
        for tool in await self._server.list_tools(run_middleware=False):
            if isinstance(tool, GuardedFunctionTool):
                problem = contradiction(tool.name, tool.annotations, tool.plan.contract)
                if problem is not None:
                    wrong[tool.name] = problem
            elif isinstance(tool, MisplacedTool):
                wrong[tool.name] = tool.problem
        return wrong

    def misplaced(self, name: str) -> str | None:  # noqa: ARG002 - the port gives it
        """Return None: the transform hands out a `MisplacedTool` instead."""
        return None

    def complete(self, tools: list[ListedTool]) -> list[ListedTool]:
        """Return the tools as they are: the transform has completed them."""
        return tools


class GuardedTools(Transform):
    """Hands out the guarded form of each tool whose function is guarded."""

    def __init__(self, guard: Guard) -> None:
        self._functions = guard.functions
        self._guarded: dict[int, tuple[FunctionTool, FunctionTool]] = {}

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return the listed tools, guarded where their function is."""
        return [self._guard(tool) for tool in tools]

    async def get_tool(self, name: str, call_next: GetToolNext, *, version: VersionSpec | None = None) -> Tool | None:
        """Return a tool by name, guarded if its function is."""
        tool = await call_next(name, version=version)
        return None if tool is None else self._guard(tool)

    def _guard(self, tool: Tool) -> Tool:
        if not isinstance(tool, FunctionTool) or isinstance(tool, GuardedFunctionTool):
            return tool
        known = self._guarded.get(id(tool))
        if known is not None and known[0] is tool:
            return known[1]
        contract = contract_of(tool.fn)
        if contract is not None:
            try:
                guarded: FunctionTool = GuardedFunctionTool.guarding(tool, contract)
            except ConfigurationError as error:
                # One tool's declaration must not keep the others from answering.
                guarded = MisplacedTool.saying(str(error), tool)
        elif tool.fn in self._functions:
            guarded = MisplacedTool.saying(wrong_order(tool.name), tool)
        else:
            return tool
        if len(self._guarded) >= _KEPT_TOOLS:
            self._guarded.clear()
        self._guarded[id(tool)] = (tool, guarded)
        return guarded


class MisplacedTool(FunctionTool):
    """A tool that its author declared wrongly; it does not run."""

    problem: ClassVar[str]
    """What is wrong, and what to write instead."""

    @classmethod
    def saying(cls, problem: str, tool: FunctionTool) -> MisplacedTool:
        """Return the form of a tool that refuses to run, for the reason given."""
        misplaced = cls.model_construct(tool.model_fields_set, **_fields_of(tool))
        vars(misplaced)["problem"] = problem
        return misplaced

    async def run(self, arguments: dict[str, Any]) -> ToolResult:  # noqa: ARG002 - fastmcp gives it
        """Refuse the call."""
        return ToolResult.from_mcp_result(misdeclared(self.name, self.problem))


class GuardedFunctionTool(FunctionTool):
    """A function tool whose arguments are checked before fastmcp validates them, and whose failures are told."""

    plan: ClassVar[Plan]
    """The guard's side of this tool."""

    @classmethod
    def guarding(cls, tool: FunctionTool, contract: Contract) -> GuardedFunctionTool:
        """Return the guarded form of a tool."""
        fields = _fields_of(tool)
        fields["annotations"] = annotated(tool.annotations, contract)
        guarded = cls.model_construct(tool.model_fields_set, **fields)
        bound_to = getattr(tool.fn, "__self__", None)
        vars(guarded)["plan"] = Plan(
            contract,
            contract.fn if bound_to is None else MethodType(contract.fn, bound_to),
            tool=tool.name,
            hidden=frozenset(get_dependency_parameters(tool.fn)),
            published=frozenset(tool.parameters.get("properties", {})),
            has_output_schema=tool.output_schema is not None,
        )
        return guarded

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Check the arguments, run the tool as fastmcp does, and answer for what happens.

        Raises:
            ToolError: With the guard's text, if the call failed and did not come over the wire.
        """
        arrival = arrived.get()
        over_wire = arrival is not None and not arrival.taken and arrival.name == self.name
        if over_wire and arrival is not None:
            arrival.taken = True
        call, fault = self.plan.admit(arguments)
        if over_wire and arrival is not None:
            arrival.admitted = call
        if fault is None:
            handed = handed_over.set(call)
            leaving = _leaving.set(call)
            try:
                return self._noted(await super().run(dict(call.arguments)), call)
            except Fault as settled:
                fault = settled
            except Exception as error:
                told = self._library_failure(error, call)
                if told is None:
                    if over_wire and arrival is not None:
                        arrival.passing = error
                    raise
                fault = told
            finally:
                _leaving.reset(leaving)
                handed_over.reset(handed)
        return self._failure(fault, call, arrival, over_wire=over_wire)

    def convert_result(self, raw_value: Any) -> ToolResult:
        """Convert a value as fastmcp does, cut to the tool's limit."""
        call = _leaving.get()
        if call is None:
            return super().convert_result(raw_value)
        truncation = self.plan.truncation
        if isinstance(raw_value, str):
            raw_value, cut = truncation.cut(raw_value)
            if cut is not None:
                call.notes[TRUNCATED_KEY] = cut.note()
        try:
            result = super().convert_result(raw_value)
        except Exception as error:
            raise fail(call, InvalidOutput.caused_by(error)) from error
        if result.structured_content is None and not isinstance(raw_value, str):
            blocks = cut_blocks(result.content, truncation, call)
            if blocks is not result.content:
                result = result.model_copy(update={"content": blocks})
        return result

    def _noted(self, result: ToolResult, call: Call) -> ToolResult:
        if not call.notes or isinstance(result, InputRequiredToolResult):
            return result
        return result.model_copy(update={"meta": {**(result.meta or {}), **call.notes}})

    def _library_failure(self, error: Exception, call: Call) -> Fault | None:
        """The fault for what fastmcp raised around the body, in its own validation say; None if it must pass."""
        if isinstance(error, ValidationError):
            fault: Fault | None = InvalidArguments("the server's own check of the arguments refused them")
        else:
            fault = translate(error, call)
        if fault is None:
            return None
        fault.__cause__ = error
        return fail(call, fault)

    def _failure(self, fault: Fault, call: Call, arrival: Arrival | None, *, over_wire: bool) -> ToolResult:
        if not over_wire:
            if arrival is not None and call.parent is None:
                arrival.failure = (fault, call)
            raise ToolError(render_text(fault, call)) from fault
        has_output_schema = self.plan.has_output_schema
        if isinstance(fault.result, ToolResult):
            told = error_result(fault, call, has_output_schema=has_output_schema).meta or {}
            return fault.result.model_copy(update={"meta": {**(fault.result.meta or {}), ERROR_KEY: told[ERROR_KEY]}})
        return ToolResult.from_mcp_result(error_result(fault, call, has_output_schema=has_output_schema))


async def _beneath(tool: TransformedTool | FastMCPProviderTool) -> Tool | None:
    """Return the tool that another one stands for: one with other arguments, or one of a mounted server."""
    if isinstance(tool, TransformedTool):
        return tool.parent_tool
    mounted: Tool | None = await tool._server.get_tool(tool._original_name)  # noqa: SLF001 - it has no public name
    return mounted


def _fields_of(tool: FunctionTool) -> dict[str, Any]:
    return {name: getattr(tool, name) for name in type(tool).model_fields}


_leaving: ContextVar[Call | None] = ContextVar("mcp_guard_fastmcp_leaving", default=None)
"""The call whose value fastmcp converts next."""
