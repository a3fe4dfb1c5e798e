"""One invocation of a guarded function: who called, what came out, and the one log record of a failure."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from mcp_guard.call import Call, Ok
from mcp_guard.contract import Contract
from mcp_guard.faults import Cancelled, Fault
from mcp_guard.ports import Proceed
from mcp_guard.redaction import redacted_arguments
from mcp_guard.rendering import worded, worded_fix
from mcp_guard.runtime.countdown import overran
from mcp_guard.runtime.current import handed_over, in_flight
from mcp_guard.translation import is_declared, translate

logger = logging.getLogger("mcp_guard")


async def invoke(contract: Contract, chain: Proceed, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Run one call through its pipeline and return the author's value.

    Raises:
        Fault: If the call failed; it is settled (tool and effects are known) and logged.
        TypeError: If a direct call does not fit the function's parameters.
    """
    call = handed_over.get()
    if call is not None and call.contract is contract:
        # Taken once: whatever the body calls next is a call of its own.
        handed_over.set(None)
        # The library may have validated once more, and what the body gets is what counts.
        call.values = {name: kwargs.get(name, value) for name, value in call.values.items()}
    else:
        call = direct_call(contract, args, kwargs)
    call.args, call.kwargs = args, kwargs
    if contract.reads_when is not None and (fault := _decide_reads(call, contract.reads_when)) is not None:
        raise fail(call, fault)
    _tell_callers(call, 1)
    token = in_flight.set(call)
    try:
        outcome = await chain(call)
    except asyncio.CancelledError:
        settled = fail(call, _reason_of_cancellation(call))
        _tell_callers(call, -1, settled)
        raise
    finally:
        call.ended = True
        in_flight.reset(token)
    if isinstance(outcome, Ok):
        return outcome.value
    settled = fail(call, outcome.fault)
    _tell_callers(call, -1, settled)
    raise settled


def direct_call(contract: Contract, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Return the call for an invocation that no server prepared: a unit test, or another tool's body."""
    bound = inspect.signature(contract.fn).bind(*args, **kwargs)
    bound.apply_defaults()
    return Call(contract, tool=contract.name, arguments=bound.arguments, values=bound.arguments, parent=in_flight.get())


def fail(call: Call, fault: Fault) -> Fault:
    """Settle what a failed call left behind, log it once, and return the fault that says so."""
    effects = fault.effects
    if effects is None:
        effects = "none" if call.only_reads or not call.ran else "may_remain"
    retry = fault.retry
    fix = worded_fix(fault, call)
    if effects in ("may_remain", "unknown"):
        # Until somebody has looked, no repetition is safe, not even a changed one.
        retry = "never" if retry == "never" else "check_first"
        fix = fix or "Check what it left behind before you call it again."
    settled = fault.told(effects=effects, retry=retry, fix=fix)
    settled.text = worded(fault, call)
    settled.tool = call.tool
    log_failure(call, settled)
    return settled


def log_failure(call: Call, fault: Fault) -> None:
    """Write the one record of a failed call: ERROR with the traceback for what nobody declared, INFO for the rest."""
    level = logging.INFO if is_declared(fault) else logging.ERROR
    if not logger.isEnabledFor(level):
        return
    cause = fault.__cause__ if level == logging.ERROR else None
    logger.log(
        level,
        "%s failed at %s with %s: %s (ref %s)",
        call.tool,
        fault.stage,
        fault.code,
        worded(fault, call),
        call.correlation_id,
        exc_info=cause,
        extra={
            "tool": call.tool,
            "stage": fault.stage,
            "code": fault.code,
            "correlation_id": call.correlation_id,
            "arguments": redacted_arguments(call.arguments, call.contract.sensitive),
        },
    )


def _reason_of_cancellation(call: Call) -> Fault:
    """Return why a call was cancelled: its caller's time was over, or the caller or the client took it back."""
    caller = call.parent
    if caller is None:
        return Cancelled()
    if caller.countdown is not None and not caller.countdown.remaining:
        return overran(call, still_running=False)
    return Cancelled("the tool that made this call took it back")


def _tell_callers(call: Call, change: int, settled: Fault | None = None) -> None:
    """Keep count, in the calls that made this one, of writes that may have left something."""
    if call.reads or (settled is not None and settled.effects not in ("none", "rolled_back")):
        return
    caller = call.parent
    while caller is not None:
        caller.writes_within += change
        caller = caller.parent


def _decide_reads(call: Call, reads_when: Callable[..., object]) -> Fault | None:
    known = {**call.kwargs, **call.values}
    try:
        call.reads = bool(reads_when(**{name: known[name] for name in inspect.signature(reads_when).parameters}))
    except Exception as error:
        fault = translate(error, call)
        if fault is None:
            raise
        return fault
    return None
