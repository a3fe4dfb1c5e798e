"""How a fault reads: the text for the model, and the envelope for machines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel, SecretBytes, SecretStr

from mcp_guard.call import Call
from mcp_guard.faults import Fault
from mcp_guard.known_errors.places import sent_texts
from mcp_guard.redaction import HIDDEN, is_sensitive_name, redact, shown

ERROR_KEY = "io.github.mcp-guard/error"
"""Where the envelope stands in `_meta`. A `_meta` prefix takes no underscore (specification, basic/index, `_meta`)."""

TRUNCATED_KEY = "io.github.mcp-guard/truncated"
"""Where `_meta` says how much of a result is shown."""

REPAIRED_KEY = "io.github.mcp-guard/repaired"
"""Where `_meta` says which arguments were read in another encoding than they were sent in."""

MAX_TEXT = 2_000
"""The longest error text, in characters."""

_LISTED = 5
_FIXES = 3
_MAX_PARTS = 2_000
_SHORTEST_SECRET = 4
_MAX_LINE = 1_200


def render_text(fault: Fault, call: Call) -> str:
    """Return what the model reads: where it failed, what to change, whether to retry, what is different now."""
    subject = f"{call.tool}.{fault.field}" if fault.field else call.tool
    lines = [f"[{fault.stage}] {subject}: {_cut(worded(fault, call), _MAX_LINE)}"]
    lines.extend(
        f"Also {problem.field}: {problem.message}" if problem.field else f"Also: {problem.message}"
        for problem in fault.problems[1:_LISTED]
    )
    if (unlisted := fault.problem_count - max(1, len(fault.problems[:_LISTED]))) > 0:
        lines.append(f"and {unlisted:,} more")
    fix = " ".join(
        [worded_fix(fault, call) or "", *(problem.fix or "" for problem in fault.problems[1:_FIXES])]
    ).strip()
    tail = [f"Fix: {_cut(fix, _MAX_LINE // 2)}"] if fix else []
    if fault.suggestion and fault.suggestion not in fix:
        tail.append(f"Use {fault.suggestion}")
    tail.append(f"Retry: {_retry(fault)} Effects: {_effects(fault, call)}")
    tail.append(f"Ref: {call.correlation_id}")
    ending = "\n".join(tail)
    return _cut("\n".join(lines), MAX_TEXT - 1 - len(ending)) + "\n" + ending


def envelope(fault: Fault, call: Call) -> dict[str, Any]:
    """Return the machine-readable form of a fault, for `_meta`; only what is known is in it."""
    told = {
        "stage": fault.stage,
        "tool": call.tool,
        "code": fault.code,
        "message": _cut(worded(fault, call), _MAX_LINE),
        "field": fault.field,
        "expected": fault.expected,
        "received": fault.received,
        "problems": [
            {
                name: value
                for name in ("field", "message", "expected", "received", "fix", "suggestion")
                if (value := getattr(problem, name)) is not None
            }
            for problem in fault.problems[:_LISTED]
        ]
        or None,
        "fix": worded_fix(fault, call),
        "suggestion": fault.suggestion,
        "retry": fault.retry,
        "retryable": fault.retry != "never",
        "retryAfter": fault.retry_after,
        "transient": fault.transient,
        "faultSide": fault.fault_side,
        "effects": fault.effects,
        "remaining": list(fault.remaining) or None,
        "correlationId": call.correlation_id,
    }
    return {name: value for name, value in told.items() if value is not None}


def worded(fault: Fault, call: Call) -> str:
    """Return the fault's message, its template filled from the call's arguments as the caller sent them.

    A settled fault (one with a tool) has its final words.
    """
    if fault.tool is not None:
        return str(fault)
    text = for_caller(fault.worded(_shown_arguments(fault.message, call)), call)
    return " ".join(text.split()) or "the tool failed"


def worded_fix(fault: Fault, call: Call) -> str | None:
    """Return what to do instead, or None where nothing can be told."""
    if not fault.fix:
        return None
    if fault.tool is not None:
        return fault.fix
    return for_caller(fault.filled(fault.fix, _shown_arguments(fault.fix, call)), call)


def for_caller(text: str, call: Call) -> str:
    """Return a text as it may be shown: credentials, paths of this host and the call's sensitive values are hidden."""
    for secret in sensitive_texts(call):
        text = text.replace(secret, HIDDEN)
    return redact(text, sent_texts(call))


def sensitive_texts(call: Call) -> list[str]:
    """Return the values of sensitive arguments that are long enough to be told from ordinary words, longest first."""
    found: set[str] = set()
    pending: list[tuple[object, bool]] = [
        (value, name in call.contract.sensitive or is_sensitive_name(name))
        for name, value in (*call.arguments.items(), *call.values.items())
    ]
    for _ in range(_MAX_PARTS):
        if not pending:
            break
        value, is_sensitive = pending.pop()
        if isinstance(value, SecretStr | SecretBytes):
            value, is_sensitive = value.get_secret_value(), True
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if isinstance(value, str):
            if is_sensitive and len(value) >= _SHORTEST_SECRET:
                found.add(value)
        elif isinstance(value, dict | BaseModel):
            members = cast("Mapping[object, object]", value if isinstance(value, dict) else vars(value))
            pending += [(member, is_sensitive or is_sensitive_name(str(name))) for name, member in members.items()]
        elif isinstance(value, list | tuple | set | frozenset):
            pending += [(member, is_sensitive) for member in cast("Iterable[object]", value)]
    return sorted(found, key=len, reverse=True)


def _shown_arguments(template: str, call: Call) -> Mapping[str, str]:
    if "{" not in template:
        return {}
    hidden = call.contract.sensitive
    sent = {**call.values, **call.arguments}
    return {name: "[hidden]" if name in hidden else shown(value) for name, value in sent.items()}


def _retry(fault: Fault) -> str:
    if fault.retry == "after_delay":
        seconds = fault.retry_after
        return "later." if seconds is None else f"after {max(1, math.ceil(seconds))} s."
    if fault.retry == "after_fix" and fault.stage == "validate":
        return "after fixing the argument." if fault.problem_count <= 1 else "after fixing the arguments."
    return {
        "never": "do not repeat this call.",
        "after_fix": "after changing the call.",
        "now": "the same call may be repeated.",
        "check_first": "only after checking whether it took effect.",
    }[fault.retry]


def _effects(fault: Fault, call: Call) -> str:
    if fault.effects == "none":
        if not call.ran:
            return "none, the tool did not run."
        return "none, the tool only reads." if call.only_reads else "none, nothing has changed."
    return {
        "rolled_back": "rolled back, the world is as before the call.",
        "may_remain": "may remain, the tool had started to write.",
        "unknown": "unknown, the tool may still be writing.",
        "applied": "applied, the tool did its work.",
    }[fault.effects or "unknown"]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"
