"""Parameters in every form that authors give them: each a tool, with arguments that fit it and some that do not."""

# No `from __future__ import annotations` here: late_signatures.py has the annotations that are strings.

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, Optional, TypeVar, Union
from uuid import UUID

import pydantic.dataclasses
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    AnyUrl,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Discriminator,
    Field,
    Json,
    NonNegativeInt,
    PlainValidator,
    RootModel,
    SecretStr,
    SkipValidation,
    StrictInt,
    StringConstraints,
    Tag,
    ValidationInfo,
    WrapValidator,
    field_validator,
    model_validator,
)
from typing_extensions import TypeAliasType, TypedDict

from mcp_guard import Sensitive

from .table import Instead, Table, got

TABLE = Table()
tool = TABLE.tool

UserId = NewType("UserId", int)
Ids = TypeAliasType("Ids", list[int])

_PARSED = "parses text that spells JSON, whatever the parameter is declared as"
_ALIAS = "calls the function with the alias as the keyword"

# Scalars


@tool()
def nothing_at_all() -> str:
    got(locals())
    return "done"


@tool({"n": 3}, {"n": -(2**70)}, bad={"n": "three"})
def an_integer(n: int) -> int:
    got(locals())
    return n


@tool({"n": 3.0}, bad={"n": 3.5})
def an_integer_spelled_as_a_float(n: int) -> int:
    got(locals())
    return n


@tool({"x": 2}, {"x": 2.5}, bad={"x": "much"})
def a_float_given_an_int(x: float) -> float:
    got(locals())
    return x


@tool({"flag": True}, {"flag": False}, bad={"flag": "perhaps"})
def a_boolean(flag: bool) -> bool:
    got(locals())
    return flag


@tool({"s": "é\u2028𝄞"}, {"s": ""}, {"s": '{"a": 1}'}, {"s": "[1, 2]"}, {"s": "null"}, bad={"s": 5})
def a_text(s: str) -> str:
    got(locals())
    return s


@tool({"n": None}, {}, {"n": 4}, bad={"n": "four"})
def an_optional_integer(n: Optional[int] = None) -> str:  # noqa: UP045 - the old spelling is what is tested
    got(locals())
    return str(n)


@tool({"s": None}, {}, {"s": "text"}, {"s": "3"}, bad={"s": 5})
def an_optional_text(s: str | None = None) -> str:
    got(locals())
    return str(s)


@tool(
    {"s": '{"a":1}'},
    bad={"s": {"a": 1}},
    instead={"mcpserver": Instead(_PARSED, {"s": '{"a":1}'}, '{"a":1}', {"result": '{"a":1}'})},
)
def an_optional_text_that_spells_an_object(s: str | None = None) -> str:
    got(locals())
    return str(s)


@tool({"s": "null"}, bad={"s": 5}, instead={"mcpserver": Instead(_PARSED, {"s": "null"}, "null", {"result": "null"})})
def an_optional_text_that_spells_null(s: str | None = None) -> str:
    got(locals())
    return str(s)


@tool({"v": 1}, {"v": None}, {"v": [1, {"a": 2.5}]}, {"v": "text"}, {"v": True})
def any_value(v: Any) -> str:
    got(locals())
    return repr(v)


@tool({"v": "[1]"}, instead={"mcpserver": Instead(_PARSED, {"v": "[1]"}, "'[1]'", {"result": "'[1]'"})})
def any_value_given_text_that_spells_a_list(v: Any) -> str:
    got(locals())
    return repr(v)


@tool({"v": {"a": [1]}}, {"v": "3"})
def an_object_value(v: object) -> str:
    got(locals())
    return repr(v)


@tool({"a": 1}, {"a": "x", "b": [1]}, {"a": None, "b": {"c": None}}, bad={"b": 2}, at="a")
def untyped(a, b=2):  # what is tested
    got(locals())
    return [a, b]


@tool({"a": 1}, {"a": 1, "b": "y"}, bad={"a": "one"})
def keyword_only(*, a: int, b: str = "x") -> str:
    got(locals())
    return f"{a}{b}"


@tool({"n": 1}, bad={"n": "one"})
def a_strict_integer(n: StrictInt) -> int:
    got(locals())
    return n


@tool({"n": 0}, bad={"n": -1})
def a_constrained_type_of_pydantic(n: NonNegativeInt) -> int:
    got(locals())
    return n


