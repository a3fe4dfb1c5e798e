from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import pytest
import typing_extensions as te
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Discriminator,
    Field,
    HttpUrl,
    Json,
    PlainValidator,
    RootModel,
    SecretStr,
    SkipValidation,
    Tag,
    WrapValidator,
    model_validator,
)

from mcp_guard.faults import ConfigurationError, InvalidArguments, PathOutsideRoot
from mcp_guard.paths import Within
from mcp_guard.policies.arguments import Accepted, Arguments
from mcp_guard.redaction import Sensitive
from mcp_guard.validation.repairs import Repair


def accepted(outcome: Accepted | InvalidArguments) -> Accepted:
    assert isinstance(outcome, Accepted), f"refused: {outcome}"
    return outcome


def refused(outcome: Accepted | InvalidArguments) -> InvalidArguments:
    assert isinstance(outcome, InvalidArguments), f"accepted: {outcome}"
    return outcome


def arguments_of(annotation: Any, default: Any = ..., **options: Any) -> Arguments:
    """The check of a tool with one parameter `x`."""

    def tool(x): ...

    tool.__annotations__ = {"x": annotation}
    if default is not ...:
        tool.__defaults__ = (default,)
    return Arguments(tool, tool="tool", **options)


def value_of(annotation: Any, value: object, **options: Any) -> Any:
    return accepted(arguments_of(annotation, **options).check({"x": value})).values["x"]


def refusal_of(annotation: Any, value: object, **options: Any) -> InvalidArguments:
    return refused(arguments_of(annotation, **options).check({"x": value}))


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Row(BaseModel):
    name: str
    n: int = 0


