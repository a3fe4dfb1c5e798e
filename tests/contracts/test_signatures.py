"""Whatever the signature, a guarded server publishes and answers what the bare one does, and refuses what does not fit.

All tools of one table stand on one server, and all calls are made over one connection; each test looks at one row.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import anyio
import pytest
from pydantic import Field

from mcp_guard import ConfigurationError, Guard, current_call

from . import late_signatures, registrations, results, signatures
from .table import Signature, heard, typed

pytestmark = [
    # fastmcp writes the lists that it makes of generators with the serializer for generators.
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    # The SDK never awaits what a sync decorator around an async function returns.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]

GUARD = "io.github.mcp-guard/"
MODERN, LEGACY = "2026-07-28", "legacy"
LIBRARIES = ("mcpserver", "fastmcp")
TABLES = {
    module.__name__.rpartition(".")[2]: module for module in (signatures, registrations, results, late_signatures)
}
TICKETS = itertools.count()
AT_EACH_REVISION = (registrations, results)
"""The tables whose calls are also made at the revisions before 2026-07-28."""


@dataclass(frozen=True)
class Answer:
    """What came of one call.

    Attributes:
        wire: The result as JSON, without what the guard adds to `_meta`.
        is_error: Whether it says that the call failed.
        text: Its text blocks, one a line.
        structured: Its `structuredContent`.
        got: What the body got; empty if it did not run.
    """

    wire: str
    is_error: bool
    text: str
    structured: Any
    got: Sequence[Any]


@dataclass(frozen=True)
class Seen:
    """What a client sees of one row.

    Attributes:
        tool: The listed tool as JSON, without its annotations.
        annotations: Its annotations.
        good: The answers to the good calls.
        bad: The answer to the bad call.
    """

    tool: str
    annotations: Mapping[str, Any]
    good: Sequence[Answer]
    bad: Answer | None


async def answer(client: Any, tool: str, arguments: Mapping[str, Any]) -> Answer:
    heard.clear()
    result = await client.call_tool(tool, dict(arguments))
    told = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    meta = {key: value for key, value in told.pop("_meta", {}).items() if not key.startswith(GUARD)}
    return Answer(
        wire=json.dumps(told | {"_meta": meta}),
        is_error=result.is_error,
        text="\n".join(block.text for block in result.content if block.type == "text"),
        structured=result.structured_content,
        got=list(heard),
    )


async def look(library: Any, server: Any, rows: Sequence[Signature], mode: str) -> dict[str, Seen]:
    seen: dict[str, Seen] = {}
    async with library.connect(server, mode=mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        for row in rows:
            told = listed[row.tool].model_dump(mode="json", by_alias=True, exclude_none=True)
            annotations = told.pop("annotations", {})
            good = [await answer(client, row.tool, arguments) for arguments in row.good]
            bad = None if row.bad is None else await answer(client, row.tool, row.bad)
            seen[row.name] = Seen(json.dumps(told), annotations, good, bad)
    return seen


_seen: dict[tuple[str, ...], dict[str, Seen] | Exception] = {}


def seen(library: Any, table: str, kind: str, mode: str = MODERN) -> dict[str, Seen]:
    """Return what a client sees of a table's rows on a server of one kind: bare, another bare one, or guarded."""
    key = (library.name, table, kind, mode)
    if key not in _seen:
        try:
            _seen[key] = watched(library, table, kind, mode)
        except Exception as error:  # noqa: BLE001 - it fails each test that looks at the table
            _seen[key] = error
    found = _seen[key]
    if isinstance(found, Exception):
        raise found
    return found


def watched(library: Any, table: str, kind: str, mode: str) -> dict[str, Seen]:
    server = library.server("s")
    protect: Any = Guard(server).reads if kind == "guarded" else lambda fn: fn
    rows = [row for row in TABLES[table].TABLE if row.only in (None, library.name)]
    for row in rows:
        row.register(server, protect)
    try:
        return anyio.run(look, library, server, rows, mode)
    finally:
        # So that coroutines nobody awaited are complained about here, where it is known that there are some.
        gc.collect()


def is_right(library: str, row: Signature) -> bool:
    return library not in row.instead


def is_wrong(library: str, row: Signature) -> bool:
    return library in row.instead


def can_be_wrong(_: str, row: Signature) -> bool:
    return row.bad is not None


def each(
    fits: Callable[[str, Signature], bool] = lambda library, row: True, modes: Sequence[str] = (MODERN, LEGACY)
) -> pytest.MarkDecorator:
    """Parametrize a test with every library, and every row for it that fits, at some protocol revisions."""
    return pytest.mark.parametrize(
        ("library", "table", "row", "mode"),
        [
            pytest.param(library, table, row, mode, id=f"{library}-{mode}-{table}-{row.name}")
            for library in LIBRARIES
            for mode in modes
            for table, module in TABLES.items()
            if mode == MODERN or module in AT_EACH_REVISION
            for row in module.TABLE
            if row.only in (None, library) and fits(library, row)
        ],
        indirect=["library"],
    )


