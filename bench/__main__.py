"""Measure what the guard costs: `python -m bench [--quick] [--only NAME ...]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
from contextlib import redirect_stderr
from importlib.metadata import version

from bench import report
from bench.comparisons import COMPARISONS
from bench.harness import measure
from bench.idle import cpu_while_swallowing

_QUICK = 0.05
"""The share of the full time that a quick run takes; it shows that everything works, and is no verdict."""


def main() -> None:
    """Run the comparisons asked for, print each table as it is done, and all targets at the end."""
    names = [*(comparison.name for comparison in COMPARISONS), "idle"]
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what the guard costs.")
    parser.add_argument("--quick", action="store_true", help="take a look, in a fraction of the time")
    parser.add_argument("--only", metavar="NAME", nargs="+", choices=names, default=names, help=", ".join(names))
    options = parser.parse_args()

    print(_machine())
    # The servers log to a file: a terminal would be what is measured.
    with open(os.devnull, "w") as log, redirect_stderr(log):
        summary = _run(options.only, _QUICK if options.quick else 1.0)
    print("\nTargets", *summary, _machine(), sep="\n")


def _run(names: list[str], share: float) -> list[str]:
    summary: list[str] = []
    for comparison in COMPARISONS:
        if comparison.name in names:
            measured = asyncio.run(measure(comparison, comparison.seconds * share))
            print("", *report.table(comparison, measured), sep="\n", flush=True)
            summary += [f"{comparison.name:15} {line}" for line in report.verdicts(comparison, measured.samples)]
    if "idle" in names:
        used = asyncio.run(cpu_while_swallowing())
        print("", *report.idle_table(used), sep="\n", flush=True)
        summary.append(f"{'idle':15} {report.idle_verdict(used)}")
    return summary


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("mcp", "fastmcp", "pydantic"))
    load = os.getloadavg()[0]
    return f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores, load {load:.1f}"


if __name__ == "__main__":
    main()