class Filter(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rows: list[Row] = []
    when: dt.date | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Encoded(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    data: bytes


class Renamed(BaseModel):
    page_size: int = Field(alias="pageSize")


class Span(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def _ordered(self) -> Span:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self


class Loose(BaseModel):
    n: int
    day: dt.date

    @model_validator(mode="before")
    @classmethod
    def _as_is(cls, data: object) -> object:
        return data


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Box(te.TypedDict):
    width: int
    height: te.NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: str


class Code(BaseModel):
    code: Annotated[str, Field(max_length=3), Sensitive]


def lines_of(text: object) -> object:
    return text.split(",") if isinstance(text, str) else text


UUID_TEXT = "12345678-1234-5678-1234-567812345678"

SIGNATURES: list[tuple[Any, list[Any]]] = [
    (int, [3, -1, 2**70]),
    (float, [1, 1.5, 1e22, float("inf")]),
    (bool, [True, False]),
    (str, ["", "3", '{"a":1}', "☃"]),
    (bytes, ["abc", ""]),
    (None, [None]),
    (Any, [None, {"a": [1, 2.5, "x"]}, [True], 3]),
    (object, [None, {"a": 1}]),
    (list, [[1, "a", None]]),
    (dict, [{"a": {"b": []}}]),
    (str | None, [None, '{"a":1}', "3", "null"]),
    (int | str, [3, "3", "x"]),
    (int | float, [3, 3.0, 1.5]),
    (float | str, [3, 1.5, "1.5"]),
    (bool | int, [True, 1, 0]),
    (dt.date | str, ["2024-01-01", "today"]),
    (str | dt.datetime, ["2024-01-01T10:00:00", "x"]),
    (str | uuid.UUID, [UUID_TEXT, "x"]),
    (uuid.UUID | str, [UUID_TEXT, "x"]),
    (bytes | str, ["abc"]),
    (str | bytes, ["abc"]),
    (decimal.Decimal | str, ["1.5", "x", 1.5, 3]),
    (decimal.Decimal, ["1.10", 1, 1.1, 1e22]),
    (dt.date, ["2024-01-01"]),
    (dt.datetime, ["2024-01-01T10:00:00Z", "2024-01-01 10:00", "2024-01-01T10:00:00.123+02:00"]),
    (dt.time, ["10:00", "10:00:00.5Z"]),
    (dt.timedelta, ["PT1H30M", "P1D", "01:00:00"]),
    (uuid.UUID, [UUID_TEXT, UUID_TEXT.replace("-", "")]),
    (pathlib.Path, ["notes/a.md", ""]),
    (pathlib.Path | None, ["notes/a.md", None]),
    (HttpUrl, ["http://example.com", "https://example.com/a?b=c"]),
    (Color, ["red"]),
    (Level, [1, 2]),
    (Level | str, [1, "1", "x"]),
    (Color | str, ["red", "green"]),
    (Literal["a", "b"], ["a"]),
    (Literal[1, "1"], [1, "1"]),
    (Literal[True], [True]),
    (Literal[Level.LOW] | str, [1, "x"]),
    (list[int], [[], [1, 2]]),
    (list[dt.date | str], [["2024-01-01", "x"]]),
    (set[int], [[1, 1, 2]]),
    (frozenset[str], [["a", "b"]]),
    (tuple[int, str], [[1, "a"]]),
    (tuple[float, ...], [[1, 2.5]]),
    (collections.deque[int], [[1, 2]]),
    (Sequence[int], [[1, 2]]),
    (Mapping[str, int], [{"a": 1}]),
    (dict[str, int], [{"a": 1}]),
    (dict[int, str], [{"1": "a"}]),
    (dict[dt.date, int], [{"2024-01-01": 1}]),
    (dict[int | str, int], [{"1": 1, "a": 2}]),
    (Row, [{"name": "a"}, {"name": "a", "n": 3, "more": 1}]),
    (Filter, [{"rows": [{"name": "a"}], "when": "2024-01-01"}, {}]),
    (Row | None, [None, {"name": "a"}]),
    (Cat | Dog, [{"kind": "cat", "lives": 9}, {"kind": "dog", "name": "Rex"}]),
    (Row | dict, [{"name": "a"}, {"x": 1}]),
    (Annotated[Cat | Dog, Field(discriminator="kind")], [{"kind": "dog", "name": "Rex"}]),
    (
        Annotated[Annotated[Cat, Tag("c")] | Annotated[Dog, Tag("d")], Discriminator(lambda v: v["kind"][0])],
        [{"kind": "cat", "lives": 9}],
    ),
    (Node, [{"value": 1, "children": [{"value": 2, "children": []}]}]),
    (Encoded, [{"data": "YWJj"}]),
    (Renamed, [{"pageSize": 3}]),
    (Span, [{"low": 1, "high": 2}]),
    (Loose, [{"n": 1, "day": "2024-01-01"}]),
    (Point, [{"x": 1}, {"x": 1, "y": 2}]),
    (Box, [{"width": 1}, {"width": 1, "height": 2, "depth": 3}]),
    (Pair, [[1, "a"]]),
    (RootModel[list[int]], [[1, 2]]),
    (Json[list[int]], ["[1, 2]"]),
    (SecretStr, ["sesame"]),
    (ipaddress.IPv4Address, ["127.0.0.1"]),
    (re.Pattern, ["^a$"]),
    (ByteSize, ["3kb", 3]),
    (Base64Bytes, ["YWJj"]),
    (complex, ["1+2j"]),
    (Annotated[int, "how many"], [3]),
    (Annotated[int, Field(ge=1, le=10)], [1, 10]),
    (Annotated[str, Field(max_length=3, pattern="^a")], ["abc"]),
    (Annotated[int | str, Field(union_mode="left_to_right")], ["3", 3, "x"]),
    (Annotated[int, AfterValidator(lambda v: v + 1)], [3]),
    (Annotated[int, BeforeValidator(lambda v: str(v).strip())], [" 3 ", "3", 3]),
    (Annotated[dt.date, BeforeValidator(lambda v: v.replace("/", "-"))], ["2024/01/01", "2024-01-01"]),
    (Annotated[list[str], BeforeValidator(lines_of)], ["a,b", ["a", "b"]]),
    (Annotated[int, WrapValidator(lambda v, handler: handler(v))], [3, "3"]),
    (Annotated[int, PlainValidator(int)], ["3", 3]),
    (SkipValidation[int], ["x", 3, None]),
    (Annotated[int, SkipValidation], ["x"]),
    (Annotated[int, Field(strict=True)], [3]),
    (list[Annotated[str, AfterValidator(str.upper)]], [["a"]]),
]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(annotation, value) for annotation, values in SIGNATURES for value in values],
    ids=lambda part: str(part)[:50],
)
def test_the_body_gets_the_very_value_that_the_sdk_makes_of_the_raw_argument(annotation: Any, value: Any) -> None:
    ours = value_of(annotation, value)
    theirs = func_metadata_value(annotation, value)
    assert ours == theirs
    assert type(ours) is type(theirs)
    assert repr(ours) == repr(theirs)


def defaults(
    a,
    *,
    b=5,
    c: int = Field(default=7, ge=1),
    d: list[int] = Field(default_factory=list),  # noqa: B008
    e: Annotated[str, "text"] = "e",
    f: int = None,  # type: ignore[assignment]  # noqa: RUF013
    copy: int = 1,
    json: str = "j",
    schema: int | None = None,
) -> None: ...


def aliases(
    query: Annotated[str, Field(validation_alias="searchText")] = "",
    x: Annotated[int, Field(validation_alias=AliasChoices("y", "z"))] = 0,
    deep: Annotated[int, Field(validation_alias=AliasPath("target", "id"))] = 0,
) -> None: ...


@pytest.mark.parametrize(
    ("fn", "sent"),
    [
        (defaults, {"a": 1}),
        (defaults, {"a": "x", "b": [1], "c": 3, "d": [1], "f": 3, "copy": 2, "json": "[]", "schema": 4}),
        (aliases, {}),
        (aliases, {"searchText": "a", "z": 3, "target": {"id": 4}}),
        (aliases, {"y": 1, "z": 2}),
        (functools.partial(defaults, b=9), {"a": 1}),
    ],
)
def test_defaults_and_aliases_mean_what_they_mean_to_the_sdk(fn: Callable[..., Any], sent: dict[str, Any]) -> None:
    values = accepted(Arguments(fn, tool="tool").check(sent)).values
    named = fn if hasattr(fn, "__name__") else functools.update_wrapper(lambda: None, defaults)  # the SDK wants a name
    model = func_metadata(named, structured_output=False).arg_model.model_validate(sent)
    expected = {name.removeprefix("field_"): getattr(model, name) for name in type(model).model_fields}
    if isinstance(fn, functools.partial):
        expected |= fn.keywords
    assert values == expected


def test_a_model_with_an_init_of_its_own_is_made_as_the_sdk_makes_it() -> None:
    class Counted(BaseModel):
        n: int

        def __init__(self, **data: Any) -> None:
            super().__init__(**{**data, "n": int(data["n"]) + 1})

    assert value_of(Counted, {"n": 1}).n == func_metadata_value(Counted, {"n": 1}).n


def func_metadata_value(annotation: Any, value: Any) -> Any:
    def tool(x): ...

    tool.__annotations__ = {"x": annotation}
    return func_metadata(tool, structured_output=False).arg_model.model_validate({"x": value}).x  # type: ignore[attr-defined]


def test_names_that_pydantic_keeps_for_itself_are_ordinary_parameters() -> None:
    def tool(
        model_config: str, model_fields: int = 0, _hidden: int = 1, field_copy: int = 2, copy: int = 3
    ) -> None: ...

    values = accepted(Arguments(tool, tool="tool").check({"model_config": "a", "copy": 4})).values
    assert values == {"model_config": "a", "model_fields": 0, "_hidden": 1, "field_copy": 2, "copy": 4}


def test_bound_methods_and_wrappers_are_seen_through() -> None:
    class Notes:
        def read(self, path: str, lines: int = 3) -> None: ...

    @functools.wraps(Notes().read)
    def wrapper(*args: Any, **kwargs: Any) -> None: ...

    for fn in (Notes().read, wrapper):
        assert accepted(Arguments(fn, tool="read").check({"path": "a"})).values == {"path": "a", "lines": 3}


def test_a_mutable_default_is_fresh_for_each_call() -> None:
    def tool(tags: list[str] = []) -> None: ...  # noqa: B006

    check = Arguments(tool, tool="tool").check
    accepted(check({})).values["tags"].append("a")
    assert accepted(check({})).values["tags"] == []


def test_a_default_factory_and_an_after_validator_run_once_on_the_fast_path() -> None:
    runs: list[str] = []

    def made() -> int:
        runs.append("factory")
        return 1

    def seen(value: int) -> int:
        runs.append("validator")
        return value

    arguments = arguments_of(Annotated[int, AfterValidator(seen)], default=Field(default_factory=made))
    assert accepted(arguments.check({"x": 2})).values == {"x": 2}
    assert accepted(arguments.check({})).values == {"x": 1}
    assert runs == ["validator", "factory"]


def test_a_default_made_of_other_arguments_is_not_a_problem_of_its_own() -> None:
    def tool(a: int, b: int = Field(default_factory=lambda data: data["a"] + 1)) -> None: ...

    arguments = Arguments(tool, tool="tool")
    assert accepted(arguments.check({"a": 1})).values == {"a": 1, "b": 2}
    assert refused(arguments.check({"a": "x"})).problem_count == 1


def test_a_good_call_keeps_the_callers_own_arguments() -> None:
    sent = {"x": 3}
    outcome = accepted(arguments_of(int).check(sent))
    assert outcome.arguments is sent
    assert outcome.repairs == ()


@pytest.mark.parametrize(
    "annotation",
    [
        int,
        float,
        str,
        list[int],
        dict[str, int],
        int | str,
        int | None,
        Row,
        set[float],
        Literal[1, 2],
        Level,
        Level | str,
        Literal[0],
        dict[str, Literal[1]],
        list[Level],
        tuple[int, ...],
        Annotated[int, BeforeValidator(lambda v: v)],
        decimal.Decimal,
        Iterable[int],
        list[Annotated[int, WrapValidator(lambda v, handler: handler(v))]],
    ],
    ids=str,
)
def test_true_is_not_a_number_anywhere(annotation: Any) -> None:
    for value in (True, [True], {"a": True}, {"name": "a", "n": True}):
        if isinstance(value, dict) and annotation is Row and "name" not in value:
            continue
        outcome = arguments_of(annotation).check({"x": value})
        assert isinstance(outcome, InvalidArguments)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (bool, True),
        (Literal[True, 1], True),
        (Literal[1] | bool, True),
        (Level | bool, False),
        (list[Literal[1] | bool], [True, 1]),
        (dict[str, bool | Level], {"a": True}),
        (list[Literal[1]] | list[bool], [True]),
        (Literal[1] | Any, True),
        (dict[str, Literal[1] | dict[str, bool]], {"a": {"b": True}}),
        (Any, True),
    ],
    ids=str,
)
def test_true_is_accepted_where_a_bool_is_declared(annotation: Any, value: Any) -> None:
    assert value_of(annotation, value) == value