@tool({"token": "hunter2"}, bad={"token": 5})
def a_secret(token: SecretStr) -> int:
    got(locals())
    return len(token.get_secret_value())


@tool({"word": "open sesame"}, bad={"word": 5})
def a_sensitive_text(word: Annotated[str, Sensitive]) -> int:
    got(locals())
    return len(word)


@tool({"user": 3, "ids": [1]}, bad={"user": 3, "ids": ["x"]}, at="ids[0]")
def names_for_types(user: UserId, ids: Ids) -> str:
    got(locals())
    return f"{user}{ids}"


# Defaults and what `Field` says


@tool({}, {"x": 9}, bad={"x": 0})
def a_field_as_the_default(x: int = Field(default=5, ge=1)) -> int:
    got(locals())
    return x


@tool({"x": 1}, bad={}, at="x")
def a_required_field_as_the_default(x: int = Field(..., description="how many", title="Count")) -> int:
    got(locals())
    return x


@tool({"x": 1}, {"x": 9}, bad={"x": 10})
def an_annotated_field(x: Annotated[int, Field(ge=1, le=9)]) -> int:
    got(locals())
    return x


@tool({}, {"x": 9}, bad={"x": "ten"})
def an_annotated_field_and_a_default(x: Annotated[int, Field(ge=1, examples=[3])] = 2) -> int:
    got(locals())
    return x


@tool({"name": "Ada"}, bad={"name": 1})
def an_annotated_text(name: Annotated[str, "who to greet"]) -> str:
    """Greet somebody.

    Args:
        name: who it is
    """
    got(locals())
    return name


@tool({"code": " AB-1 "}, bad={"code": "x"})
def a_text_with_constraints(
    code: Annotated[str, StringConstraints(pattern=r"^[A-Z]+-\d$", strip_whitespace=True)],
) -> str:
    got(locals())
    return code


@tool({"rows": [1]}, bad={"rows": []})
def a_list_with_a_length(rows: Annotated[list[int], Field(min_length=1, max_length=3)]) -> int:
    got(locals())
    return len(rows)


@tool({}, {"n": 4}, bad={"n": "four"})
def a_default_of_another_type(n: int = None) -> str:  # noqa: RUF013 - what is tested
    got(locals())
    return str(n)


@tool({}, {}, {"tags": ["a"]}, bad={"tags": ["a", 1]}, at="tags[1]")
def a_mutable_default(tags: list[str] = []) -> list[str]:  # noqa: B006 - what is tested
    got(locals())
    tags.append("more")
    return tags


@tool({}, {}, {"tags": ["a"]}, bad={"tags": "a"})
def a_default_factory(tags: list[str] = Field(default_factory=list)) -> list[str]:  # noqa: B008 - what is tested
    got(locals())
    tags.append("more")
    return tags


@tool({}, {"tags": {"a": 1}}, bad={"tags": "a"})
def an_annotated_default_factory(tags: Annotated[dict[str, int], Field(default_factory=lambda: {"n": 0})]) -> int:
    got(locals())
    return len(tags)


# fastmcp gives a default factory no other values.
@tool({}, {"first": 3}, {"rest": [4]}, bad={"rest": 4}, only="mcpserver")
def a_default_factory_that_takes_other_values(
    first: int = 1,
    rest: list[int] = Field(default_factory=lambda data: [data["first"]]),  # noqa: B008 - what is tested
) -> list[int]:
    got(locals())
    return [first, *rest]


@tool({}, {"at": "2024-01-02"}, bad={"at": "today"})
def a_default_that_is_no_json(at: date = date(2020, 2, 29)) -> str:
    got(locals())
    return at.isoformat()


# Choices


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Size(Enum):
    SMALL = "s"
    NUMBER = 5


@tool({"way": "up"}, {}, bad={"way": "sideways"})
def a_literal(way: Literal["up", "down"] = "down") -> str:
    got(locals())
    return way


@tool({"pick": 1}, {"pick": "one"}, {"pick": None}, bad={"pick": 2})
def a_mixed_literal(pick: Literal[1, "one", None]) -> str:  # noqa: PYI061 - what is tested
    got(locals())
    return repr(pick)


@tool({"colour": "red"}, bad={"colour": "green"})
def an_enum_of_texts(colour: Colour) -> Colour:
    got(locals())
    return colour


