from __future__ import annotations

import asyncio
import logging
import re
from typing import Annotated, Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, SecretStr

from mcp_guard import Fault, Guard, Sensitive

pytestmark = pytest.mark.anyio

ERROR = "io.github.mcp-guard/error"
REF = re.compile(r"Ref: ([0-9a-f]{12})")


class Refused(Fault):
    code = "REFUSED"
    message = "refused"


@pytest.fixture
def server(library: Any) -> Any:
    server = library.server("s")
    guard = Guard(server)

    @server.tool()
    @guard.writes
    def save(path: str, lines: int = 1) -> str:
        match path:
            case "refused":
                raise Refused
            case "crash":
                raise ValueError("oh no")
            case "odd":
                return {"not": "a string"}  # type: ignore[return-value]
        return "saved"

    @server.tool()
    @guard.reads(timeout=0.05)
    async def slow() -> str:
        await asyncio.sleep(3)
        return "late"

    @server.tool()
    @guard.reads
    def login(user: str, password: str, pin: Annotated[str, Sensitive]) -> str:
        raise ValueError(f"{user} {password} {pin}")

    return server


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


class TestAFailedCallHasOneRecord:
    @pytest.mark.parametrize(
        ("tool", "arguments", "expected"),
        [
            ("save", {"path": "x", "lines": "three"}, ("validate", "INVALID_ARGUMENTS", logging.INFO)),
            ("save", {}, ("validate", "INVALID_ARGUMENTS", logging.INFO)),
            ("save", {"path": "refused"}, ("exec", "REFUSED", logging.INFO)),
            ("save", {"path": "crash"}, ("exec", "INTERNAL", logging.ERROR)),
            ("slow", {}, ("transport", "TIMED_OUT", logging.INFO)),
        ],
    )
    @pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
    async def test_with_what_the_answer_says(
        self,
        library: Any,
        server: Any,
        records: list[Any],
        *,
        mode: str,
        tool: str,
        arguments: dict[str, Any],
        expected: tuple[str, str, int],
    ) -> None:
        async with library.connect(server, mode=mode) as client:
            result = await client.call_tool(tool, arguments)

        (record,) = records
        (ref,) = REF.findall(text_of(result))
        assert record.tool == tool
        assert (record.stage, record.code, record.levelno) == expected
        assert record.correlation_id == ref == result.meta[ERROR]["correlationId"]
        assert set(record.arguments) == set(arguments)
        assert ref in record.getMessage()

    async def test_with_the_traceback_of_what_nobody_declared_and_none_otherwise(
        self, library: Any, server: Any, records: list[Any]
    ) -> None:
        async with library.connect(server) as client:
            await client.call_tool("save", {"path": "crash"})
            await client.call_tool("save", {"path": "refused"})

        crash, refused = records
        assert crash.exc_info[0] is ValueError
        assert str(crash.exc_info[1]) == "oh no"
        assert crash.exc_info[2] is not None
        assert refused.exc_info is None

    async def test_also_when_its_result_cannot_be_sent(self, library: Any, records: list[Any]) -> None:
        server = library.server("s")

        @server.tool()
        @Guard(server).reads
        def odd() -> int:
            return object()  # type: ignore[return-value]

        async with library.connect(server) as client:
            result = await client.call_tool("odd")

        assert result.is_error, "the SDK sent what it cannot send"
        (record,) = records
        assert (record.tool, record.code) == ("odd", "INVALID_OUTPUT")
        assert result.meta[ERROR]["code"] == "INVALID_OUTPUT"
        assert record.levelno == logging.ERROR, "nobody declared this"
        assert record.exc_info is not None, "the author cannot see what is wrong with the result"

    async def test_also_when_there_is_no_such_tool(self, library: Any, server: Any, records: list[Any]) -> None:
        async with library.connect(server) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("sav", {"path": "x"})

        (record,) = records
        assert (record.tool, record.stage, record.code) == ("sav", "service", "UNKNOWN_TOOL")
        assert record.correlation_id == caught.value.error.data["correlationId"]

    async def test_and_a_good_call_has_none(self, library: Any, server: Any, records: list[Any]) -> None:
        async with library.connect(server) as client:
            await client.call_tool("save", {"path": "x"})
            await client.list_tools()

        assert records == []

    async def test_and_the_servers_library_writes_none_of_its_own(
        self, library: Any, server: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with library.connect(server) as client:
            await client.call_tool("save", {"path": "crash"})
            await client.call_tool("save", {"path": "x", "lines": "three"})

        errors = [record.name for record in caplog.records if record.levelno >= logging.ERROR]
        assert errors == ["mcp_guard"]


SENT = {"user": "ada", "password": "hunter2-pw", "pin": "4711-pin"}


class Account(BaseModel):
    name: str
    key: SecretStr


class TestSecrets:
    async def test_are_absent_from_the_answer(self, library: Any, server: Any) -> None:
        async with library.connect(server) as client:
            result = await client.call_tool("login", SENT)

        told = result.model_dump_json()
        assert result.is_error
        assert "hunter2-pw" not in told
        assert "4711-pin" not in told

    async def test_are_absent_from_the_record_but_for_the_traceback(
        self, library: Any, server: Any, records: list[Any]
    ) -> None:
        async with library.connect(server) as client:
            await client.call_tool("login", SENT)

        (record,) = records
        assert record.arguments == {"user": "'ada'", "password": "[hidden]", "pin": "[hidden]"}
        assert "hunter2-pw" not in record.getMessage()

    @pytest.mark.parametrize("way", ["a fault", "the library's error", "fails_when"])
    async def test_are_hidden_in_the_authors_own_words_too(self, library: Any, way: str, records: list[Any]) -> None:
        server = library.server("s")
        guard = Guard(server)

        @server.tool()
        @guard.writes(fails_when=lambda said: str(said).startswith("denied"))
        def login(password: str, pin: Annotated[str, Sensitive], account: Account) -> str:
            told = f"denied for {password}, {pin} and {account.key.get_secret_value()} of {account.name}"
            if way == "a fault":
                raise Refused(told)
            if way == "the library's error":
                raise library.tool_error(told)
            return told

        sent = {"password": "hunter2-pw", "pin": "4711-pin", "account": {"name": "ada", "key": "made-up-key"}}
        async with library.connect(server) as client:
            result = await client.call_tool("login", sent)

        assert result.is_error
        assert "denied for [hidden], [hidden] and [hidden] of ada" in result.content[0].text
        (record,) = records
        for text in (record.getMessage(), result.model_dump_json()):
            assert not any(secret in text for secret in ("hunter2-pw", "4711-pin", "made-up-key"))

    async def test_are_absent_from_the_record_of_a_refusal(self, library: Any, server: Any, records: list[Any]) -> None:
        async with library.connect(server) as client:
            result = await client.call_tool("login", {"user": 1, "password": ["hunter2-pw"], "pin": {"x": "4711-pin"}})

        (record,) = records
        for text in (str(record.__dict__), result.model_dump_json()):
            assert "hunter2-pw" not in text
            assert "4711-pin" not in text


async def test_50_parallel_failing_calls_have_50_ids_each_found_in_its_own_answer(
    library: Any, records: list[Any]
) -> None:
    server = library.server("s")
    guard = Guard(server)

    @server.tool()
    @guard.reads
    async def fail(n: int) -> str:
        await asyncio.sleep(0.01 * (n % 3))
        raise Refused(f"refused number {n}.")

    @server.tool()
    @guard.reads
    def fail_in_a_thread(n: int) -> str:
        raise Refused(f"refused number {n}.")

    answers: dict[int, str] = {}
    async with library.connect(server) as client:

        async def call(n: int) -> None:
            result = await client.call_tool("fail" if n % 2 else "fail_in_a_thread", {"n": n})
            answers[n] = text_of(result)

        async with anyio.create_task_group() as group:
            for n in range(50):
                group.start_soon(call, n)

    logged = {record.arguments["n"]: record.correlation_id for record in records}
    assert len(records) == len(set(logged.values())) == 50
    for n, text in answers.items():
        assert f"refused number {n}." in text
        assert REF.findall(text) == [logged[str(n)]]


async def test_a_logger_that_is_off_costs_no_record_and_changes_no_answer(library: Any, server: Any) -> None:
    logger = logging.getLogger("mcp_guard")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        async with library.connect(server) as client:
            result = await client.call_tool("save", {"path": "refused"})
    finally:
        logger.setLevel(level)

    assert REF.findall(text_of(result)) == [result.meta[ERROR]["correlationId"]]