def test_a_bool_in_a_branch_chosen_by_a_function_is_refused_if_no_branch_takes_it() -> None:
    class One(BaseModel):
        n: Literal[1]

    class Two(BaseModel):
        n: Literal[2]

    by_number = Discriminator(lambda v: "two" if v["n"] == 2 else "one")
    arguments = arguments_of(Annotated[Annotated[One, Tag("one")] | Annotated[Two, Tag("two")], by_number])
    assert refused(arguments.check({"x": {"n": True}})).field == "x.n"
    accepted(arguments.check({"x": {"n": 1}}))


def test_a_bool_in_a_tagged_branch_is_judged_by_that_branch() -> None:
    class One(BaseModel):
        kind: Literal["one"]
        n: Literal[1]

    class Two(BaseModel):
        kind: Literal["two"]
        n: bool

    arguments = arguments_of(Annotated[One | Two, Field(discriminator="kind")])
    assert refused(arguments.check({"x": {"kind": "one", "n": True}})).field == "x.n"
    accepted(arguments.check({"x": {"kind": "two", "n": True}}))


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 3.0, 3),
        (int | str, 3.0, 3),
        (list[int], [1.0, 2], [1, 2]),
        (Row, {"name": "a", "n": 3.0}, Row(name="a", n=3)),
        (Literal[1, 2], 1.0, 1),
        (Level, 2.0, Level.HIGH),
        (int, -0.0, 0),
    ],
    ids=str,
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_float_without_a_fraction_is_an_integer_and_no_repair(
    annotation: Any, value: Any, expected: Any, strict: bool
) -> None:
    sent = {"x": value}
    outcome = accepted(arguments_of(annotation, strict=strict).check(sent))
    assert outcome.values["x"] == expected
    assert outcome.repairs == ()
    assert outcome.arguments is sent