@tool({"level": 2}, {}, bad={"level": 3})
def an_enum_of_integers(level: Level = Level.LOW) -> str:
    got(locals())
    return level.name


@tool({"size": "s"}, {"size": 5}, bad={"size": "xl"})
def an_enum_of_anything(size: Size) -> str:
    got(locals())
    return size.name


# Unions


@tool({"v": 3}, {"v": "3"}, {"v": "three"}, bad={"v": [3]})
def an_integer_or_a_text(v: int | str) -> str:
    got(locals())
    return repr(v)


@tool({"v": 3}, {"v": 3.0}, {"v": 3.5}, bad={"v": "three"})
def an_integer_or_a_float(v: int | float) -> str:  # noqa: PYI041 - what is tested
    got(locals())
    return repr(v)


@tool({"v": 1}, {"v": True}, bad={"v": "maybe"})
def a_boolean_or_an_integer(v: bool | int) -> str:
    got(locals())
    return repr(v)


@tool({"v": "2024-01-02"}, {"v": "soon"}, bad={"v": 1.5})
def a_date_or_a_text(v: date | str) -> str:
    got(locals())
    return repr(v)


@tool({"v": "6e3f7f4e-5c3a-4f4e-9d2c-0f0d5a3c9b11"}, {"v": "x"}, bad={"v": 1})
def a_text_or_a_uuid(v: str | UUID) -> str:
    got(locals())
    return repr(v)


@tool({"v": "raw"}, bad={"v": 1})
def bytes_or_a_text(v: bytes | str) -> str:
    got(locals())
    return repr(v)


@tool({"v": "1.10"}, {"v": 2}, {"v": 2.5}, {"v": "many"}, bad={"v": [1]})
def a_decimal_or_a_text(v: Decimal | str) -> str:
    got(locals())
    return repr(v)


@tool({"v": "2024-01-02"}, {"v": "2024-01-02T03:04:05Z"}, bad={"v": 1704164645})
def a_datetime_or_a_date(v: datetime | date) -> str:
    got(locals())
    return repr(v)


@tool({"v": "notes/a.txt"}, {"v": None}, bad={"v": 1})
def a_path_or_a_text_or_null(v: Path | str | None) -> str:
    got(locals())
    return repr(v)


@tool({"v": [1, 2]}, {"v": 7}, {"v": {"a": 1}}, bad={"v": "text"})
def a_container_or_an_integer(v: Union[list[int], dict[str, int], int]) -> str:  # noqa: UP007 - what is tested
    got(locals())
    return repr(v)


@tool({"v": "red"}, {"v": "other"}, bad={"v": 1})
def an_enum_or_a_text(v: Colour | str) -> str:
    got(locals())
    return repr(v)


@tool({"v": "[1,2]"}, instead={"mcpserver": Instead(_PARSED, {"v": "[1,2]"}, "'[1,2]'", {"result": "'[1,2]'"})})
def a_list_or_a_text_given_text_that_spells_a_list(v: list[int] | str) -> str:
    got(locals())
    return repr(v)


# What JSON has no type for


@tool({"at": "2024-01-02T03:04:05"}, {"at": "2024-01-02T03:04:05.006+02:00"}, bad={"at": "noon"})
def a_datetime(at: datetime) -> str:
    got(locals())
    return at.isoformat()


@tool({"on": "2024-02-29"}, bad={"on": "2023-02-29"})
def a_date(on: date) -> date:
    got(locals())
    return on


@tool({"at": "03:04:05"}, bad={"at": "25:00"})
def a_time(at: time) -> str:
    got(locals())
    return at.isoformat()


# Numbers would be taken for seconds by the bare servers; the published schema says that they are no durations.
@tool({"wait": "PT1H30M"}, bad={"wait": 90})
def a_timedelta(wait: timedelta) -> float:
    got(locals())
    return wait.total_seconds()


@tool({"raw": "é"}, bad={"raw": 5})
def some_bytes(raw: bytes) -> int:
    got(locals())
    return len(raw)


@tool({"raw": "aGk="}, bad={"raw": 5})
def some_bytes_in_base64(raw: Base64Bytes) -> str:
    got(locals())
    return raw.decode()


@tool({"id": "6e3f7f4e-5c3a-4f4e-9d2c-0f0d5a3c9b11"}, bad={"id": "6e3f"})
def a_uuid(id: UUID) -> UUID:  # noqa: A002 - what authors call it
    got(locals())
    return id


