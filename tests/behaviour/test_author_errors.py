from __future__ import annotations

import asyncio
import functools
import warnings
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from mcp_guard import (
    Busy,
    ConfigurationError,
    Fault,
    Guard,
    GuardError,
    GuardWarning,
    InvalidArguments,
    NotFound,
    TimedOut,
    ToolFailed,
)

ERROR = "io.github.mcp-guard/error"


class Shown(Fault):
    code = "SHOWN"
    message = "no {path} for {api_key}"


class Elsewhere(Fault):
    code = "ELSEWHERE"
    message = "nothing at {place}"


def save(path: str, lines: int = 1, api_key: str = "") -> str:
    return path


async def fetch(path: str) -> str:
    await asyncio.sleep(0)
    return path


WRONG: dict[str, tuple[Callable[..., Any], str, dict[str, Any], list[str]]] = {
    "an unknown option": (save, "reads", {"time_out": 2}, ["save", "time_out", "timeout"]),
    "a timeout of 0": (save, "reads", {"timeout": 0}, ["save", "timeout=0", "None"]),
    "a negative timeout": (save, "reads", {"timeout": -1}, ["save", "timeout=-1"]),
    "a timeout that is true": (save, "reads", {"timeout": True}, ["save", "timeout=True"]),
    "an endless timeout": (save, "reads", {"timeout": float("inf")}, ["save", "timeout=inf", "None"]),
    "a timeout that is no number": (save, "reads", {"timeout": float("nan")}, ["save", "timeout=nan"]),
    "a timeout of another type": (save, "reads", {"timeout": [2]}, ["save", "timeout=[2]"]),
    "a timeout of no parameter": (save, "reads", {"timeout": "seconds"}, ["save", "'seconds'", "lines", "path"]),
    "a wrong cap": (save, "reads", {"max_timeout": 0}, ["save", "max_timeout=0"]),
    "a limit of 0": (save, "reads", {"max_chars": 0}, ["save", "max_chars=0", "None"]),
    "a limit that is no whole number": (save, "reads", {"max_chars": 2.5}, ["save", "max_chars=2.5"]),
    "a limit that is true": (save, "reads", {"max_chars": True}, ["save", "max_chars=True"]),
    "no mapping": (save, "reads", {"raises": [KeyError]}, ["save", "raises="]),
    "no exception class": (save, "reads", {"raises": {"KeyError": NotFound}}, ["save", "raises=", "'KeyError'"]),
    "no fault class": (save, "reads", {"raises": {KeyError: ValueError}}, ["save", "raises=", "KeyError", "Fault"]),
    "a fault object": (save, "reads", {"raises": {KeyError: NotFound()}}, ["save", "raises=", "KeyError", "Fault"]),
    "a template of no parameter": (
        save,
        "reads",
        {"raises": {KeyError: Elsewhere}},
        ["save", "Elsewhere", "{place}", "path"],
    ),
    "a template that shows a secret": (
        save,
        "reads",
        {"raises": {KeyError: Shown}},
        ["save", "Shown", "{api_key}", "sensitive"],
    ),
    "fails_when no function": (save, "reads", {"fails_when": "error"}, ["save", "fails_when='error'"]),
    "reads_when of a reading tool": (
        save,
        "reads",
        {"reads_when": lambda path: True},
        ["save", "reads_when=", "guard.writes"],
    ),
    "reads_when no function": (save, "writes", {"reads_when": "list"}, ["save", "reads_when='list'"]),
    "reads_when of no parameter": (
        save,
        "writes",
        {"reads_when": lambda action: True},
        ["save", "reads_when=", "'action'", "path"],
    ),
    "unknown neither refused nor dropped": (save, "reads", {"unknown": "keep"}, ["save", "unknown='keep'", "'drop'"]),
    "no JSON Schema": (save, "reads", {"input_schema": {"type": "objekt"}}, ["save", "input_schema=", "objekt"]),
    "an async function kept on the loop's thread": (
        fetch,
        "reads",
        {"in_thread": False, "timeout": None},
        ["fetch", "in_thread=False", "sync"],
    ),
    "a body on the loop's thread with a timeout": (
        save,
        "reads",
        {"in_thread": False},
        ["save", "in_thread=False", "timeout=None"],
    ),
    "a sync function offloaded": (save, "reads", {"offload": True}, ["save", "offload=True", "async"]),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_declaration_names_the_function_and_the_option(name: str) -> None:
    function, verb, options, named = WRONG[name]

    with pytest.raises(ConfigurationError) as caught:
        getattr(Guard(), verb)(**options)(function)

    for word in named:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": "seconds"}, "timeout='seconds'"),
        ({"max_chars": -1}, "max_chars=-1"),
        ({"threads": 0}, "threads=0"),
        ({"threads": True}, "threads=True"),
        ({"threads": "8"}, "threads='8'"),
        ({"unknown_tool": "error"}, "unknown_tool='error'"),
    ],
)
def test_a_wrong_default_is_said_where_the_guard_is_made(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Guard(**options)

    assert str(caught.value).startswith("Guard: ")
    assert named in str(caught.value)


def test_what_is_no_function_cannot_be_decorated() -> None:
    with pytest.raises(ConfigurationError, match=r"@mcp\.tool\(\) first, @guard\.reads\(\) below it"):
        Guard().reads(object())


@pytest.mark.parametrize("given", [2, 0.5, "head", {"timeout": 2}])
def test_an_option_without_its_name_is_told_to_be_given_by_name(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"by name, like guard\.reads\(timeout=2\)"):
        Guard().reads(given)


@pytest.mark.parametrize("kind", [classmethod, staticmethod])
def test_a_class_or_static_method_is_told_which_decorator_comes_first(kind: Any) -> None:
    with pytest.raises(ConfigurationError, match="@classmethod or @staticmethod above it"):
        Guard().reads(kind(save))


def test_a_callable_object_is_told_to_be_decorated_at_its_call_method() -> None:
    class Reader:
        def __call__(self, path: str) -> str:
            return path

    with pytest.raises(ConfigurationError, match="decorate its __call__ method"):
        Guard().reads(Reader())


def test_a_wrong_declaration_is_no_fault_of_the_caller() -> None:
    assert issubclass(ConfigurationError, GuardError)
    assert not issubclass(ConfigurationError, Fault)


class TestAFaultClass:
    @pytest.mark.parametrize("code", ["note missing", "NoteMissing", "note_missing", "", "_X"])
    def test_with_an_ill_spelled_code_is_refused(self, code: str) -> None:
        with pytest.raises(ConfigurationError, match=r"Wrong\.code"):
            type("Wrong", (Fault,), {"code": code})

    @pytest.mark.parametrize(
        ("option", "said"),
        [("retry", "maybe"), ("stage", "zzz"), ("effects", "nothing"), ("fault_side", "moon"), ("code", 5), ("fix", 3)],
    )
    def test_with_an_unknown_choice_is_refused(self, option: str, said: object) -> None:
        with pytest.raises(ConfigurationError, match=f"Odd.{option}"):
            type("Odd", (Fault,), {"code": "ODD", option: said})

    @pytest.mark.parametrize("option", ["message", "fix"])
    @pytest.mark.parametrize("template", ["no {path.name}", "no {path[0]}", "no {}", "no {path", "no {0}"])
    def test_with_a_template_that_is_more_than_names_is_refused(self, option: str, template: str) -> None:
        with pytest.raises(ConfigurationError, match=rf"Wrong\.{option}: "):
            type("Wrong", (Fault,), {"code": "WRONG", option: template})


class TestAnAsyncFunctionThatNeverAwaits:
    MESSAGE = r"^block is async but never awaits.*offload=True \(offload=False if it is always quick\)$"

    @staticmethod
    def declare(**options: Any) -> None:
        @Guard().reads(**options)
        async def block() -> str:
            return "done"

    def test_is_warned_about(self) -> None:
        with pytest.warns(GuardWarning, match=self.MESSAGE):
            self.declare()

    def test_is_warned_about_when_it_is_a_generator(self) -> None:
        with pytest.warns(GuardWarning, match="^items is async but never awaits"):

            @Guard().reads
            async def items() -> AsyncIterator[int]:
                yield 1

    def test_is_warned_about_below_another_decorator(self) -> None:
        async def block() -> str:
            return "done"

        @functools.wraps(block)
        async def outer() -> str:
            return await block()

        with pytest.warns(GuardWarning, match="^block is async but never awaits"):
            Guard().reads(outer)

    @pytest.mark.parametrize("offload", [True, False])
    def test_is_accepted_where_the_author_says_what_is_meant(self, offload: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.declare(offload=offload)

    def test_is_named_at_the_authors_own_line_with_and_without_parentheses(self) -> None:
        async def block() -> None: ...

        guard = Guard()
        for decorate in (lambda: guard.reads(block), lambda: guard.reads()(block)):
            with pytest.warns(GuardWarning) as caught:
                decorate()
            assert [warning.filename for warning in caught] == [__file__]

    def test_is_any_that_has_none_of_await_async_for_and_async_with(self) -> None:
        async def waits() -> None:
            await asyncio.sleep(0)

        async def iterates(items: Any) -> None:
            async for _ in items:
                pass

        async def enters(scope: Any) -> None:
            async with scope:
                pass

        async def comprehends(items: Any) -> list[Any]:
            return [item async for item in items]

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for function in (waits, iterates, enters, comprehends):
                Guard().reads(function)


@pytest.mark.anyio
class TestFailsWhen:
    async def answer(self, library: Any, fails_when: Any, value: Any, **options: Any) -> Any:
        server = library.server("s")

        def look():  # without an annotation: each test returns something else
            return value

        server.tool()(Guard(server).writes(fails_when=fails_when, **options)(look))
        async with library.connect(server) as client:
            return await client.call_tool("look")

    async def test_makes_a_returned_failure_an_error(self, library: Any, records: list[Any]) -> None:
        result = await self.answer(library, lambda text: text.startswith("Error"), "Error: no such note")

        assert result.is_error
        assert result.content[0].text.startswith("[exec] look: Error: no such note\n")
        told = result.meta[ERROR]
        assert (told["code"], told["effects"]) == ("TOOL_FAILED", "may_remain")
        assert [record.code for record in records] == ["TOOL_FAILED"]

    async def test_shows_a_returned_mapping_as_json(self, library: Any) -> None:
        result = await self.answer(library, lambda value: "error" in value, {"error": "no such note"})

        assert result.content[0].text.startswith('[exec] look: {"error":"no such note"}\n')

    async def test_leaves_a_good_value_alone(self, library: Any, records: list[Any]) -> None:
        result = await self.answer(library, lambda text: text.startswith("Error"), "all is well")

        assert not result.is_error
        assert result.content[0].text == "all is well"
        assert records == []

    async def test_that_raises_is_the_authors_error_and_the_body_has_run(
        self, library: Any, records: list[Any]
    ) -> None:
        result = await self.answer(library, lambda value: value["error"], "a string")

        told = result.meta[ERROR]
        assert (told["code"], told["effects"]) == ("INTERNAL", "may_remain")
        assert "a string" not in result.content[0].text
        (record,) = records
        assert record.exc_info[0] is TypeError

    async def test_is_not_asked_about_a_body_that_raised(self, library: Any) -> None:
        asked = []
        server = library.server("s")

        @server.tool()
        @Guard(server).reads(fails_when=asked.append)
        def look() -> str:
            raise ToolFailed("no such note")

        async with library.connect(server) as client:
            result = await client.call_tool("look")

        assert result.content[0].text.startswith("[exec] look: no such note\n")
        assert asked == []

    async def test_is_judged_in_a_plain_unit_test_too(self) -> None:
        @Guard().reads(fails_when=lambda text: text == "failed")
        def look() -> str:
            return "failed"

        with pytest.raises(ToolFailed, match="failed"):
            await look()

    async def test_is_not_needed_for_an_error_result_of_the_library(self, library: Any) -> None:
        refused = CallToolResult(content=[TextContent(type="text", text="no such note")], is_error=True)
        result = await self.answer(library, None, refused)

        assert result.is_error
        assert result.content[0].text == "no such note"
        assert result.meta[ERROR]["code"] == "TOOL_FAILED"

    async def test_is_not_needed_for_a_tool_result_of_fastmcp(self) -> None:
        from fastmcp import FastMCP
        from fastmcp.tools.base import ToolResult
        from mcp.client import Client

        server = FastMCP("s")

        def look():
            return ToolResult(content="no such note", is_error=True)

        server.tool()(Guard(server).writes(look))
        async with Client(server._mcp_server, mode="2026-07-28", cache=None) as client:
            result = await client.call_tool("look")

        assert result.is_error
        assert result.content[0].text == "no such note"
        assert result.meta[ERROR]["effects"] == "may_remain"


@pytest.mark.anyio
class TestReadsWhen:
    @staticmethod
    def serve(library: Any, reads_when: Any) -> Any:
        server = library.server("s")

        @server.tool()
        @Guard(server).writes(reads_when=reads_when)
        def notes(action: str, text: str = "") -> str:
            raise ValueError

        return server

    async def test_says_of_each_call_whether_it_can_have_left_anything(self, library: Any) -> None:
        server = self.serve(library, lambda action: action == "list")

        async with library.connect(server) as client:
            listed = await client.call_tool("notes", {"action": "list"})
            added = await client.call_tool("notes", {"action": "add"})

        assert listed.meta[ERROR]["effects"] == "none"
        assert "Effects: none, the tool only reads." in listed.content[0].text
        assert added.meta[ERROR]["effects"] == "may_remain"

    async def test_sees_defaults_and_several_parameters(self, library: Any) -> None:
        server = self.serve(library, lambda text, action: not text and action == "list")

        async with library.connect(server) as client:
            assert (await client.call_tool("notes", {"action": "list"})).meta[ERROR]["effects"] == "none"
            written = await client.call_tool("notes", {"action": "list", "text": "x"})

        assert written.meta[ERROR]["effects"] == "may_remain"

    async def test_that_raises_fails_the_call_before_the_body(self, library: Any, records: list[Any]) -> None:
        server = library.server("s")
        ran = []

        @server.tool()
        @Guard(server).writes(reads_when=lambda action: {"list": True}[action])
        def notes(action: str) -> str:
            ran.append(action)
            return "done"

        async with library.connect(server) as client:
            good = await client.call_tool("notes", {"action": "list"})
            result = await client.call_tool("notes", {"action": "add"})

        assert not good.is_error
        assert result.is_error
        assert "the tool did not run" in result.content[0].text
        assert result.meta[ERROR]["effects"] == "none"
        assert ran == ["list"]
        assert len(records) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("fault", [TimedOut(), Busy(), InvalidArguments("no such moon")], ids=lambda fault: fault.code)
async def test_a_built_in_fault_that_a_body_raises_is_told_as_the_bodys(library: Any, fault: Fault) -> None:
    server = library.server("s")

    @server.tool()
    @Guard(server).reads
    def look() -> str:
        raise fault

    async with library.connect(server) as client:
        result = await client.call_tool("look")

    assert result.meta[ERROR]["code"] == fault.code
    assert result.content[0].text.startswith("[exec] look: ")
    assert "{" not in result.content[0].text


@pytest.mark.anyio
async def test_a_fault_with_a_constructor_of_its_own_is_told(library: Any) -> None:
    class Missing(Fault):
        code = "MISSING"

        def __init__(self, what: str, where: str) -> None:
            super().__init__(f"no {what} in {where}")

    server = library.server("s")

    @server.tool()
    @Guard(server).reads
    def look() -> str:
        raise Missing("milk", "the fridge")

    async with library.connect(server) as client:
        result = await client.call_tool("look")

    assert result.content[0].text.startswith("[exec] look: no milk in the fridge\n")


@pytest.mark.anyio
async def test_a_fault_may_say_what_it_left_behind(library: Any) -> None:
    class Undone(Fault):
        code = "UNDONE"
        message = "the file is full; nothing was written"
        effects = "none"

    server = library.server("s")

    @server.tool()
    @Guard(server).writes
    def append() -> str:
        raise Undone

    async with library.connect(server) as client:
        result = await client.call_tool("append")

    assert result.meta[ERROR]["effects"] == "none"
    assert "Effects: none" in result.content[0].text
    assert "only reads" not in result.content[0].text
