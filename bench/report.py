"""The tables: medians and the half of all samples around them, ratios, and each target beside its figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import idle
from bench.harness import Comparison, Measured, Samples, Spread, Target, added, ratios, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADINGS = f"{'half of them':>20}{'garbage':>9}{'ratio':>9}{'half of them':>16}{'adds':>11}"


def table(comparison: Comparison, measured: Measured) -> list[str]:
    """Return the lines of one comparison."""
    samples = measured.samples
    rounds = len(samples[comparison.arms[0].name])
    unit, nanoseconds = _unit(samples[comparison.arms[0].name])
    lines = [
        f"{comparison.name}: {comparison.title}; {rounds} rounds of {comparison.batch}",
        f"  {'':24}{f'median {unit}':>12}{_HEADINGS}",
    ]
    for arm in comparison.arms:
        took = spread([sample / nanoseconds for sample in samples[arm.name]])
        line = f"  {arm.name:24}{took.median:>12,.1f}{_half(took, 1):>20}"
        line += f"{measured.garbage[arm.name]:>9.0f}"
        if arm.name != arm.against:
            ratio = spread(ratios(samples, arm.name, arm.against))
            more = spread(added(samples, arm.name, arm.against)).median / nanoseconds
            line += f"{ratio.median:>9.3f}{_half(ratio, 2):>16}{more:>+11,.1f}"
        lines.append(line)
    return [*lines, *(f"  {line}" for line in verdicts(comparison, samples))]


def verdicts(comparison: Comparison, samples: Samples) -> list[str]:
    """Return one line for each target: the figure, what it should be, met or not met."""
    return [_verdict(comparison, target, samples) for target in comparison.targets]


def _verdict(comparison: Comparison, target: Target, samples: Samples) -> str:
    against = next(arm.against for arm in comparison.arms if arm.name == target.arm)
    if target.per is None:
        figure = spread(ratios(samples, target.arm, against))
        what = f"{target.arm} takes {figure.median:.3f} of {against}"
    else:
        figure = spread(added(samples, target.arm, against, target.per))
        what = f"{target.arm} adds {figure.median:.3f} of {target.per}"
    met = _met(figure.median <= target.at_most)
    return f"{what} ({_half(figure, 3)}), target {target.at_most:.2f}: {met}"


def idle_table(used: Mapping[str, float]) -> list[str]:
    """Return the lines about the CPU time used while a body swallows its cancellation."""
    lines = ["idle: CPU seconds per second while a timed-out body swallows its cancellation"]
    lines += [f"  {name:24}{share:>12.3f}" for name, share in used.items()]
    return [*lines, f"  {idle_verdict(used)}"]


def idle_verdict(used: Mapping[str, float]) -> str:
    """Return whether the process stays idle beside a body that swallows its cancellation."""
    more = used["mcp_guard"] - used["an idle loop"]
    met = _met(more <= idle.AT_MOST)
    return f"mcp_guard uses {more:.3f} more than an idle loop, target {idle.AT_MOST:.2f}: {met}"


def _unit(samples: list[float]) -> tuple[str, float]:
    return ("ms", 1e6) if spread(samples).median > 5e6 else ("us", 1e3)


def _half(figures: Spread, digits: int) -> str:
    return f"{figures.low:,.{digits}f} - {figures.high:,.{digits}f}"


def _met(holds: bool) -> str:
    return "met" if holds else "NOT MET"