@tool({"price": "1.10"}, {"price": 2}, {"price": 1.1}, bad={"price": "much"})
def a_decimal(price: Decimal) -> str:
    got(locals())
    return str(price)


@tool({"path": "notes/a.txt"}, bad={"path": 5})
def a_path(path: Path) -> str:
    got(locals())
    return path.as_posix()


@tool({"host": "127.0.0.1"}, bad={"host": "127.0.0.300"})
def an_address(host: IPv4Address) -> str:
    got(locals())
    return str(host)


@tool({"url": "https://example.com/a?b=c"}, bad={"url": "example"})
def a_url(url: AnyUrl) -> str:
    got(locals())
    return str(url)


@tool({"size": "1 KiB"}, {"size": 5}, bad={"size": "1 fathom"})
def a_size_in_bytes(size: ByteSize) -> int:
    got(locals())
    return int(size)


@tool({"pattern": "^a+$"}, bad={"pattern": "("})
def a_pattern(pattern: re.Pattern[str]) -> str:
    got(locals())
    return pattern.pattern


@tool(
    {"data": "[1, 2]"},
    bad={"data": "[1, "},
    instead={"mcpserver": Instead(_PARSED, {"data": [1, 2]}, "2", {"result": 2})},
)
def a_text_that_holds_json(data: Json[list[int]]) -> int:
    got(locals())
    return len(data)


# Containers


class Point(NamedTuple):
    x: int
    y: int = 0


@tool({"rows": [1, 2]}, {"rows": []}, bad={"rows": [1, "two"]}, at="rows[1]")
def a_list(rows: list[int]) -> int:
    got(locals())
    return len(rows)


@tool({"rows": [[1, 2], []]}, bad={"rows": [[1], ["two"]]}, at="rows[1][0]")
def a_nested_list(rows: list[list[int]]) -> int:
    got(locals())
    return sum(map(len, rows))


@tool(
    {"rows": "[1, 2]"},
    bad={"rows": "[1, "},
    instead={"fastmcp": Instead("refuses a list that is spelled in a text", {"rows": [1, 2]}, "2", {"result": 2})},
)
def a_list_given_as_text(rows: list[int]) -> int:
    got(locals())
    return len(rows)


@tool({"pair": [1, "a"]}, bad={"pair": [1]}, at="pair[1]")
def a_tuple(pair: tuple[int, str]) -> str:
    got(locals())
    return repr(pair)


@tool({"days": ["2024-01-02"]}, bad={"days": ["soon"]}, at="days[0]")
def a_tuple_of_any_length(days: tuple[date, ...]) -> int:
    got(locals())
    return len(days)


@tool({"tags": ["b", "a", "b"]}, bad={"tags": [1]}, at="tags[0]")
def a_set(tags: set[str]) -> int:
    got(locals())
    return len(tags)


@tool({"ids": [2, 1, 2]}, bad={"ids": 2})
def a_frozenset(ids: frozenset[int]) -> int:
    got(locals())
    return len(ids)


@tool({"rows": [1, 2]}, bad={"rows": ["one"]}, at="rows[0]")
def a_deque(rows: deque[int]) -> int:
    got(locals())
    return len(rows)


@tool({"rows": ["a"]}, bad={"rows": "a"})
def a_sequence(rows: Sequence[str]) -> int:
    got(locals())
    return len(rows)


@tool({"rows": [1, 2]}, bad={"rows": [1, "two"]}, at="rows[1]")
def an_iterable(rows: Iterable[int]) -> int:
    items = list(rows)
    got({"items": items})
    return len(items)


@tool({"rows": ["ab", "c"]}, bad={"rows": "abc"})
def an_iterable_of_texts(rows: Iterable[str]) -> int:
    items = list(rows)
    got({"items": items})
    return len(items)


@tool(
    {"rows": "[1, 2]"},
    bad={"rows": "[1, "},
    instead={"fastmcp": Instead("takes a text for the list of its characters", {"items": [1, 2]}, "2", {"result": 2})},
)
def an_iterable_given_as_text(rows: Iterable[int]) -> int:
    items = list(rows)
    got({"items": items})
    return len(items)


@tool({"rows": [1, "a", None]}, {"rows": []}, bad={"rows": {}})
def a_bare_list(rows: list) -> int:  # what is tested
    got(locals())
    return len(rows)


