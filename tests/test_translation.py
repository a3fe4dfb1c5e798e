import asyncio
import errno
import io
import json
import os
import socket
import sqlite3
import ssl
import subprocess
import sys
import tomllib
import urllib.error
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcp
import pydantic
import pytest
from fastmcp.exceptions import ToolError as FastToolError
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import ElicitRequestURLParams

from mcp_guard import Call, Contract, Fault, Guard, Internal, InvalidArguments, NotFound, ToolFailed
from mcp_guard.known_errors import known_fault
from mcp_guard.known_errors.services import MAX_RETRY_AFTER, retry_after
from mcp_guard.translation import is_declared, translate

SECRET = "hunter2-s3cr3t"  # noqa: S105 - it is what must never be told
ROOT = "/srv/tenants/acme"


def a_call(arguments: dict[str, Any] | None = None, values: dict[str, Any] | None = None, **options: Any) -> Call:
    options = {"effect": "reads", **options}
    contract = Contract(fn=print, name="head", **options)
    arguments = arguments or {}
    return Call(contract, tool="head", arguments=arguments, values=arguments if values is None else values)


def told(error: BaseException, call: Call | None = None) -> Fault:
    fault = translate(error, call or a_call())
    assert fault is not None
    assert fault.__cause__ is error
    assert fault is not error
    return fault


def raised_by(work: Callable[[], object]) -> BaseException:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - whatever it is, is the subject
        return error
    raise AssertionError("nothing was raised")


def class_named(qualified: str, *bases: type, **attributes: Any) -> type[Exception]:
    """A class that is, to a table of qualified names, that of a library which is not installed."""
    module, _, name = qualified.rpartition(".")
    return type(name, bases or (Exception,), {"__module__": module, **attributes})


# --- default deny ---------------------------------------------------------------------------------------------------


class Weird(Exception):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


NASTY: list[BaseException] = [
    ValueError(f"password={SECRET}"),
    KeyError(SECRET),
    IndexError(SECRET),
    TypeError(SECRET),
    AttributeError(SECRET),
    AssertionError(SECRET),
    NotImplementedError(SECRET),
    RuntimeError(f'File "{ROOT}/x.py", line 3'),
    Exception(SECRET),
    OSError(f"{ROOT}: {SECRET}"),
    OSError(errno.EINVAL, SECRET, ROOT),
    Weird(),
    SystemExit(SECRET),
    asyncio.CancelledError(SECRET),
    FileNotFoundError(errno.ENOENT, SECRET, f"{ROOT}/x"),
    PermissionError(f"{ROOT}/{SECRET}"),
    ConnectionRefusedError(SECRET),
    TimeoutError(SECRET),
    MemoryError(SECRET),
    socket.gaierror(-2, SECRET),
    ssl.SSLError(1, SECRET),
    raised_by((SECRET.encode() + b"\xff").decode),
    raised_by(lambda: json.loads("{" + SECRET)),
    raised_by(partial(ET.fromstring, f"<a>{SECRET}")),
    raised_by(partial(tomllib.loads, SECRET)),
    raised_by(lambda: pydantic.TypeAdapter(dict[str, int]).validate_python({f"{SECRET} x": SECRET})),
    subprocess.CalledProcessError(3, ["login", SECRET], stderr=SECRET),
    subprocess.TimeoutExpired(["login", SECRET], 2.5, output=SECRET),
    raised_by(partial(sqlite3.connect(":memory:").execute, "select 'hunter2-s3cr3t' from _srv_tenants_acme")),
    httpx2.ConnectError(f"https://app:{SECRET}@db"),
    urllib.error.URLError(SECRET),
    ToolError(f"cannot log in with password={SECRET} at {ROOT}/x"),
    FastToolError(f"cannot log in with password={SECRET} at {ROOT}/x"),
    UnexpectedToolError(SECRET),
    ToolFailed(f"password={SECRET} at {ROOT}/x"),
    NotFound(f"see {ROOT}/x"),
    mcp.MCPError(-32603, f"api_key={SECRET} at {ROOT}/x"),
    ExceptionGroup(SECRET, [ValueError(SECRET), TimeoutError(SECRET)]),
    ExceptionGroup(SECRET, [OSError(errno.ENOSPC, SECRET, ROOT), KeyError(ROOT)]),
]


@pytest.mark.parametrize("error", NASTY, ids=lambda error: type(error).__name__)
def test_nothing_of_an_undeclared_text_no_secret_and_no_host_path_is_told(error: BaseException) -> None:
    fault = told(error)
    everything = f"{fault} {fault.fix} {fault.field} {fault.received} {fault.expected}"
    assert SECRET not in everything
    assert ROOT not in everything
    assert "_srv" not in everything
    assert everything.isprintable()


