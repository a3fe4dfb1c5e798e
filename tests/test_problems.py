from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import pytest
import typing_extensions as te
from pydantic import (
    UUID4,
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FilePath,
    FutureDatetime,
    HttpUrl,
    Json,
    NaiveDatetime,
    PastDate,
    PlainValidator,
    SecretStr,
    field_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError
from pydantic_core._pydantic_core import list_all_errors

from mcp_guard.faults import InvalidArguments, Problem
from mcp_guard.policies.arguments import Arguments


def fault_of(annotation: Any, value: object, **options: Any) -> InvalidArguments:
    def tool(x): ...

    tool.__annotations__ = {"x": annotation}
    outcome = Arguments(tool, tool="tool", **options).check({"x": value})
    assert isinstance(outcome, InvalidArguments), f"accepted: {outcome}"
    return outcome


def problems_of(annotation: Any, value: object) -> list[tuple[str, str]]:
    return [(problem.field, problem.message) for problem in fault_of(annotation, value).problems]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Row(BaseModel):
    name: str
    n: int = 0


class Filter(BaseModel):
    model_config = ConfigDict(extra="forbid")
    column: str
    rows: list[Row] = []


class Renamed(BaseModel):
    page_size: int = Field(alias="pageSize")
    odd: int = Field(default=0, alias="odd key")


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Pair(NamedTuple):
    left: int
    right: str


class Box(te.TypedDict):
    width: int


class Even(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


def long_enough(value: str) -> str:
    if len(value) < 3:
        raise AssertionError("is too short to mean anything")
    return value


REQUIRED = "missing; required: a string"
NO_INTEGER = "expected an integer, got 'z'"

MESSAGES: list[tuple[Any, Any, str]] = [
    (int, "three", "expected an integer, got 'three'"),
    (int, True, "expected an integer, got true"),
    (int, None, "expected an integer, got null"),
    (int, [1, 2], "expected an integer, got [1, 2]"),
    (int, {"a": "b"}, 'expected an integer, got {"a": "b"}'),
    (int, 2.5, "expected an integer, got 2.5"),
    (float, "much", "expected a number, got 'much'"),
    (bool, "yes", "expected true or false, got 'yes'"),
    (str, 3, "expected a string, got 3"),
    (bytes, 3, "expected a string, got 3"),
    (None, 3, "expected null, got 3"),
    (list[int], 3, "expected a list, got 3"),
    (set[int], {}, "expected a list, got {}"),
    (tuple[int, str], 3, "expected a list of 2 items, got 3"),
    (tuple[int, str], [1, "a", 2], "expected a list of 2 items, got 3 items"),
    (tuple[int, str], [1], "missing; required: a string"),
    (Pair, [1, 2], "expected a string, got 2"),
    (Pair, 3, "expected a list of 2 items, got 3"),
    (collections.deque[int], 3, "expected a list, got 3"),
    (Sequence[int], "ab", "expected a list, got 'ab'"),
    (Mapping[str, int], [1], "expected an object, got [1]"),
    (dict[str, int], 3, "expected an object, got 3"),
    (dict[int, str], {"x": "a"}, "expected a key that is an integer, got 'x'"),
    (Row, 3, "expected an object, got 3"),
    (Box, {}, "missing; required: an integer"),
    (dt.date, "tomorrow", "expected a date like 2024-12-31, got 'tomorrow'"),
    (dt.date, "2024-02-30", "expected a date like 2024-12-31, got '2024-02-30' (day value is outside expected range)"),
    (dt.datetime, 3, "expected a date and time like 2024-12-31T23:59:59Z, got 3"),
    (dt.time, "noon", "expected a time like 23:59:59, got 'noon'"),
    (dt.timedelta, "long", "expected a duration like PT1H30M, got 'long'"),
    (uuid.UUID, "x", "expected a UUID, got 'x'"),
    (HttpUrl, "x", "expected a URL, got 'x'"),
    (HttpUrl, "ftp://a.b", "expected a URL that starts with http:// or https://, got 'ftp://a.b'"),
    (decimal.Decimal, "x", "expected a decimal number, got 'x'"),
    (
        Annotated[decimal.Decimal, Field(max_digits=4, decimal_places=1)],
        "1.25",
        "expected a decimal number with at most 4 digits and 1 decimal place, got '1.25'",
    ),
    (Color, "green", "expected one of 'red', 'blue', got 'green'"),
    (Literal["asc", "desc"], "up", "expected one of 'asc', 'desc', got 'up'"),
    (Literal["all"], "x", "expected 'all', got 'x'"),
    (Literal[1, 2], True, "expected one of 1, 2, got true"),
    (pathlib.Path, 3, "expected a path, got 3"),
    (Json[list[int]], "[1,", "expected a string of JSON, got '[1,'"),
    (Annotated[int, Field(ge=1, le=1000)], 5000, "expected an integer from 1 to 1000, got 5000"),
    (Annotated[int, Field(ge=1)], 0, "expected an integer of at least 1, got 0"),
    (Annotated[int, Field(le=9)], 10, "expected an integer of at most 9, got 10"),
    (Annotated[int, Field(gt=0, lt=9)], 9, "expected an integer above 0 and below 9, got 9"),
    (Annotated[int, Field(multiple_of=5)], 3, "expected an integer that is a multiple of 5, got 3"),
    (Annotated[float, Field(allow_inf_nan=False)], float("nan"), "expected a finite number, got NaN"),
    (Annotated[str, Field(max_length=3)], "abcde", "expected a string of at most 3 characters, got 5 characters"),
    (Annotated[str, Field(min_length=1)], "", "expected a string of at least 1 character, got 0 characters"),
    (Annotated[str, Field(min_length=2, max_length=4)], "a", "expected a string of 2 to 4 characters, got 1 character"),
    (Annotated[str, Field(min_length=2, max_length=2)], "a", "expected a string of 2 characters, got 1 character"),
    (Annotated[str, Field(pattern="^[a-z]+$")], "A", "expected a string matching ^[a-z]+$, got 'A'"),
    (Annotated[bytes, Field(max_length=2)], "abc", "expected a string of at most 2 bytes, got 3 bytes"),
    (
        Annotated[list[int], Field(max_length=2)],
        [1, 2, 3],
        "expected a list of at most 2 items, each an integer, got 3 items",
    ),
    (Annotated[list[Any], Field(min_length=1)], [], "expected a list of at least 1 item, got 0 items"),
    (
        Annotated[dict[str, int], Field(max_length=1)],
        {"a": 1, "b": 2},
        "expected an object of at most 1 key, got 2 keys",
    ),
    (PastDate, "2999-01-01", "expected a date like 2024-12-31 in the past, got '2999-01-01'"),
    (
        Annotated[dt.date, Field(ge=dt.date(2020, 1, 1))],
        "2019-01-01",
        "expected a date like 2024-12-31, not before 2020-01-01, got '2019-01-01'",
    ),
    (int | str, None, "expected an integer or a string, got null"),
    (int | str | None, [], "expected an integer, a string or null, got []"),
    (int | None, "x", "expected an integer or null, got 'x'"),
    (list[int] | Annotated[int, Field(ge=1)], 0, "expected an integer of at least 1 or a list, each an integer, got 0"),
    (list[int] | list[str], [None], "expected a list, each an integer or a list, each a string, got [null]"),
    (Cat | Dog, 3, "expected an object, got 3"),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        3,
        "expected an object whose kind is one of 'cat', 'dog', got 3",
    ),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cow"}, "expected one of 'cat', 'dog', got 'cow'"),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {}, "missing; required: one of 'cat', 'dog'"),
    (Even, {"n": 3}, "must be even"),
    (Annotated[str, AfterValidator(long_enough)], "a", "is too short to mean anything"),
    (Annotated[str, AfterValidator(long_enough)] | int, "a", "is too short to mean anything"),
    (ipaddress.IPv4Address, "x", "Expected 4 octets in 'x'"),
    (FilePath, "no/such/file", "Path does not point to a file"),
    (re.Pattern, "(", "Input should be a valid regular expression"),
    (tuple[()], [1], "expected a list of 0 items, got 1 item"),
    (Json, 3, "expected a string of JSON, got 3"),
    (pathlib.Path | list[str], 3, "expected a path or a list, got 3"),
    (Callable, 3, "expected a valid value, got 3"),
]


@pytest.mark.parametrize(("annotation", "value", "message"), MESSAGES, ids=str)
def test_a_problem_says_what_was_wanted_and_what_was_given(annotation: Any, value: Any, message: str) -> None:
    fault = fault_of(annotation, value)
    assert str(fault) == message
    assert fault.problem_count == 1


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (UUID4, "12345678-1234-1234-1234-123456781234", "a UUID of version 4"),
        (AwareDatetime, "2024-01-01T00:00:00", "a date and time like 2024-12-31T23:59:59Z with a time zone"),
        (NaiveDatetime, "2024-01-01T00:00:00Z", "a date and time like 2024-12-31T23:59:59Z without a time zone"),
        (FutureDatetime, "2020-01-01T00:00:00", "a date and time like 2024-12-31T23:59:59Z in the future"),
        (list[Row], 3, "a list, each an object with name"),
        (list[list[list[list[list[list[int]]]]]], 3, "a list, each a list, each a list, each a list, each a list"),
        (Filter | None, 3, "an object with column or null"),
        (Color | int, None, "an integer or one of 'red', 'blue'"),
        (dict[str, Any], 3, "an object"),
    ],
    ids=str,
)
def test_what_is_wanted_is_told_with_its_constraints(annotation: Any, value: Any, expected: str) -> None:
    assert fault_of(annotation, value).expected == expected