@pytest.mark.parametrize("value", [3.5, 1e300, float("nan"), float("inf"), 0.1])
def test_a_fraction_is_not_an_integer(value: float) -> None:
    refusal_of(int, value)


@pytest.mark.parametrize(
    ("annotation", "value", "expected", "took"),
    [
        (int, "3", 3, "an integer"),
        (int, "3.0", 3, "an integer"),
        (int, " 3 ", 3, "an integer"),
        (float, "1e3", 1000.0, "an integer"),
        (float, "1.5", 1.5, "a number"),
        (bool, "true", True, "a boolean"),
        (int | None, "null", None, "null"),
        (list[int], "[1,2]", [1, 2], "a list"),
        (list[str], '["a"]', ["a"], "a list"),
        (set[int], "[1]", {1}, "a list"),
        (tuple[int, str], '[1,"a"]', (1, "a"), "a list"),
        (dict[str, int], '{"a":1}', {"a": 1}, "an object"),
        (Row, '{"name":"a"}', Row(name="a"), "an object"),
        (dict | None, '{"a":1}', {"a": 1}, "an object"),
        (list[int] | int, "[1]", [1], "a list"),
        (int | list[int], "3", 3, "an integer"),
        (Level, "1", Level.LOW, "an integer"),
        (Literal[1, 2], "2", 2, "an integer"),
        (Annotated[int, Field(ge=1)], "3", 3, "an integer"),
    ],
    ids=str,
)
def test_a_string_that_spells_a_value_of_the_declared_type_is_read_as_it(
    annotation: Any, value: str, expected: Any, took: str
) -> None:
    outcome = accepted(arguments_of(annotation).check({"x": value}))
    assert outcome.values["x"] == expected
    assert outcome.repairs == (Repair("x", "a string", took),)
    assert outcome.arguments["x"] != value
    refused(arguments_of(annotation, strict=True).check({"x": value}))


def test_strings_are_read_at_nested_places_and_within_strings() -> None:
    arguments = arguments_of(Filter)
    outcome = accepted(arguments.check({"x": {"rows": '[{"name": "a", "n": "5"}]'}}))
    assert outcome.values["x"].rows == [Row(name="a", n=5)]
    assert outcome.arguments == {"x": {"rows": [{"name": "a", "n": 5}]}}
    assert [repair.field for repair in outcome.repairs] == ["x.rows", "x.rows[0].n"]


def test_repairing_does_not_touch_what_the_caller_holds() -> None:
    sent = {"x": {"rows": [{"name": "a", "n": "5"}]}}
    accepted(arguments_of(Filter).check(sent))
    assert sent == {"x": {"rows": [{"name": "a", "n": "5"}]}}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, "3"),
        (str | None, '{"a":1}'),
        (str | None, "null"),
        (int | str, "3"),
        (str | dict, '{"a":1}'),
        (Any, "[1]"),
        (list[str], ["[1]", "3"]),
        (dict[str, str], {"a": "1"}),
        (bytes, "3"),
    ],
    ids=str,
)
def test_a_value_that_is_valid_already_stays_as_it_is(annotation: Any, value: Any) -> None:
    outcome = accepted(arguments_of(annotation).check({"x": value}))
    assert outcome.repairs == ()
    assert outcome.values["x"] in (value, b"3")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "three"),
        (int, "3.5"),
        (int, "true"),
        (bool, "1"),
        (bool, "yes"),
        (list[int], '["a"]'),
        (list[int], "1,2"),
        (Annotated[int, Field(le=2)], "3"),
        (float, "NaN"),
        (float, "Infinity"),
        (int, '"3"'),
        (int, ""),
        (list[int], "[1"),
        (Annotated[str, Field(max_length=2)], "[1]"),
        (int, "[" * 100_000),
    ],
    ids=lambda part: str(part)[:40],
)
def test_a_string_that_spells_no_such_value_is_refused_as_it_was_sent(annotation: Any, value: str) -> None:
    fault = refusal_of(annotation, value)
    assert fault.problem_count == 1


def test_what_cannot_be_repaired_is_reported_and_what_can_is_not() -> None:
    def tool(a: int, b: int, c: list[int]) -> None: ...

    fault = refused(Arguments(tool, tool="tool").check({"a": "3", "b": "x", "c": ["1", "z"]}))
    assert [problem.field for problem in fault.problems] == ["b", "c[1]"]


def test_a_problem_inside_a_decoded_string_is_located_there() -> None:
    fault = refusal_of(Filter, '{"rows": [{"nam": "a"}]}')
    assert fault.field == "x.rows[0].name"


def test_null_for_an_optional_parameter_that_admits_none_counts_as_absent() -> None:
    arguments = arguments_of(int, default=7)
    outcome = accepted(arguments.check({"x": None}))
    assert outcome.values == {"x": 7}
    assert outcome.arguments == {}
    assert outcome.repairs == (Repair("x", "null", "the default"),)
    assert accepted(arguments_of(int | None, default=7).check({"x": None})).values == {"x": None}
    refused(arguments_of(int).check({"x": None}))
    refused(arguments_of(int, default=7, strict=True).check({"x": None}))
    refused(arguments_of(Row, default=None).check({"x": {"name": "a", "n": None}}))


def test_at_most_twenty_repairs_are_listed() -> None:
    outcome = accepted(arguments_of(list[int]).check({"x": [str(n) for n in range(500)]}))
    assert outcome.values["x"] == list(range(500))
    assert len(outcome.repairs) == 20


def test_a_branch_of_a_union_is_repaired_as_a_whole() -> None:
    assert value_of(list[int] | dict[str, int], ["1", "2"]) == [1, 2]
    assert refusal_of(list[int] | dict[str, int], ["1", "z"]).field == "x[1]"