@pytest.mark.anyio
@pytest.mark.parametrize("error", NASTY, ids=lambda error: type(error).__name__)
async def test_nothing_of_it_reaches_a_client_either(library: Any, error: BaseException) -> None:
    server = library.server("server")
    guard = Guard(server)

    @server.tool()
    @guard.reads
    def fails() -> str:
        raise error

    async with library.connect(server) as client:
        result = await client.call_tool("fails", {})
    assert result.is_error
    answer = result.model_dump_json()
    assert SECRET not in answer
    assert ROOT not in answer


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), TypeError(), OSError("x"), Exception(), Weird()])
def test_what_nobody_declared_is_internal(error: Exception) -> None:
    fault = told(error)
    assert type(fault) is Internal
    assert (str(fault), fault.retry, fault.fault_side) == ("the tool failed unexpectedly", "never", "server")
    assert not is_declared(fault)


def test_an_exception_that_cannot_be_read_says_so_in_the_log() -> None:
    class Hostile(OSError):
        @property
        def errno(self) -> int:
            raise RuntimeError("no")

    error = Hostile(2, "x")
    assert type(told(error)) is Internal
    assert error.__notes__ == ["mcp_guard could not read this exception: RuntimeError"]


def test_a_tool_that_tries_to_end_or_cancel_itself_is_told_as_such() -> None:
    assert str(told(SystemExit(3))) == "the tool tried to end the server, which goes on"
    assert str(told(asyncio.CancelledError())) == "the tool cancelled itself"
    assert not is_declared(told(SystemExit(3)))


# --- what the author declares ---------------------------------------------------------------------------------------


class NoteMissing(Fault):
    """There is no note at this path."""

    code = "NOTE_MISSING"
    message = "no note at {path}"
    fix = "Call list_notes."


class Broken(Fault):
    """Something broke."""

    code = "BROKEN"
    message = "it broke"


def test_a_declared_exception_becomes_its_fault_by_the_nearest_base() -> None:
    call = a_call({"path": "a.md"}, raises={OSError: Broken, FileNotFoundError: NoteMissing, KeyError: Broken})

    class Gone(FileNotFoundError):
        pass

    assert type(told(Gone(), call)) is NoteMissing
    assert type(told(PermissionError(), call)) is Broken
    assert str(told(KeyError("x"), call)) == "it broke"
    assert told(FileNotFoundError(errno.ENOENT, "x", "a.md"), call).field == "path"


def test_a_declared_catch_all_leaves_what_the_author_says_in_so_many_words() -> None:
    call = a_call(raises={Exception: Broken})
    assert type(told(ValueError("x"), call)) is Broken
    assert type(told(NoteMissing(path="a.md"), call)) is NoteMissing
    assert type(told(NoteMissing(), a_call(raises={Fault: Broken}))) is Broken


def test_a_raised_fault_is_kept_and_never_changed() -> None:
    fault = NoteMissing(f"no note, token={SECRET}1234567890123456").told(retry="never", retry_after=3)
    before = dict(vars(fault))
    kept = told(fault)
    assert type(kept) is NoteMissing
    assert (kept.retry, kept.retry_after, kept.fix) == ("never", 3, "Call list_notes.")
    assert str(kept) == "no note, token=[token hidden]"
    assert vars(fault) == before


def test_a_raised_fault_shows_the_path_that_the_caller_sent(tmp_path: Path) -> None:
    call = a_call({"path": "a.md"}, {"path": tmp_path / "a.md"})
    assert str(told(NoteMissing(path=tmp_path / "a.md"), call)) == "no note at a.md"
    assert str(told(NotFound(f"cannot read {tmp_path / 'a.md'}."), call)) == "cannot read a.md."
    assert str(tmp_path) not in str(told(NotFound(f"cannot read {tmp_path / 'a.mdx'}"), call))


def test_a_fault_without_words_says_what_its_class_says() -> None:
    assert str(told(NotFound(" "))) == "not found"
    assert str(told(Broken())) == "it broke"


# --- the server libraries -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool_error", [ToolError, FastToolError])
def test_the_text_of_a_tool_error_is_kept(tool_error: type[Exception], tmp_path: Path) -> None:
    class Mine(tool_error):  # type: ignore[misc, valid-type]
        pass

    call = a_call({"path": "a.md"}, {"path": tmp_path / "a.md"})
    fault = told(Mine(f"pick another name than {tmp_path / 'a.md'}"), call)
    assert (type(fault), str(fault)) == (ToolFailed, "pick another name than a.md")
    assert fault.retry == "after_fix"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the tool failed and does not say why"),
        ("  \n", "the tool failed and does not say why"),
        (str(KeyError("x")), "the tool failed and says only 'x'"),
        (repr(TimeoutError()), "the tool failed and says only TimeoutError()"),
        ("no such user: 'x'", "no such user: 'x'"),
    ],
)
def test_a_text_that_is_no_sentence_becomes_one(text: str, sentence: str) -> None:
    assert str(told(ToolError(text))) == sentence


def test_what_a_library_wraps_is_told_by_its_own_rules() -> None:
    def wrapped(error: Exception, inner: Exception) -> Exception:
        error.__cause__ = inner
        return error

    leaky = wrapped(FastToolError(f"Error calling tool 'x': {SECRET}"), ValueError(SECRET))
    assert type(told(leaky)) is Internal
    missing = wrapped(UnexpectedToolError("Error executing tool x"), FileNotFoundError())
    assert told(missing).code == "NOT_FOUND"
    assert type(told(UnexpectedToolError("Error executing tool x"))) is Internal
    spoken = wrapped(ToolError("no such note"), FileNotFoundError())
    assert str(told(spoken)) == "no such note"
    circle = ToolError("in circles")
    assert str(told(wrapped(circle, wrapped(ValueError(), circle)))) == "in circles"
    guarded = wrapped(ToolError("long text"), wrapped(ValueError("x"), NoteMissing(path="a.md")))
    assert (type(told(guarded)), str(told(guarded))) == (NoteMissing, "no note at a.md")


