"""Arguments against a signature: what the body would get of them, or everything that does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic_core import PydanticSerializationError, ValidationError, to_json

from mcp_guard.validation.bools import may_take_bools, stray_bools
from mcp_guard.validation.misfits import MOST, Misfit, Parting, misfits_of, told
from mcp_guard.validation.problems import unreadable
from mcp_guard.validation.shape import Place, Steps, is_list, look_up
from mcp_guard.validation.signature import Signature

MISUSE = (TypeError, AttributeError, LookupError, ArithmeticError)
"""What a validator that expects another kind of value runs into; anything else it raises is not about the value."""

_SCALARS = frozenset({"int_type", "float_type", "bool_type", "string_type"})


@dataclass(frozen=True)
class Attempt:
    """What came of validating some arguments.

    Attributes:
        given: The arguments, by wire name.
        values: What the model holds, by its attributes; None if it refuses them.
        misfits: What does not fit the declared types.
        breaches: Which rules of the `input_schema` are broken.
        blocked: Where and why the arguments cannot be read at all.
        is_lax: Whether the values are those of lax validation.
        unseen: How many errors more there are than were looked at.
    """

    given: dict[str, Any]
    values: dict[str, Any] | None = None
    misfits: list[Misfit] = field(default_factory=list[Misfit])
    breaches: list[Any] = field(default_factory=list[Any])
    blocked: tuple[Steps, str] | None = None
    is_lax: bool = False
    unseen: int = 0

    @property
    def fits(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.misfits or self.breaches or self.blocked)

    @cached_property
    def told(self) -> list[Misfit | Parting]:
        """What to tell of the misfits."""
        return list(told(self.misfits))

    @property
    def failing(self) -> set[Steps]:
        """Where something is wrong."""
        paths = {breach.path for breach in self.breaches}
        for part in self.told:
            if isinstance(part, Parting):
                paths.add(part.path)
                paths.update(misfit.place.path for misfit in part.misfits)
            else:
                paths.add(part.place.path)
        return paths


class Validation:
    """The validator of one signature.

    Strict JSON validation decides what is accepted, lax validation of the raw arguments, as the server's library does
    it, what the values are.

    Args:
        signature: What is declared.
        rules: The rules of an `input_schema`, with a `breaches` method; None without one.
    """

    def __init__(self, signature: Signature, rules: Any = None) -> None:
        validator = signature.model.__pydantic_validator__
        self.validate_json = validator.validate_json
        self._validate_python = validator.validate_python
        self._shape = signature.shape
        self._values_agree = signature.values_agree
        self._rules = rules
        self._renamed = tuple((p.attribute, p.name) for p in signature.parameters if p.attribute != p.name)
        self._choosing = tuple(p.field for p in signature.parameters if may_take_bools(self._shape, p.field.node))
        self._lazy = tuple(p for p in signature.parameters if self._shape.core(p.field.node)["type"] == "generator")
        self.is_one_pass = not (rules or self._renamed or self._choosing or self._lazy) and self._values_agree
        """Whether `validate_json` alone says everything."""

    def attempt(self, given: dict[str, Any]) -> Attempt:
        """Return what comes of validating `given` strictly."""
        try:
            text = to_json(given, inf_nan_mode="constants")
        except PydanticSerializationError:
            return Attempt(given, blocked=unreadable(given))
        breaches: list[Any] = self._rules.breaches(given) if self._rules is not None else []
        try:
            values = self.validate_json(text, strict=True).__dict__
        except ValidationError as error:
            return self.refused(given, error, breaches)
        return Attempt(given, values, list(self._overlooked(values, given)), breaches)

    def refused(self, given: dict[str, Any], error: ValidationError, breaches: Sequence[Any] = ()) -> Attempt:
        """Return the attempt that strict validation of `given` refused."""
        misfits = misfits_of(self._shape, error)
        if misfits[0].error["type"] == "json_invalid" and not misfits[0].error["loc"]:
            return Attempt(given, blocked=unreadable(given))
        unseen = max(0, error.error_count() - MOST)
        return Attempt(given, misfits=misfits, breaches=list(breaches), unseen=unseen)

    def trial(self, given: dict[str, Any]) -> Attempt:
        """Return what comes of validating values that nobody sent, which an author's validator may not be made for."""
        try:
            return self.attempt(given)
        except MISUSE:
            return Attempt(given, blocked=((), "refused"))

    def forgiven(self, attempt: Attempt) -> Attempt:
        """Return an attempt with lax validation where the author's own validators read the raw values."""
        if not any(misfit.place.authored for misfit in attempt.misfits):
            return attempt
        strictly: list[Misfit] = []
        for part in attempt.told:
            branches = part.by_branch() if isinstance(part, Parting) else [[part]]
            if not any(all(_is_left_to_author(misfit, attempt.given) for misfit in branch) for branch in branches):
                strictly += part.misfits if isinstance(part, Parting) else [part]
        if len(strictly) == len(attempt.misfits):
            return attempt
        try:
            model = self._validate_python(attempt.given)
        except ValidationError as error:
            wrong = {misfit.place.path for misfit in strictly}
            lax = misfits_of(self._shape, error)
            authors = [misfit for misfit in lax if misfit.place.authored and misfit.place.path not in wrong]
            return replace(attempt, misfits=[*strictly, *authors] or lax)
        return replace(attempt, values=model.__dict__, misfits=strictly, is_lax=True)

    def values(self, attempt: Attempt) -> dict[str, Any]:
        """Return the values for the body, by parameter name, of an attempt that fits."""
        values = attempt.values or {}
        if not self._values_agree and not attempt.is_lax:
            try:
                values = self._validate_python(attempt.given).__dict__
            except ValidationError:
                # Only in its JSON spelling does the value fit (a date in strict mode): there is no other reading.
                values = attempt.values or {}
        for attribute, name in self._renamed:
            values[name] = values.pop(attribute)
        return values

    def _overlooked(self, values: Mapping[str, Any], given: dict[str, Any]) -> Iterator[Misfit]:
        """Yield what pydantic lets pass: `True` where 1 is to choose from, and the items of an iterable."""
        for declared in self._choosing:
            path = declared.given_in(given)
            if path is not None:
                for place, node in stray_bools(self._shape, declared.node, look_up(given, path), path):
                    yield Misfit({"type": "literal_error", "loc": place, "msg": "", "input": True}, Place(place, node))
        for parameter in self._lazy:
            path = parameter.field.given_in(given)
            if path is not None and isinstance(values[parameter.attribute], Iterator):
                yield from self._overlooked_items(values[parameter.attribute], look_up(given, path), path)

    def _overlooked_items(self, items: Iterator[Any], sent: object, path: Steps) -> Iterator[Misfit]:
        if not is_list(sent):
            # A text is an iterable too: of its characters.
            yield Misfit({"type": "list_type", "loc": path, "msg": "", "input": sent}, self._shape.locate(path))
            return
        try:
            list(items)
        except ValidationError as error:
            for item in error.errors(include_url=False):
                location = (*path, *item["loc"])
                yield Misfit({**item, "loc": location}, self._shape.locate(location))


def _is_left_to_author(misfit: Misfit, given: dict[str, Any]) -> bool:
    """Return whether an error is for the author's own validators to decide: lax validation may accept the value.

    A validator around an object or a list does not loosen its members: a scalar that it hands on as it was sent stays
    what it is.
    """
    place, error = misfit.place, misfit.error
    if place.authored is None or (isinstance(error["input"], bool) and error["type"] in ("int_type", "float_type")):
        return False
    sent = look_up(given, place.path)
    is_as_sent = type(sent) is type(error["input"]) and sent == error["input"]
    return place.authored == "here" or not (error["type"] in _SCALARS and is_as_sent)
