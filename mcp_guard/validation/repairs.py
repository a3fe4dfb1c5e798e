"""Arguments in another encoding than they should have: lenient about the encoding, exact about the meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcp_guard.suggestions import decoded, whole
from mcp_guard.validation.attempts import Attempt, Validation
from mcp_guard.validation.misfits import Parting
from mcp_guard.validation.problems import spelled
from mcp_guard.validation.shape import NOTHING, Steps, is_dict, is_list, look_up

ABSENT: Any = object()
"""Stands for leaving an argument out."""

LISTED = 20
"""How many repairs of one call are listed."""

_MOST = 2_000
# A JSON string may hold an object with strings that spell values in turn.
_ROUNDS = 4
_KINDS = {str: "a string", bool: "a boolean", int: "an integer", float: "a number"}


@dataclass(frozen=True, slots=True)
class Repair:
    """An argument that was read in another encoding than it was sent in.

    Attributes:
        field: Where, in the caller's spelling.
        given: The kind of value that was sent (`a string`).
        took: The kind of value that it was read as (`an integer`, `the default`).
    """

    field: str
    given: str
    took: str


class Repairs:
    """Tries other readings of what does not fit.

    A float without a fraction is an integer (JSON Schema), which is no repair. Unless `strict`, a string is read as
    the JSON that it spells, and `null` for an optional argument that admits no null as its absence.

    Args:
        validation: What decides whether a reading fits.
        optional: Wire names of the arguments that have a default.
        strict: Refuse all repairs.
    """

    def __init__(self, validation: Validation, *, optional: frozenset[str], strict: bool) -> None:
        self._validation = validation
        self._optional = optional
        self._strict = strict

    def apply(self, attempt: Attempt) -> tuple[Attempt, tuple[Repair, ...]]:
        """Return the attempt with every reading that fits its place, and what was repaired, at most `LISTED` of it.

        Where very much is wrong nothing is repaired: the event loop waits meanwhile, and with it every other call.
        """
        if len(attempt.misfits) > _MOST:
            return attempt, ()
        repairs: dict[Steps, tuple[str, str]] = {}
        # What the author's own validators read is read by them first.
        for authored in (False, True):
            attempt = self._validation.forgiven(self._reread(attempt, repairs, authored=authored))
            if not any(misfit.place.authored for misfit in attempt.misfits):
                break
        return attempt, tuple(Repair(spelled(path), *kinds) for path, kinds in islice(repairs.items(), LISTED))

    def _reread(self, attempt: Attempt, repairs: dict[Steps, tuple[str, str]], *, authored: bool) -> Attempt:
        tried: set[Steps] = set()
        for _ in range(_ROUNDS):
            readings = {} if attempt.blocked else self._readings(attempt, tried, authored=authored)
            if not readings:
                break
            tried.update(readings)
            trial = self._validation.trial(with_values(attempt.given, readings))
            wrong = readings.keys() if trial.blocked else trial.failing
            fitting = {path: value for path, value in readings.items() if path not in wrong}
            for path, value in fitting.items():
                given = look_up(attempt.given, path)
                if not isinstance(given, float):
                    repairs[path] = (_kind(given), _kind(value))
            if len(fitting) == len(readings):
                attempt = trial
            elif fitting:
                attempt = self._validation.attempt(with_values(attempt.given, fitting))
        return attempt

    def _readings(self, attempt: Attempt, tried: set[Steps], *, authored: bool) -> dict[Steps, Any]:
        """Return other readings for failing places: of a union for those of the first branch that has them all."""
        groups: list[list[Steps]] = [[breach.path] for breach in attempt.breaches]
        for part in attempt.told:
            if isinstance(part, Parting):
                groups += [
                    [misfit.place.path for misfit in branch]
                    for branch in part.by_branch()
                    if authored or not any(misfit.place.authored == "here" for misfit in branch)
                ]
            elif authored or part.place.authored != "here":
                groups.append([part.place.path])
        readings: dict[Steps, Any] = {}
        for group in groups:
            found: dict[Steps, Any] = {}
            for path in group:
                found[path] = NOTHING if path in tried else self._reading(attempt, path)
                if found[path] is NOTHING:
                    break
            else:
                readings.update(found)
        return readings

    def _reading(self, attempt: Attempt, path: Steps) -> Any:
        value = look_up(attempt.given, path)
        if isinstance(value, float):
            read = whole(value)
            return NOTHING if read is value else read
        if isinstance(value, str) and not self._strict:
            try:
                return decoded(value)
            except ValueError:
                return NOTHING
        if value is None and not self._strict and len(path) == 1 and path[0] in self._optional:
            return ABSENT
        return NOTHING


def with_values(given: dict[str, Any], values: Mapping[Steps, Any]) -> dict[str, Any]:
    """Return arguments with other values at some paths; what is given stays as it is."""
    result = dict(given)
    copies: dict[Steps, Any] = {(): result}
    for path, value in values.items():
        parent: Any = result
        for length in range(1, len(path)):
            here, step = path[:length], path[length - 1]
            if here not in copies:
                parent[step] = copies[here] = parent[step].copy()
            parent = copies[here]
        if value is ABSENT:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
    return result


def up_to(given: dict[str, Any], path: Steps) -> dict[str, Any]:
    """Return of the arguments only what a value at a path may depend on, and what comes before it in its lists."""
    result: dict[str, Any] = {str(path[0]): given[str(path[0])]}
    for length in range(1, len(path)):
        step = path[length]
        if isinstance(step, int):
            result = with_values(result, {path[:length]: look_up(result, path[:length])[: step + 1]})
    return result


def _kind(value: object) -> str:
    if value is ABSENT:
        return "the default"
    if is_dict(value) or is_list(value):
        return "an object" if is_dict(value) else "a list"
    return next((words for kind, words in _KINDS.items() if type(value) is kind), "null")