@pytest.mark.parametrize(
    "error",
    [
        mcp.UrlElicitationRequiredError(
            [ElicitRequestURLParams(message="m", url="https://x.example", elicitation_id="1")]
        ),
        mcp.MCPError(-32042, "x"),
        mcp.MCPError(-32021, "x"),
        ExceptionGroup("x", [mcp.MCPError(-32021, "x")]),
    ],
)
def test_what_the_client_acts_on_by_its_code_passes_untouched(error: Exception) -> None:
    assert translate(error, a_call(raises={Exception: Broken})) is None


def test_an_mcp_error_of_the_author_is_a_message() -> None:
    def body() -> None:
        raise mcp.MCPError(-32602, f"no such page, api_key={SECRET}")

    for error in (raised_by(body), mcp.MCPError(-32602, f"no such page, api_key={SECRET}")):
        assert (type(told(error)), str(told(error))) == (ToolFailed, "no such page, api_key=[key hidden]")


class Choice(pydantic.BaseModel):
    name: str


@pytest.mark.anyio
async def test_an_mcp_error_of_the_client_is_a_failure_of_a_dependency(library: Any) -> None:
    server = library.server("server")
    guard = Guard(server)

    @server.tool()
    @guard.reads
    async def ask(ctx: library.context) -> str:  # type: ignore[name-defined]
        await ctx.elicit("Which one?", Choice)
        return "never"

    async with library.connect(server, mode="legacy") as client:
        result = await client.call_tool("ask", {})
    assert result.is_error
    assert "the client does not support elicitation, which the tool needs (-32600)" in result.content[0].text
    assert "DEPENDENCY_FAILED" in json.dumps(result.meta)


@pytest.mark.parametrize(
    ("code", "fault_code", "words"),
    [
        (-32000, "DEPENDENCY_UNAVAILABLE", "the MCP connection that the tool uses is closed"),
        (-32001, "DEPENDENCY_TIMED_OUT", "did not answer in time"),
        (-32601, "DEPENDENCY_FAILED", "answered with error -32601"),
    ],
)
def test_an_mcp_error_that_the_library_raises_is_told_by_its_code(code: int, fault_code: str, words: str) -> None:
    names: dict[str, Any] = {"__name__": "mcp.client.session", "error": mcp.MCPError(code, SECRET)}
    exec("def send():\n    raise error", names)  # noqa: S102 - a frame of that module
    fault = told(raised_by(names["send"]))
    assert fault.code == fault_code
    assert words in str(fault)
    assert SECRET not in str(fault)


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code", "text", "retry"),
    [
        (errno.ENOENT, "NOT_FOUND", "'a.md' does not exist", "after_fix"),
        (errno.EISDIR, "NOT_FOUND", "'a.md' is a folder, not a file", "after_fix"),
        (errno.ENOTDIR, "NOT_FOUND", "'a.md' takes a file for a folder", "after_fix"),
        (errno.ENAMETOOLONG, "NOT_FOUND", "'a.md' is too long for a path", "after_fix"),
        (errno.EACCES, "PERMISSION_DENIED", "the server may not access 'a.md'", "never"),
        (errno.EPERM, "PERMISSION_DENIED", "the server may not change 'a.md'", "never"),
        (errno.EROFS, "PERMISSION_DENIED", "'a.md' can only be read", "never"),
        (errno.EEXIST, "CONFLICT", "'a.md' exists already", "after_fix"),
        (errno.ENOTEMPTY, "CONFLICT", "'a.md' is not empty", "after_fix"),
        (errno.EBUSY, "CONFLICT", "'a.md' is in use", "after_delay"),
    ],
)
def test_an_os_error_is_about_the_argument_that_is_the_path(
    tmp_path: Path, number: int, code: str, text: str, retry: str
) -> None:
    path = tmp_path / "a.md"
    call = a_call({"lines": 3, "path": "a.md"}, {"lines": 3, "path": path})
    for named in (str(path), path, os.fsencode(path)):
        fault = told(OSError(number, os.strerror(number), named), call)
        assert (fault.code, fault.field, str(fault), fault.retry) == (code, "path", text, retry)
        assert fault.received == "'a.md'"


