"""What tools return, declared in every form or not at all."""

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import fastmcp.utilities.types
import mcp.server.mcpserver
from fastmcp.tools.base import ToolResult
from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field, computed_field
from typing_extensions import TypedDict

from .table import Instead, Table, got

TABLE = Table()
tool = TABLE.tool

PIXEL = base64.b64encode(b"not really an image").decode()


class Kind(StrEnum):
    GOOD = "good"


class Weather(BaseModel):
    """The weather."""

    city: str
    max_degrees: float = Field(alias="maxDegrees", default=1.0)
    seen: datetime = datetime(2024, 1, 2, tzinfo=UTC)

    @computed_field
    @property
    def is_warm(self) -> bool:
        return self.max_degrees > 20


class Windy(Weather):
    wind: int = 3


@dataclass
class Place:
    city: str
    code: int = 0


class Report(TypedDict):
    city: str
    on: date


class Plain:
    def __init__(self) -> None:
        self.city = "London"

    def __repr__(self) -> str:
        return "Plain()"

    __str__ = __repr__


# Values


@tool({"s": "text"}, {"s": ""}, {"s": '{"a": 1}'}, bad={"s": 1})
def a_text(s: str) -> str:
    got(locals())
    return s


@tool()
def an_integer() -> int:
    got(locals())
    return 7


@tool()
def a_float() -> float:
    got(locals())
    return 0.1


@tool()
def a_boolean() -> bool:
    got(locals())
    return True


@tool()
def none() -> None:
    got(locals())


@tool({}, {"n": 1}, bad={"n": "x"})
def an_optional_integer(n: int | None = None) -> int | None:
    got(locals())
    return n


@tool()
def some_bytes() -> bytes:
    got(locals())
    return b"raw"


@tool()
def a_list_of_texts() -> list[str]:
    got(locals())
    return ["a", "b"]


@tool()
def an_empty_list() -> list[int]:
    got(locals())
    return []


@tool()
def a_nested_list() -> list[list[int]]:
    got(locals())
    return [[1], []]


@tool()
def a_tuple() -> tuple[int, str]:
    got(locals())
    return (1, "a")


@tool()
def a_set() -> set[int]:
    got(locals())
    return {1}


@tool()
def a_dict_of_integers() -> dict[str, int]:
    got(locals())
    return {"b": 1, "a": 2}


@tool()
def a_dict_of_anything() -> dict[str, Any]:
    got(locals())
    return {"at": datetime(2024, 1, 2, tzinfo=UTC), "nested": {"path": Path("a/b"), "n": None}}


@tool()
def a_dict_with_integer_keys() -> dict[int, str]:
    got(locals())
    return {1: "a"}


@tool()
def a_bare_dict() -> dict:
    got(locals())
    return {"a": [1]}


@tool()
def a_bare_list() -> list:
    got(locals())
    return ["a", 1, None]


@tool()
def an_enum() -> Kind:
    got(locals())
    return Kind.GOOD


@tool()
def a_literal() -> Literal["a", 1]:
    got(locals())
    return "a"


@tool()
def a_date() -> date:
    got(locals())
    return date(2024, 2, 29)


@tool()
def a_uuid() -> UUID:
    got(locals())
    return UUID("6e3f7f4e-5c3a-4f4e-9d2c-0f0d5a3c9b11")


@tool()
def a_decimal() -> Decimal:
    got(locals())
    return Decimal("1.10")


@tool()
def an_annotated_integer() -> Annotated[int, Field(ge=0, description="how many")]:
    got(locals())
    return 1


@tool()
def something() -> Any:
    got(locals())
    return {"a": 1}


@tool()
def an_undeclared_text():
    got(locals())
    return "text"


@tool()
def an_undeclared_dict():
    got(locals())
    return {"a": {"b": 1}}


@tool()
def an_undeclared_list():
    got(locals())
    return [1, "a"]


@tool()
def an_undeclared_none():
    got(locals())


@tool()
def an_undeclared_object():
    got(locals())
    return Weather(city="Rome")


@tool()
def a_union() -> int | list[str]:
    got(locals())
    return ["a"]


# Objects


@tool({"city": "Rome"}, bad={"city": 1})
async def a_model(city: str) -> Weather:
    await asyncio.sleep(0)
    got(locals())
    return Weather(city=city, maxDegrees=30)


@tool()
def a_model_that_is_more_than_declared() -> Weather:
    got(locals())
    return Windy(city="Rome")


# fastmcp sends it as it is, and clients refuse what does not fit the published schema.
@tool(only="mcpserver")
def a_dict_in_place_of_a_model() -> Weather:
    got(locals())
    return {"city": "Rome", "maxDegrees": 2}


@tool()
def a_list_of_models() -> list[Weather]:
    got(locals())
    return [Weather(city="Rome"), Windy(city="Oslo")]


@tool({}, {"known": True}, bad={"known": 2})
def an_optional_model(known: bool = False) -> Weather | None:
    got(locals())
    return Weather(city="Rome") if known else None


@tool()
def a_dict_of_models() -> dict[str, Weather]:
    got(locals())
    return {"first": Weather(city="Rome")}


@tool()
def a_dataclass() -> Place:
    got(locals())
    return Place("Rome", 6)


@tool()
def a_list_of_dataclasses() -> list[Place]:
    got(locals())
    return [Place("Rome")]


@tool()
def a_typed_dict() -> Report:
    got(locals())
    return {"city": "Rome", "on": date(2024, 1, 2)}


@tool()
def a_plain_object() -> Plain:
    got(locals())
    return Plain()


# Content


