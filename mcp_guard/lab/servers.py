"""The two servers of the lab, bare and guarded, in this process or in one of their own.

`python -m mcp_guard.lab.servers guarded FOLDER BUDGET` serves one over stdio.
"""

from __future__ import annotations

import functools
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread
from mcp.server.mcpserver import MCPServer

from mcp_guard.guard import Guard
from mcp_guard.lab.service import MAX_CHARS, Notes

ServerName = Literal["sdk", "guarded"]

_STOP_SECONDS = 1


def build(name: ServerName, notes: Notes, budget: float) -> MCPServer[Any]:
    """Return a server with the lab's tools.

    Args:
        name: `sdk` for a plain one, `guarded` for one with a guard.
        notes: The tools and their folder.
        budget: The time budget of each guarded tool, in seconds.
    """
    # The SDK logs each call on stderr and each failure with its traceback, between the lines of the report.
    server = MCPServer[Any]("lab", log_level="CRITICAL")
    if name == "sdk":
        for tool in (notes.head, notes.slow_head, sliced(notes.dump), notes.append_note):
            server.tool()(tool)
        return server
    guard = Guard(server, timeout=budget)
    server.tool()(guard.reads(notes.head))
    server.tool()(guard.reads(notes.slow_head))
    server.tool()(guard.reads(max_chars=MAX_CHARS)(notes.dump))
    server.tool()(guard.writes(notes.append_note))
    return server


def sliced(tool: Callable[[str], str]) -> Callable[[str], str]:
    """Return a tool whose answer keeps to `MAX_CHARS` as a first draft does it: the rest falls off."""

    @functools.wraps(tool)
    def cut(path: str) -> str:
        return tool(path)[:MAX_CHARS]

    return cut


@asynccontextmanager
async def serve_http(server: MCPServer[Any]) -> AsyncGenerator[str]:
    """Serve on a free loopback port from a thread of its own; yields the URL, and ends the thread afterwards."""
    import uvicorn  # noqa: PLC0415 - only this transport needs it

    # The protocol is named: asyncio turns Nagle's delay off only on a socket that says it is TCP.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        config = uvicorn.Config(
            server.streamable_http_app(), log_level="critical", timeout_graceful_shutdown=_STOP_SECONDS
        )
        http = uvicorn.Server(config)
        thread = threading.Thread(target=http.run, kwargs={"sockets": [listener]}, name="lab server", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            http.should_exit = True
            await anyio.to_thread.run_sync(thread.join)


def main(name: ServerName, folder: str, budget: str) -> None:
    """Serve over stdio until the client leaves."""
    build(name, Notes(Path(folder)), float(budget)).run("stdio")


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]  # the lab starts it, with the names that it knows
