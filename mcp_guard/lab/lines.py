"""The three lines that carry a call to the same tools, and what comes back of it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from mcp_guard.lab import LineName, Transport
from mcp_guard.lab.evidence import Reply
from mcp_guard.lab.servers import ServerName, build, serve_http, sliced
from mcp_guard.lab.service import Notes

_PATIENCE = 30.0
"""How long a line is waited for, in seconds, before the lab goes on without its answer."""


Send = Callable[[str, Mapping[str, Any]], Awaitable[tuple[str, bool]]]


@dataclass(frozen=True, slots=True)
class Line:
    """One way to the tools.

    Attributes:
        name: Which of the three.
        notes: The folder behind this line, for looking at what a call did.
    """

    name: LineName
    notes: Notes
    _send: Send

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Call a tool and return what comes back."""
        started = time.perf_counter()
        text, answered = f"no answer within {_PATIENCE:g} s", False
        with anyio.move_on_after(_PATIENCE):
            text, answered = await self._send(tool, arguments)
        return Reply(text, answered, time.perf_counter() - started)


@asynccontextmanager
async def open_line(name: LineName, transport: Transport, folder: Path, budget: float) -> AsyncGenerator[Line]:
    """Start what a line needs, yield the line, and stop it all again.

    Args:
        name: Which line.
        transport: How the two server lines are reached; the wire is always called directly.
        folder: Where this line keeps its notes.
        budget: The time budget of the guarded tools, in seconds.
    """
    notes = Notes(folder)
    if name == "wire":
        yield Line(name, notes, _wire(notes))
        return
    async with _connected(name, transport, notes, folder, budget) as client:
        yield Line(name, notes, _asking(client))


def _wire(notes: Notes) -> Send:
    tools: dict[str, Callable[..., str]] = {
        "head": notes.head,
        "slow_head": notes.slow_head,
        "dump": sliced(notes.dump),
        "append_note": notes.append_note,
    }

    def answer(request: str) -> str:
        message = json.loads(request)
        return json.dumps(tools[message["tool"]](**message["arguments"]))

    async def send(tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        request = json.dumps({"tool": tool, "arguments": arguments})
        try:
            return json.loads(await anyio.to_thread.run_sync(answer, request)), True
        except (LookupError, OSError, TypeError, ValueError) as error:
            # Nothing stands between the tool and its caller: this is what lands there.
            return f"{type(error).__name__}: {error}", False

    return send


def _asking(client: Client) -> Send:
    async def send(tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        try:
            result = await client.call_tool(tool, dict(arguments))
        except MCPError as error:
            return error.message, True
        return "\n".join(block.text for block in result.content if isinstance(block, TextContent)), True

    return send


@asynccontextmanager
async def _connected(
    name: ServerName, transport: Transport, notes: Notes, folder: Path, budget: float
) -> AsyncGenerator[Client]:
    if transport == "stdio":
        # The whole environment: the server is this very program, and must find what this one found.
        command = ["-m", "mcp_guard.lab.servers", name, str(folder), str(budget)]
        async with Client(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))) as client:
            yield client
    elif transport == "http":
        async with serve_http(build(name, notes, budget)) as url, Client(url) as client:
            yield client
    else:
        async with Client(build(name, notes, budget)) as client:
            yield client
