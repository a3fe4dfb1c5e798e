"""Exceptions become faults here, and nowhere else.

What nobody declared becomes `Internal`, and nothing of its text is told.
"""

from __future__ import annotations

import asyncio
import re
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from typing_extensions import TypeIs

from mcp_guard.faults import Fault, GuardError, Internal, InvalidOutput, ToolFailed
from mcp_guard.known_errors import known_fault, qualified_names
from mcp_guard.known_errors.places import as_sent, place_of_path, sent_texts
from mcp_guard.redaction import redact, redacted_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_guard.call import Call

# URL elicitation required, and missing client capability: the client acts on these codes.
_UNTOUCHED: Final = frozenset({-32042, -32021})
_MCP_ERRORS: Final = frozenset({"mcp.shared.exceptions.MCPError", "mcp.shared.exceptions.McpError"})
_SPOKEN: Final = frozenset(
    f"{module}.{name}"
    for module in ("mcp.server.mcpserver.exceptions", "mcp.server.fastmcp.exceptions", "fastmcp.exceptions")
    for name in ("ToolError", "ResourceError")
)
# The libraries put the text of any exception behind these words; what caused it is told by its own rules.
_WRAPPED: Final = r"Error (?:calling|executing|reading) (?:tool|resource) "
_BARE_REPR: Final = r"""(?s)'[^']*'|"[^"]*"|[A-Za-z_][\w.]*\(.*\)"""
_SERIOUSNESS: Final = ("now", "after_delay", "after_fix", "check_first", "never")
_LISTED: Final = 5
_MAX_LEAVES: Final = 1_000
_MAX_CAUSES: Final = 20


def translate(error: BaseException, call: Call) -> Fault | None:
    """Return the fault that an exception of a body or a hook means; `error` is its `__cause__`.

    The order: what the tool declares with `raises=`, a raised `Fault`, the server library's `ToolError`, the table
    of known exceptions (each by the nearest base class), else `Internal`.

    Args:
        error: What was raised; a real cancellation is none of these.
        call: The call that it ended.

    Returns:
        A new fault, or None for an exception that must reach the client untouched: URL elicitation required, and
        missing client capability.
    """
    if _passes_untouched(error):
        return None
    try:
        fault = _fault_for(error, call)
    except Exception as second:  # noqa: BLE001 - the attributes of an exception are somebody else's code
        error.add_note(f"mcp_guard could not read this exception: {type(second).__name__}")
        fault = Internal()
    fault.__cause__ = error
    return fault


def is_declared(fault: Fault) -> bool:
    """Return whether somebody foresaw this fault; what nobody foresaw is logged as an error, with its traceback."""
    return not isinstance(fault, Internal | InvalidOutput)


def _passes_untouched(error: BaseException) -> bool:
    if _is_group(error):
        leaves = list(islice(_leaves(error), 2))
        return len(leaves) == 1 and _passes_untouched(leaves[0])
    if _MCP_ERRORS.isdisjoint(qualified_names(error)):
        return False
    return getattr(getattr(error, "error", None), "code", None) in _UNTOUCHED


def _fault_for(error: BaseException, call: Call) -> Fault:
    if (declared := _declared(error, call)) is not None:
        return declared
    if isinstance(error, Fault):
        return _kept(error, call)
    if _is_group(error):
        return _merged(error, call)
    if not _SPOKEN.isdisjoint(qualified_names(error)):
        return _spoken(error, call)
    return known_fault(error, call) or Internal()


def _declared(error: BaseException, call: Call) -> Fault | None:
    raises = call.contract.raises
    for cls in type(error).__mro__:
        if cls is GuardError:
            # `raises={Exception: ...}` is for what went wrong, not for what the author says in so many words.
            return None
        if cls in raises:
            place = place_of_path(call, error.filename, error.filename2) if isinstance(error, OSError) else None
            return raises[cls]().told(field=place.field if place else None)
    return None


def _kept(fault: Fault, call: Call) -> Fault:
    """Return a copy of a raised fault, redacted, with paths as the caller sent them."""
    kept = fault.told()
    kept.values = {
        name: _for_caller(str(value), call) if isinstance(value, str | PurePath) else value
        for name, value in fault.values.items()
    }
    if fault.text is not None:
        kept.text = _for_caller(fault.text, call) if fault.text.strip() else None
    return kept


def _for_caller(text: str, call: Call) -> str:
    return redact(as_sent(text, call), sent_texts(call))


def _spoken(error: BaseException, call: Call) -> Fault:
    """Return the fault for a library's `ToolError`: its text is meant for the model, or it wraps something else."""
    if (inner := _guarded_cause(error)) is not None:
        return _kept(inner, call)
    text, cause = str(error), error.__cause__
    if re.match(_WRAPPED, text) or type(error).__name__.startswith("Unexpected"):
        return _fault_for(cause, call) if isinstance(cause, Exception) else Internal()
    return ToolFailed(_sentence(_for_caller(text, call)))


def _guarded_cause(error: BaseException) -> Fault | None:
    """Return the fault that another guarded tool ended with, where the library passed it on in its own words."""
    cause = error.__cause__
    for _ in range(_MAX_CAUSES):
        if cause is None or isinstance(cause, Fault):
            return cause
        cause = cause.__cause__
    return None


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return "the tool failed and does not say why"
    return f"the tool failed and says only {text}" if re.fullmatch(_BARE_REPR, text) else text


def _merged(group: BaseExceptionGroup[BaseException], call: Call) -> Fault:
    """Return one fault for what several tasks raised: the most serious one, in the words of all."""
    leaves = list(islice(_leaves(group), _MAX_LEAVES))
    if not leaves:
        return _fault_for(asyncio.CancelledError(), call)
    faults = [_fault_for(leaf, call) for leaf in leaves]
    if len(faults) == 1:
        return faults[0]
    merged = max(faults, key=_seriousness).told()
    merged.__dict__.update(
        text=_told_together(faults, call),
        stage="exec",
        field=None,
        expected=None,
        received=None,
        suggestion=None,
        problems=(),
        problem_count=0,
        retry_after=max((fault.retry_after for fault in faults if fault.retry_after is not None), default=None),
        transient=all(fault.transient for fault in faults),
        effects=None,
        tool=None,
    )
    return merged


def _seriousness(fault: Fault) -> tuple[bool, int]:
    return not is_declared(fault), _SERIOUSNESS.index(fault.retry)


def _told_together(faults: Sequence[Fault], call: Call) -> str:
    shown = redacted_arguments({**call.values, **call.arguments}, call.contract.sensitive)
    texts = [fault.worded(shown) for fault in faults[:_LISTED]]
    more = f"; and {len(faults) - _LISTED:,} more" if len(faults) > _LISTED else ""
    return f"{len(faults):,} things failed: {'; '.join(dict.fromkeys(texts))}{more}"


def _is_group(error: BaseException) -> TypeIs[BaseExceptionGroup[BaseException]]:
    return isinstance(error, BaseExceptionGroup)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """Yield what a group holds, at any depth, in order and without the cancellations that come with a failure."""
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop()
        if _is_group(error):
            pending.extend(reversed(error.exceptions))
        elif not isinstance(error, asyncio.CancelledError):
            yield error
