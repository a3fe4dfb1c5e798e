"""`Guard`: the decorators, and the binding to servers."""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, Unpack, cast, overload

from mcp_guard.contract import Contract, Effect, Options, declare, is_partial, without_partials
from mcp_guard.faults import ConfigurationError
from mcp_guard.policies.budget import Budget
from mcp_guard.policies.check import Check
from mcp_guard.policies.truncation import Truncation
from mcp_guard.runtime.execution import Execution
from mcp_guard.runtime.invocation import invoke
from mcp_guard.runtime.pipeline import compose
from mcp_guard.runtime.signals import name_left_behind_on_sigterm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

    from mcp_guard.ports import Policy, ServerAdapter
    from mcp_guard.runtime.threads import ThreadState

logger = logging.getLogger("mcp_guard")

P = ParamSpec("P")
Q = ParamSpec("Q")
S = TypeVar("S")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_ADAPTERS = {
    "mcp.server.mcpserver.server.MCPServer": "mcp_guard.servers.mcpserver",
    "fastmcp.server.server.FastMCP": "mcp_guard.servers.fastmcp",
}
_MAX_THREADS = 10_000


class GuardedTool(Protocol[P, R_co]):
    """What the decorators return: a real function, always async, that also carries its declaration.

    Attributes:
        fn: The author's own function, for unit tests.
        contract: What was declared.
    """

    fn: Callable[..., Any]
    contract: Contract
    __name__: str
    __doc__: str | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Call the tool: returns the author's value, raises the `Fault`."""
        ...

    @overload
    def __get__(self, instance: None, owner: type) -> GuardedTool[P, R_co]: ...
    @overload
    def __get__(self: GuardedTool[Concatenate[S, Q], R_co], instance: S, owner: type) -> GuardedTool[Q, R_co]: ...

    def describe(self) -> list[dict[str, Any]]:
        """Return the stages a call passes, outermost first, each with its options."""
        ...


class Decorator(Protocol):
    """`guard.reads(...)` or `guard.writes(...)`, waiting for its function."""

    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> GuardedTool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, AsyncIterator[R]], /) -> GuardedTool[P, list[R]]: ...
    @overload
    def __call__(self, fn: Callable[P, Iterator[R]], /) -> GuardedTool[P, list[R]]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> GuardedTool[P, R]: ...


