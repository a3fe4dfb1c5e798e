"""What is wrong with the arguments of a call, in words; only offending values are quoted, never sensitive ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pydantic_core import ErrorDetails, to_json

from mcp_guard.faults import Problem
from mcp_guard.redaction import is_sensitive_name, quoted, redact, shown
from mcp_guard.suggestions import nearest, respellings
from mcp_guard.validation.misfits import Misfit, Parting, is_authors
from mcp_guard.validation.phrases import UNKNOWN, counted, cut, listed, members_of, one_of, wanted
from mcp_guard.validation.shape import NOTHING, Node, Place, Shape, Steps, is_dict, is_list, look_up

OUTSIDE_ROOT = "path_outside_root"
"""The type of the error that `Within` refuses a path with."""

REFUSED = "refused by a check of this tool's own"
"""What is said where the author's check has no words that may be shown."""

_MISSING = frozenset(
    {"missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"}
)
_UNEXPECTED = frozenset({"extra_forbidden", "unexpected_keyword_argument", "unexpected_positional_argument"})
_SIZES = {
    "bytes_too_long": "byte",
    "bytes_too_short": "byte",
    "string_too_long": "character",
    "string_too_short": "character",
    "too_long": "item",
    "too_short": "item",
}
_LIMITS = frozenset(
    {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of", "finite_number"}
    | {"string_pattern_mismatch", "date_past", "date_future", "datetime_past", "datetime_future", "timezone_naive"}
    | {"timezone_aware", "timezone_offset", "url_scheme", "url_too_long", "uuid_version", "decimal_max_digits"}
    | {"decimal_max_places", "decimal_whole_digits", *_SIZES}
)
_REASONED = frozenset({"date_parsing", "datetime_parsing", "time_parsing", "time_delta_parsing"})
_MAX_SENTENCE = 300
_MAX_FIELD = 120
_DEEPEST = 200
_LONGEST_INT = 14_284
"""Bits of an integer of 4,300 digits, the longest that Python reads."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and what finding a right value takes.

    Attributes:
        problem: The problem in words.
        path: Where the value is.
        kind: The type of the error.
        candidates: What the value may have been meant as.
    """

    problem: Problem
    path: Steps
    kind: str
    candidates: tuple[object, ...] = ()


def spelled(path: Steps) -> str:
    """Return a path as a caller would write it: `filter.rows[3].name`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = shown(step, 60)
            plain = name.replace("-", "_").isidentifier()
            text += (f".{name}" if text else name) if plain or not text else f"[{quoted(step, 60)}]"
    return cut(text, _MAX_FIELD)


def unreadable(arguments: object) -> tuple[Steps, str]:
    """Return where arguments are not JSON, or not JSON that can be read, and why."""
    waiting: list[tuple[Steps, Any]] = [((), arguments)]
    while waiting:
        path, value = waiting.pop()
        if len(path) >= _DEEPEST:
            return path[:1], f"nested too deeply; at most {_DEEPEST} levels are read"
        if isinstance(value, str):
            if any("\ud800" <= char <= "\udfff" for char in value):
                return path, f"expected text, got half of a character (a lone surrogate) in {quoted(value)}"
        elif isinstance(value, int):
            if value.bit_length() > _LONGEST_INT:
                return path, "expected a number, got an integer of more than 4,300 digits"
        elif is_dict(value):
            for key, item in value.items():
                waiting += (((*path, str(key)), item), ((*path, str(key)), key))
        elif is_list(value):
            waiting += (((*path, index), item) for index, item in enumerate(value))
        elif value is not None and not isinstance(value, float):
            try:
                to_json(value)
            except ValueError:
                return path, f"expected a JSON value, got a Python {type(value).__name__}"
    return (), "the arguments cannot be read as JSON"


class Wording:
    """Words for what is wrong with the arguments of one call.

    Args:
        shape: What is declared.
        arguments: What was given.
        sensitive: Names whose values are never shown, beside those that mean a credential.
    """

    def __init__(self, shape: Shape, arguments: Mapping[str, Any], sensitive: frozenset[str]) -> None:
        self._shape = shape
        self._arguments = arguments
        self._sensitive = sensitive

    def finding(self, part: Misfit | Parting) -> Finding:
        """Return an error in words; those of a union's branches are one."""
        return self._parting(part) if isinstance(part, Parting) else self._misfit(part)

    def unexpected(
        self, path: Steps, names: Iterable[str], *, whole: str, part: str, meant: str | None = None
    ) -> Finding:
        """Return the problem of a name that is not there: `whole` has the `names`, each of them a `part`."""
        names = sorted(names)
        near = meant or nearest(str(path[-1]), names)
        takes = f"this {whole} takes {listed(names)}" if names else f"this {whole} takes no {part}s"
        message = f"unknown {part}; {takes}" + (f". Did you mean {near!r}?" if near else "")
        fix = f"rename {spelled(path)} to {near}." if near else f"leave {spelled(path)} out."
        return Finding(Problem(field=spelled(path), message=cut(message, 2 * _MAX_SENTENCE), fix=fix), path, "unknown")

    def missing(self, path: Steps, phrase: str) -> Finding:
        """Return the problem of a value that is not there."""
        field = spelled(path)
        fix = f"add {field}." if phrase == UNKNOWN else f"add {field}: {_in_fix(phrase)}."
        message = "missing; it is required" if phrase == UNKNOWN else f"missing; required: {phrase}"
        return Finding(Problem(field=field, message=message, expected=_known(phrase), fix=fix), path, "missing")

    def unfit(
        self,
        path: Steps,
        phrase: str,
        *,
        full: str | None = None,
        got: str | None = None,
        value: Any = NOTHING,
        kind: str,
    ) -> Finding:
        """Return the problem of a value that is not what is wanted.

        Args:
            path: Where the value is.
            phrase: What was wanted, as far as it explains the error.
            full: All that is wanted, limits included.
            got: What was given, in words; the value is quoted without.
            value: The value, where `path` does not lead to it.
            kind: The type of the error.
        """
        value = self.value_at(path) if value is NOTHING else value
        message = f"expected {phrase}"
        if not self.hides(path) and value is not NOTHING:
            message += f", got {got or quoted(self._masked(value))}"
        return self._finding(path, message, full or phrase, value, kind)

    def said(self, path: Steps, text: str, phrase: str, *, kind: str) -> Finding:
        """Return the problem that the author's own sentence says, redacted."""
        value = self.value_at(path)
        sent = (value,) if isinstance(value, str) else ()
        sentence = cut(" ".join(redact(text, sent).split()), _MAX_SENTENCE)
        fix = None
        if kind == OUTSIDE_ROOT:
            sentence += "" if self.hides(path) else f", got {quoted(value)}"
            fix = f"send {spelled(path)} as a path inside that folder."
        elif not sentence or any(secret in text for secret in self._secrets):
            sentence = REFUSED
        finding = self._finding(path, sentence, phrase, NOTHING if is_dict(value) or is_list(value) else value, kind)
        return replace(finding, problem=replace(finding.problem, fix=fix))

    def value_at(self, path: Steps) -> Any:
        """Return the value that was given at a path, or `NOTHING`."""
        return look_up(self._arguments, path)

    def hides(self, path: Steps) -> bool:
        """Return whether the value at a path must not be shown."""
        return any(isinstance(step, str) and (step in self._sensitive or is_sensitive_name(step)) for step in path)

    def _misfit(self, misfit: Misfit) -> Finding:
        error, place = misfit.error, misfit.place
        kind, path = error["type"], place.path
        full = wanted(self._shape, place.node)
        if kind in _UNEXPECTED:
            return self._unexpected_field(place)
        if kind in _MISSING:
            return self.missing(path, full)
        if kind in ("union_tag_invalid", "union_tag_not_found"):
            return self._tag(misfit, full)
        if is_authors(kind):
            cause = error.get("ctx", {}).get("error")
            return self.said(path, str(cause) if isinstance(cause, Exception) else error["msg"], full, kind=kind)
        value = path[-1] if place.of_key and path else self.value_at(path)
        value = error["input"] if value is NOTHING else value
        phrase = full if kind in _LIMITS else wanted(self._shape, place.node, limits=False)
        if kind == "bytes_invalid_encoding":
            phrase += f" in {error.get('ctx', {}).get('encoding')} encoding"
        if place.of_key:
            phrase, full = f"a key that is {phrase}", f"an object of which each key is {full}"
        finding = self.unfit(path, phrase, full=full, got=self._given(error, value), value=value, kind=kind)
        if place.of_key:
            fix = f"send {spelled(path[:-1])} as {_in_fix(full)}."
            return replace(finding, problem=replace(finding.problem, fix=fix))
        return self._with_candidates(finding, place.node, value)

    @staticmethod
    def _given(error: ErrorDetails, value: Any) -> str | None:
        """Return what was given where quoting it is not the best that can be said of it."""
        kind = error["type"]
        if kind in _SIZES and (is_list(value) or is_dict(value) or isinstance(value, str)):
            return counted(len(value), "key" if is_dict(value) else _SIZES[kind])
        reason = str(error.get("ctx", {}).get("error", ""))
        if kind in _REASONED and "outside expected range" in reason:
            return f"{quoted(value)} ({cut(reason, 100)})"
        return None

    def _parting(self, parting: Parting) -> Finding:
        """Return the one problem of a value that fits no branch of a union."""
        node = parting.fork.node
        first = parting.misfits[0]
        path = parting.path
        close = any(misfit.error["type"] in _LIMITS for misfit in parting.misfits)
        deep = any(len(misfit.place.path) > parting.fork.steps for misfit in parting.misfits)
        full = wanted(self._shape, node)
        phrase = full if close or deep else wanted(self._shape, node, limits=False)
        value = self.value_at(path)
        value = first.error["input"] if value is NOTHING and len(first.place.path) == len(path) else value
        finding = self.unfit(path, phrase, full=full, value=value, kind="union")
        return self._with_candidates(finding, node, value)

    def _tag(self, misfit: Misfit, full: str) -> Finding:
        place, context = misfit.place, misfit.error.get("ctx", {})
        union = None if place.node is None else self._shape.core(place.node)
        discriminator = union["discriminator"] if union is not None and "discriminator" in union else None
        if union is None or not isinstance(discriminator, str):
            return self.unfit(place.path, full, value=misfit.error["input"], kind="union")
        path = (*place.path, discriminator)
        tags = one_of(union["choices"])
        if misfit.error["type"] == "union_tag_not_found":
            return self.missing(path, tags)
        finding = self.unfit(path, tags, value=context.get("tag", NOTHING), kind="union_tag_invalid")
        return _with(finding, respellings(self.value_at(path), (), union["choices"]))

    def _unexpected_field(self, place: Place) -> Finding:
        names = () if place.parent is None else (field.wire for field in self._shape.fields(place.parent))
        return self.unexpected(place.path, names, whole="object", part="field")

    def _with_candidates(self, finding: Finding, node: Node | None, value: Any) -> Finding:
        if node is None or self.hides(finding.path):
            return finding
        leaves = list(self._shape.leaves(node))
        choices = [member for leaf in leaves for member in members_of(leaf)]
        return _with(finding, respellings(value, (leaf["type"] for leaf in leaves), choices))

    def _finding(self, path: Steps, message: str, full: str, value: Any, kind: str) -> Finding:
        field = spelled(path)
        hidden = value is NOTHING or self.hides(path)
        problem = Problem(
            field=field,
            message=message,
            expected=_known(full),
            received=None if hidden else _as_json(self._masked(value)),
            fix=f"send {field or 'the arguments'} as {_in_fix(full)}." if _known(full) else None,
        )
        return Finding(problem, path, kind)

    def _masked(self, value: Any, depth: int = 0) -> Any:
        """Return a value for display: without what must not be shown, and not longer than what can be shown."""
        if depth > 3:  # noqa: PLR2004  # nobody reads deeper in 80 characters
            return "…" if is_dict(value) or is_list(value) else value
        if is_dict(value):
            items = list(value.items())[:20]
            return {
                key: "[hidden]" if self.hides((str(key),)) else self._masked(item, depth + 1) for key, item in items
            }
        return [self._masked(item, depth + 1) for item in value[:40]] if is_list(value) else value

    @cached_property
    def _secrets(self) -> frozenset[str]:
        """The sensitive values that were given, lest an author's sentence repeats one."""
        secrets: set[str] = set()
        waiting: list[tuple[Any, bool]] = [(self._arguments, False)]
        while waiting:
            value, hidden = waiting.pop()
            if is_dict(value):
                waiting += ((item, hidden or self.hides((str(key),))) for key, item in value.items())
            elif is_list(value):
                waiting += ((item, hidden) for item in value)
            elif hidden and value not in (None, "", True, False):
                secrets.add(str(value))
        return frozenset(secrets)


def _with(finding: Finding, candidates: Iterable[object]) -> Finding:
    return replace(finding, candidates=tuple(candidates))


def _known(phrase: str) -> str | None:
    return None if phrase == UNKNOWN else phrase


def _in_fix(phrase: str) -> str:
    return phrase.replace("an integer", "a whole number")


def _as_json(value: Any) -> str:
    return cut(to_json(shown(value, 76)).decode(), 80) if isinstance(value, str) else shown(value, 80)
