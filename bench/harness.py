"""Runs the arms of a comparison in turn, round by round, and keeps one sample for each arm and round."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import statistics
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.arms import Arm, Call

_SEED = 1
_MIN_ROUNDS = 2


def sdk_logging() -> None:
    """Leave the root logger to the server: INFO and above, by `rich` where that is installed."""
    logging.getLogger().handlers.clear()


def plain_logging() -> None:
    """Log as the server does where `rich` is not installed."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure should be: the ratio of `arm` to its `against`, or what it adds, in units of `per`."""

    arm: str
    at_most: float
    per: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Arms that make the same call.

    Attributes:
        name: What `--only` takes.
        title: What the table is headed with.
        arms: The arms; every `against` is one of them.
        batch: How many calls in a row make one sample.
        seconds: How long to go on for in a full run.
        answered: Whether an answer is the expected one; asked of each arm before anything is timed.
        targets: What the figures should be.
        log: Prepares the root logger before a server is made.
    """

    name: str
    title: str
    arms: Sequence[Arm]
    batch: int
    seconds: float
    answered: Callable[[Any], bool]
    targets: Sequence[Target] = ()
    log: Callable[[], None] = sdk_logging


Samples = dict[str, list[float]]
"""The mean time of one call in nanoseconds, per arm, one for each round; the same index is the same round."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a comparison gave.

    Attributes:
        samples: How long the calls took.
        garbage: How many objects one call leaves for the cyclic garbage collector of this process, per arm.
    """

    samples: Samples
    garbage: dict[str, float]


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of a list of figures, and the half of them around it."""

    median: float
    low: float
    high: float


def spread(figures: Sequence[float]) -> Spread:
    """Return the median and the quartiles."""
    low, median, high = statistics.quantiles(figures, n=4, method="inclusive")
    return Spread(median, low, high)


def ratios(samples: Samples, arm: str, against: str) -> list[float]:
    """Return the ratio of two arms in every round; within one, a busy moment of the machine cancels out."""
    return [mine / theirs for mine, theirs in zip(samples[arm], samples[against], strict=True)]


def added(samples: Samples, arm: str, against: str, per: str | None = None) -> list[float]:
    """Return what `arm` takes more than `against` in every round, in nanoseconds or in units of `per`."""
    units = samples[per] if per is not None else [1.0] * len(samples[arm])
    return [(mine - theirs) / unit for mine, theirs, unit in zip(samples[arm], samples[against], units, strict=True)]


async def measure(comparison: Comparison, seconds: float) -> Measured:
    """Open every arm, check its answer, and time batches in shuffled turns for about `seconds`.

    Raises:
        RuntimeError: If an arm does not give the expected answer.
    """
    measured = Measured({arm.name: [] for arm in comparison.arms}, {})
    turns = random.Random(_SEED)  # noqa: S311 - an order, not a secret
    comparison.log()
    async with AsyncExitStack() as stack:
        calls = [(arm.name, await stack.enter_async_context(arm.open())) for arm in comparison.arms]
        for name, call in calls:
            measured.garbage[name] = await _warm_up(name, call, comparison)
        # What the servers are made of is not looked at again by every collection between the rounds.
        gc.freeze()
        stack.callback(gc.unfreeze)
        until = time.perf_counter() + seconds
        rounds = 0
        while time.perf_counter() < until or rounds < _MIN_ROUNDS:
            turns.shuffle(calls)
            await _round(calls, comparison.batch, measured.samples)
            rounds += 1
    return measured


async def _warm_up(name: str, call: Call, comparison: Comparison) -> float:
    """Check one answer, make the calls of one batch, and return how much garbage one of them leaves."""
    answer = await call()
    if not comparison.answered(answer):
        raise RuntimeError(f"{comparison.name}: {name} answered {answer!r}")
    gc.collect()
    gc.disable()
    try:
        await _batch(call, comparison.batch)
    finally:
        gc.enable()
    return gc.collect() / comparison.batch


async def _round(calls: Sequence[tuple[str, Call]], batch: int, samples: Samples) -> None:
    gc.collect()
    gc.disable()
    try:
        for name, call in calls:
            samples[name].append(await _batch(call, batch))
    finally:
        gc.enable()


async def _batch(call: Call, count: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(count):
        await call()
    # What a call leaves for the next turn of the loop is its own cost, and not that of the next arm.
    await asyncio.sleep(0)
    return (time.perf_counter_ns() - start) / count