class TestAGuardedServer:
    @each()
    def test_publishes_what_the_bare_one_does(self, library: Any, table: str, row: Signature, mode: str) -> None:
        bare, guarded = (seen(library, table, kind, mode)[row.name] for kind in ("bare", "guarded"))

        assert guarded.tool == bare.tool
        assert guarded.annotations == {**bare.annotations, "readOnlyHint": True}

    @each(is_right)
    def test_answers_good_calls_as_the_bare_one_does(self, library: Any, table: str, row: Signature, mode: str) -> None:
        bare, guarded = (seen(library, table, kind, mode)[row.name] for kind in ("bare", "guarded"))

        assert [(call.is_error, len(call.got)) for call in bare.good] == [(False, 1)] * len(row.good)
        assert guarded.good == bare.good

    @each(is_wrong)
    def test_answers_rightly_where_the_bare_one_does_not(
        self, library: Any, table: str, row: Signature, mode: str
    ) -> None:
        right = row.instead[library.name]
        (given,) = seen(library, table, "guarded", mode)[row.name].good

        assert (given.text, given.structured, given.is_error) == (right.text, right.structured, False)
        assert given.got == [typed(right.got)]

    @each(can_be_wrong)
    def test_refuses_what_does_not_fit_before_the_body_runs(
        self, library: Any, table: str, row: Signature, mode: str
    ) -> None:
        refused = seen(library, table, "guarded", mode)[row.name].bad

        assert refused is not None
        assert refused.is_error
        assert refused.text.startswith(f"[validate] {row.tool}.{row.at}: ")
        assert refused.got == []

    @pytest.mark.anyio
    async def test_takes_a_partial_whose_annotations_are_strings(self, library: Any) -> None:
        server = library.server("s")
        server.tool()(Guard(server).reads(late_signatures.partial_of_a_late_function()))

        async with library.connect(server) as client:
            (tool,) = (await client.list_tools()).tools
            given = await answer(client, tool.name, {"at": "2024-01-02"})

        assert tool.input_schema["properties"]["at"]["format"] == "date"
        assert given.got == [typed({"at": date(2024, 1, 2), "item": None})]

    @pytest.mark.anyio
    async def test_knows_the_very_values_that_the_body_gets(self, library: Any) -> None:
        server = library.server("s")
        values: list[tuple[int, int]] = []

        @server.tool()
        @Guard(server).reads
        def take_ticket(ticket: Annotated[int, Field(default_factory=TICKETS.__next__)]) -> int:
            values.append((ticket, current_call().values["ticket"]))
            return ticket

        async with library.connect(server) as client:
            await client.call_tool("take_ticket", {})

        ((got, known),) = values
        assert got == known

    @pytest.mark.anyio
    async def test_serves_its_tools_beside_one_that_cannot_be_called_by_name(self, library: Any) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.reads
        def look(n: int) -> int:
            return n

        def positional(n: int, /) -> int:
            return n

        with contextlib.suppress(ConfigurationError, ValueError):
            # fastmcp refuses it, and so may the guard; what is registered must not stop the rest.
            server.tool()(guard.reads(positional))

        async with library.connect(server) as client:
            assert "look" in [tool.name for tool in (await client.list_tools()).tools]
            assert (await answer(client, "look", {"n": 1})).text == "1"


class TestTheTables:
    def test_have_many_rows_for_each_library(self) -> None:
        for library in LIBRARIES:
            rows = [row for module in TABLES.values() for row in module.TABLE if row.only in (None, library)]
            assert len(rows) > 150

    @each(is_right, [MODERN])
    def test_have_only_calls_that_are_answered_alike_every_time(
        self, library: Any, table: str, row: Signature, mode: str
    ) -> None:
        assert seen(library, table, "bare", mode)[row.name] == seen(library, table, "another bare one", mode)[row.name]

    @each(is_wrong)
    def test_say_of_the_bare_server_only_what_is_true(
        self, library: Any, table: str, row: Signature, mode: str
    ) -> None:
        right = row.instead[library.name]
        (given,) = seen(library, table, "bare", mode)[row.name].good

        is_right = (given.text, given.structured, given.got) == (right.text, right.structured, [typed(right.got)])
        assert given.is_error or not is_right, right.why

    @pytest.mark.parametrize(
        ("one", "other"), [(1, True), (1, 1.0), ("a", b"a"), ([1], (1,)), ({"a": 1}, {"a": "1"}), ({1}, frozenset({1}))]
    )
    def test_tell_values_apart_by_their_types(self, one: Any, other: Any) -> None:
        assert typed(one) == typed(one)
        assert typed({"held": [one]}) != typed({"held": [other]})
