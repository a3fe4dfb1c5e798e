"""What can be seen of a call from outside: the text that came back, the seconds, the files. No flag is among it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TAG = re.compile(r"\[(transport|service|validate|exec|rollback)\] ")
_MARKER = re.compile(r"\[truncated: [\d,]+ of [\d,]+ ")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the caller of a tool gets to see; whether a protocol calls it an error is left out on purpose.

    Attributes:
        text: The answer, or what blew up in the caller's own code.
        answered: Whether an answer came at all.
        elapsed: Seconds it took.
    """

    text: str
    answered: bool
    elapsed: float


@dataclass(frozen=True, slots=True)
class Observation:
    """One call as it was seen from outside.

    Attributes:
        reply: What came back.
        ran: Whether the tool's body was started, by the mark that it leaves.
        before: The text of every note before the call.
        after: The same after it.
        budget: The time budget of guarded tools, in seconds.
    """

    reply: Reply
    ran: bool
    before: Mapping[str, str]
    after: Mapping[str, str]
    budget: float


def stage_in(text: str) -> str | None:
    """Return the stage that an answer names as the one that failed; `exec(marker)` for a marked cut, None for none."""
    if (tag := _TAG.match(text)) is not None:
        return tag[1]
    return "exec(marker)" if _MARKER.search(text) else None


def names(text: str, word: str) -> bool:
    """Return whether a text has a word in it, as a word of its own; `20,000` may be written `20000`."""
    spelled = re.escape(word).replace(",", ",?")
    return re.search(rf"(?<!\w){spelled}(?!\w)", text) is not None


def change(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return in a few words what is different in the world: `unchanged`, or `todo.md: 1 line more`."""
    told = [
        f"{name}: {_difference(before.get(name), after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    return ", ".join(told) or "unchanged"


def _difference(before: str | None, after: str | None) -> str:
    if before is None:
        return "new"
    if after is None:
        return "gone"
    more = len(after.splitlines()) - len(before.splitlines())
    if more > 0 and after.startswith(before):
        return f"{more} line{'s' if more > 1 else ''} more"
    return "rewritten"
