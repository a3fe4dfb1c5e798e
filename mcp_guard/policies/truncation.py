"""Cutting long text, with a marker that says how much is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_guard.contract import Contract


@dataclass(frozen=True, slots=True)
class Cut:
    """How much of a text is shown.

    Attributes:
        shown: Characters shown, the marker not counted.
        total: Characters there are.
    """

    shown: int
    total: int

    def note(self) -> dict[str, Any]:
        """Return the totals for `_meta`."""
        return {"shown": self.shown, "total": self.total, "unit": "characters"}


class Truncation:
    """Cuts the text of a result to `max_chars` characters; the marker is extra.

    Args:
        contract: Whose `max_chars` counts.
    """

    def __init__(self, contract: Contract) -> None:
        self.limit = contract.max_chars

    def cut(self, text: str, limit: int | None = None) -> tuple[str, Cut | None]:
        """Return the text as it is, or cut and marked, with the numbers that the marker states.

        Args:
            text: What the tool returned.
            limit: Characters left for this text when several share the budget; the contract's limit otherwise.
        """
        allowed = self.limit if limit is None else limit
        if allowed is None or len(text) <= allowed:
            return text, None
        end = allowed
        if end and "\ud800" <= text[end - 1] <= "\udbff" and "\udc00" <= text[end] <= "\udfff":
            # Two halves of one character, as a careless decoder leaves them.
            end -= 1
        marker = f"[truncated: {end:,} of {len(text):,} characters shown. Ask for less to see the rest.]"
        return f"{text[:end]}\n{marker}" if end else marker, Cut(end, len(text))

    def describe(self) -> dict[str, Any]:
        """Return the stage and its options."""
        return {"stage": "truncation", "max_chars": self.limit}