def test_at_most_twenty_choices_are_listed() -> None:
    message = str(fault_of(Literal[tuple(f"v{n}" for n in range(32))], "x"))  # type: ignore[valid-type]
    assert message.endswith("'v18', 'v19' and 12 more, got 'x'")
    assert message.count("'v") == 20


@pytest.mark.parametrize(
    ("annotation", "value", "problems"),
    [
        (Filter, {"rows": [{"name": "a"}, {"n": 1}]}, {"x.column": REQUIRED, "x.rows[1].name": REQUIRED}),
        (dict[str, list[int]], {"a b": [1, "z"]}, {"x['a b'][1]": NO_INTEGER}),
        (Renamed, {"pageSize": "z", "odd key": "z"}, {"x.pageSize": NO_INTEGER, "x['odd key']": NO_INTEGER}),
        (Node, {"value": 1, "children": [{"value": "z"}]}, {"x.children[0].value": NO_INTEGER}),
        (Cat | Dog, {"kind": "dog", "nam": 1}, {"x.name": REQUIRED}),
        (Cat | str, {"kind": "cat", "lives": "z"}, {"x.lives": NO_INTEGER}),
        (list[Cat | Dog], [{"kind": "cat", "lives": 9}, {"kind": "cat", "lives": "z"}], {"x[1].lives": NO_INTEGER}),
        (int | list[int | dict[str, int]], [1, {"a": "z"}], {"x[1].a": NO_INTEGER}),
        (Node | list[Node], [{"value": 1}, {"value": "z"}], {"x[1].value": NO_INTEGER}),
        (tuple[int, Row], ["z", {"name": "a", "n": "z"}], {"x[0]": NO_INTEGER, "x[1].n": NO_INTEGER}),
        (Json[list[int]], '["z"]', {"x[0]": NO_INTEGER}),
    ],
    ids=str,
)
def test_every_problem_is_located_in_the_callers_spelling(
    annotation: Any, value: Any, problems: dict[str, str]
) -> None:
    assert dict(problems_of(annotation, value)) == problems