@pytest.mark.parametrize(
    ("number", "code", "retry", "side"),
    [
        (errno.ENOSPC, "RESOURCE_EXHAUSTED", "never", "server"),
        (errno.EMFILE, "RESOURCE_EXHAUSTED", "after_delay", "server"),
        (errno.ENOMEM, "RESOURCE_EXHAUSTED", "after_fix", "server"),
        (errno.ECONNREFUSED, "DEPENDENCY_UNAVAILABLE", "after_delay", "dependency"),
        (errno.ECONNRESET, "DEPENDENCY_UNAVAILABLE", "after_delay", "dependency"),
        (errno.ETIMEDOUT, "DEPENDENCY_TIMED_OUT", "after_delay", "dependency"),
        (errno.EIO, "DEPENDENCY_FAILED", "never", "dependency"),
    ],
)
def test_an_os_error_that_no_path_is_to_blame_for_names_no_argument(
    number: int, code: str, retry: str, side: str
) -> None:
    fault = told(OSError(number, os.strerror(number), "a.md"), a_call({"path": "a.md"}))
    assert (fault.code, fault.retry, fault.fault_side, fault.field) == (code, retry, side, None)


def test_real_failures_on_a_real_disk_are_located(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    def of(path: str, work: Callable[[], object]) -> str:
        fault = told(raised_by(work), a_call({"path": path}))
        assert fault.field == "path"
        return str(fault)

    assert of("nope", lambda: Path("nope").read_text()) == "'nope' does not exist"
    assert of("folder", lambda: Path("folder").resolve().read_text()) == "'folder' is a folder, not a file"
    assert of("file/x", lambda: Path("file/x").read_text()) == "'file/x' takes a file for a folder"
    assert of("folder", lambda: Path("folder").mkdir()) == "'folder' exists already"
    assert of("nope", lambda: Path("nope").rename("x")) == "'nope' does not exist"
    assert of("x/y", lambda: Path("file").rename("x/y")) == "'x/y' does not exist"
    assert of(str(tmp_path / "nope"), lambda: Path("nope").stat()) == f"'{tmp_path / 'nope'}' does not exist"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"name": "plan"}, "name"),
        ({"note": "drafts/plan.md"}, "note"),
        ({"target": {"paths": ["x", "plan.md"]}}, "target.paths[1]"),
        ({"number": 3, "name": "plan", "flag": True}, "name"),
        ({"a": "plan", "b": "plan.md"}, None),
        ({"name": "lan"}, None),
        ({"name": ""}, None),
        ({}, None),
    ],
)
def test_a_file_is_found_by_the_part_of_its_path_that_an_argument_is(
    arguments: dict[str, Any], field: str | None
) -> None:
    fault = told(FileNotFoundError(errno.ENOENT, "x", f"{ROOT}/drafts/plan.md"), a_call(arguments))
    assert fault.field == field
    assert ROOT not in str(fault)
    if field is None:
        assert str(fault) == "a file that the tool needs does not exist"
        assert fault.fault_side == "server"


def test_a_number_can_name_a_file() -> None:
    assert told(FileNotFoundError(errno.ENOENT, "x", f"{ROOT}/42.json"), a_call({"id": 42})).field == "id"


def test_an_argument_is_named_as_it_is_spelled_on_the_wire(tmp_path: Path) -> None:
    call = a_call({"file-name": "a.md"}, {"file": tmp_path / "a.md"})
    fault = told(FileNotFoundError(errno.ENOENT, "x", str(tmp_path / "a.md")), call)
    assert str(fault) in {"'a.md' does not exist", "the path does not exist"}
    assert str(tmp_path) not in str(fault)


def test_a_sensitive_path_is_named_and_not_shown() -> None:
    error = FileNotFoundError(errno.ENOENT, "x", "id_rsa")
    for call in (a_call({"path": "id_rsa"}, sensitive=frozenset({"path"})), a_call({"private_key": "id_rsa"})):
        fault = told(error, call)
        assert (str(fault), fault.received) == ("the path does not exist", None)
        assert fault.field in ("path", "private_key")


def test_file_names_that_are_none_are_ignored() -> None:
    call = a_call({"path": "a.md", "other": "x" * 9_000})
    for name in (None, 3, b"\xff", "a\0b", "y" * 9_000, ""):
        assert str(told(OSError(errno.ENOENT, "x", name), call)) == "a file that the tool needs does not exist"
    assert told(OSError(errno.ENAMETOOLONG, "x", "x" * 9_000), call).field == "other"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFoundError(), "NOT_FOUND"),
        (class_named("lib.Missing", FileNotFoundError)("x"), "NOT_FOUND"),
        (FileExistsError(), "CONFLICT"),
        (PermissionError(), "PERMISSION_DENIED"),
        (IsADirectoryError(), "NOT_FOUND"),
        (TimeoutError(), "DEPENDENCY_TIMED_OUT"),
        (ConnectionError(), "DEPENDENCY_UNAVAILABLE"),
        (ConnectionResetError(), "DEPENDENCY_UNAVAILABLE"),
        (BrokenPipeError(), "DEPENDENCY_UNAVAILABLE"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "DEPENDENCY_UNAVAILABLE"),
        (ssl.SSLCertVerificationError(1, "x"), "DEPENDENCY_FAILED"),
        (ssl.SSLError(1, "x"), "DEPENDENCY_FAILED"),
        (class_named("lib.Odd", OSError)("x"), "INTERNAL"),
        (OSError([], "x"), "INTERNAL"),
    ],
)
def test_a_class_of_the_family_speaks_for_itself_without_a_number(error: Exception, code: str) -> None:
    fault = told(error)
    assert fault.code == code
    assert " " in str(fault)


