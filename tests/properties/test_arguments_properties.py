from __future__ import annotations

import datetime as dt
import decimal
import enum
import json
import uuid
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from mcp_guard.faults import InvalidArguments
from mcp_guard.policies.arguments import LISTED, Accepted, Arguments

PRIVATE = "p-r-i-v-a-t-e"


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
    kind: Literal["a"]
    n: int


class Dog(BaseModel):
    kind: Literal["b"]
    name: str


class Loose(BaseModel):
    n: int
    when: dt.date | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_is(cls, data: object) -> object:
        return data


class Node(BaseModel):
    n: Literal[1, 2] = 1
    rows: list[Node] = []


TYPES: list[Any] = [
    int,
    float,
    bool,
    str,
    bytes,
    Any,
    int | None,
    str | None,
    int | str,
    int | float,
    bool | int,
    dt.date,
    dt.datetime,
    dt.date | str,
    str | uuid.UUID,
    decimal.Decimal,
    decimal.Decimal | str,
    Level,
    Level | str,
    Literal["a", "b"],
    Literal[1, 2],
    Literal[1, "a", True],
    list[int],
    list[int | str],
    set[int],
    tuple[int, str],
    dict[str, int],
    dict[int, str],
    list[int] | dict[str, int],
    list[int] | int,
    Row,
    Row | None,
    Filter,
    Cat | Dog,
    Cat | str,
    list[Cat | Dog],
    Annotated[Cat | Dog, Field(discriminator="kind")],
    Loose,
    Node,
    Annotated[int, Field(ge=0, le=5)],
    Annotated[str, Field(min_length=1, max_length=2, pattern="[a1]")],
    Annotated[list[int], Field(min_length=1, max_length=2)],
    Annotated[int, BeforeValidator(lambda v: v)],
    Annotated[int | str, Field(union_mode="left_to_right")],
]


def tool_of(annotation: Any, default: Any = ...) -> Any:
    def tool(x, other=None): ...

    tool.__annotations__ = {"x": annotation, "other": Any}
    if default is not ...:
        tool.__defaults__ = (default, None)
    return tool


CHECKS = [Arguments(tool_of(annotation), tool="tool") for annotation in TYPES]
STRICT = [Arguments(tool_of(annotation), tool="tool", strict=True) for annotation in TYPES]
OPTIONAL = [Arguments(tool_of(annotation, None), tool="tool") for annotation in TYPES]
RULED = Arguments(
    tool_of(Any),
    tool="tool",
    input_schema={
        "$defs": {"n": {"anyOf": [{"type": ["integer", "null"], "multipleOf": 0.5}, {"items": {"$ref": "#/$defs/n"}}]}},
        "properties": {"x": {"$ref": "#/$defs/n", "additionalProperties": {"enum": [1, "a"]}, "required": ["n"]}},
        "not": {"required": ["rows"]},
    },
)
MODELS = [func_metadata(tool_of(annotation), structured_output=False).arg_model for annotation in TYPES]


def _dump(value: Any) -> Any:
    try:
        return json.dumps(value)
    except ValueError:
        return value


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 6)
    | st.floats()
    | st.sampled_from([0.0, 1.0, 2.0, 1e300, 10**400])
    | st.text(st.characters(codec=None), max_size=6)
    | st.sampled_from(["a", "b", "A", "1", "1.0", "true", "null", "[1]", '{"n": "1"}', '"a"', "2024-01-01", "2024/1/1"])
    | st.sampled_from(
        ["2024-01-01T10:00", "12345678123456781234567812345678", "1e400", "[" * 300, "\ud800", PRIVATE[:3]]
    )
)
keys = st.sampled_from(["name", "n", "kind", "rows", "when", "a", "1", "password", "odd key"]) | st.text(max_size=4)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
encoded = values | values.map(_dump)
which = st.integers(0, len(TYPES) - 1)


