"""Errors that come over an MCP connection: from the client of this server, or from a server that a tool asks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp_guard.faults import DependencyFailed, DependencyTimedOut, DependencyUnavailable, Fault, ToolFailed
from mcp_guard.known_errors.places import sent_texts
from mcp_guard.known_errors.rules import Table, worded
from mcp_guard.redaction import redact

if TYPE_CHECKING:
    from mcp_guard.call import Call

_LIBRARIES: Final = frozenset({"mcp", "fastmcp", "mcp_types"})
_CONNECTION_CLOSED: Final = -32000
_REQUEST_TIMEOUT: Final = -32001
_ANSWERED = "a request to an MCP client or server, made by the tool, was answered with error"
_UNSUPPORTED: Final = r"(?i)(sampling|elicitation|roots) (?:is )?not supported"


def _from_peer(error: Any, call: Call) -> Fault:
    code, text = error.error.code, str(error.error.message)
    if not _raised_by_library(error):
        # The author's own `raise MCPError(...)` is a message to the caller.
        return ToolFailed(redact(text, sent_texts(call)))
    if code == _CONNECTION_CLOSED:
        return worded(DependencyUnavailable, "the MCP connection that the tool uses is closed")
    if code == _REQUEST_TIMEOUT:
        return worded(DependencyTimedOut, "an MCP client or server that the tool asked did not answer in time")
    if (feature := re.search(_UNSUPPORTED, text)) is not None:
        return worded(
            DependencyFailed, f"the client does not support {feature[1].lower()}, which the tool needs ({code})"
        )
    return worded(DependencyFailed, f"{_ANSWERED} {code}")


def _raised_by_library(error: BaseException) -> bool:
    """Return whether the innermost frame is the library's: what a peer answers is raised there."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return False
    return str(step.tb_frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES


TABLE: Table = {
    "mcp.shared.exceptions.MCPError": _from_peer,
    "mcp.shared.exceptions.McpError": _from_peer,
}