# --- data, programs, resources --------------------------------------------------------------------------------------


class Order(pydantic.BaseModel):
    age: int
    items: dict[str, int]


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (raised_by(b"abc\xff".decode), "INVALID_DATA", "the data is not UTF-8 text: byte 3 does not fit"),
        (
            raised_by(lambda: "é".encode("ascii")),
            "INVALID_DATA",
            "the text has a character that ASCII cannot express, at 0",
        ),
        (raised_by(lambda: json.loads('{\n  "a": x}')), "INVALID_DATA", "the JSON is malformed at line 2, column 8"),
        (raised_by(partial(ET.fromstring, "<a>")), "INVALID_DATA", "the XML is malformed at line 1, column 4"),
        (raised_by(lambda: tomllib.loads("x")), "INVALID_DATA", "the TOML is malformed"),
        (raised_by(partial(zipfile.ZipFile, io.BytesIO(b"x"))), "INVALID_DATA", "the file is no valid ZIP archive"),
        (
            raised_by(lambda: Order(age="x", items={"one": "y", "a b": "z"})),  # type: ignore[arg-type, dict-item]
            "INVALID_DATA",
            "the data does not have the form that the tool expects: age, items.one, items.*",
        ),
        (
            raised_by(lambda: pydantic.TypeAdapter(list[int]).validate_python(["x"] * 3_000)),
            "INVALID_DATA",
            "the data does not have the form that the tool expects: [0], [1], [2], [3], [4] and 2,995 more",
        ),
        (
            raised_by(lambda: pydantic.TypeAdapter(int).validate_python("x")),
            "INVALID_DATA",
            "the data does not have the form that the tool expects",
        ),
        (MemoryError(), "RESOURCE_EXHAUSTED", "the server ran out of memory"),
        (RecursionError(), "RESOURCE_EXHAUSTED", "the data is nested too deeply"),
        (
            raised_by(lambda: subprocess.run([sys.executable, "-c", "exit(3)"], check=True)),
            "DEPENDENCY_FAILED",
            "a program that this tool runs ended with exit status 3",
        ),
        (
            subprocess.CalledProcessError(-9, "x"),
            "DEPENDENCY_FAILED",
            "a program that this tool runs was ended by signal 9",
        ),
        (
            subprocess.TimeoutExpired("x", 2.5),
            "DEPENDENCY_TIMED_OUT",
            "a program that this tool runs did not end within 2.5 s",
        ),
        (
            raised_by(lambda: subprocess.run(["/no/such/program"], check=False)),
            "NOT_FOUND",
            "a file that the tool needs does not exist",
        ),
    ],
)
def test_malformed_data_programs_and_resources_are_told_without_their_content(
    error: Exception, code: str, text: str
) -> None:
    fault = told(error)
    assert (fault.code, str(fault), fault.stage) == (code, text, "exec")


# --- services -------------------------------------------------------------------------------------------------------

STATUSES = [
    (400, "DEPENDENCY_FAILED", "after_fix", "caller"),
    (401, "AUTHENTICATION_REQUIRED", "never", "server"),
    (403, "PERMISSION_DENIED", "never", "server"),
    (404, "NOT_FOUND", "after_fix", "caller"),
    (408, "DEPENDENCY_TIMED_OUT", "after_delay", "dependency"),
    (409, "CONFLICT", "after_fix", "caller"),
    (410, "NOT_FOUND", "after_fix", "caller"),
    (413, "DEPENDENCY_FAILED", "after_fix", "caller"),
    (418, "DEPENDENCY_FAILED", "never", "dependency"),
    (422, "DEPENDENCY_FAILED", "after_fix", "caller"),
    (429, "DEPENDENCY_UNAVAILABLE", "after_delay", "dependency"),
    (500, "DEPENDENCY_FAILED", "after_delay", "dependency"),
    (501, "DEPENDENCY_FAILED", "never", "dependency"),
    (502, "DEPENDENCY_UNAVAILABLE", "after_delay", "dependency"),
    (503, "DEPENDENCY_UNAVAILABLE", "after_delay", "dependency"),
    (504, "DEPENDENCY_TIMED_OUT", "after_delay", "dependency"),
]


def from_httpx2(status: int, headers: dict[str, str]) -> BaseException:
    response = httpx2.Response(status, headers=headers, request=httpx2.Request("GET", f"https://x/?q={SECRET}"))
    return raised_by(response.raise_for_status)


class Response:
    def __init__(self, status: int, headers: dict[str, str]) -> None:
        self.status_code, self.headers = status, headers


def from_requests(status: int, headers: dict[str, str]) -> BaseException:
    base = class_named("requests.exceptions.RequestException", OSError)
    return class_named("requests.exceptions.HTTPError", base, response=Response(status, headers))(SECRET)


def from_httpx(status: int, headers: dict[str, str]) -> BaseException:
    base = class_named("httpx.HTTPError")
    return class_named("httpx.HTTPStatusError", base, response=Response(status, headers))(SECRET)


def from_aiohttp(status: int, headers: dict[str, str]) -> BaseException:
    return class_named("aiohttp.client_exceptions.ClientResponseError", status=status, headers=headers)(SECRET)


