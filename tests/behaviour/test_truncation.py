from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ImageContent, TextContent

from mcp_guard import Guard
from mcp_guard.contract import declare
from mcp_guard.policies.truncation import Truncation

pytestmark = pytest.mark.anyio

NOTE = "io.github.mcp-guard/truncated"
MARKER = re.compile(r"\n?\[truncated: ([\d,]+) of ([\d,]+) characters shown\. .+\]\Z")
MAX_MARKER = 300


def split(text: str) -> tuple[str, int, int]:
    """Return what is shown of a cut text, and the two numbers that its marker states."""
    found = MARKER.search(text)
    assert found is not None, f"no marker in {text[-200:]!r}"
    shown, total = (int(number.replace(",", "")) for number in found.groups())
    return text[: found.start()], shown, total


def serving(library: Any, text: str, **options: Any) -> Any:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads(**options)
    def dump() -> str:
        return text

    return server


async def test_a_long_text_is_cut_and_says_how_much_is_shown(library: Any) -> None:
    text = "".join(f"{number:06d}\n" for number in range(3_000))

    async with library.connect(serving(library, text, max_chars=2_000)) as client:
        result = await client.call_tool("dump")

    assert not result.is_error
    shown, stated, total = split(result.content[0].text)
    assert shown == text[:2_000]
    assert (stated, total) == (2_000, 21_000)
    assert len(result.content[0].text) <= 2_000 + MAX_MARKER
    assert "Ask for less" in result.content[0].text


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_cut_stands_in_text_and_structure_alike_and_its_totals_in_meta(library: Any, mode: str) -> None:
    async with library.connect(serving(library, "x" * 500, max_chars=100), mode=mode) as client:
        result = await client.call_tool("dump")

    assert result.structured_content == {"result": result.content[0].text}
    assert result.meta[NOTE] == {"shown": 100, "total": 500, "unit": "characters"}


@pytest.mark.parametrize(("length", "cut"), [(99, False), (100, False), (101, True)])
async def test_nothing_is_cut_up_to_the_limit_exactly(library: Any, length: int, cut: bool) -> None:
    async with library.connect(serving(library, "x" * length, max_chars=100)) as client:
        result = await client.call_tool("dump")

    assert (result.content[0].text != "x" * length) is cut
    assert (NOTE in (result.meta or {})) is cut


async def test_without_a_limit_nothing_is_cut(library: Any) -> None:
    async with library.connect(serving(library, "x" * 100_000, max_chars=None)) as client:
        result = await client.call_tool("dump")

    assert result.content[0].text == "x" * 100_000


async def test_the_default_limit_is_40_000_characters(library: Any) -> None:
    async with library.connect(serving(library, "x" * 40_001)) as client:
        result = await client.call_tool("dump")

    assert split(result.content[0].text)[1:] == (40_000, 40_001)


async def test_a_tools_own_limit_wins_over_its_guards(library: Any) -> None:
    server = library.server("s")
    guard = Guard(server, max_chars=10)

    @server.tool()
    @guard.reads
    def short() -> str:
        return "x" * 50

    @server.tool()
    @guard.reads(max_chars=None)
    def whole() -> str:
        return "x" * 50

    async with library.connect(server) as client:
        assert split((await client.call_tool("short")).content[0].text)[1:] == (10, 50)
        assert (await client.call_tool("whole")).content[0].text == "x" * 50


async def test_emoji_count_as_one_character_and_stay_whole(library: Any) -> None:
    async with library.connect(serving(library, "🙂" * 100, max_chars=51)) as client:
        result = await client.call_tool("dump")

    assert split(result.content[0].text) == ("🙂" * 51, 51, 100)


@pytest.mark.parametrize("limit", [50, 51])
def test_the_two_halves_of_a_surrogate_pair_are_never_separated(limit: int) -> None:
    """On the policy itself, because such a text cannot be sent anyhow."""
    truncation = Truncation(declare(lambda: None, "reads", {"max_chars": limit}))

    text, cut = truncation.cut("\ud83d\ude42" * 100)

    shown, stated, total = split(text)
    assert shown == "\ud83d\ude42" * 25
    assert (stated, total) == (50, 200)
    assert cut is not None
    assert (cut.shown, cut.total) == (50, 200)


def test_a_lone_half_is_cut_like_any_character() -> None:
    truncation = Truncation(declare(lambda: None, "reads", {"max_chars": 5}))

    for half in ("\ud83d", "\ude42"):
        text, _ = truncation.cut("abcd" + half + "efgh")
        assert split(text) == ("abcd" + half, 5, 9)


