"""The servers under measure: the same tools, bare and behind each kind of guard.

Each SDK is imported where it is used, so that a process that serves one of them has not loaded the others.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from fastmcp import FastMCP
    from mcp.server import MCPServer

SECONDS = 5.0
"""The time budget of every guarded tool; no measured call ever comes near it."""

Tool = Callable[..., Any]
Server = TypeVar("Server", "MCPServer", "FastMCP")


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_waiting(a: int, b: int) -> int:
    """Add two numbers after one turn of the event loop."""
    await asyncio.sleep(0)
    return a + b


def add_sync(a: int, b: int) -> int:
    """Add two numbers in a worker thread."""
    return a + b


async def fail(a: int, b: int) -> int:
    """Raise what nobody declared."""
    raise ValueError("x")


def with_tools(server: Server, guarded: Callable[[Tool], Tool] = lambda fn: fn) -> Server:
    """Register the tools, each behind `guarded`, and return the server."""
    for fn in (add, add_waiting, add_sync, fail):
        server.tool()(guarded(fn))
    return server


def bare() -> MCPServer:
    from mcp.server import MCPServer

    return with_tools(MCPServer("bench"))


def guarded() -> MCPServer:
    from mcp.server import MCPServer

    from mcp_guard import Guard

    server = MCPServer("bench")
    # offload=False: `add` never awaits, and is always quick.
    return with_tools(server, Guard(server).reads(timeout=SECONDS, offload=False))


def own_task() -> MCPServer:
    from mcp.server import MCPServer

    return with_tools(MCPServer("bench"), in_own_task)


def in_own_task(fn: Tool) -> Tool:
    """Return an async `fn` that is given up at its deadline: what one would write by hand, and no more.

    The body has a task of its own that is waited for, so that the answer comes at the deadline even when the
    body swallows its cancellation.
    """
    if not asyncio.iscoroutinefunction(fn):
        return fn

    @functools.wraps(fn)
    async def waited_for(*args: Any, **kwargs: Any) -> Any:
        body: asyncio.Task[Any] = asyncio.create_task(fn(*args, **kwargs))
        try:
            await asyncio.wait((body,), timeout=SECONDS)
        finally:
            if not body.done():
                body.cancel()
        if not body.done():
            raise TimeoutError
        return body.result()

    return waited_for


def fast() -> FastMCP:
    from fastmcp import FastMCP

    return with_tools(FastMCP("bench"))


def fast_with_middleware() -> FastMCP:
    from fastmcp import FastMCP
    from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
    from fastmcp.server.middleware.response_limiting import ResponseLimitingMiddleware
    from fastmcp.server.middleware.timing import TimingMiddleware

    server = FastMCP("bench")
    for middleware in (ErrorHandlingMiddleware(), TimingMiddleware(), ResponseLimitingMiddleware()):
        server.add_middleware(middleware)
    return with_tools(server)


def fast_guarded() -> FastMCP:
    from fastmcp import FastMCP

    from mcp_guard import Guard

    server = FastMCP("bench")
    return with_tools(server, Guard(server).reads(timeout=SECONDS, offload=False))


Build = Callable[[], Any]
BUILDS: dict[str, Build] = {
    build.__name__: build for build in (bare, guarded, own_task, fast, fast_with_middleware, fast_guarded)
}
"""How each server is made, by the name that `bench.serve` takes."""
