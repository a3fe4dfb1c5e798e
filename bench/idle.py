"""How busy the process is while the body of a timed-out call swallows its cancellation and goes on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp.client import Client
from mcp.server import MCPServer

from mcp_guard import Guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bench.servers import Tool

AT_MOST = 0.02
"""CPU seconds per second beyond those of an idle loop that still count as idle; the call is in them."""

_WATCHED = 1.0
_TIMEOUT = 0.2


async def cpu_while_swallowing() -> dict[str, float]:
    """Return the CPU seconds used per second of real time: by an idle loop, and by one call of each server.

    `anyio.fail_after` stands beside the guard as the first thing one would write by hand.
    """
    used = {"an idle loop": await _cpu_used(asyncio.sleep)}
    for name, guarded in {"mcp_guard": _guarded, "anyio.fail_after by hand": _fail_after}.items():
        async with _swallowing(MCPServer("bench"), guarded) as call:
            used[name] = await _cpu_used(call)
    return used


async def _cpu_used(call: Callable[[float], Awaitable[Any]]) -> float:
    wall, cpu = time.perf_counter(), time.process_time()
    calling = asyncio.ensure_future(call(_WATCHED))
    await asyncio.sleep(_WATCHED)
    used = (time.process_time() - cpu) / (time.perf_counter() - wall)
    await asyncio.wait((calling,))
    return used


@asynccontextmanager
async def _swallowing(
    server: MCPServer, guarded: Callable[[MCPServer, Tool], Tool]
) -> AsyncIterator[Callable[[float], Awaitable[Any]]]:
    async def hang(seconds: float) -> str:
        """Swallow every cancellation until the time is over."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(left)
        return "done"

    server.tool()(guarded(server, hang))
    async with Client(server) as client:
        yield lambda seconds: client.call_tool("hang", {"seconds": seconds})


def _guarded(server: MCPServer, fn: Tool) -> Tool:
    return Guard(server).reads(timeout=_TIMEOUT)(fn)


def _fail_after(_server: MCPServer, fn: Tool) -> Tool:
    async def hang(seconds: float) -> str:
        with anyio.fail_after(_TIMEOUT):
            return str(await fn(seconds))

    return hang