def from_urllib(status: int, headers: dict[str, str]) -> BaseException:
    message = Message()
    for name, value in headers.items():
        message[name] = value
    return urllib.error.HTTPError("https://x", status, SECRET, message, io.BytesIO())


def from_botocore(status: int, headers: dict[str, str]) -> BaseException:
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": {name.lower(): value for name, value in headers.items()}}
    answer = {"Error": {"Code": str(status), "Message": SECRET}, "ResponseMetadata": metadata}
    base = class_named("botocore.exceptions.ClientError", response=answer)
    return class_named("botocore.errorfactory.Some", base)(SECRET)


@pytest.mark.parametrize(("status", "code", "retry", "side"), STATUSES)
@pytest.mark.parametrize("make", [from_httpx2, from_httpx, from_requests, from_aiohttp, from_urllib, from_botocore])
def test_an_http_failure_is_told_by_its_status(
    make: Callable[[int, dict[str, str]], BaseException], status: int, code: str, retry: str, side: str
) -> None:
    fault = told(make(status, {"Retry-After": "7"}))
    assert (fault.code, fault.retry, fault.fault_side) == (code, retry, side)
    assert str(fault).endswith(f"(HTTP {status})")
    assert fault.retry_after == (7 if retry == "after_delay" else None)
    assert fault.transient is (retry == "after_delay")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "120"}, 120),
        ({"Retry-After": " 1.5 "}, 1.5),
        ({"Retry-After": "999999999"}, MAX_RETRY_AFTER),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT", "Date": "Wed, 21 Oct 2015 07:27:30 GMT"}, 30),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 -0000", "Date": "Wed, 21 Oct 2015 07:27:30 GMT"}, 30),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}, MAX_RETRY_AFTER),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "1" * 400}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_wait_is_taken_from_seconds_or_a_date(headers: dict[str, str] | None, seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (raised_by(lambda: httpx2.get("http://127.0.0.1:1/")), "DEPENDENCY_UNAVAILABLE"),
        (raised_by(lambda: httpx2.get("htp://x")), "INVALID_DATA"),
        (raised_by(lambda: httpx2.get("no url")), "INVALID_DATA"),
        (httpx2.ReadTimeout("x"), "DEPENDENCY_TIMED_OUT"),
        (httpx2.RemoteProtocolError("x"), "DEPENDENCY_UNAVAILABLE"),
        (httpx2.TooManyRedirects("x"), "DEPENDENCY_FAILED"),
        (httpx2.DecodingError("x"), "DEPENDENCY_FAILED"),
        (urllib.error.URLError(TimeoutError()), "DEPENDENCY_TIMED_OUT"),
        (urllib.error.URLError(socket.gaierror(-2, "x")), "DEPENDENCY_UNAVAILABLE"),
        (urllib.error.URLError("x"), "DEPENDENCY_UNAVAILABLE"),
        (class_named("requests.exceptions.Timeout", OSError)(), "DEPENDENCY_TIMED_OUT"),
        (class_named("requests.exceptions.ConnectionError", OSError)(), "DEPENDENCY_UNAVAILABLE"),
        (class_named("requests.exceptions.HTTPError", OSError, response=None)(), "DEPENDENCY_FAILED"),
        (class_named("aiohttp.client_exceptions.ServerTimeoutError", TimeoutError)(), "DEPENDENCY_TIMED_OUT"),
        (class_named("botocore.exceptions.NoCredentialsError")(), "AUTHENTICATION_REQUIRED"),
        (class_named("botocore.exceptions.ParamValidationError")(), "DEPENDENCY_FAILED"),
    ],
)
def test_a_service_that_cannot_be_asked_is_a_dependency(error: Exception, code: str) -> None:
    assert told(error).code == code