@tool({"options": {"a": 1, "b": [None]}}, {"options": {}}, bad={"options": [1]})
def a_bare_dict(options: dict) -> int:  # what is tested
    got(locals())
    return len(options)


@tool({"options": {"a": 1, "b": {"c": "3"}}}, bad={"options": "a"})
def a_dict_of_anything(options: dict[str, Any]) -> int:
    got(locals())
    return len(options)


@tool({"counts": {"a": 1, "b": 2}}, bad={"counts": {"a": "one"}}, at="counts.a")
def a_dict_of_integers(counts: dict[str, int]) -> int:
    got(locals())
    return sum(counts.values())


@tool({"names": {"1": "a", "20": "b"}}, bad={"names": {"one": "a"}}, at="names.one")
def a_dict_with_integer_keys(names: dict[int, str]) -> str:
    got(locals())
    return repr(names)


@tool({"days": {"2024-01-02": [1]}}, bad={"days": {"2024-01-02": ["x"]}}, at="days['2024-01-02'][0]")
def a_mapping_with_date_keys(days: Mapping[date, list[int]]) -> int:
    got(locals())
    return len(days)


@tool({"at": [1, 2]}, bad={"at": ["x"]}, at="at[0]")
def a_named_tuple(at: Point) -> int:
    got(locals())
    return at.x + at.y


# Objects


class Owner(BaseModel):
    name: str
    born: date | None = None


class Row(BaseModel):
    """A row."""

    id: int = Field(ge=1)
    tags: list[str] = []
    owner: Owner = Owner(name="nobody")


class Renamed(BaseModel):
    size_in_kb: int = Field(alias="sizeInKb")
    owner: str = Field(validation_alias=AliasChoices("owner", "user"), default="me")
    city: str = Field(validation_alias=AliasPath("address", "city"), default="nowhere")


class Either(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    page_size: int = Field(alias="pageSize")


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    n: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    n: int


class Window(BaseModel):
    start: int
    end: int = 100

    @field_validator("start", mode="before")
    @classmethod
    def _from_the_end(cls, value: Any) -> Any:
        return 100 + value if isinstance(value, int) and value < 0 else value

    @model_validator(mode="after")
    def _in_order(self) -> "Window":
        if self.end < self.start:
            raise ValueError("end must not be before start")
        return self


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]


class Names(RootModel[list[str]]):
    pass


@dataclass
class Rectangle:
    width: int
    height: int = 1
    tags: list[str] = dataclass_field(default_factory=list)


@pydantic.dataclasses.dataclass(frozen=True)
class Circle:
    radius: float = Field(gt=0)


class Options(TypedDict, total=False):
    depth: int
    since: date


class Query(TypedDict):
    text: str
    limit: NotRequired[Annotated[int, Field(ge=1)]]


@tool(
    {"row": {"id": 1}},
    {"row": {"id": 1, "tags": ["a"], "owner": {"name": "Ada", "born": "1815-12-10"}, "unheard": 1}},
    bad={"row": {"id": 1, "owner": {}}},
    at="row.owner.name",
)
def a_model(row: Row) -> str:
    got(locals())
    return row.owner.name


@tool(
    {"row": '{"id": 1, "tags": ["a"]}'},
    bad={"row": '{"id": 0}'},
    at="row.id",
    instead={
        "fastmcp": Instead(
            "refuses an object that is spelled in a text", {"row": Row(id=1, tags=["a"])}, "1", {"result": 1}
        )
    },
)
def a_model_given_as_text(row: Row) -> int:
    got(locals())
    return row.id


@tool({"rows": [{"id": 1}, {"id": 2, "tags": []}]}, bad={"rows": [{"id": 1}, {"id": 0}]}, at="rows[1].id")
def a_list_of_models(rows: list[Row]) -> int:
    got(locals())
    return len(rows)


@tool({}, {"row": None}, {"row": {"id": 3}}, bad={"row": 3})
def an_optional_model(row: Row | None = None) -> str:
    got(locals())
    return repr(row)


@tool(
    {"what": {"sizeInKb": 1}},
    {"what": {"sizeInKb": 1, "user": "Ada", "address": {"city": "London"}}},
    bad={"what": {"sizeInKb": "big"}},
    at="what.sizeInKb",
)
def a_model_with_aliases(what: Renamed) -> int:
    got(locals())
    return what.size_in_kb


