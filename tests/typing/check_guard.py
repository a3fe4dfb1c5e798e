"""What type checkers make of the decorators; never run, checked by mypy and pyright."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any, assert_type

from mcp_guard import Contract, Fault, Guard, GuardedTool, current_call
from mcp_guard.runtime.threads import ThreadState

guard = Guard(timeout=5, max_chars=None, threads=4, strict=True, unknown_tool="result")


class Lost(Fault):
    """Nothing is there."""


def is_list(action: str) -> bool:
    return action == "list"


# With and without parentheses, reads and writes, sync and async.


@guard.reads
def reads_bare(path: str, lines: int = 10) -> str:
    return path * lines


@guard.reads(timeout=2, max_chars=2_000, raises={FileNotFoundError: Lost}, unknown="drop")
def reads_with_options(path: str, *, lines: int = 10) -> list[str]:
    return [path] * lines


@guard.writes
async def writes_bare(path: str) -> int:
    return len(path)


@guard.writes(timeout="seconds", max_timeout=9, reads_when=is_list, fails_when=lambda result: not result, offload=False)
async def writes_with_options(action: str, seconds: float) -> dict[str, int]:
    return {action: int(seconds)}


@guard.reads()
def with_empty_parentheses() -> None: ...


async def check_values() -> None:
    assert_type(await reads_bare("a"), str)
    assert_type(await reads_bare("a", lines=3), str)
    assert_type(await reads_bare(path="a"), str)
    assert_type(await reads_with_options("a", lines=3), list[str])
    assert_type(await writes_bare("a"), int)
    assert_type(await writes_with_options("list", seconds=2), dict[str, int])
    assert_type(await with_empty_parentheses(), None)


def check_that_calls_are_coroutines() -> tuple[Coroutine[Any, Any, str], Coroutine[Any, Any, int]]:
    return (
        assert_type(reads_bare("a"), Coroutine[Any, Any, str]),
        assert_type(writes_bare("a"), Coroutine[Any, Any, int]),
    )


# What is wrong stays wrong, for both checkers: an ignore that one of them does not need is itself an error.


async def check_parameters() -> None:
    await reads_bare()  # type: ignore[call-arg]
    await reads_bare(1)  # type: ignore[arg-type]
    await reads_bare("a", line=1)  # type: ignore[call-arg]
    await reads_bare("a", lines="1")  # type: ignore[arg-type]
    await reads_with_options("a", 3)  # type: ignore[call-arg]
    await writes_bare(1)  # type: ignore[arg-type]
    await writes_with_options("list")  # type: ignore[call-arg]


def check_options(fn: Callable[[int], str]) -> None:
    guard.reads(timeout=b"2")(fn)  # type: ignore[call-overload]
    guard.reads(time_out=2)(fn)  # type: ignore[call-overload]
    guard.writes(unknown="ignore")(fn)  # type: ignore[call-overload]
    guard.reads(3)  # type: ignore[call-overload]
    Guard(unknown_tool="raise")  # type: ignore[arg-type]


# Generators are collected.


@guard.reads
def iterates(n: int) -> Iterator[int]:
    yield n


@guard.reads
def generates(n: int) -> Generator[str, None, None]:
    yield str(n)


@guard.writes()
async def iterates_later(n: int) -> AsyncIterator[bytes]:
    yield bytes(n)


@guard.reads(timeout=None)
async def generates_later(n: int) -> AsyncGenerator[int, None]:
    yield n


async def check_generators() -> None:
    assert_type(await iterates(1), list[int])
    assert_type(await generates(1), list[str])
    assert_type(await iterates_later(n=1), list[bytes])
    assert_type(await generates_later(n=1), list[int])


# Methods: bound, and through the class.


class Notes:
    @guard.reads
    def head(self, path: str, lines: int = 10) -> str:
        return path * lines

    @guard.writes(timeout=2)
    async def append(self, path: str) -> int:
        return len(path)


async def check_methods(notes: Notes) -> None:
    assert_type(await notes.head("a", lines=2), str)
    assert_type(await notes.append("a"), int)
    assert_type(await Notes.append(notes, "a"), int)
    assert_type(Notes.head.contract, Contract)


# What a tool carries.


def check_attributes() -> None:
    assert_type(reads_bare.contract, Contract)
    assert_type(reads_bare.fn, Callable[..., Any])
    assert_type(reads_bare.describe(), list[dict[str, Any]])
    assert_type(reads_bare.__name__, str)
    assert_type(reads_bare.__doc__, str | None)
    assert_type(reads_bare.contract.fn, Callable[..., Any])
    assert_type(reads_bare.contract.timeout, float | str | None)
    assert_type(writes_with_options.contract.name, str)


async def check_the_guard() -> None:
    guard.bind(object())
    await guard.ready()
    assert_type(guard.threads, ThreadState)
    assert_type(current_call().tool, str)
    assert_type(current_call().correlation_id, str)


# A guarded function goes where functions go.


def takes_a_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def takes_a_coroutine_function(fn: Callable[[str, int], Coroutine[Any, Any, str]]) -> None: ...


def takes_a_tool(tool: GuardedTool[..., Any]) -> None: ...


def check_uses() -> None:
    takes_a_function(reads_bare)
    takes_a_tool(writes_bare)
    takes_a_coroutine_function(reads_bare)
