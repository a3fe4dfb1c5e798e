"""Signatures whose annotations are strings, to be evaluated in this module and not where the decorators are."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Generator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import fastmcp as fast
import mcp.server.mcpserver as sdk
from fastmcp.dependencies import Depends
from mcp.server.mcpserver.resolve import Resolve
from mcp_types import CallToolResult, TextContent
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SkipValidation, ValidationInfo
from typing_extensions import TypedDict

from .registrations import unaware, unaware_async
from .table import Instead, Protect, Table, got

TABLE = Table()
tool, made_by = TABLE.tool, TABLE.made_by


class Late(Enum):
    """Known to this module only."""

    NOON = "noon"


class Item(BaseModel):
    at: date
    next: Item | None = None


@dataclass
class Span:
    start: date
    end: date | None = None


class Sheet(TypedDict):
    rows: list[Item]


Count = Annotated[int, Field(ge=1, le=9, description="how many")]


@tool({"n": 3}, {"n": 3, "word": "y"}, bad={"n": "three"})
def scalars(n: int, x: float = 1, flag: bool = False, word: str = "x") -> str:
    got(locals())
    return f"{n}{x}{flag}{word}"


@tool({"count": 3}, bad={"count": 10})
async def an_alias_of_a_type(count: Count, *, more: Count | None = None) -> Count:
    await asyncio.sleep(0)
    got(locals())
    return count


@tool({}, {"x": 9}, bad={"x": 0})
def a_field_as_the_default(x: int = Field(default=5, ge=1)) -> int:
    got(locals())
    return x


@tool({"name": "Ada"}, bad={"name": 1})
def an_annotated_text(name: Annotated[str, "who to greet"]) -> str:
    got(locals())
    return name


@tool({}, {"item": {"at": "2024-01-02", "next": {"at": "2024-01-03"}}}, bad={"item": {"at": "soon"}}, at="item.at")
def a_model(item: Item | None = None) -> Item | None:
    got(locals())
    return item


@tool({"span": {"start": "2024-01-02"}}, bad={"span": {}}, at="span.start")
def a_dataclass(span: Span) -> Span:
    got(locals())
    return span


@tool({"sheet": {"rows": [{"at": "2024-01-02"}]}}, bad={"sheet": {"rows": [{}]}}, at="sheet.rows[0].at")
def a_typed_dict(sheet: Sheet) -> int:
    got(locals())
    return len(sheet["rows"])


@tool({"when": "noon", "how": "fast"}, bad={"when": "night", "how": "fast"})
def choices(when: Late, how: Literal["fast", "slow"] = "slow") -> str:
    got(locals())
    return when.name + how


@tool(
    {"v": "2024-01-02", "w": "6e3f7f4e-5c3a-4f4e-9d2c-0f0d5a3c9b11", "x": "raw", "y": "1.5"},
    bad={"v": 1.5, "w": "w", "x": "x", "y": "y"},
)
def unions(v: date | str, w: str | UUID, x: bytes | str, y: Decimal | str) -> str:
    got(locals())
    return repr((v, w, x, y))


@tool({"at": "2024-01-02T03:04:05Z", "path": "a/b"}, bad={"at": "noon", "path": "a"})
def what_json_has_no_type_for(at: datetime, path: Path = Path()) -> str:
    got(locals())
    return f"{at:%Y} {path.as_posix()}"


@tool({"a": 1, "n": "3"}, {"a": "x", "b": 2, "n": [1]})
def partly_untyped(n: SkipValidation[int], a, b=None) -> str:
    got(locals())
    return repr((n, a, b))


def _split(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


def _after_a_start(value: list[str], info: ValidationInfo) -> list[str]:
    if len(value) < info.data["least"]:
        raise ValueError("too few words")
    return value


# fastmcp gives a validator no `info.data`.
@tool({"least": 1, "words": "a b"}, bad={"least": 3, "words": "a b"}, at="words", only="mcpserver")
def validators(least: int, words: Annotated[list[str], BeforeValidator(_split), AfterValidator(_after_a_start)]) -> int:
    got(locals())
    return len(words)


@tool(
    {"howMany": 3},
    bad={"howMany": "x"},
    instead={
        "mcpserver": Instead("calls the function with the alias as the keyword", {"count": 3}, "3", {"result": 3})
    },
)
def an_alias(count: Annotated[int, Field(alias="howMany")]) -> int:
    got(locals())
    return count


@tool({"n": 1}, bad={"n": "x"}, only="mcpserver")
async def a_context_of_the_sdk(n: int, ctx: sdk.Context) -> str:
    await ctx.report_progress(n)
    got(locals())
    return type(ctx).__name__


@tool({"n": 1}, bad={"n": "x"}, only="fastmcp")
async def a_context_of_fastmcp(n: int, ctx: fast.Context) -> str:
    await ctx.report_progress(n)
    got(locals())
    return type(ctx).__name__


def _today(item: Item) -> date:
    return item.at


@tool({"item": {"at": "2024-01-02"}}, bad={"item": {}}, at="item.at", only="mcpserver")
def a_resolver(item: Item, today: Annotated[date, Resolve(_today)]) -> str:
    got(locals())
    return today.isoformat()


def _tomorrow() -> Item:
    return Item(at=date(2024, 1, 3))


@tool({"n": 1}, bad={"n": "x"}, only="fastmcp")
def a_dependency(n: int, item: Item = Depends(_tomorrow)) -> str:  # noqa: B008 - what is tested
    got(locals())
    return f"{n} {item.at}"


@tool({"at": "2024-01-02"}, bad={"at": "soon"})
def a_whole_result(at: date) -> CallToolResult:
    got(locals())
    return CallToolResult(content=[TextContent(type="text", text=f"{at:%Y}")])


@tool(
    {"n": 2},
    bad={"n": "x"},
    instead={
        "mcpserver": Instead(
            "sends the items as one text and an empty list as the structure", {"n": 2}, "0\n1", {"result": [0, 1]}
        )
    },
)
def a_generator(n: int) -> Generator[int, None, None]:
    got(locals())
    yield from range(n)


def _plain(at: date, item: Item | None = None) -> Item:
    """Say when."""
    got(locals())
    return item or Item(at=at)


@made_by({"at": "2024-01-02"}, {"at": "2024-01-02", "item": {"at": "2024-01-03"}}, bad={"at": "soon"})
def a_decorator_of_another_module_below_the_guard(protect: Protect) -> Any:
    return protect(unaware(_plain))


@made_by({"at": "2024-01-02"}, bad={"at": "soon"})
def decorators_of_another_module_on_both_sides_of_the_guard(protect: Protect) -> Any:
    return unaware(protect(unaware(_plain)))


@made_by({"at": "2024-01-02"}, bad={"at": "soon"})
def an_async_decorator_of_another_module_on_both_sides(protect: Protect) -> Any:
    async def later(at: date) -> Item:
        await asyncio.sleep(0)
        got(locals())
        return Item(at=at)

    return unaware_async(protect(unaware_async(later)))


@made_by({"at": "2024-01-02"}, bad={"at": "soon"})
def a_bound_method(protect: Protect) -> Any:
    class Notes:
        @protect
        def look(self, at: date, item: Item | None = None) -> Item:
            got(locals())
            return item or Item(at=at)

    return Notes().look


# fastmcp evaluates the annotations of a bare partial in no module at all.
@made_by({"at": "2024-01-02"}, {}, bad={"at": "soon"}, only="mcpserver")
def a_partial(protect: Protect) -> Any:
    part = functools.partial(_plain, at=date(2020, 1, 1))
    part.__name__, part.__doc__ = "_plain", _plain.__doc__
    return protect(part)


def partial_of_a_late_function() -> Any:
    """Return a partial without a name whose annotations are strings."""
    return functools.partial(_plain, at=date(2020, 1, 1))