@tool({"page": {"pageSize": 1}}, {"page": {"page_size": 1}}, bad={"page": {"pageSize": "x"}}, at="page.pageSize")
def a_model_by_name_or_alias(page: Either) -> int:
    got(locals())
    return page.page_size


@tool({"one": {"n": 1}}, bad={"one": {"n": 1, "m": 2}}, at="one.m")
def a_closed_model(one: Closed) -> int:
    got(locals())
    return one.n


@tool({"one": {"n": 1, "m": [2]}}, bad={"one": {"m": 2}}, at="one.n")
def an_open_model(one: Open) -> int:
    got(locals())
    return one.n


@tool(
    {"window": {"start": 1, "end": 2}},
    {"window": {"start": -10}},
    bad={"window": {"start": 3, "end": 2}},
    at="window",
)
def a_model_with_validators(window: Window) -> int:
    got(locals())
    return window.end - window.start


@tool(
    {"pet": {"kind": "cat"}},
    {"pet": {"kind": "dog", "tricks": ["sit"]}},
    bad={"pet": {"kind": "dog", "tricks": 5}},
    at="pet.tricks",
)
def a_discriminated_union(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> str:
    got(locals())
    return pet.kind


def _shape(value: Any) -> str:
    is_round = "radius" in value if isinstance(value, dict) else isinstance(value, Circle)
    return "round" if is_round else "square"


@tool(
    {"shape": {"radius": 2}},
    {"shape": {"width": 2}},
    bad={"shape": {"width": "wide"}},
    at="shape.width",
)
def a_union_with_a_discriminator_function(
    shape: Annotated[Annotated[Circle, Tag("round")] | Annotated[Rectangle, Tag("square")], Discriminator(_shape)],
) -> str:
    got(locals())
    return type(shape).__name__


@tool(
    {"pet": {"kind": "cat"}},
    {"pet": {"kind": "dog", "tricks": []}},
    bad={"pet": {"kind": "cat", "lives": "x"}},
    at="pet.lives",
)
def a_union_of_models(pet: Cat | Dog) -> str:
    got(locals())
    return pet.kind


@tool(
    {"tree": {"value": 1, "children": [{"value": 2}]}},
    bad={"tree": {"value": 1, "children": [{}]}},
    at="tree.children[0].value",
)
def a_model_that_holds_itself(tree: Tree) -> int:
    got(locals())
    return len(tree.children)


@tool({"page": {"items": [1, 2]}}, bad={"page": {"items": ["one"]}}, at="page.items[0]")
def a_generic_model(page: Page[int]) -> int:
    got(locals())
    return len(page.items)


@tool({"names": ["a", "b"]}, bad={"names": ["a", 1]}, at="names[1]")
def a_root_model(names: Names) -> int:
    got(locals())
    return len(names.root)


@tool(
    {"shape": {"width": 2}},
    {"shape": {"width": 2, "height": 3, "tags": ["a"]}},
    bad={"shape": {"height": 1}},
    at="shape.width",
)
def a_dataclass(shape: Rectangle) -> int:
    got(locals())
    return shape.width * shape.height


@tool({"shape": {"radius": 2}}, bad={"shape": {"radius": 0}}, at="shape.radius")
def a_dataclass_of_pydantic(shape: Circle) -> float:
    got(locals())
    return shape.radius


@tool(
    {},
    {"options": {"depth": 2}},
    {"options": {"since": "2024-01-02"}},
    bad={"options": {"depth": "deep"}},
    at="options.depth",
)
def a_typed_dict_without_required_keys(options: Options = {}) -> int:  # noqa: B006 - what is tested
    got(locals())
    return len(options)


@tool({"query": {"text": "a"}}, {"query": {"text": "a", "limit": 2}}, bad={"query": {"limit": 2}}, at="query.text")
def a_typed_dict(query: Query) -> str:
    got(locals())
    return query["text"]


# Aliases, validators and what else pydantic lets an author say


def _comma_separated(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


def _clamped(value: Any, validate: Any) -> int:
    return min(validate(value), 10)


def _hexadecimal(value: Any) -> int:
    return int(value, 16)


def _beyond_start(value: int, info: ValidationInfo) -> int:
    if value <= info.data.get("start", value - 1):
        raise ValueError("must be beyond start")
    return value


@tool(
    {"howMany": 3}, bad={"howMany": "three"}, instead={"mcpserver": Instead(_ALIAS, {"count": 3}, "3", {"result": 3})}
)
def an_alias(count: Annotated[int, Field(alias="howMany")]) -> int:
    got(locals())
    return count


@tool({"howMany": 3}, bad={"howMany": 0}, instead={"mcpserver": Instead(_ALIAS, {"count": 3}, "3", {"result": 3})})
def an_alias_in_a_field_as_the_default(count: int = Field(default=5, alias="howMany", ge=1)) -> int:
    got(locals())
    return count


@tool({"howMany": 3}, bad={"howMany": "three"})
def a_validation_alias(count: Annotated[int, Field(validation_alias="howMany")]) -> int:
    got(locals())
    return count


@tool({"howMany": 3}, {"count": 4}, bad={"count": "four"})
def alias_choices(count: Annotated[int, Field(validation_alias=AliasChoices("howMany", "count"))]) -> int:
    got(locals())
    return count


@tool({"where": {"city": "London"}}, bad={"where": {"city": 5}}, at="where.city")
def an_alias_path(city: Annotated[str, Field(validation_alias=AliasPath("where", "city"))]) -> str:
    got(locals())
    return city


@tool({"n": "3"}, {"n": [3]})
def validation_skipped(n: SkipValidation[int]) -> str:
    got(locals())
    return repr(n)


@tool({"n": 3, "name": "a"}, bad={"n": 3, "name": 5}, at="name")
def validation_skipped_for_one_of_two(n: Annotated[int, SkipValidation], name: str) -> str:
    got(locals())
    return f"{n!r}{name}"


@tool({"tags": "a,b"}, {"tags": ["a", "b"]}, bad={"tags": 5})
def a_before_validator(tags: Annotated[list[str], BeforeValidator(_comma_separated)]) -> int:
    got(locals())
    return len(tags)


@tool({"n": 4}, bad={"n": 3})
def an_after_validator(n: Annotated[int, AfterValidator(_even)]) -> int:
    got(locals())
    return n


@tool({"n": 4}, {"n": 40}, bad={"n": "many"})
def a_wrap_validator(n: Annotated[int, WrapValidator(_clamped)]) -> int:
    got(locals())
    return n


@tool({"n": "ff"}, bad={"n": "no"})
def a_plain_validator(n: Annotated[int, PlainValidator(_hexadecimal, json_schema_input_type=str)]) -> int:
    got(locals())
    return n


# fastmcp gives a validator no `info.data`.
@tool({"start": 1, "end": 2}, bad={"start": 2, "end": 2}, at="end", only="mcpserver")
def a_validator_that_looks_at_other_parameters(start: int, end: Annotated[int, AfterValidator(_beyond_start)]) -> int:
    got(locals())
    return end - start


# Names that mean something to pydantic, to the server libraries or to the guard


@tool({"copy": True, "json": "{}", "schema": {"a": 1}}, bad={"copy": True, "json": 5, "schema": {}}, at="json")
def names_of_model_methods(copy: bool, json: str, schema: dict[str, int], dict: int = 1) -> str:  # noqa: A002
    got(locals())
    return repr((copy, json, schema, dict))


@tool({"model_dump": 1}, {"model_dump": 1, "construct": "a"}, bad={"model_dump": "x"})
def more_names_of_model_methods(model_dump: int, construct: str = "b") -> str:
    got(locals())
    return repr((model_dump, construct))


@tool(
    {"call": 1, "name": "n", "arguments": {"a": 1}, "fn": "f", "contract": "c", "args": [1], "kwargs": {"k": 1}},
    bad={"call": "x", "name": "n", "arguments": {}, "fn": "f", "contract": "c", "args": [1], "kwargs": {}},
)
def names_of_what_carries_a_call(  # noqa: PLR0917 - what is tested
    call: int, name: str, arguments: dict[str, int], fn: str, contract: str, args: list[int], kwargs: dict[str, int]
) -> str:
    got(locals())
    return repr((call, name, arguments, fn, contract, args, kwargs))


@tool({"größe": 1, "from_": "a", "X": 2}, bad={"größe": "x", "from_": "a", "X": 2})
def names_beyond_ascii_and_case(größe: int, from_: str, X: int) -> str:  # noqa: PLC2401 - what is tested
    got(locals())
    return f"{größe}{from_}{X}"