class TestSeveralTextBlocks:
    @staticmethod
    def serve(library: Any, *texts: str, **options: Any) -> Any:
        server = library.server("s")

        def dump():  # without an annotation, so that there is no structure that repeats the blocks
            return CallToolResult(content=[TextContent(type="text", text=text) for text in texts])

        server.tool()(Guard(server).reads(**options)(dump))
        return server

    async def test_share_the_limit_in_order(self, library: Any) -> None:
        server = self.serve(library, "a" * 60, "b" * 60, "c" * 60, max_chars=100)

        async with library.connect(server) as client:
            result = await client.call_tool("dump")

        first, second, third = (block.text for block in result.content)
        assert first == "a" * 60
        assert split(second) == ("b" * 40, 40, 60)
        assert split(third) == ("", 0, 60)
        assert result.meta[NOTE] == {"shown": 100, "total": 180, "unit": "characters"}

    async def test_that_fit_together_are_left_alone(self, library: Any) -> None:
        server = self.serve(library, "a" * 50, "", "b" * 50, max_chars=100)

        async with library.connect(server) as client:
            result = await client.call_tool("dump")

        assert [block.text for block in result.content] == ["a" * 50, "", "b" * 50]
        assert NOTE not in (result.meta or {})

    async def test_keep_the_blocks_that_are_no_text(self, library: Any) -> None:
        server = library.server("s")
        image = ImageContent(type="image", data="aGk=", mime_type="image/png")

        def dump():
            return CallToolResult(content=[TextContent(type="text", text="a" * 60), image])

        server.tool()(Guard(server).reads(max_chars=50)(dump))

        async with library.connect(server) as client:
            result = await client.call_tool("dump")

        assert split(result.content[0].text) == ("a" * 50, 50, 60)
        assert result.content[1].data == "aGk="

    async def test_of_a_returned_list_share_it_too(self, library: Any) -> None:
        server = library.server("s")

        def dump():
            return [TextContent(type="text", text="a" * 60), TextContent(type="text", text="b" * 60)]

        server.tool()(Guard(server).reads(max_chars=100)(dump))

        async with library.connect(server) as client:
            result = await client.call_tool("dump")

        shown = "".join(split(block.text)[0] if "[truncated" in block.text else block.text for block in result.content)
        assert result.meta[NOTE]["shown"] == len(shown) == 100
        assert result.meta[NOTE]["total"] == 120


async def test_an_error_that_a_tool_returned_itself_is_not_cut(library: Any) -> None:
    server = TestSeveralTextBlocks.serve(library, "x", max_chars=10)

    def fail():
        return CallToolResult(content=[TextContent(type="text", text="e" * 50)], is_error=True)

    guard = Guard()
    server.tool()(guard.reads(max_chars=10)(fail))

    async with library.connect(server) as client:
        result = await client.call_tool("fail")

    assert result.is_error
    assert result.content[0].text == "e" * 50


async def test_a_tool_that_is_called_by_another_is_cut_only_where_it_answers_a_client(library: Any) -> None:
    server = library.server("s")
    guard = Guard(server)

    @server.tool()
    @guard.reads(max_chars=10)
    def dump() -> str:
        return "x" * 1_000

    @server.tool()
    @guard.reads
    async def measure() -> int:
        return len(await dump())

    async with library.connect(server) as client:
        assert (await client.call_tool("measure")).content[0].text == "1000"


async def test_a_direct_call_cuts_nothing() -> None:
    @Guard().reads(max_chars=10)
    def dump() -> str:
        return "x" * 1_000

    assert len(await dump()) == 1_000


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=4),
    limit=st.integers(1, 120),
)
async def test_what_a_cut_states_is_true(texts: list[str], limit: int) -> None:
    server = MCPServer("s")

    def dump():
        return CallToolResult(content=[TextContent(type="text", text=text) for text in texts])

    server.tool()(Guard(server).reads(max_chars=limit, in_thread=False, timeout=None)(dump))

    async with Client(server, mode="2026-07-28", cache=None) as client:
        result = await client.call_tool("dump")

    total = sum(map(len, texts))
    shown = []
    for sent, block in zip(texts, result.content, strict=True):
        if block.text == sent:
            shown.append(sent)
        else:
            kept, stated, of = split(block.text)
            assert sent.startswith(kept)
            assert (stated, of) == (len(kept), len(sent))
            assert len(block.text) <= len(kept) + MAX_MARKER
            shown.append(kept)
    assert len("".join(shown)) == min(limit, total)
    if total > limit:
        assert result.meta[NOTE] == {"shown": len("".join(shown)), "total": total, "unit": "characters"}
    else:
        assert NOTE not in (result.meta or {})


@given(text=st.text(st.characters(), max_size=60), limit=st.integers(1, 60))
def test_a_cut_of_any_string_keeps_its_beginning_and_states_the_truth(text: str, limit: int) -> None:
    cut_text, cut = Truncation(declare(lambda: None, "reads", {"max_chars": limit})).cut(text)

    if cut is None:
        assert cut_text == text
        assert len(text) <= limit
    else:
        shown, stated, total = split(cut_text)
        assert text.startswith(shown)
        assert (stated, total) == (len(shown), len(text)) == (cut.shown, cut.total)
        assert limit - 1 <= len(shown) <= limit
        pair = text[len(shown) - 1 : len(shown) + 1]
        assert len(pair.encode("utf-16", "surrogatepass")) < 2 + 4 or not shown or not is_pair(pair)


def is_pair(pair: str) -> bool:
    return len(pair) == 2 and "\ud800" <= pair[0] <= "\udbff" and "\udc00" <= pair[1] <= "\udfff"
