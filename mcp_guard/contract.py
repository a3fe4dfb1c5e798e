"""Everything an author declares about one tool, checked where it is declared."""

from __future__ import annotations

import dis
import functools
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypedDict

from mcp_guard.faults import ConfigurationError, Fault
from mcp_guard.redaction import is_sensitive_annotation, is_sensitive_name
from mcp_guard.templates import template_fields

Effect = Literal["reads", "writes"]
"""Whether a failed call can have left something different in the world."""

Predicate = Callable[..., object]
"""A function of some of a tool's parameters, taken by name."""


class GuardWarning(UserWarning):
    """An author declared something that works, but probably not as meant."""


class Options(TypedDict, total=False):
    """The options of `guard.reads` and `guard.writes`; each is documented on `Contract`."""

    timeout: float | str | None
    max_timeout: float
    max_chars: int | None
    raises: Mapping[type[BaseException], type[Fault]]
    fails_when: Callable[[Any], object] | None
    reads_when: Predicate | None
    unknown: Literal["refuse", "drop"]
    strict: bool
    input_schema: Mapping[str, Any] | None
    in_thread: bool
    offload: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What one tool promises, and how the guard treats its calls.

    Attributes:
        fn: The author's own function.
        name: The function's name; a tool may be registered under another.
        effect: `reads` leaves the world as it was, `writes` may not.
        timeout: The time budget in seconds, the name of a parameter that carries seconds, or None for no budget.
        max_timeout: The cap in seconds for a `timeout` taken from a parameter.
        max_chars: How many characters of text an answer shows; None for all of them.
        raises: Which fault an exception becomes, looked up along the exception's MRO before the built-in table.
        fails_when: Says of a returned value that it reports a failure.
        reads_when: Says of the arguments that this call of a writing tool only reads.
        unknown: Whether an argument that the tool does not have is refused or dropped.
        strict: Refuse arguments whose encoding would need a repair.
        input_schema: A JSON Schema (draft 2020-12) that the arguments, as one object, must fit as well.
        in_thread: Run a sync body in a worker thread; False keeps it on the event loop's thread.
        offload: Run an async body in a worker thread with an event loop of its own; None where nothing was said.
        sensitive: The parameters whose values are never shown.
    """

    fn: Callable[..., Any]
    name: str
    effect: Effect
    timeout: float | str | None = 30.0
    max_timeout: float = 300.0
    max_chars: int | None = 40_000
    raises: Mapping[type[BaseException], type[Fault]] = field(default_factory=dict[type[BaseException], type[Fault]])
    fails_when: Callable[[Any], object] | None = None
    reads_when: Predicate | None = None
    unknown: Literal["refuse", "drop"] = "refuse"
    strict: bool = False
    input_schema: Mapping[str, Any] | None = None
    in_thread: bool = True
    offload: bool | None = None
    sensitive: frozenset[str] = frozenset()

    @property
    def awaits(self) -> bool:
        """Whether the body is a coroutine function or an async generator."""
        return is_async(self.fn)

    def describe(self) -> dict[str, Any]:
        """Return the declaration as a flat mapping, for docs and for an author's tests."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("fn", "sensitive")}


_OPTION_NAMES = frozenset(Options.__annotations__)
_AWAITING = frozenset({"GET_AWAITABLE", "GET_ANEXT", "BEFORE_ASYNC_WITH"})


def declare(fn: Callable[..., Any], effect: Effect, options: Mapping[str, Any]) -> Contract:
    """Check what an author declared and return it as a contract.

    Args:
        fn: The author's function.
        effect: Which of the two verbs was used.
        options: The options of the verb, with the guard's defaults already filled in.

    Raises:
        ConfigurationError: If the function or an option cannot work.
    """
    name = function_name(fn)
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"guard.{effect} decorates functions, and {fn!r} has no signature: {error}") from None
    said = {option: value for option, value in options.items() if option in _OPTION_NAMES}
    for option in options.keys() - said.keys():
        raise ConfigurationError(f"{name}: guard.{effect} has no option {option!r}; it has {_listed(_OPTION_NAMES)}")
    contract = Contract(fn=fn, name=name, effect=effect, **said, sensitive=_sensitive_parameters(fn))
    _check_time(contract, parameters)
    _check_size(contract)
    _check_faults(contract, parameters)
    _check_predicates(contract, parameters)
    _check_arguments(contract)
    _check_threads(contract)
    return contract


