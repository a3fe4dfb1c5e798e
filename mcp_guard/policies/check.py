"""Whether what a body returned is a success: many tools report a failure as an ordinary value."""

from __future__ import annotations

from typing import Any, Literal, cast

import pydantic_core

from mcp_guard.call import Call, Failed, Ok, Outcome
from mcp_guard.contract import Contract
from mcp_guard.faults import ToolFailed
from mcp_guard.ports import Proceed
from mcp_guard.translation import translate

_PLAIN = frozenset({str, int, float, bool, bytes, dict, list, tuple, type(None)})
_LIBRARIES = frozenset({"mcp", "mcp_types", "fastmcp"})
_RESULTS = frozenset({"CallToolResult", "ToolResult"})
_INTERIM = frozenset({"InputRequiredResult", "InputRequiredToolResult", "CreateTaskResult"})
_MAX_TEXT = 1_000


class Check:
    """Turns a returned failure into a fault: an error result of the server's library, or what `fails_when` says.

    Args:
        contract: Whose `fails_when` counts.
    """

    def __init__(self, contract: Contract) -> None:
        self._fails_when = contract.fails_when

    async def __call__(self, call: Call, proceed: Proceed) -> Outcome:
        """Judge the returned value of a body that did not raise."""
        outcome = await proceed(call)
        if not isinstance(outcome, Ok):
            return outcome
        value = outcome.value
        if type(value) not in _PLAIN:
            kind = kind_of_result(value)
            if kind == "interim":
                # The client is asked something, or gets a task: whether it failed is not known yet.
                return outcome
            if kind == "error":
                return Failed(ToolFailed(text_of(value)).told(result=value))
        if self._fails_when is None:
            return outcome
        try:
            failed = bool(self._fails_when(value))
        except Exception as error:
            fault = translate(error, call)
            if fault is None:
                raise
            return Failed(fault)
        return Failed(ToolFailed(text_of(value))) if failed else outcome

    def describe(self) -> dict[str, Any]:
        """Return the stage and its options."""
        return {"stage": "check", "fails_when": self._fails_when}


def kind_of_result(value: object) -> Literal["interim", "error"] | None:
    """Return what a result object of a server library says beside its value; None for an ordinary value.

    `interim` is one that goes to the client as it is (input required, a task), `error` one with its error flag set.
    """
    for cls in type(value).__mro__:
        if cls.__module__.partition(".")[0] not in _LIBRARIES:
            continue
        if cls.__name__ in _INTERIM:
            return "interim"
        if cls.__name__ in _RESULTS:
            # mcp 1 spells it isError; fastmcp warns where that is read of the newer class.
            flag = getattr(value, "is_error" if hasattr(value, "is_error") else "isError", False)
            return "error" if flag else None
    return None


def text_of(value: object) -> str:
    """Return the words of a returned failure: its text blocks, itself if it is text, else its JSON."""
    blocks: Any = getattr(value, "content", None)
    if isinstance(blocks, list):
        texts = [getattr(block, "text", None) for block in cast("list[object]", blocks)]
        value = "\n".join(text for text in texts if isinstance(text, str))
    if not isinstance(value, str):
        value = pydantic_core.to_json(value, fallback=str).decode()
    return value[:_MAX_TEXT].strip() or "the tool reported a failure without a text"
