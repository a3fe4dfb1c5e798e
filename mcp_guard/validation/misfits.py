"""The errors that pydantic found in the arguments of a call, and which of them to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from pydantic_core import ErrorDetails, ValidationError, core_schema

from mcp_guard.validation.shape import Fork, Place, Shape, Steps

MOST = 10_000
"""How many errors of one call are looked at."""

_KNOWN = frozenset(get_args(core_schema.ErrorType))


class Misfit(NamedTuple):
    """An error of pydantic's, and what its location means."""

    error: ErrorDetails
    place: Place


@dataclass(frozen=True, slots=True)
class Parting:
    """The errors of all branches of a union, none of which is the one that was meant."""

    fork: Fork
    misfits: Sequence[Misfit]

    @property
    def path(self) -> Steps:
        """Where the value of the union is."""
        return self.misfits[0].place.path[: self.fork.steps]

    def by_branch(self) -> list[list[Misfit]]:
        """Return the errors of each branch."""
        return list(_branches(self.misfits, self.fork).values())


def misfits_of(shape: Shape, error: ValidationError) -> list[Misfit]:
    """Return the errors that pydantic found, at most `MOST`, each with its place."""
    errors = error.errors(include_url=False)[:MOST]
    # A default that is made from other arguments is not made while those are wrong; only they are the problem.
    errors = [part for part in errors if part["type"] != "default_factory_not_called"] or errors
    return list(map(Misfit, errors, shape.locate_all(part["loc"] for part in errors)))


def is_authors(kind: str) -> bool:
    """Return whether an error of this type has a message of the author's own."""
    return kind in ("value_error", "assertion_error") or kind not in _KNOWN


def told(misfits: Iterable[Misfit], level: int = 0) -> Iterator[Misfit | Parting]:
    """Yield what to tell: of a union the errors of the branch that was meant, or all of them as one.

    Args:
        misfits: All errors of one call.
        level: How many unions around them are decided already.
    """
    together: dict[object, list[Misfit]] = {}
    for misfit in misfits:
        forks = misfit.place.forks
        key = misfit.error["loc"][: forks[level].depth] if len(forks) > level else id(misfit)
        together.setdefault(key, []).append(misfit)
    for group in together.values():
        if len(group[0].place.forks) <= level:
            yield group[0]
            continue
        fork = group[0].place.forks[level]
        meant = _meant(group, fork)
        if meant is None:
            yield Parting(fork, group)
        else:
            yield from told(meant, level + 1)


def _meant(misfits: Iterable[Misfit], fork: Fork) -> list[Misfit] | None:
    """Return the errors of the one branch that a value comes closest to, or None if there is no such."""
    close = [errors for errors in _branches(misfits, fork).values() if all(_is_close(each, fork) for each in errors)]
    scores = [(sum(misfit.error["type"] in ("literal_error", "enum") for misfit in part), len(part)) for part in close]
    if not scores or scores.count(best := min(scores)) > 1:
        return None
    return close[scores.index(best)]


def _is_close(misfit: Misfit, fork: Fork) -> bool:
    """Return whether a value got past the type of its branch: what is wrong is within it, or the author says what."""
    return len(misfit.place.path) > fork.steps or is_authors(misfit.error["type"])


def _branches(misfits: Iterable[Misfit], fork: Fork) -> dict[object, list[Misfit]]:
    branches: dict[object, list[Misfit]] = {}
    for misfit in misfits:
        branches.setdefault(misfit.error["loc"][fork.depth], []).append(misfit)
    return branches
