"""What an adapter keeps about one registered tool, and how it makes calls of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from mcp_guard.call import Call
from mcp_guard.contract import Contract
from mcp_guard.faults import Fault, InvalidArguments
from mcp_guard.policies.arguments import Arguments
from mcp_guard.policies.truncation import Truncation
from mcp_guard.rendering import REPAIRED_KEY
from mcp_guard.runtime.current import in_flight
from mcp_guard.runtime.invocation import fail
from mcp_guard.translation import translate


class Plan:
    """One registered tool: its contract, and the check of its arguments.

    Args:
        contract: What the author declared.
        fn: The registered callable, whose signature the server published (a bound method has no `self`).
        tool: The name it is registered under.
        hidden: Parameters that the server injects.
        published: Properties of the published schema.
        has_output_schema: Whether the tool publishes one.
    """

    __slots__ = ("arguments", "contract", "has_output_schema", "tool", "truncation")

    def __init__(
        self,
        contract: Contract,
        fn: Callable[..., Any],
        *,
        tool: str,
        hidden: frozenset[str],
        published: frozenset[str],
        has_output_schema: bool,
    ) -> None:
        self.contract = contract
        self.tool = tool
        self.has_output_schema = has_output_schema
        self.truncation = Truncation(contract)
        self.arguments = Arguments(
            fn,
            tool=tool,
            hidden=hidden,
            published=published,
            unknown=contract.unknown,
            strict=contract.strict,
            input_schema=contract.input_schema,
        )

    def admit(self, sent: Mapping[str, Any]) -> tuple[Call, Fault | None]:
        """Check the arguments of a new call and return it, with the fault if it must not reach the body."""
        call = Call(self.contract, tool=self.tool, arguments=sent, values={}, parent=in_flight.get())
        try:
            accepted = self.arguments.check(sent)
        except Exception as error:
            # A validator or a default factory of the author's failed, and not because of the arguments.
            fault = translate(error, call)
            if fault is None:
                raise
            return call, fail(call, fault.told(stage="validate"))
        if isinstance(accepted, InvalidArguments):
            return call, fail(call, accepted)
        call.arguments, call.values = accepted.arguments, accepted.values
        if accepted.repairs:
            call.notes[REPAIRED_KEY] = [
                {"field": repair.field, "given": repair.given, "took": repair.took} for repair in accepted.repairs
            ]
        return call, None


class Arrival:
    """One `tools/call` request on its way through the server's own handler to its tool.

    Attributes:
        name: The tool that the request names.
        sent: The raw arguments.
        admitted: The checked call, where the boundary could check it.
        taken: Whether its tool has begun to answer; what runs later in the same request is a call of its own.
        failure: The fault to answer with, and its call.
        passing: An exception that must reach the client as a protocol error, whatever the library makes of it.
    """

    __slots__ = ("admitted", "failure", "name", "passing", "sent", "taken")

    def __init__(self, name: str, sent: Mapping[str, Any]) -> None:
        self.name = name
        self.sent = sent
        self.admitted: Call | None = None
        self.taken = False
        self.failure: tuple[Fault, Call] | None = None
        self.passing: Exception | None = None


arrived: ContextVar[Arrival | None] = ContextVar("mcp_guard_arrived", default=None)
"""The request that is on its way to its tool."""


def contract_of(fn: object) -> Contract | None:
    """Return the contract of a guarded function, also through a bound method, a partial or another decorator."""
    while True:
        contract = getattr(fn, "contract", None)
        if isinstance(contract, Contract):
            return contract
        fn = getattr(fn, "func", None)
        if fn is None:
            return None