def test_an_unknown_field_of_an_object_is_named_with_the_nearest() -> None:
    assert problems_of(Filter, {"column": "a", "row": []}) == [
        ("x.row", "unknown field; this object takes column, rows. Did you mean 'rows'?")
    ]


def test_a_long_or_strange_name_of_the_callers_is_shown_short_and_printable() -> None:
    fault = fault_of(dict[str, int], {"k" * 10_000: "a", "\x1b[31m": "b"})
    assert all(len(problem.field) <= 120 and problem.field.isprintable() for problem in fault.problems)


def test_a_secret_in_a_name_of_the_callers_is_hidden() -> None:
    fault = fault_of(dict[str, int], {"sk-" + "a1" * 20: "x"})
    assert "a1a1" not in repr(fault.problems)


def test_a_quoted_value_is_at_most_eighty_characters() -> None:
    fault = fault_of(int, "z" * 5000)
    assert len(str(fault)) < 120
    assert len(fault.received or "") <= 80


def test_a_secret_inside_an_offending_container_is_hidden() -> None:
    fault = fault_of(list[int], {"user": "bob", "password": "hunter2", "deep": [{"api_key": "hunter3"}]})
    assert "hunter" not in repr(fault.problems)
    assert "bob" in str(fault)


def test_a_value_nested_deeply_is_quoted_without_end() -> None:
    value: Any = "z"
    for _ in range(150):
        value = [value]
    assert len(str(fault_of(int, value))) < 120