@pytest.mark.parametrize(
    ("aws", "code"),
    [
        ("NoSuchKey", "NOT_FOUND"),
        ("ResourceNotFoundException", "NOT_FOUND"),
        ("AccessDeniedException", "PERMISSION_DENIED"),
        ("ExpiredToken", "AUTHENTICATION_REQUIRED"),
        ("ThrottlingException", "DEPENDENCY_UNAVAILABLE"),
        ("ConditionalCheckFailedException", "CONFLICT"),
        ("ValidationException", "DEPENDENCY_FAILED"),
    ],
)
def test_an_aws_error_is_told_by_its_code(aws: str, code: str) -> None:
    answer = {"Error": {"Code": aws, "Message": SECRET}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    fault = told(class_named("botocore.exceptions.ClientError", response=answer)(SECRET))
    assert fault.code == code
    assert str(fault).endswith(f"({aws})")
    odd = {"Error": {"Code": f"x y {SECRET}"}}
    assert SECRET not in str(told(class_named("botocore.exceptions.ClientError", response=odd)(SECRET)))


# --- databases ------------------------------------------------------------------------------------------------------


@pytest.fixture
def database() -> Any:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        """create table users(id integer primary key, email text unique not null, age integer check(age > 0));
        create table posts(author integer references users(id)); pragma foreign_keys = on;
        insert into users values (1, 'a@b', 3)"""
    )
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("statement", "with_argument", "without"),
    [
        ("insert into users(email) values ('a@b')", "a record with this email exists already", "such a record exists"),
        ("insert into users(email) values (null)", "a record needs a value for email", "a record lacks a value"),
        ("insert into users(email, age) values ('c', -1)", "does not accept a value", "does not accept a value"),
        ("insert into posts values (9)", "a record refers to one that does not exist", "a record refers to one"),
    ],
)
def test_a_broken_constraint_names_the_column_only_as_an_argument(
    database: Any, statement: str, with_argument: str, without: str
) -> None:
    error = raised_by(lambda: database.execute(statement))
    named, unnamed = told(error, a_call({"email": "a@b"})), told(error)
    assert named.code == unnamed.code == "CONFLICT"
    assert with_argument in str(named)
    assert without in str(unnamed)
    assert unnamed.field is None
    assert "users" not in str(named)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("select * from nope", "the database has no table 'nope'"),
        ("select nope from users", "the database has no column 'nope'"),
        ("select nope(1)", "the database has no function 'nope'"),
        ("selec 1", "the database found a syntax error near 'selec'"),
    ],
)
def test_a_rejected_statement_is_explained_to_whoever_wrote_it(database: Any, statement: str, text: str) -> None:
    error = raised_by(lambda: database.execute(statement))
    fault = told(error, a_call({"sql": statement}))
    assert (fault.code, fault.field, str(fault), fault.retry) == ("DEPENDENCY_FAILED", "sql", text, "after_fix")
    unsaid = told(error, a_call({"name": "bob"}))
    assert (str(unsaid), unsaid.retry) == ("the database did not accept the statement", "never")


def test_a_locked_database_may_be_asked_later(tmp_path: Path) -> None:
    holder, other = sqlite3.connect(tmp_path / "x.db"), sqlite3.connect(tmp_path / "x.db", timeout=0)
    holder.execute("begin exclusive")
    fault = told(raised_by(lambda: other.execute("create table t(x)")))
    assert (fault.code, fault.retry, fault.transient) == ("DEPENDENCY_UNAVAILABLE", "after_delay", True)
    holder.close()
    other.close()


