"""What is wanted, in words: `an integer from 1 to 1000`, `one of 'asc', 'desc'`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

from mcp_guard.redaction import quoted
from mcp_guard.validation.shape import LISTS, MAPPINGS, OBJECTS, Node, Shape, choices_of, is_dict, is_path

MAX_PHRASE = 400
"""The longest phrase, in characters."""

UNKNOWN = "a valid value"
"""What is wanted where nothing can be said."""

_MAX_CHOICES = 20
_MAX_NAMES = 20
_MAX_DEPTH = 4

_NOUNS = {
    "any": "any value",
    "bool": "true or false",
    "bytes": "a string",
    "complex": "a complex number as a string",
    "date": "a date like 2024-12-31",
    "datetime": "a date and time like 2024-12-31T23:59:59Z",
    "decimal": "a decimal number",
    "float": "a number",
    "fraction": "a number or a fraction like 3/4",
    "int": "an integer",
    "json": "a string of JSON",
    "multi-host-url": "a URL",
    "none": "null",
    "str": "a string",
    "time": "a time like 23:59:59",
    "timedelta": "a duration like PT1H30M",
    "url": "a URL",
    "uuid": "a UUID",
}


def cut(text: str, limit: int = MAX_PHRASE) -> str:
    """Return text with an ellipsis for what is over `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 item`, `3,000 items`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    """Return at most 20 names in a row, and how many there are beyond them."""
    names = list(names)
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else shown


def together(names: Sequence[str]) -> str:
    """Return names that belong together: `name, age and city`; of more than 20 the first ones."""
    if len(names) > _MAX_NAMES or len(names) == 1:
        return listed(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def either(phrases: Iterable[str]) -> str:
    """Return alternatives, each once: `an integer, a string or null`."""
    # A choice of several ends its list with commas of its own, so that it reads best at the end.
    unique = sorted(dict.fromkeys(phrases), key=lambda phrase: (phrase == "null", "," in phrase))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} or {unique[-1]}"


def one_of(values: Iterable[object]) -> str:
    """Return the values to choose from, at most 20: `one of 'asc', 'desc'`."""
    choices = list(dict.fromkeys(quoted(value, 60) for value in values))
    if len(choices) == 1:
        return choices[0]
    more = len(choices) - _MAX_CHOICES
    return f"one of {', '.join(choices[:_MAX_CHOICES])}{f' and {more:,} more' if more > 0 else ''}"


def ranged(noun: str, limits: Node) -> str:
    """Return a noun with its range: `ge`, `gt`, `le`, `lt` and `multiple_of` of `limits`."""
    low, high = limits.get("ge"), limits.get("le")
    words: list[str] = []
    if low is not None and high is not None:
        words.append(f"from {low} to {high}")
    elif low is not None:
        words.append(f"of at least {low}")
    if (above := limits.get("gt")) is not None:
        words.append(f"above {above}")
    if high is not None and low is None:
        words.append(f"of at most {high}")
    if (below := limits.get("lt")) is not None:
        words.append(f"below {below}")
    phrase = f"{noun} {' and '.join(words)}" if words else noun
    multiple = limits.get("multiple_of")
    return phrase if multiple is None else f"{phrase} that is a multiple of {multiple}"


def sized(noun: str, least: int | None, most: int | None, unit: str) -> str:
    """Return a noun with its length: `a string of 1 to 10 characters`."""
    if least and most is not None:
        return f"{noun} of {counted(most, unit)}" if least == most else f"{noun} of {least:,} to {counted(most, unit)}"
    if most is not None:
        return f"{noun} of at most {counted(most, unit)}"
    return f"{noun} of at least {counted(least, unit)}" if least else noun


def wanted(shape: Shape, node: Node | None, *, limits: bool = True) -> str:
    """Return what is declared, as a noun phrase of at most `MAX_PHRASE` characters.

    Args:
        shape: Where `node` is from.
        node: The declared part; None where nothing is known.
        limits: Whether ranges, lengths and the like are said beside the type.
    """
    return UNKNOWN if node is None else cut(_phrase(shape, node, limits, 0))


def _phrase(shape: Shape, node: Node, limits: bool, depth: int) -> str:
    core = shape.core(node)
    null = ["null"] if shape.is_nullable(node) else []
    if core["type"] == "union" and depth < _MAX_DEPTH:
        return either([_phrase(shape, choice, limits, depth + 1) for choice in choices_of(core)] + null)
    return either([_simple_phrase(shape, node, core, limits, depth), *null])


