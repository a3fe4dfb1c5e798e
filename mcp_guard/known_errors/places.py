"""Which argument a failure is about, and what the caller called it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import cast

from mcp_guard.call import Call
from mcp_guard.redaction import is_sensitive_name, quoted

_MAX_TEXTS = 200
_MAX_DEPTH = 8
_MAX_PATH = 4_096


@dataclass(frozen=True, slots=True)
class Place:
    """One argument.

    Attributes:
        field: Where it is, in the caller's spelling (`target.path`, `paths[2]`).
        sent: What the caller sent there, for display; None where nothing was sent or it must not be shown.
    """

    field: str
    sent: str | None


def place_of_path(call: Call, *names: object) -> Place | None:
    """Return the argument that one of the file names belongs to; None if none does, or several might.

    An argument belongs to a file that it is or resolves to, else to one that its validated value is, else to one
    whose last parts, or whose name without the suffix, it is alone in being (`plan` for `/srv/notes/plan.md`).
    """
    for name in names:
        path = os.fsdecode(name) if isinstance(name, str | bytes | PurePath) else ""
        if path and (place := _place_of(call, path)) is not None:
            return place
    return None


def _place_of(call: Call, path: str) -> Place | None:
    texts = list(islice(_texts(call.arguments, ""), _MAX_TEXTS))
    wanted = {path, _real(path) or path}
    for field, text in texts:
        if text in wanted or _real(text) in wanted:
            return _place(call, field, text)
    for name, value in call.values.items():
        if isinstance(value, str | PurePath) and str(value) in wanted:
            sent = call.arguments.get(name)
            return _place(call, name, sent if isinstance(sent, str) else None)
    ending = [(field, text) for field, text in texts if _ends_with(PurePath(path), text)]
    return _place(call, *ending[0]) if len(ending) == 1 else None


def place_of_word(call: Call, word: str) -> Place | None:
    """Return the argument whose text says `word`, so that repeating the word tells its sender nothing new."""
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    for field, text in islice(_texts(call.arguments, ""), _MAX_TEXTS):
        if whole.search(text) and not _is_hidden(call, field):
            return Place(field, quoted(word))
    return None


def sent_texts(call: Call) -> frozenset[str]:
    """Return every text that the caller sent, at any depth."""
    return frozenset(text for _, text in islice(_texts(call.arguments, ""), _MAX_TEXTS))


def as_sent(text: str, call: Call) -> str:
    """Return `text` with the real path of each path argument replaced by what the caller sent for it."""
    for name, value in call.values.items():
        sent = call.arguments.get(name)
        real = str(value) if isinstance(value, str | PurePath) else ""
        if isinstance(sent, str) and sent != real and len(real) > 1 and os.path.isabs(real) and real in text:
            text = re.sub(rf"{re.escape(real)}(?![\w-]|\.\w)", sent.replace("\\", r"\\"), text)
    return text


def _texts(value: object, field: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        yield field, str(value)
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        named = cast("Mapping[str, object]", value)
        for name, item in named.items():
            yield from _texts(item, f"{field}.{name}" if field else str(name), depth + 1)
    elif isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        for index, item in enumerate(cast("Sequence[object]", value)):
            yield from _texts(item, f"{field}[{index}]", depth + 1)


def _place(call: Call, field: str, sent: str | None) -> Place:
    return Place(field, None if sent is None or _is_hidden(call, field) else quoted(sent))


def _is_hidden(call: Call, field: str) -> bool:
    steps = re.findall(r"[^.\[\]]+", field)
    return not call.contract.sensitive.isdisjoint(steps[:1]) or any(map(is_sensitive_name, steps))


def _ends_with(path: PurePath, text: str) -> bool:
    if not text or len(text) > _MAX_PATH:
        return False
    parts = PurePath(text).parts
    return path.stem == text or (bool(parts) and path.parts[-len(parts) :] == parts)


def _real(path: str) -> str | None:
    if len(path) > _MAX_PATH:
        return None
    try:
        return os.path.realpath(path)
    except ValueError:
        # A NUL byte, or characters that no file name can hold.
        return None