@tool()
def a_text_block() -> TextContent:
    got(locals())
    return TextContent(type="text", text="hello", _meta={"example.com/k": 1})


@tool()
def an_image_block() -> ImageContent:
    got(locals())
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


@tool()
def a_list_of_text_blocks() -> list[TextContent]:
    got(locals())
    return [TextContent(type="text", text="a"), TextContent(type="text", text="b")]


@tool()
def a_list_of_mixed_blocks() -> list[ContentBlock]:
    got(locals())
    return [
        TextContent(type="text", text="a"),
        ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"),
        ResourceLink(type="resource_link", name="r", uri="notes://r"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="notes://r", text="t")),
    ]


@tool()
def a_tuple_of_blocks() -> tuple[TextContent, ImageContent]:
    got(locals())
    return (
        TextContent(type="text", text="a"),
        ImageContent(type="image", data=PIXEL, mime_type="image/png"),
    )


@tool()
def undeclared_blocks_between_values():
    got(locals())
    return ["before", TextContent(type="text", text="a"), {"n": 1}, [1, 2]]


@tool(only="mcpserver")
def an_image_of_the_sdk() -> mcp.server.mcpserver.Image:
    got(locals())
    return mcp.server.mcpserver.Image(data=b"x", format="png")


@tool(only="mcpserver")
def a_text_and_an_image_of_the_sdk() -> list[str | mcp.server.mcpserver.Image]:
    got(locals())
    return ["before", mcp.server.mcpserver.Image(data=b"x", format="png")]


@tool(only="fastmcp")
def an_image_of_fastmcp() -> fastmcp.utilities.types.Image:
    got(locals())
    return fastmcp.utilities.types.Image(data=b"x", format="png")


@tool(only="fastmcp")
def a_text_and_an_image_of_fastmcp() -> list[str | fastmcp.utilities.types.Image]:
    got(locals())
    return ["before", fastmcp.utilities.types.Image(data=b"x", format="png")]


@tool(only="fastmcp")
def a_file_of_fastmcp() -> fastmcp.utilities.types.File:
    got(locals())
    return fastmcp.utilities.types.File(data=b"x", format="pdf", name="paper")


# Whole results


@tool({"n": 1}, bad={"n": "x"})
def a_whole_result(n: int) -> CallToolResult:
    got(locals())
    return CallToolResult(
        content=[TextContent(type="text", text=f"{n}")], structured_content={"n": n}, _meta={"example.com/k": 1}
    )


@tool(only="mcpserver")
def a_whole_result_with_a_declared_structure() -> Annotated[CallToolResult, Weather]:
    got(locals())
    return CallToolResult(
        content=[TextContent(type="text", text="warm")], structured_content={"city": "Rome", "maxDegrees": 2.0}
    )


@tool()
def an_undeclared_whole_result():
    got(locals())
    return CallToolResult(content=[TextContent(type="text", text="a")])


@tool(only="fastmcp")
def a_whole_result_of_fastmcp() -> ToolResult:
    got(locals())
    return ToolResult(content="seen", structured_content={"n": 1}, meta={"example.com/k": 1})


# Generators: fastmcp collects them, and so does the guard everywhere

_EXHAUSTED = "sends the items as one text and an empty list as the structure"
_ONE_TEXT = "sends the items as one text, unlike those of a list"
_REPR = "answers with the repr of the generator"
_UNSTRUCTURED = {"structured_output": False}


@tool({"n": 2}, bad={"n": "x"}, instead={"mcpserver": Instead(_EXHAUSTED, {"n": 2}, "0\n1", {"result": [0, 1]})})
def a_generator(n: int) -> Generator[int, None, None]:
    got(locals())
    yield from range(n)


@tool({"n": 2}, bad={"n": "x"}, instead={"mcpserver": Instead(_EXHAUSTED, {"n": 2}, "0\n1", {"result": [0, 1]})})
def a_generator_declared_as_a_list(n: int) -> list[int]:
    got(locals())
    yield from range(n)


@tool({"n": 2}, bad={"n": "x"}, instead={"mcpserver": Instead(_ONE_TEXT, {"n": 2}, "0\n1")})
def an_undeclared_generator(n: int):
    got(locals())
    yield from range(n)


# The SDK refuses these two at registration, with or without a guard, unless their output is not structured.


@tool({"n": 2}, bad={"n": "x"}, only="fastmcp")
def an_iterator(n: int) -> Iterator[int]:
    got(locals())
    yield from range(n)


@tool({"n": 2}, bad={"n": "x"}, only="fastmcp")
async def an_async_generator(n: int) -> AsyncGenerator[int, None]:
    got(locals())
    for item in range(n):
        await asyncio.sleep(0)
        yield item


@tool(
    {"n": 2},
    bad={"n": "x"},
    options=_UNSTRUCTURED,
    only="mcpserver",
    instead={"mcpserver": Instead(_ONE_TEXT, {"n": 2}, "0\n1")},
)
def an_unstructured_iterator(n: int) -> Iterator[int]:
    got(locals())
    yield from range(n)


@tool(
    {"n": 2},
    bad={"n": "x"},
    options=_UNSTRUCTURED,
    only="mcpserver",
    instead={"mcpserver": Instead(_REPR, {"n": 2}, "0\n1")},
)
async def an_unstructured_async_generator(n: int) -> AsyncIterator[int]:
    got(locals())
    for item in range(n):
        await asyncio.sleep(0)
        yield item


@tool({"n": 2}, bad={"n": "x"}, instead={"mcpserver": Instead(_REPR, {"n": 2}, "0\n1")})
async def an_undeclared_async_generator(n: int):
    got(locals())
    for item in range(n):
        await asyncio.sleep(0)
        yield item
