"""What a row of the signature tables is: a tool as an author writes it, with good and bad arguments for it."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.tools.function_tool import FunctionTool
from pydantic import BaseModel, SecretStr

F = TypeVar("F", bound=Callable[..., Any])

Protect = Callable[[Callable[..., Any]], Any]
"""`guard.reads`, or what leaves a function as it is."""

Build = Callable[[Protect], Callable[..., Any]]

heard: list[Any] = []
"""What the bodies got, call by call, in the form that `typed` gives."""


@dataclass(frozen=True, slots=True)
class Instead:
    """What a guarded server does where the bare one is wrong.

    Attributes:
        why: What the bare server does.
        got: What the body gets.
        text: The text of the answer.
        structured: The `structuredContent` of the answer.
    """

    why: str
    got: Mapping[str, Any]
    text: str
    structured: Any = None


@dataclass(frozen=True, slots=True)
class Signature:
    """A tool, and calls of it.

    Attributes:
        name: What it is about.
        build: Returns what is registered, given what to put around the author's function.
        good: Arguments that every server library takes.
        bad: Arguments that must be refused; None where no value is bad.
        at: Where `bad` is wrong.
        options: Further arguments of `server.tool()`.
        only: The library that it is for; None for all.
        instead: By library, what is right where the bare server is wrong.
    """

    name: str
    build: Build
    good: Sequence[Mapping[str, Any]]
    bad: Mapping[str, Any] | None = None
    at: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    only: str | None = None
    instead: Mapping[str, Instead] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The name of the tool on the wire."""
        return self.options.get("name", self.name)

    def register(self, server: Any, protect: Protect) -> None:
        """Register the tool on a server."""
        fn = self.build(protect)
        if isinstance(fn, functools.partial) and isinstance(server, FastMCP):
            # Its decorator refuses partials, and what the decorator calls takes them.
            server.add_tool(FunctionTool.from_function(fn, **self.options))
        else:
            server.tool(**self.options)(fn)


class Table(list[Signature]):
    """Signatures, in the order in which they are written down."""

    def tool(self, *good: Mapping[str, Any], **rest: Any) -> Callable[[F], F]:
        """Add the decorated function: the tool itself, with nothing between it and the guard."""

        def add(fn: F) -> F:
            self._add(fn.__name__, lambda protect: protect(fn), good, **rest)
            return fn

        return add

    def made_by(self, *good: Mapping[str, Any], **rest: Any) -> Callable[[F], F]:
        """Add what the decorated function returns, given the decorator to use."""

        def add(build: F) -> F:
            # What it returns may have a name that others have too, or none.
            self._add(build.__name__, build, good, **{"options": {"name": build.__name__}, **rest})
            return build

        return add

    def _add(self, name: str, build: Build, good: Sequence[Mapping[str, Any]], **rest: Any) -> None:
        rest.setdefault("at", next(iter(rest.get("bad") or {}), ""))
        self.append(Signature(name, build, good or ({},), **rest))


def got(values: Mapping[str, Any]) -> None:
    """Remember what a body got: its `locals()`."""
    heard.append(typed({name: value for name, value in values.items() if name not in ("self", "cls", "ctx")}))


def typed(value: Any) -> Any:
    """Return a value in a form that is equal only for an equal value of the same type, inside and out."""
    return f"{type(value).__module__}.{type(value).__qualname__}", _inside(value)


def _inside(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return typed({**value.__dict__, **(value.model_extra or {})}), sorted(value.model_fields_set)
    if is_dataclass(value) and not isinstance(value, type):
        return typed({part.name: getattr(value, part.name) for part in fields(value)})
    if isinstance(value, Mapping):
        return [(typed(key), typed(held)) for key, held in value.items()]
    if isinstance(value, list | tuple | deque):
        return [typed(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((typed(item) for item in value), key=repr)
    return repr(value.get_secret_value() if isinstance(value, SecretStr) else value)
