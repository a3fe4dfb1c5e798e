"""A guarded server whose tools hang, for tests that end its process: `hanging.py LIBRARY TRANSPORT [PORT]`."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from mcp_guard import Guard


def say(word: str) -> None:
    sys.stderr.write(f"{word}\n")
    sys.stderr.flush()


def create(library: str) -> Any:
    if library == "fastmcp":
        from fastmcp import FastMCP

        return FastMCP("hanging")
    from mcp.server.mcpserver import MCPServer

    return MCPServer("hanging")


def add_tools(server: Any) -> None:
    guard = Guard(server)

    @server.tool()
    @guard.reads
    async def quick() -> str:
        await asyncio.sleep(0)
        return "here"

    @server.tool()
    @guard.writes(timeout="budget")
    def nap(budget: float) -> str:
        say("<started>")
        time.sleep(60)
        return "late"

    @server.tool()
    @guard.writes(timeout="budget")
    async def cling(budget: float) -> str:
        say("<started>")
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                say("<swallowed>")

    @server.tool()
    @guard.reads
    async def wait() -> str:
        say("<started>")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            say("<cancelled>")
            raise
        return "late"


def main(library: str, transport: str, port: str = "0") -> None:
    server = create(library)
    add_tools(server)
    if transport == "http":
        server.run("streamable-http", host="127.0.0.1", port=int(port))
    else:
        server.run("stdio")


if __name__ == "__main__":
    main(*sys.argv[1:])