def test_an_unknown_argument_is_named_with_the_accepted_ones_and_the_nearest() -> None:
    def head(path: str, lines: int = 10) -> None: ...

    fault = refused(Arguments(head, tool="head").check({"path": "a", "line": 3}))
    assert fault.field == "line"
    assert str(fault) == "unknown argument; this tool takes lines, path. Did you mean 'lines'?"
    assert fault.fix == "rename line to lines."
    assert "lines" not in str(refused(Arguments(lambda: None, tool="t").check({"lines": 3})))


def test_an_unknown_argument_is_told_beside_the_other_problems() -> None:
    def head(path: str, lines: int = 10) -> None: ...

    fault = refused(Arguments(head, tool="head").check({"lines": "x", "zzz": 1}))
    assert [problem.field for problem in fault.problems] == ["zzz", "path", "lines"]
    assert fault.problem_count == 3


def test_the_parameter_name_of_an_aliased_parameter_is_unknown_but_explained() -> None:
    fault = refused(Arguments(aliases, tool="search").check({"query": "a"}))
    assert "Did you mean 'searchText'?" in str(fault)


def test_unknown_arguments_can_be_dropped() -> None:
    def head(path: str) -> None: ...

    outcome = accepted(Arguments(head, tool="head", unknown="drop").check({"path": "a", "zzz": 1}))
    assert outcome.values == {"path": "a"}
    assert outcome.arguments == {"path": "a"}
    fault = refused(Arguments(head, tool="head", unknown="drop").check({"path": 3, "zzz": 1}))
    assert [problem.field for problem in fault.problems] == ["path"]


def test_hidden_parameters_can_neither_be_sent_nor_are_they_listed() -> None:
    def tool(path: str, ctx: Any, db: Any = None) -> None: ...

    arguments = Arguments(tool, tool="tool", hidden=frozenset({"ctx", "db"}))
    assert arguments.names == ("path",)
    assert accepted(arguments.check({"path": "a"})).values == {"path": "a"}
    fault = refused(arguments.check({"path": "a", "ctx": 1}))
    assert str(fault) == "unknown argument; this tool takes path"


def test_published_arguments_of_somebody_else_pass_untouched() -> None:
    def tool(n: int = 1) -> None: ...

    arguments = Arguments(tool, tool="tool", published=frozenset({"n", "tenant"}))
    assert arguments.names == ("n", "tenant")
    sent = {"n": 2, "tenant": {"deep": ["\ud800"]}}
    outcome = accepted(arguments.check(sent))
    assert outcome.values == {"n": 2}
    assert outcome.arguments is sent
    assert accepted(arguments.check({"n": "2", "tenant": 5})).arguments == {"n": 2, "tenant": 5}


def test_wire_names_are_those_of_the_published_schema() -> None:
    arguments = Arguments(aliases, tool="search")
    published = func_metadata(aliases, structured_output=False).arg_model.model_json_schema(by_alias=True)
    assert arguments.wire_names["query"] == "searchText"
    assert arguments.wire_names["x"] == "y"
    assert set(arguments.wire_names.values()) - {"target"} <= set(published["properties"])


def test_sensitive_parameters_are_known_by_name_and_by_annotation_in_both_spellings() -> None:
    def tool(
        password: str,
        pin: Annotated[str, Sensitive],
        note: SecretStr | None = None,
        auth: Annotated[str, Field(validation_alias="apiKey")] = "",
        page_token: str = "",
    ) -> None: ...

    assert Arguments(tool, tool="login").sensitive == {"password", "pin", "note", "auth", "apiKey"}


@pytest.mark.parametrize("field", ["password", "pin", "note", "nested"])
def test_a_sensitive_value_is_never_shown_when_refused(field: str) -> None:
    def tool(
        password: Annotated[str, Field(max_length=3)] = "",
        pin: Annotated[str, Sensitive, Field(pattern="^[0-9]+$")] = "",
        note: Annotated[SecretStr, Field(max_length=3)] = "",  # type: ignore[assignment]
        nested: list[Code] = [],  # noqa: B006
    ) -> None: ...

    value: Any = [{"code": "hunter2"}] if field == "nested" else "hunter2"
    fault = refused(Arguments(tool, tool="login").check({field: value}))
    assert "hunter2" not in repr([fault.problems, str(fault), fault.fix, fault.suggestion])
    assert fault.received is None
    assert fault.expected


def test_a_sensitive_field_of_a_typed_dict_or_dataclass_is_never_shown() -> None:
    class Login(te.TypedDict):
        code: Annotated[int, Sensitive]

    Login.__annotations__["code"] = Annotated[int, Sensitive]
    login = dataclasses.make_dataclass("Login", [("pin", Annotated[int, Sensitive])])
    for annotation, value in ((Login, {"code": "hunter2"}), (login, {"pin": "hunter2"})):
        assert "hunter2" not in repr(refusal_of(annotation, value).problems)


def test_an_authors_sentence_that_repeats_a_sensitive_value_is_not_shown() -> None:
    class Login(BaseModel):
        user: str
        password: str

        @model_validator(mode="after")
        def _differ(self) -> Login:
            if self.user == "bob":
                raise ValueError(f"{self.password} is taken")
            raise ValueError("no such user")

    arguments = arguments_of(Login)
    assert str(refused(arguments.check({"x": {"user": "bob", "password": "hunter2"}}))) == (
        "refused by a check of this tool's own"
    )
    assert str(refused(arguments.check({"x": {"user": "eve", "password": "hunter2"}}))) == "no such user"