def test_other_failures_of_sqlite_are_told_by_their_code(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_bytes(b"x" * 5_000)
    damaged = sqlite3.connect(tmp_path / "no.db")
    assert "damaged" in str(told(raised_by(lambda: damaged.execute("select * from x"))))
    damaged.close()
    assert "cannot be opened" in str(told(raised_by(lambda: sqlite3.connect(tmp_path / "no" / "x.db"))))
    assert told(sqlite3.ProgrammingError("x")).code == "DEPENDENCY_FAILED"
    assert told(sqlite3.IntegrityError("x")).code == "CONFLICT"


def of_postgres(state: str | None, text: str = SECRET, **attributes: Any) -> Exception:
    base = class_named("psycopg.Error", sqlstate=state, **attributes)
    return class_named("psycopg.errors.Some", class_named("psycopg.OperationalError", base))(text)


@pytest.mark.parametrize(
    ("state", "code", "retry"),
    [
        ("08006", "DEPENDENCY_UNAVAILABLE", "after_delay"),
        ("22003", "INVALID_DATA", "after_fix"),
        ("23505", "CONFLICT", "after_fix"),
        ("23000", "CONFLICT", "after_fix"),
        ("25006", "PERMISSION_DENIED", "never"),
        ("28P01", "AUTHENTICATION_REQUIRED", "never"),
        ("40001", "DEPENDENCY_UNAVAILABLE", "after_delay"),
        ("40P01", "DEPENDENCY_UNAVAILABLE", "after_delay"),
        ("42501", "PERMISSION_DENIED", "never"),
        ("42601", "DEPENDENCY_FAILED", "never"),
        ("53100", "RESOURCE_EXHAUSTED", "never"),
        ("53300", "DEPENDENCY_UNAVAILABLE", "after_delay"),
        ("55P03", "DEPENDENCY_UNAVAILABLE", "after_delay"),
        ("57014", "DEPENDENCY_TIMED_OUT", "after_delay"),
        ("57P01", "DEPENDENCY_UNAVAILABLE", "after_delay"),
        ("XX000", "DEPENDENCY_FAILED", "never"),
        (None, "DEPENDENCY_UNAVAILABLE", "after_delay"),
    ],
)
def test_a_failure_of_postgresql_is_told_by_its_sqlstate(state: str | None, code: str, retry: str) -> None:
    asyncpg = class_named("asyncpg.exceptions._base.PostgresError", sqlstate=state)(SECRET)
    psycopg2 = class_named("psycopg2.OperationalError", pgcode=state)(SECRET)
    for error in (of_postgres(state), psycopg2, *([asyncpg] if state else [])):
        fault = told(error)
        assert (fault.code, fault.retry) == (code, retry)
        assert SECRET not in str(fault)


def test_postgresql_names_the_column_and_the_unknown_name() -> None:
    class Diagnosis:
        column_name = None
        message_detail = "Key (email)=(a@b) already exists."

    call = a_call({"email": "a@b"})
    assert str(told(of_postgres("23505", diag=Diagnosis), call)) == "a record with this email exists already"
    asyncpg = class_named("asyncpg.exceptions._base.PostgresError", sqlstate="23502", column_name="email")("x")
    assert str(told(asyncpg, call)) == "a record needs a value for email"
    missing = of_postgres("42P01", 'relation "nope" does not exist\nLINE 1: select * from nope')
    assert str(told(missing, a_call({"sql": "SELECT * FROM Nope"}))) == "the database has no table 'nope'"


def test_sqlalchemy_is_told_by_what_it_wraps() -> None:
    base = class_named("sqlalchemy.exc.DBAPIError", orig=None)

    def wrapping(name: str, orig: object) -> Fault:
        return told(class_named(f"sqlalchemy.exc.{name}", base, orig=orig)(SECRET))

    assert wrapping("OperationalError", sqlite3.IntegrityError("UNIQUE constraint failed: t.x")).code == "CONFLICT"
    dialect = class_named("sqlalchemy.dialects.postgresql.asyncpg.Adapted")("x")
    dialect.__cause__ = of_postgres("57014")
    assert wrapping("DBAPIError", dialect).code == "DEPENDENCY_TIMED_OUT"
    assert wrapping("OperationalError", class_named("MySQLdb.OperationalError")("x")).code == "DEPENDENCY_UNAVAILABLE"
    assert wrapping("IntegrityError", None).code == "CONFLICT"
    assert wrapping("ProgrammingError", None).code == "DEPENDENCY_FAILED"
    assert told(class_named("sqlalchemy.exc.NoResultFound")("x")).code == "NOT_FOUND"


# --- groups ---------------------------------------------------------------------------------------------------------


def test_a_group_with_one_failure_is_that_failure() -> None:
    missing = FileNotFoundError(errno.ENOENT, "x", "a.md")
    group = BaseExceptionGroup("x", [asyncio.CancelledError(), ExceptionGroup("y", [missing])])
    fault = told(group, a_call({"path": "a.md"}))
    assert (fault.code, fault.field, str(fault)) == ("NOT_FOUND", "path", "'a.md' does not exist")
    assert type(told(ExceptionGroup("x", [NoteMissing(path="a.md")]))) is NoteMissing


def test_a_group_of_cancellations_is_a_stray_cancellation() -> None:
    assert str(told(BaseExceptionGroup("x", [asyncio.CancelledError()]))) == "the tool cancelled itself"


def test_several_failures_are_listed_and_the_most_serious_decides() -> None:
    call = a_call({"path": "a.md"}, raises={KeyError: NoteMissing})
    missing = FileNotFoundError(errno.ENOENT, "x", "a.md")
    fault = told(ExceptionGroup("x", [TimeoutError(), missing, KeyError(SECRET)]), call)
    assert (fault.code, fault.retry, fault.field, fault.transient) == ("NOT_FOUND", "after_fix", None, False)
    assert str(fault) == (
        "3 things failed: a service that this tool relies on did not answer in time; "
        "'a.md' does not exist; no note at 'a.md'"
    )


def test_an_undeclared_failure_in_a_group_makes_it_undeclared() -> None:
    fault = told(ExceptionGroup("x", [NoteMissing(path="a.md"), ValueError(SECRET)]))
    assert not is_declared(fault)
    assert str(fault) == "2 things failed: no note at a.md; the tool failed unexpectedly"


def test_a_large_or_deep_group_is_counted_and_not_listed() -> None:
    deep: Exception = ExceptionGroup("x", [TimeoutError()] * 8)
    for _ in range(5_000):
        deep = ExceptionGroup("x", [deep])
    assert str(told(deep)).startswith("8 things failed: a service")
    assert str(told(deep)).endswith("in time; and 3 more")
    waits = [from_httpx2(429, {"Retry-After": seconds}) for seconds in ("3", "9")]
    assert told(ExceptionGroup("x", waits)).retry_after == 9  # type: ignore[type-var]


def test_a_declared_group_is_what_it_is_declared_as() -> None:
    assert type(told(ExceptionGroup("x", [ValueError()]), a_call(raises={ExceptionGroup: Broken}))) is Broken


# --- another guarded tool -------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_fault_of_a_guarded_tool_that_a_tool_calls_is_passed_on(library: Any) -> None:
    server = library.server("server")
    guard = Guard(server)

    @server.tool()
    @guard.reads
    def inner(number: int) -> str:
        raise NotFound("no such number")

    @server.tool()
    @guard.reads
    async def direct() -> str:
        return await inner(3)

    @server.tool()
    @guard.reads
    async def by_name(number: object) -> str:
        await server.call_tool("inner", {"number": number})
        return "never"

    async with library.connect(server) as client:
        for name, arguments in (("direct", {}), ("by_name", {"number": 3})):
            result = await client.call_tool(name, arguments)
            assert "NOT_FOUND" in json.dumps(result.meta)
            assert "no such number" in result.content[0].text
        refused = await client.call_tool("by_name", {"number": "three"})
    assert refused.content[0].text.startswith("[exec] by_name")
    assert InvalidArguments.code in json.dumps(refused.meta)


def test_an_exception_outside_the_table_has_no_known_fault() -> None:
    assert known_fault(ValueError(), a_call()) is None