def function_name(fn: Callable[..., Any]) -> str:
    """Return the name of a function, of what a `functools.partial` wraps, or of a callable's class."""
    named = fn if hasattr(fn, "__name__") else without_partials(fn)
    return str(getattr(named, "__name__", type(named).__name__))


def without_partials(fn: Any) -> Any:
    """Return what a `functools.partial` wraps, at any depth; any other callable as it is."""
    while is_partial(fn):
        fn = fn.func
    return fn


def is_partial(fn: object) -> bool:
    """Return whether a callable is a `functools.partial`."""
    return isinstance(fn, functools.partial)


def is_async(fn: Callable[..., Any]) -> bool:
    """Return whether calling `fn` gives something to await or to iterate over with `async for`."""
    fn = without_partials(fn)
    call = fn if inspect.isroutine(fn) else type(fn).__call__
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)


def never_awaits(fn: Callable[..., Any]) -> bool:
    """Return whether an async function has no `await`, `async for` or `async with`, so that it blocks while it runs."""
    innermost = inspect.unwrap(without_partials(inspect.unwrap(fn)))
    code = getattr(innermost, "__code__", None)
    if code is None or not is_async(innermost):
        return False
    return not any(step.opname in _AWAITING for step in dis.get_instructions(code))


def _sensitive_parameters(fn: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(fn, eval_str=True).parameters
    except NameError:
        # A name that only exists for type checkers; the server refuses such a tool with its own words.
        parameters = inspect.signature(fn).parameters
    return frozenset(
        name
        for name, parameter in parameters.items()
        if is_sensitive_name(name) or is_sensitive_annotation(parameter.annotation)
    )


_Parameters = Mapping[str, inspect.Parameter]


def _check_time(contract: Contract, parameters: _Parameters) -> None:
    timeout = contract.timeout
    if isinstance(timeout, str):
        if timeout not in parameters:
            raise ConfigurationError(
                f"{contract.name}: timeout={timeout!r} names no parameter; "
                f"write seconds, None, or the name of a parameter ({_listed(parameters)})"
            )
    elif timeout is not None and not _is_positive(timeout):
        raise ConfigurationError(
            f"{contract.name}: timeout={timeout!r} is not a number of seconds above 0; write None for no time limit"
        )
    if not _is_positive(contract.max_timeout):
        raise ConfigurationError(f"{contract.name}: max_timeout={contract.max_timeout!r} is not a number above 0")


def _check_size(contract: Contract) -> None:
    limit = contract.max_chars
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ConfigurationError(
            f"{contract.name}: max_chars={limit!r} is not a whole number above 0; write None for no limit"
        )


def _check_faults(contract: Contract, parameters: _Parameters) -> None:
    raises: object = contract.raises
    if not isinstance(raises, Mapping):
        raise ConfigurationError(
            f"{contract.name}: raises={raises!r} is no mapping; write {{FileNotFoundError: NoteMissing}}"
        )
    for error, fault in contract.raises.items():
        if not (isinstance(error, type) and issubclass(error, BaseException)):
            raise ConfigurationError(
                f"{contract.name}: raises= maps exception classes to faults, and {error!r} is none"
            )
        if not (isinstance(fault, type) and issubclass(fault, Fault)):
            raise ConfigurationError(
                f"{contract.name}: raises= maps {error.__name__} to {fault!r}; write a subclass of mcp_guard.Fault"
            )
        for template in (fault.message, fault.fix or ""):
            for shown in sorted(template_fields(template)):
                if shown not in parameters:
                    raise ConfigurationError(
                        f"{contract.name}: raises= maps {error.__name__} to {fault.__name__}, whose text shows "
                        f"{{{shown}}}, but the tool has no such parameter; it has {_listed(parameters)}"
                    )
                if shown in contract.sensitive:
                    raise ConfigurationError(
                        f"{contract.name}: {fault.__name__} shows {{{shown}}}, which is sensitive; leave it out"
                    )


def _check_predicates(contract: Contract, parameters: _Parameters) -> None:
    if contract.fails_when is not None and not callable(contract.fails_when):
        raise ConfigurationError(f"{contract.name}: fails_when={contract.fails_when!r} is not a function of the result")
    if contract.fails_when is not None and not _takes_one(contract.fails_when):
        raise ConfigurationError(f"{contract.name}: fails_when= must take one argument, the result")
    if contract.reads_when is None:
        return
    if contract.effect == "reads":
        raise ConfigurationError(
            f"{contract.name}: reads_when= belongs to guard.writes; a guard.reads tool always reads"
        )
    if not callable(contract.reads_when):
        raise ConfigurationError(f"{contract.name}: reads_when={contract.reads_when!r} is not a function")
    for asked in inspect.signature(contract.reads_when).parameters:
        if asked not in parameters:
            raise ConfigurationError(
                f"{contract.name}: reads_when= takes {asked!r}, but the tool has no such parameter; "
                f"it has {_listed(parameters)}"
            )


def _check_arguments(contract: Contract) -> None:
    if not isinstance(contract.strict, bool):
        raise ConfigurationError(f"{contract.name}: strict={contract.strict!r}; write True or False")
    if contract.unknown not in ("refuse", "drop"):
        raise ConfigurationError(f"{contract.name}: unknown={contract.unknown!r}; write 'refuse' or 'drop'")
    if contract.input_schema is None:
        return
    if isinstance(contract.input_schema, Mapping) and contract.input_schema.get("type", "object") != "object":
        raise ConfigurationError(
            f"{contract.name}: input_schema= is for the arguments as one object, and says type "
            f"{contract.input_schema['type']!r}; write {{'type': 'object', 'properties': {{...}}}}"
        )
    # Only tools with a raw schema need it, and it is slow to import.
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415

    try:
        Draft202012Validator.check_schema(contract.input_schema)
    except SchemaError as error:
        raise ConfigurationError(
            f"{contract.name}: input_schema= is no JSON Schema (draft 2020-12): {error.message}"
        ) from error


def _check_threads(contract: Contract) -> None:
    if not contract.in_thread:
        if contract.awaits:
            raise ConfigurationError(f"{contract.name}: in_thread=False is for sync functions; leave it out")
        if contract.timeout is not None:
            raise ConfigurationError(
                f"{contract.name}: in_thread=False keeps the body on the event loop's thread, where nothing can "
                f"time it out; say so with timeout=None"
            )
    if contract.offload and not contract.awaits:
        raise ConfigurationError(
            f"{contract.name}: offload=True is for async functions; a sync function already runs in a thread"
        )
    if contract.offload is None and contract.awaits and never_awaits(contract.fn):
        warnings.warn(
            f"{contract.name} is async but never awaits, so the whole server waits while it works and no time budget "
            f"can hold; write def instead of async def, or offload=True (offload=False if it is always quick)",
            GuardWarning,
            stacklevel=_levels_to_author(),
        )


def _takes_one(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        # Some built-in functions have no signature to look at.
        return True
    return True


def _levels_to_author() -> int:
    """Return how many calls up the author's own line is, for a warning that is to name it."""
    frame, levels = sys._getframe(1), 1  # noqa: SLF001 - as the warnings module finds it
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "mcp_guard":
        frame, levels = frame.f_back, levels + 1
    return levels


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _listed(names: Mapping[str, object] | frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