def test_five_problems_are_listed_and_the_rest_is_counted() -> None:
    fault = refusal_of(list[int], ["x"] * 3000)
    assert len(fault.problems) == 5
    assert fault.problem_count == 3000
    assert [problem.field for problem in fault.problems] == [f"x[{n}]" for n in range(5)]


def test_a_fault_of_thousands_of_long_problems_is_small() -> None:
    choices = Literal[tuple(f"{'long' * 20}{n}" for n in range(200))]  # type: ignore[valid-type]
    fault = refusal_of(dict[str, choices], {"k" * 5000 + str(n): "v" * 5000 for n in range(1000)})
    assert fault.problem_count == 1000
    assert all(len(str(part)) < 2_500 for part in fault.problems)


def test_only_the_offending_value_is_quoted() -> None:
    def tool(a: int, b: str, c: list[str]) -> None: ...

    fault = refused(Arguments(tool, tool="tool").check({"a": "wrong", "b": "private", "c": ["private"]}))
    assert "wrong" in str(fault)
    assert "private" not in repr(fault.problems)


def test_a_missing_argument_is_named_with_its_type_and_constraint() -> None:
    def tool(lines: Annotated[int, Field(ge=1, le=1000)]) -> None: ...

    fault = refused(Arguments(tool, tool="tool").check({}))
    assert (fault.field, str(fault)) == ("lines", "missing; required: an integer from 1 to 1000")
    assert fault.expected == "an integer from 1 to 1000"


def test_a_refusal_carries_what_was_wanted_given_and_how_to_fix_it() -> None:
    def head(lines: Annotated[int, Field(ge=1, le=1000)] = 10) -> None: ...

    fault = refused(Arguments(head, tool="head").check({"lines": "three"}))
    assert type(fault) is InvalidArguments
    assert str(fault) == "expected an integer, got 'three'"
    assert fault.expected == "an integer from 1 to 1000"
    assert fault.received == '"three"'
    assert fault.fix == "send lines as a whole number from 1 to 1000."
    assert fault.suggestion is None
    assert fault.problems[0].message == str(fault)


def test_braces_in_a_fix_survive_its_being_a_template() -> None:
    fault = refusal_of(Annotated[str, Field(pattern=r"^\d{4}$")], "x")
    assert fault.fix is not None
    assert fault.filled(fault.fix, {}) == r"send x as a string matching ^\d{4}$."


@pytest.mark.parametrize(
    ("annotation", "value", "suggestion"),
    [
        (dt.date, "2024/1/1", '"2024-01-01"'),
        (dt.date, "2024.12.31", '"2024-12-31"'),
        (dt.date, "20240131", '"2024-01-31"'),
        (dt.date, "2024-01-01T00:00:00", '"2024-01-01"'),
        (dt.date | None, "2024-1-1", '"2024-01-01"'),
        (list[dt.date], ["2024/1/1"], '"2024-01-01"'),
        (dt.datetime, "2024/1/1 9:30", '"2024-01-01T09:30:00"'),
        (dt.datetime, "2024-01-01", '"2024-01-01T00:00:00"'),
        (dt.datetime, "2024/01/01T10:00:00+0200", '"2024-01-01T10:00:00+02:00"'),
        (dt.time, "9:30", '"09:30:00"'),
        (Literal["asc", "desc"], "ASC", '"asc"'),
        (Literal["asc", "desc"], "dsc", '"desc"'),
        (Color, "Red", '"red"'),
        (int | Literal["all"], "al", '"all"'),
        (bool, "True", "true"),
        (bool, "FALSE", "false"),
        (str, 42, '"42"'),
        (Literal["1", "2"], 1, '"1"'),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "ca"}, '"cat"'),
    ],
    ids=str,
)
def test_a_right_value_is_suggested_where_it_can_be_told(annotation: Any, value: Any, suggestion: str) -> None:
    assert refusal_of(annotation, value).suggestion == suggestion


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (dt.date, "1/2/2024"),
        (dt.date, "2024/13/1"),
        (dt.date, "tomorrow"),
        (Annotated[dt.date, Field(ge=dt.date(2025, 1, 1))], "2024/1/1"),
        (dt.datetime, 1_700_000_000),
        (bool, "yes"),
        (bool, "no"),
        (bool, 1),
        (int, "three"),
        (int, 3.5),
        (Annotated[int, Field(le=10)], 50),
        (Literal["asc", "desc"], "sideways"),
        (Annotated[str, Field(max_length=1)], 42),
        (list[str], "a"),
    ],
    ids=str,
)
def test_nothing_is_suggested_where_no_right_value_can_be_told(annotation: Any, value: Any) -> None:
    assert refusal_of(annotation, value).suggestion is None


def test_a_strict_tool_suggests_what_a_lenient_one_would_have_taken() -> None:
    assert refusal_of(int, "10", strict=True).suggestion == "10"
    assert refusal_of(list[int], "[1,2]", strict=True).suggestion == "[1,2]"
    assert refusal_of(int, "ten", strict=True).suggestion is None


def test_a_suggestion_never_repeats_a_secret() -> None:
    assert refusal_of(dict[str, int], '{"password": 12345678}', strict=True).suggestion is None

    assert refusal_of(dict[str, str], '{"note": "password=hunter2"}', strict=True).suggestion is None

    def tool(password: int) -> None: ...

    fault = refused(Arguments(tool, tool="login", strict=True).check({"password": "12345678"}))
    assert fault.suggestion is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("\ud800", "lone surrogate"),
        (["ok", "\udfff"], "lone surrogate"),
        ({"\ud800": 1}, "lone surrogate"),
        (10**5000, "4,300 digits"),
        ([1, {"a": -(10**5000)}], "4,300 digits"),
        (object(), "Python object"),
    ],
    ids=["surrogate", "nested surrogate", "surrogate key", "huge int", "nested huge int", "object"],
)
@pytest.mark.parametrize("annotation", [Any, dict, str], ids=str)
def test_what_json_cannot_carry_is_refused_with_its_place(annotation: Any, value: Any, words: str) -> None:
    fault = refusal_of(annotation, value)
    assert words in str(fault)
    assert fault.field is not None
    assert fault.field.startswith("x")
    str(fault).encode()


