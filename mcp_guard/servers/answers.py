"""What goes over the wire of an mcp 2 server: error results, notes beside good results, completed tool lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, ContentBlock, TextContent, ToolAnnotations

from mcp_guard.call import Call
from mcp_guard.contract import Contract
from mcp_guard.faults import ConfigurationError, Fault, Internal, UnknownTool
from mcp_guard.policies.truncation import Truncation
from mcp_guard.rendering import ERROR_KEY, TRUNCATED_KEY, envelope, render_text
from mcp_guard.runtime.invocation import fail
from mcp_guard.suggestions import nearest

_MAX_NAMES = 20


def error_result(fault: Fault, call: Call, *, has_output_schema: bool) -> CallToolResult:
    """Return the error result for a settled fault.

    `structuredContent` is set only for a tool without an output schema: a TypeScript v1 client checks it against the
    schema even on errors, and throws the text away.
    """
    told = envelope(fault, call)
    if isinstance(fault.result, CallToolResult):
        # The author's own words stay as they are.
        return fault.result.model_copy(update={"meta": {**(fault.result.meta or {}), ERROR_KEY: told}})
    return CallToolResult(
        content=[TextContent(type="text", text=render_text(fault, call))],
        structured_content=None if has_output_schema else told,
        is_error=True,
        _meta={ERROR_KEY: told},
    )


def unknown_tool(name: str, known: Iterable[str], answer: Literal["protocol", "result"]) -> CallToolResult:
    """Return the answer to a call of a tool that does not exist.

    Raises:
        MCPError: With -32602 and the envelope as data, for `answer="protocol"` (specification, server/tools).
    """
    names = sorted(known)
    close = nearest(name, names)
    listed = ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")
    fault = UnknownTool("no tool of this name" + (f", did you mean {close!r}?" if close else ""))
    call = Call(_NO_CONTRACT, tool=name[:100], arguments={}, values={})
    settled = fail(
        call, fault.told(suggestion=close, fix=f"call one of {listed}." if names else "this server has no tools.")
    )
    if answer == "result":
        return error_result(settled, call, has_output_schema=False)
    raise MCPError(code=INVALID_PARAMS, message=render_text(settled, call), data=envelope(settled, call))


def cut_blocks(blocks: list[ContentBlock], truncation: Truncation, call: Call) -> list[ContentBlock]:
    """Return content blocks whose texts share the limit in order; what is cut says so, in text and in `call.notes`."""
    if truncation.limit is None:
        return blocks
    total = sum(len(block.text) for block in blocks if isinstance(block, TextContent))
    left = truncation.limit
    if total <= left:
        return blocks
    kept: list[ContentBlock] = []
    shown = 0
    for block in blocks:
        if isinstance(block, TextContent):
            text, cut = truncation.cut(block.text, left)
            shown += len(block.text) if cut is None else cut.shown
            left = max(0, left - len(block.text))
            kept.append(block if text is block.text else block.model_copy(update={"text": text}))
        else:
            kept.append(block)
    call.notes[TRUNCATED_KEY] = {"shown": shown, "total": total, "unit": "characters"}
    return kept


def noted(result: CallToolResult, call: Call) -> CallToolResult:
    """Return a good result with the call's notes in its `_meta`."""
    if not call.notes:
        return result
    return result.model_copy(update={"meta": {**(result.meta or {}), **call.notes}})


def annotated(given: ToolAnnotations | None, contract: Contract) -> ToolAnnotations:
    """Return an author's annotations, completed by what the contract says; what the author gave stays."""
    given = given or ToolAnnotations()
    if given.read_only_hint is not None:
        return given
    return given.model_copy(update={"read_only_hint": contract.effect == "reads"})


def contradiction(name: str, given: ToolAnnotations | None, contract: Contract) -> str | None:
    """Return what is wrong with an author's annotations, or None."""
    if given is None:
        return None
    reads = contract.effect == "reads"
    if given.read_only_hint is not None and given.read_only_hint is not reads:
        return (
            f"{name}: annotations= say read_only_hint={given.read_only_hint}, but the tool is declared with "
            f"guard.{contract.effect}; drop the hint, or declare guard.{'writes' if reads else 'reads'}"
        )
    if reads and given.destructive_hint:
        return f"{name}: annotations= say destructive_hint=True of a tool declared with guard.reads; use guard.writes"
    return None


def wrong_order(name: str) -> str:
    """Return what is wrong with a tool whose function is registered without its guard."""
    return (
        f"{name}: the guard's decorator stands above @mcp.tool(), so the server calls the function without its guard; "
        f"write @mcp.tool() first, the guard's decorator below it"
    )


def misdeclared(name: str, problem: str) -> CallToolResult:
    """Return the answer to a call of a tool that its author declared wrongly; the log has the sentence."""
    call = Call(Contract(fn=_nothing, name=name, effect="reads"), tool=name, arguments={}, values={})
    fault = Internal.caused_by(ConfigurationError(problem))
    fix = "Report to whoever runs this server: it declares this tool wrongly."
    return error_result(fail(call, fault.told(stage="service", fix=fix)), call, has_output_schema=True)


def _nothing() -> Any:
    """Stand in for a body that does not run."""


_NO_CONTRACT = Contract(fn=_nothing, name="", effect="reads")