def _simple_phrase(shape: Shape, node: Node, core: Node, limits: bool, depth: int) -> str:
    kind = core["type"]
    if _is_path_around(shape, node):
        phrase = "a path"
    elif kind in ("literal", "enum"):
        phrase = one_of(members_of(core))
    elif kind == "tagged-union":
        phrase = _tagged(core)
    elif kind == "named-tuple":
        phrase = f"a list of {counted(len(core['fields']), 'item')}"
    elif kind in OBJECTS:
        phrase = _object(shape, core) if limits else "an object"
    elif kind in MAPPINGS:
        phrase = sized("an object", *_length(core, limits), "key")
    elif kind in LISTS:
        phrase = _list(shape, core, limits, depth)
    elif kind == "function-plain" and (declared := core.get("json_schema_input_schema")) is not None:
        phrase = UNKNOWN if declared["type"] == "any" else _phrase(shape, declared, limits, depth + 1)
    else:
        phrase = _NOUNS.get(kind, UNKNOWN)
        if limits and (limited := _LIMITED.get(kind)) is not None:
            phrase = limited(phrase, core)
    return phrase


def _is_path_around(shape: Shape, node: Node) -> bool:
    """Return whether a part declares a `Path`, within whatever wraps it."""
    return any(is_path(part) for part in shape.layers(node))


def members_of(core: Node) -> list[Any]:
    """Return the JSON values that a literal or an enum lets a caller choose from."""
    members: Sequence[Any] = core.get("expected") or core.get("members") or ()
    return [member.value if isinstance(member, Enum) else member for member in members]


def _object(shape: Shape, core: Node) -> str:
    needed = [field.wire for field in shape.fields(core) if field.required]
    return f"an object with {together(needed)}" if needed else "an object"


def _tagged(core: Node) -> str:
    tags = one_of(key.value if isinstance(key, Enum) else key for key in core["choices"])
    discriminator = core["discriminator"]
    return f"an object whose {discriminator} is {tags}" if isinstance(discriminator, str) else "an object"


def _list(shape: Shape, core: Node, limits: bool, depth: int) -> str:
    items: Any = core.get("items_schema")
    if core["type"] == "tuple" and "variadic_item_index" not in core:
        return f"a list of {counted(len(items), 'item')}"
    phrase = sized("a list", *_length(core, limits), "item")
    item = items if items is None or is_dict(items) else items[0]
    if item is None or not limits or depth >= _MAX_DEPTH or shape.core(item)["type"] == "any":
        return phrase
    return f"{phrase}, each {_phrase(shape, item, limits, depth + 1)}"


def _length(core: Node, limits: bool) -> tuple[int | None, int | None]:
    return (core.get("min_length"), core.get("max_length")) if limits else (None, None)


def _limited_string(noun: str, core: Node) -> str:
    phrase = sized(noun, *_length(core, True), "byte" if core["type"] == "bytes" else "character")
    pattern: Any = core.get("pattern")
    return phrase if pattern is None else f"{phrase} matching {cut(getattr(pattern, 'pattern', pattern), 120)}"


def _limited_float(noun: str, core: Node) -> str:
    return ranged("a finite number" if core.get("allow_inf_nan") is False else noun, core)


def _limited_decimal(noun: str, core: Node) -> str:
    digits = [
        counted(limit, unit)
        for key, unit in (("max_digits", "digit"), ("decimal_places", "decimal place"))
        if (limit := core.get(key)) is not None
    ]
    return ranged(noun, core) + (f" with at most {' and '.join(digits)}" if digits else "")


def _limited_date(noun: str, core: Node) -> str:
    limits = [f"{word} {core[key]}" for key, word in _WHEN.items() if key in core]
    phrase = f"{noun}, {' and '.join(limits)}" if limits else noun
    if (when := core.get("now_op")) is not None:
        phrase += f" in the {when}"
    zone = core.get("tz_constraint", "")
    return phrase + {"aware": " with a time zone", "naive": " without a time zone"}.get(zone, "")


def _limited_url(noun: str, core: Node) -> str:
    phrase = sized(noun, None, core.get("max_length"), "character") if core.get("max_length") != _URL_LENGTH else noun
    schemes = core.get("allowed_schemes")
    return f"{phrase} that starts with {either(f'{scheme}://' for scheme in schemes)}" if schemes else phrase


def _limited_uuid(noun: str, core: Node) -> str:
    return f"{noun} of version {core['version']}" if core.get("version") else noun


_WHEN = {"ge": "not before", "gt": "after", "le": "not after", "lt": "before"}
_URL_LENGTH = 2083
_LIMITED: dict[str, Callable[[str, Node], str]] = {
    "bytes": _limited_string,
    "date": _limited_date,
    "datetime": _limited_date,
    "decimal": _limited_decimal,
    "float": _limited_float,
    "int": ranged,
    "str": _limited_string,
    "time": _limited_date,
    "timedelta": ranged,
    "url": _limited_url,
    "uuid": _limited_uuid,
}