@pytest.mark.parametrize("depth", [199, 210, 300, 100_000])
def test_deep_nesting_is_refused_and_never_raised(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    outcome = arguments_of(Any).check({"x": value})
    if depth > 200:
        assert "nested too deeply" in str(refused(outcome))
    while isinstance(value, list):  # taken apart slowly: freeing it at once would recurse
        value = value[0]


def test_a_strict_json_spelling_is_enough_where_lax_python_validation_has_no_reading() -> None:
    assert value_of(Annotated[dt.date, Field(strict=True)], "2024-01-01") == dt.date(2024, 1, 1)


def test_lax_reading_is_left_to_the_authors_own_validators_alone() -> None:
    class Mixed(BaseModel):
        day: Annotated[dt.date, BeforeValidator(lambda v: v.replace("/", "-"))]
        n: int

    assert value_of(Mixed, {"day": "2024/01/01", "n": 1}) == Mixed(day="2024-01-01", n=1)  # type: ignore[arg-type]
    fault = refusal_of(Mixed, {"day": "2024/01/01", "n": True})
    assert [problem.field for problem in fault.problems] == ["x.n"]


def test_a_validator_around_an_object_does_not_loosen_its_members() -> None:
    assert value_of(Loose, {"n": 1, "day": "2024-01-01"}).day == dt.date(2024, 1, 1)
    assert refusal_of(Loose, {"n": True, "day": "2024-01-01"}).field == "x.n"
    assert refusal_of(Loose, {"n": "3", "day": "2024-01-01"}, strict=True).field == "x.n"
    assert [problem.field for problem in refusal_of(Loose, {"n": "q", "day": "2024-99-01"}).problems] == [
        "x.n",
        "x.day",
    ]


def test_a_json_string_is_read_where_the_authors_validator_cannot() -> None:
    assert value_of(Annotated[list[int], BeforeValidator(lambda v: v)], "[1,2]") == [1, 2]


def test_a_value_that_an_authors_validator_fails_on_is_refused_with_the_cause_kept() -> None:
    fault = refusal_of(Annotated[int, BeforeValidator(lambda v: v.strip())], 3)
    assert fault.field == "x"
    assert isinstance(fault.__cause__, AttributeError)


def test_a_reading_that_an_authors_validator_fails_on_is_no_reading() -> None:
    fault = refusal_of(Annotated[list[int], BeforeValidator(lambda v: v.strip())], "[1,2]")
    assert str(fault) == "expected a list, got '[1,2]'"


def test_the_argument_that_an_authors_validator_fails_on_is_the_one_that_is_named() -> None:
    def tool(a: int, b: Annotated[str, BeforeValidator(str.strip)], c: Any = None) -> None: ...

    fault = refused(Arguments(tool, tool="tool").check({"a": 1, "b": 2, "c": "\ud800"[:0], "zzz": 1}))
    assert fault.field == "b"
    assert str(fault) == "refused by a check of this tool's own"


def test_a_default_factory_that_fails_is_not_the_callers_fault() -> None:
    def broken() -> int:
        raise KeyError("config")

    def tool(a: int, b: int = Field(default_factory=broken)) -> None: ...

    with pytest.raises(KeyError):
        Arguments(tool, tool="tool").check({"a": 1})


def test_an_error_of_an_authors_validator_that_is_not_about_the_value_passes() -> None:
    def lookup(value: str) -> str:
        raise ConnectionError("database is down")

    with pytest.raises(ConnectionError):
        arguments_of(Annotated[str, AfterValidator(lookup)]).check({"x": "a"})


def test_a_model_validator_speaks_in_the_authors_own_words() -> None:
    fault = refusal_of(Span, {"low": 3, "high": 1})
    assert (fault.field, str(fault)) == ("x", "low must not be above high")


def test_a_path_that_leaves_its_root_is_a_fault_of_its_own(tmp_path: pathlib.Path) -> None:
    arguments = arguments_of(Annotated[pathlib.Path, Within(tmp_path)])
    assert accepted(arguments.check({"x": "a.md"})).values["x"] == tmp_path.resolve() / "a.md"
    fault = refused(arguments.check({"x": "../a.md"}))
    assert type(fault) is PathOutsideRoot
    assert "'../a.md'" in str(fault)
    assert str(tmp_path) not in repr(fault.problems)


def test_items_of_an_iterable_are_checked_before_the_body_and_still_there_for_it() -> None:
    arguments = arguments_of(Iterable[int])
    assert list(accepted(arguments.check({"x": [1, 2]})).values["x"]) == [1, 2]
    assert refused(arguments.check({"x": [1, "z"]})).field == "x[1]"


def test_a_text_is_no_list_of_its_characters() -> None:
    assert str(refusal_of(Iterable[str], "abc")) == "expected a list, got 'abc'"
    assert list(value_of(Iterable[int], "[1,2]")) == [1, 2]
    assert accepted(arguments_of(Iterable[int] | None, default=None).check({"x": None})).repairs == ()


RULES = {
    "properties": {
        "a": {"type": "integer", "minimum": 1},
        "b": {"enum": ["x", "y"]},
        "c": {
            "type": "object",
            "properties": {"n": {"type": "string"}},
            "required": ["n"],
            "additionalProperties": False,
        },
    },
    "dependentRequired": {"a": ["b"]},
}


def open_tool(a: Any = None, b: Any = None, c: Any = None) -> None: ...


@pytest.mark.parametrize(
    ("sent", "field", "message"),
    [
        ({"a": 0, "b": "x"}, "a", "expected an integer of at least 1, got 0"),
        ({"a": True, "b": "x"}, "a", "expected an integer, got true"),
        ({"a": "x", "b": "x"}, "a", "expected an integer, got 'x'"),
        ({"b": "z"}, "b", "expected one of 'x', 'y', got 'z'"),
        ({"a": 1}, "b", "missing; required when a is given"),
        ({"c": {}}, "c.n", "missing; required: a string"),
        ({"c": {"n": "a", "nn": 1}}, "c.nn", "unknown field; this object takes n"),
    ],
    ids=str,
)
def test_rules_across_arguments_are_a_json_schema(sent: dict[str, Any], field: str, message: str) -> None:
    fault = refused(Arguments(open_tool, tool="tool", input_schema=RULES).check(sent))
    assert (fault.field, str(fault)) == (field, message)


def test_a_json_schema_counts_beside_the_types_and_says_nothing_twice() -> None:
    def tool(a: int, b: str = "x") -> None: ...

    schema = {"properties": {"a": {"minimum": 3}, "b": {"minLength": 2}}, "required": ["b"]}
    arguments = Arguments(tool, tool="tool", input_schema=schema)
    assert [p.field for p in refused(arguments.check({"a": "z", "b": "q"})).problems] == ["a", "b"]
    assert [p.field for p in refused(arguments.check({"a": 1})).problems] == ["a", "b"]
    assert accepted(arguments.check({"a": "3", "b": "xx"})).values == {"a": 3, "b": "xx"}


@pytest.mark.parametrize(
    ("schema", "sent", "message"),
    [
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "expected arguments with a or arguments with b"),
        ({"not": {"required": ["a", "b"]}}, {"a": 1, "b": 1}, "expected something else than arguments with a and b"),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 1},
            "expected only one of: arguments with a or arguments with b",
        ),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, "missing; it is required"),
        ({"properties": {"a": {"multipleOf": 0.1}}}, {"a": 10**400}, "holds a number that is too large"),
        ({"properties": {"a": False}}, {"a": 1}, "holds a value that is not allowed"),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, 1]}, "expected a list of distinct items"),
        ({"properties": {"a": {"contains": {"type": "null"}}}}, {"a": [1]}, "expected a list that contains null"),
        (
            {"properties": {"a": {"propertyNames": {"pattern": "^[a-z]+$"}}}},
            {"a": {"X": 1}},
            "expected an object of which each key is a string matching ^[a-z]+$, got 'X'",
        ),
        ({"properties": {"a": {"type": ["integer", "null"]}}}, {"a": "x"}, "expected an integer or null, got 'x'"),
        ({"properties": {"a": {"maxItems": 1}}}, {"a": [1, 2]}, "expected a list of at most 1 item, got [1, 2]"),
        ({"properties": {"a": {"maxLength": 1}}}, {"a": "xy"}, "expected a string of at most 1 character, got 'xy'"),
        ({"properties": {"a": {"not": {}}}}, {"a": 1}, "expected something else than a valid value, got 1"),
        ({"properties": {"a": {"anyOf": [False, {"const": 2}]}}}, {"a": 1}, "expected no such value or 2, got 1"),
        ({"properties": {"a": {"minProperties": 1}}}, {"a": {}}, "expected an object of at least 1 key, got {}"),
    ],
    ids=str,
)
def test_rules_are_worded_like_everything_else(schema: dict[str, Any], sent: dict[str, Any], message: str) -> None:
    assert str(refused(Arguments(open_tool, tool="tool", input_schema=schema).check(sent))).startswith(message)


