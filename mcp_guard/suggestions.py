"""What a caller probably meant: the nearest name, the same value in the right spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, time

from pydantic_core import from_json

_MAX_NAME = 100
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_DATE = r"(?P<year>\d{4})(?P<mark>[-/.]?)(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>\.\d{1,6})?)?"
_ZONE = r"[ ]?(?P<zone>Z|z|[+-]\d{2}:?\d{2})?"
_DATE_TIME = re.compile(rf"[ ]*{_DATE}(?:(?:[ ]*[Tt ])[ ]*{_TIME}{_ZONE})?[ ]*", re.ASCII)
_TIME_ALONE = re.compile(rf"[ ]*{_TIME}{_ZONE}[ ]*", re.ASCII)
_LONGEST = 64


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that `name` is most likely meant to be, or None.

    The rule is that of the Rust compiler: the same name ignoring case, else the least edit distance of at most a
    third of the name's length (and at least 1), else the same words in another order. Of several that are equally
    near the one with the same beginning is meant; where that does not decide, none.

    Args:
        name: What was written; a name over 100 characters is like no other.
        candidates: What could have been written.
    """
    if len(name) > _MAX_NAME:
        return None
    names = [candidate for candidate in candidates if len(candidate) <= _MAX_NAME]
    folded = name.casefold()
    for candidate in names:
        if candidate.casefold() == folded:
            return candidate
    limit = max(len(name), 3) // 3
    near: list[tuple[int, int, str]] = []
    for candidate in names:
        distance = _edit_distance(folded, candidate.casefold(), limit)
        if distance <= limit and distance < len(candidate):
            near.append((distance, -_common_start(folded, candidate.casefold()), candidate))
    if near:
        best, *others = sorted(near)
        return None if others and others[0][:2] == best[:2] else best[2]
    words = _words(name)
    return next((candidate for candidate in names if words and _words(candidate) == words), None)


def _common_start(a: str, b: str) -> int:
    return next((at for at, (char, other) in enumerate(zip(a, b, strict=False)) if char != other), min(len(a), len(b)))


def _words(name: str) -> list[str]:
    return sorted(word.casefold() for word in _WORD.findall(name))


def _edit_distance(a: str, b: str, limit: int) -> int:
    """Return how many insertions, deletions, replacements and swaps of neighbours turn `a` into `b`.

    The optimal string alignment form; anything over `limit` comes back as `limit + 1`.
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, char in enumerate(a, 1):
        older, before, row = before, row, [i, *[0] * len(b)]
        for j, other in enumerate(b, 1):
            row[j] = min(row[j - 1] + 1, before[j] + 1, before[j - 1] + (char != other))
            if i > 1 and j > 1 and char == b[j - 2] and a[i - 2] == other:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def decoded(text: str) -> object:
    """Return the value whose JSON spelling `text` is, a whole float as an int.

    Raises:
        ValueError: If it is the spelling of no value, or of a string.
    """
    value = from_json(text, allow_inf_nan=False)
    if isinstance(value, str):
        raise ValueError("a string within a string")  # noqa: TRY004  # one error for all that has no such value
    return whole(value)


def whole(value: object) -> object:
    """Return a float without a fraction as an int (JSON Schema: 3.0 is an integer), anything else as it is."""
    # Beyond 64 bits a float says nothing exact about its last digits, and the SDK refuses it too.
    if type(value) is float and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def respellings(value: object, kinds: Iterable[str], choices: Iterable[object]) -> Iterator[object]:
    """Yield what `value` may have been meant as; the caller tries which of it is accepted.

    Args:
        value: What was given.
        kinds: What is wanted, as pydantic-core schema types (`date`, `str`).
        choices: The values to choose from, where there are such.
    """
    wanted = set(kinds)
    if type(value) is int and wanted & {"str", "literal", "enum"}:
        yield str(value)
    if not isinstance(value, str):
        return
    if (choice := nearest(value, (choice for choice in choices if isinstance(choice, str)))) is not None:
        yield choice
    if "bool" in wanted and value.strip().lower() in ("true", "false"):
        yield value.strip().lower() == "true"
    for kind, spell in (("datetime", _iso_datetime), ("date", _iso_date), ("time", _iso_time)):
        if kind in wanted and len(value) <= _LONGEST and (spelling := spell(value)) is not None:
            yield spelling
    try:
        yield decoded(value)
    except ValueError:
        # Not JSON: there is nothing to suggest.
        return


def _iso_date(text: str) -> str | None:
    found = _DATE_TIME.fullmatch(text)
    return None if found is None else _date_of(found)


def _iso_datetime(text: str) -> str | None:
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return None
    day = _date_of(found)
    clock = "00:00:00" if found["hour"] is None else _time_of(found)
    return None if day is None or clock is None else f"{day}T{clock}"


def _iso_time(text: str) -> str | None:
    found = _TIME_ALONE.fullmatch(text)
    return None if found is None else _time_of(found)


def _date_of(found: re.Match[str]) -> str | None:
    if not found["mark"] and len(found["month"] + found["day"]) != len("MMDD"):
        return None
    try:
        return date(int(found["year"]), int(found["month"]), int(found["day"])).isoformat()
    except ValueError:
        return None


def _time_of(found: re.Match[str]) -> str | None:
    try:
        clock = time(int(found["hour"]), int(found["minute"]), int(found["second"] or 0))
    except ValueError:
        return None
    zone = (found["zone"] or "").upper()
    if zone not in ("", "Z") and ":" not in zone:
        zone = f"{zone[:3]}:{zone[3:]}"
    return f"{clock.isoformat()}{found['fraction'] or ''}{zone}"
