from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp.client import Client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Library:
    """A server library under test, behind the few calls that the tests need."""

    name: str
    server: Callable[..., Any]
    context: Any
    tool_error: type[Exception]
    low_level: Callable[[Any], Any]

    def connect(self, server: Any, mode: str = "2026-07-28", **options: Any) -> AbstractAsyncContextManager[Client]:
        """Connect a real client in memory."""
        return _connected(self.low_level(server), mode, options)


@asynccontextmanager
async def _connected(low_level: Any, mode: str, options: dict[str, Any]) -> AsyncIterator[Client]:
    async with Client(low_level, mode=mode, cache=None, **options) as client:
        yield client


def _mcpserver() -> Library:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    return Library("mcpserver", MCPServer, Context, ToolError, lambda server: server)


def _fastmcp() -> Library:
    from fastmcp import Context, FastMCP
    from fastmcp.exceptions import ToolError

    return Library("fastmcp", FastMCP, Context, ToolError, lambda server: server._mcp_server)


LIBRARIES = {"mcpserver": _mcpserver, "fastmcp": _fastmcp}


@pytest.fixture(params=list(LIBRARIES))
def library(request: pytest.FixtureRequest) -> Library:
    return LIBRARIES[request.param]()


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    """What the guard logs during a test."""
    kept: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record)

    logger, keep = logging.getLogger("mcp_guard"), Keep()
    level = logger.level
    logger.addHandler(keep)
    logger.setLevel(logging.DEBUG)
    yield kept
    logger.removeHandler(keep)
    logger.setLevel(level)