def test_a_rule_about_all_arguments_quotes_none_of_them() -> None:
    fault = refused(Arguments(open_tool, tool="tool", input_schema={"required": ["b"]}).check({"a": "private"}))
    assert "private" not in repr(fault.problems)


def test_a_schema_that_refers_to_itself_too_deeply_is_refused_and_not_raised() -> None:
    schema = {
        "$defs": {"n": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/n"}}]}},
        "properties": {"a": {"$ref": "#/$defs/n"}},
    }
    value: Any = 1
    for _ in range(190):
        value = [value]
    assert "nested too deeply" in str(
        refused(Arguments(open_tool, tool="tool", input_schema=schema).check({"a": value}))
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "whatever"},
        {"$ref": "https://example.com/schema.json"},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"patternProperties": {"(": {}}},
    ],
    ids=str,
)
def test_an_input_schema_that_cannot_be_checked_is_a_configuration_error(schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="open_tool: input_schema="):
        Arguments(open_tool, tool="tool", input_schema=schema)


def test_signatures_that_cannot_work_are_configuration_errors_that_name_the_function() -> None:
    def positional(a: int, /) -> None: ...

    def unresolvable(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def misdeclared(a: Annotated[str, Field(ge=1, pattern="(")]) -> None: ...

    for fn in (positional, unresolvable, misdeclared):
        with pytest.raises(ConfigurationError, match=fn.__name__):
            Arguments(fn, tool="tool")


def test_of_very_many_wrong_items_all_are_counted_and_none_is_repaired() -> None:
    def add(numbers: list[int]) -> None: ...

    refused = Arguments(add, tool="add").check({"numbers": ["1"] * 25_000})

    assert isinstance(refused, InvalidArguments)
    assert refused.problem_count == 25_000
    assert refused.field == "numbers[0]"
    assert refused.suggestion == "1"
