"""The ways of calling a tool that stand side by side: each opens a connection and yields one call."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

if TYPE_CHECKING:
    from bench.servers import Build

Call = Callable[[], Awaitable[Any]]
"""One tool call, ready to be timed."""

Opened = AbstractAsyncContextManager[Call]
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of making the call.

    Attributes:
        name: What the table calls it.
        open: Opens it; yields the call.
        against: The arm that its ratio is taken to.
    """

    name: str
    open: Callable[[], Opened]
    against: str = "bare"


@dataclass(frozen=True, slots=True)
class Request:
    """The tool and the arguments that every arm of a comparison calls."""

    tool: str
    arguments: dict[str, Any]

    @asynccontextmanager
    async def direct(self, build: Build) -> AsyncIterator[Call]:
        """Call `server.call_tool`, with no protocol in between."""
        server = build()
        yield lambda: server.call_tool(self.tool, self.arguments)

    @asynccontextmanager
    async def in_memory(self, build: Build) -> AsyncIterator[Call]:
        """Call through a client in the same process."""
        async with Client(build()) as client:
            yield lambda: client.call_tool(self.tool, self.arguments)

    @asynccontextmanager
    async def in_memory_fastmcp(self, build: Build) -> AsyncIterator[Call]:
        """Call through fastmcp's own client in the same process."""
        import fastmcp

        async with fastmcp.Client(build()) as client:
            yield lambda: client.call_tool_mcp(self.tool, self.arguments)

    @asynccontextmanager
    async def over_stdio(self, build: Build) -> AsyncIterator[Call]:
        """Call a server in a subprocess over its standard streams."""
        command = StdioServerParameters(command=sys.executable, args=_serve(build, "stdio"), cwd=ROOT)
        # The standard error of this process is where `harness.measure` sends it.
        async with Client(stdio_client(command, errlog=sys.stderr)) as client:
            yield lambda: client.call_tool(self.tool, self.arguments)

    @asynccontextmanager
    async def over_http(self, build: Build) -> AsyncIterator[Call]:
        """Call a server in a subprocess over loopback HTTP."""
        with _server_process(build) as port:
            async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                yield lambda: client.call_tool(self.tool, self.arguments)


@contextmanager
def _server_process(build: Build) -> Iterator[int]:
    command = [sys.executable, *_serve(build, "http")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def _serve(build: Build, transport: str) -> list[str]:
    return ["-m", "bench.serve", build.__name__, transport]


@asynccontextmanager
async def thread_hop() -> AsyncIterator[Call]:
    """Run nothing in a worker thread: the unit that added cost is told in."""
    yield lambda: anyio.to_thread.run_sync(_nothing)


def _nothing() -> int:
    return 3


@asynccontextmanager
async def fresh_interpreter(code: str) -> AsyncIterator[Call]:
    """Start an interpreter that runs `code`, and wait for its end."""

    async def start() -> int:
        command = [sys.executable, "-c", code]
        # Nothing else runs on this loop, and asyncio's watcher of a child would add to the time.
        return subprocess.call(command, cwd=ROOT, stderr=subprocess.DEVNULL)  # noqa: ASYNC221

    yield start
