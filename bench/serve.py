"""Serve one of the measured servers from a process of its own: `python -m bench.serve guarded stdio`."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import TYPE_CHECKING

from bench.servers import BUILDS

if TYPE_CHECKING:
    from mcp.server import MCPServer


async def serve_http(server: MCPServer) -> None:
    """Serve on a free loopback port, which is printed first."""
    import uvicorn

    # The protocol is named: asyncio turns Nagle's delay off only on a socket that says it is TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    # No access log: it would add the same cost to every arm and flatter the ratios.
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    await uvicorn.Server(config).serve(sockets=[listener])


def main(name: str, transport: str) -> None:
    """Serve the server called `name` until the client leaves or the process is terminated."""
    server = BUILDS[name]()
    asyncio.run(serve_http(server) if transport == "http" else server.run_stdio_async())


if __name__ == "__main__":
    main(*sys.argv[1:])