def test_an_authors_sentence_is_redacted_and_cut() -> None:
    def refuse(value: str) -> str:
        raise ValueError(f"cannot connect with password=hunter2 {'and so on ' * 100}\n\n\tat all")

    message = str(fault_of(Annotated[str, AfterValidator(refuse)], "a"))
    assert "hunter2" not in message
    assert "\n" not in message
    assert len(message) <= 300


def test_an_assertion_without_words_still_says_something() -> None:
    def refuse(value: str) -> str:
        raise AssertionError

    assert str(fault_of(Annotated[str, AfterValidator(refuse)], "a")) == "refused by a check of this tool's own"


def test_an_authors_custom_error_keeps_its_message() -> None:
    def refuse(value: str) -> str:
        raise PydanticCustomError("not_listed", "{name} is on no list", {"name": "bob"})

    assert str(fault_of(Annotated[str, AfterValidator(refuse)], "a")) == "bob is on no list"


CONTEXTS: dict[str, Any] = {error["type"]: error.get("example_context") for error in list_all_errors()}


@pytest.mark.parametrize("kind", sorted(CONTEXTS))
@pytest.mark.parametrize("annotation", [str, Any], ids=str)
def test_every_error_of_pydantics_has_words_without_its_jargon(kind: str, annotation: Any) -> None:
    def refuse(value: object) -> object:
        context = dict(CONTEXTS[kind] or {})
        if kind in ("value_error", "assertion_error"):
            context["error"] = ValueError("said")
        raise PydanticKnownError(kind, context or None)  # type: ignore[arg-type]

    def tool(other: str, x: Any) -> None: ...

    tool.__annotations__ = {"other": str, "x": Annotated[annotation, PlainValidator(refuse)]}
    outcome = Arguments(tool, tool="tool").check({"other": "private", "x": "given"})
    assert isinstance(outcome, InvalidArguments)
    told = repr([(problem.message, problem.expected, problem.fix) for problem in outcome.problems])
    assert outcome.problem_count == 1
    for jargon in ("pydantic", "http", "Input should", "<class", "private", "input_value"):
        assert jargon not in told


def test_a_problem_of_a_secret_type_says_only_what_was_wanted() -> None:
    problem = fault_of(SecretStr, 12345).problems[0]
    assert problem == Problem(field="x", message="expected a string", expected="a string", fix="send x as a string.")
