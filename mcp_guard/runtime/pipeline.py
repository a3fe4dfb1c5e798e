"""Folding policies around a body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mcp_guard.ports import Policy, Proceed


def compose(policies: Sequence[Policy], body: Proceed) -> Proceed:
    """Return one function that runs `body` inside `policies`, the first policy outermost."""
    chain = body
    for policy in reversed(policies):
        chain = partial(policy, proceed=chain)
    return chain