def texts(fault: InvalidArguments) -> list[str]:
    return [
        str(part)
        for problem in fault.problems
        for part in (
            problem.message,
            problem.field,
            problem.fix,
            problem.expected,
            problem.received,
            problem.suggestion,
        )
    ]


@given(which, encoded)
@settings(max_examples=300, deadline=None)
def test_a_check_never_raises_and_a_refusal_is_short_and_shows_no_other_argument(index: int, value: Any) -> None:
    outcome = CHECKS[index].check({"x": value, "other": {"deep": [PRIVATE]}})
    if isinstance(outcome, InvalidArguments):
        assert 1 <= len(outcome.problems) <= LISTED <= max(LISTED, outcome.problem_count)
        assert len(outcome.problems) == min(LISTED, outcome.problem_count)
        for text in texts(outcome):
            assert len(text) <= 1_000
            assert PRIVATE not in text
            text.encode()


@given(values)
@settings(max_examples=150, deadline=None)
def test_rules_never_raise(value: Any) -> None:
    outcome = RULED.check({"x": value})
    assert isinstance(outcome, Accepted | InvalidArguments)


@given(st.dictionaries(keys | st.just("x"), values, max_size=4), st.sampled_from(["refuse", "drop"]))
@settings(max_examples=300, deadline=None)
def test_any_object_of_arguments_is_accepted_or_refused(sent: dict[str, Any], unknown: Any) -> None:
    outcome = Arguments(tool_of(Filter), tool="tool", unknown=unknown).check(sent)
    if isinstance(outcome, InvalidArguments):
        assert outcome.problem_count >= len(outcome.problems) >= 1
    elif unknown == "refuse":
        assert outcome.arguments.keys() <= {"x", "other"}


@given(which, encoded)
@settings(max_examples=300, deadline=None)
def test_accepted_values_are_those_of_the_sdk(index: int, value: Any) -> None:
    outcome = CHECKS[index].check({"x": value})
    if isinstance(outcome, InvalidArguments):
        return
    try:
        theirs = MODELS[index].model_validate(outcome.arguments)
    except ValidationError:
        return
    expected = theirs.x  # type: ignore[attr-defined]
    assert repr(outcome.values) == repr({"x": expected, "other": None})


@given(which, encoded)
@settings(max_examples=300, deadline=None)
def test_repaired_arguments_are_good_arguments(index: int, value: Any) -> None:
    sent = {"x": value}
    before = repr(sent)
    outcome = OPTIONAL[index].check(sent)
    assert repr(sent) == before
    if isinstance(outcome, InvalidArguments):
        return
    if not outcome.repairs:
        assert outcome.arguments is sent
    again = STRICT[index].check(outcome.arguments) if "x" in outcome.arguments else OPTIONAL[index].check({})
    assert isinstance(again, Accepted)
    assert again.repairs == ()
    assert repr(again.values) == repr(outcome.values)


@given(which, values)
@settings(max_examples=200, deadline=None)
def test_a_strict_tool_accepts_nothing_that_a_lenient_one_refuses(index: int, value: Any) -> None:
    strictly = STRICT[index].check({"x": value})
    if isinstance(strictly, Accepted):
        leniently = CHECKS[index].check({"x": value})
        assert isinstance(leniently, Accepted)
        assert repr(leniently) == repr(strictly)


@given(which, encoded)
@settings(max_examples=200, deadline=None)
def test_a_suggested_value_fits(index: int, value: Any) -> None:
    outcome = STRICT[index].check({"x": value})
    if isinstance(outcome, InvalidArguments) and outcome.suggestion is not None and outcome.field == "x":
        assert isinstance(STRICT[index].check({"x": json.loads(outcome.suggestion)}), Accepted)


@pytest.mark.parametrize("depth", [10, 100, 198])
def test_nesting_within_the_limit_is_accepted(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    assert isinstance(CHECKS[TYPES.index(Any)].check({"x": value}), Accepted)