class Guard:
    """The decorators for the tools of one or more servers, and what their calls share.

    ```python
    mcp = MCPServer("notes")
    guard = Guard(mcp)

    @mcp.tool()
    @guard.reads(timeout=2)
    def head(path: str, lines: int = 10) -> str: ...
    ```

    Args:
        server: An `MCPServer` (mcp 2) or a `FastMCP` (fastmcp 4); None to bind later with `bind`.
        timeout: The time budget of a tool that declares none, in seconds; None for no limit.
        max_chars: How many characters of text an answer shows where the tool does not say; None for all.
        threads: How many sync bodies may run at once, those that overran their budget included.
        strict: Refuse arguments whose encoding would need a repair, where the tool does not say.
        unknown_tool: Answer a call of a tool that does not exist with a `"protocol"` error (-32602, as the
            specification says) or with an error `"result"`, which every client shows to the model.

    Raises:
        ConfigurationError: If the server is of another kind, or an option cannot work.
    """

    def __init__(
        self,
        server: object = None,
        *,
        timeout: float | None = 30.0,
        max_chars: int | None = 40_000,
        threads: int = 64,
        strict: bool = False,
        unknown_tool: Literal["protocol", "result"] = "protocol",
    ) -> None:
        if isinstance(threads, bool) or not isinstance(threads, int) or not 0 < threads <= _MAX_THREADS:
            raise ConfigurationError(f"Guard: threads={threads!r} is not a whole number from 1 to {_MAX_THREADS:,}")
        if unknown_tool not in ("protocol", "result"):
            raise ConfigurationError(f"Guard: unknown_tool={unknown_tool!r}; write 'protocol' or 'result'")
        self._defaults: Options = {"timeout": timeout, "max_chars": max_chars, "strict": strict}
        # The defaults are options too: what is wrong with them is said here and not at the first tool.
        declare(_any_tool, "reads", self._defaults)
        self.unknown_tool: Literal["protocol", "result"] = unknown_tool
        self.functions: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()
        self._execution = Execution(threads)
        self._adapters: list[ServerAdapter] = []
        self._told_unbound = False
        if server is not None:
            self.bind(server)

    @overload
    def reads(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> GuardedTool[P, R]: ...
    @overload
    def reads(self, fn: Callable[P, AsyncIterator[R]], /) -> GuardedTool[P, list[R]]: ...
    @overload
    def reads(self, fn: Callable[P, Iterator[R]], /) -> GuardedTool[P, list[R]]: ...
    @overload
    def reads(self, fn: Callable[P, R], /) -> GuardedTool[P, R]: ...
    @overload
    def reads(self, /, **options: Unpack[Options]) -> Decorator: ...

    def reads(self, fn: Callable[..., Any] | None = None, /, **options: Unpack[Options]) -> Any:
        """Guard a tool that leaves the world as it was; with or without parentheses.

        Args:
            fn: The tool's function, sync or async.
            **options: See `mcp_guard.contract.Contract`.

        Raises:
            ConfigurationError: If the function or an option cannot work.
        """
        return self._decorator("reads", fn, options)

    @overload
    def writes(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> GuardedTool[P, R]: ...
    @overload
    def writes(self, fn: Callable[P, AsyncIterator[R]], /) -> GuardedTool[P, list[R]]: ...
    @overload
    def writes(self, fn: Callable[P, Iterator[R]], /) -> GuardedTool[P, list[R]]: ...
    @overload
    def writes(self, fn: Callable[P, R], /) -> GuardedTool[P, R]: ...
    @overload
    def writes(self, /, **options: Unpack[Options]) -> Decorator: ...

    def writes(self, fn: Callable[..., Any] | None = None, /, **options: Unpack[Options]) -> Any:
        """Guard a tool that changes something; with or without parentheses.

        Args:
            fn: The tool's function, sync or async.
            **options: See `mcp_guard.contract.Contract`.

        Raises:
            ConfigurationError: If the function or an option cannot work.
        """
        return self._decorator("writes", fn, options)

    def bind(self, server: object) -> None:
        """Put the guard on a server; several servers may share one guard, and tools may come before or after.

        Args:
            server: An `MCPServer` (mcp 2) or a `FastMCP` (fastmcp 4).

        Raises:
            ConfigurationError: If the server is of another kind, or is bound already.
        """
        for cls in type(server).__mro__:
            module = _ADAPTERS.get(f"{cls.__module__}.{cls.__qualname__}")
            if module is not None:
                self._adapters.append(import_module(module).install(server, self))
                name_left_behind_on_sigterm()
                return
        raise ConfigurationError(
            f"Guard() takes an MCPServer of mcp 2 or a FastMCP of fastmcp 4, and got {_kind(server)}; "
            f"write Guard(mcp) with the object that has @mcp.tool()"
        )

    async def ready(self) -> None:
        """Check the bound servers now, as otherwise happens before the first message is answered.

        Raises:
            ConfigurationError: If a tool is registered past its guard, or contradicts its contract.
        """
        wrong = [problem for adapter in self._adapters for problem in await adapter.check()]
        if wrong:
            raise ConfigurationError("\n".join(wrong))

    @property
    def threads(self) -> ThreadState:
        """How many worker threads are running, abandoned and free."""
        return self._execution.threads.state

    def log_left_behind(self) -> None:
        """Name in the log the bodies that are still running; happens by itself when the process ends."""
        self._execution.bodies.log_left_behind()

    def _tell_if_served(self) -> None:
        """Say once that a server calls this guard's tools without being bound to it: a plain call is no mistake."""
        if self._told_unbound or (library := _serving_library()) is None:
            return
        self._told_unbound = True
        logger.warning(
            "a server (%s) calls tools of a Guard that is not bound to it, so arguments go unchecked and failures are "
            "told in the library's words; write Guard(mcp) or guard.bind(mcp)",
            library,
        )

    def _decorator(self, effect: Effect, fn: Callable[..., Any] | None, options: Options) -> Any:
        if fn is not None:
            return self._decorate(effect, fn, options)
        return functools.partial(self._decorate, effect, options=options)

    def _decorate(self, effect: Effect, fn: Callable[..., Any], options: Options) -> GuardedTool[..., Any]:
        if isinstance(fn, classmethod | staticmethod):
            raise ConfigurationError(
                f"guard.{effect} decorates the function itself; write @classmethod or @staticmethod above it"
            )
        if isinstance(fn, int | float | str | dict):
            raise ConfigurationError(
                f"guard.{effect} takes its options by name, like guard.{effect}(timeout=2), and got {fn!r}"
            )
        if not callable(fn):
            raise ConfigurationError(
                f"guard.{effect} decorates the function itself, and got {_kind(fn)}; write the server's decorator "
                f"above: @mcp.tool() first, @guard.{effect}() below it"
            )
        if not inspect.isroutine(fn) and not is_partial(fn):
            raise ConfigurationError(
                f"guard.{effect} decorates functions, and got {_kind(fn)}; decorate its __call__ method"
            )
        contract = declare(fn, effect, {**self._defaults, **options})
        policies: list[Policy] = [Budget(contract), Check(contract)]
        chain = compose(policies, self._execution.body_of(contract))

        async def guarded(*args: Any, **kwargs: Any) -> Any:
            if not self._adapters:
                self._tell_if_served()
            return await invoke(contract, chain, args, kwargs)

        tool = cast("Any", functools.wraps(fn)(guarded))
        if is_partial(fn):
            _describe_partial(tool, fn, contract.name)
        tool.fn = fn
        tool.contract = contract
        tool.describe = lambda: [Truncation(contract).describe(), *(policy.describe() for policy in policies)]
        self.functions.add(fn)
        return cast("GuardedTool[..., Any]", tool)


def _serving_library() -> str | None:
    """Return the server library that is on the stack, if one is."""
    frame = sys._getframe(2)  # noqa: SLF001 - as the warnings module looks up the stack
    while frame.f_back is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.startswith(("mcp.server.", "fastmcp.")):
            return name.partition(".")[0]
        frame = frame.f_back
    return None


def _describe_partial(tool: Any, fn: Callable[..., Any], name: str) -> None:
    # A partial has no name, docstring or annotations of its own, and server libraries ask for all three.
    innermost = without_partials(fn)
    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = innermost.__doc__
    tool.__module__ = innermost.__module__
    signature = inspect.signature(fn, eval_str=True)
    tool.__annotations__ = {
        parameter.name: parameter.annotation
        for parameter in signature.parameters.values()
        if parameter.annotation is not parameter.empty
    }
    if signature.return_annotation is not signature.empty:
        tool.__annotations__["return"] = signature.return_annotation


def _kind(value: object) -> str:
    cls = value if isinstance(value, type) else type(value)
    return f"{'the class ' if isinstance(value, type) else 'a '}{cls.__module__}.{cls.__qualname__}"


def _any_tool() -> None:
    """Stand for the tools whose defaults are checked."""


_any_tool.__name__ = "Guard"
