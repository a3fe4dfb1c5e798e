"""What an entry of the table of known exceptions is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_guard.call import Call
from mcp_guard.faults import Fault

Rule = Callable[[Any, Call], Fault | None]
"""Makes a fault of an exception; None where this exception is none of those that the rule knows."""

Table = Mapping[str, Rule]
"""Rules by the qualified name of the exception's class; no library is imported to compare."""


def says(fault: type[Fault], text: str, *, fix: str | None = None, **details: Any) -> Rule:
    """Return a rule that always says the same.

    Args:
        fault: The class of the fault.
        text: Its message.
        fix: What to do instead; None leaves nothing to say, whatever the class says.
        **details: Other attributes of the fault, as for `Fault.told`.
    """

    def rule(_error: Any, _call: Call) -> Fault:
        return worded(fault, text, fix=fix, **details)

    return rule


def worded(fault: type[Fault], text: str, *, fix: str | None = None, **details: Any) -> Fault:
    """Return a new fault of a built-in class with its message, fix and other attributes."""
    made = fault(text)
    made.fix = fix
    made.__dict__.update(details)
    return made
