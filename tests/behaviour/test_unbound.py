from __future__ import annotations

from typing import Any

import pytest

from mcp_guard import Guard

pytestmark = pytest.mark.anyio


async def test_a_guard_that_nobody_bound_says_so_once_when_a_server_calls_its_tools(
    library: Any, records: list[Any]
) -> None:
    server, guard = library.server("s"), Guard()

    @server.tool()
    @guard.reads
    def look(n: int) -> int:
        return n

    async with library.connect(server) as client:
        for _ in range(2):
            await client.call_tool("look", {"n": 1})

    (record,) = records
    assert "not bound" in record.getMessage()
    assert "guard.bind(mcp)" in record.getMessage()


async def test_a_guard_that_nobody_bound_says_nothing_in_a_plain_unit_test(records: list[Any]) -> None:
    @Guard().reads
    def look(n: int) -> int:
        return n

    assert await look(1) == 1
    assert records == []
