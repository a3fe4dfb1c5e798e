"""Functions as authors register them: async, methods, partials, decorated, with parameters that servers inject."""

import asyncio
import functools
from collections.abc import Callable
from typing import Annotated, Any

import fastmcp
import mcp.server.mcpserver
from fastmcp.dependencies import CurrentContext, Depends
from mcp.server.mcpserver.resolve import Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from .table import Instead, Protect, Table, got

TABLE = Table()
tool, made_by = TABLE.tool, TABLE.made_by

SdkContext = mcp.server.mcpserver.Context
FastContext = fastmcp.Context


def unaware(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function as decorators do that know nothing of servers."""

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapped


def unaware_async(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an async function as decorators do that know nothing of servers."""

    @functools.wraps(fn)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return await fn(*args, **kwargs)

    return wrapped


def _sync(n: int, *, word: Annotated[str, Field(min_length=2)] = "xy") -> str:
    """Repeat a word."""
    got(locals())
    return word * n


async def _async(n: int, *, word: str = "x") -> str:
    """Repeat a word, later."""
    await asyncio.sleep(0)
    got(locals())
    return word * n


# Async functions


@tool({"n": 2}, {"n": 2, "word": "ab"}, bad={"n": "two"})
async def an_async_function(n: int, *, word: str = "x") -> str:
    await asyncio.sleep(0)
    got(locals())
    return word * n


@made_by(
    {"n": 2},
    bad={"n": "two"},
    instead={"mcpserver": Instead("does not await what it gets", {"n": 2, "word": "x"}, "xx", {"result": "xx"})},
)
def an_async_function_below_a_sync_decorator(protect: Protect) -> Any:
    return protect(unaware(_async))


# Other decorators


@made_by({"n": 2}, bad={"n": 2, "word": "x"}, at="word")
def another_decorator_below_the_guard(protect: Protect) -> Any:
    return protect(unaware(_sync))


@made_by({"n": 2}, bad={"n": 2, "word": "x"}, at="word")
def another_decorator_above_the_guard(protect: Protect) -> Any:
    return unaware(protect(_sync))


@made_by({"n": 2}, bad={"n": 2, "word": "x"}, at="word")
def another_async_decorator_above_the_guard(protect: Protect) -> Any:
    guarded = protect(_sync)
    return unaware(guarded) if guarded is _sync else unaware_async(guarded)


@made_by({"n": 2}, bad={"n": "two"})
def another_async_decorator_on_both_sides_of_the_guard(protect: Protect) -> Any:
    return unaware_async(protect(unaware_async(_async)))


# Methods


def _class_with_tools(protect: Protect) -> Any:
    class Notes:
        prefix = "note"

        @protect
        def look(self, n: int, word: str = "x") -> str:
            """Look."""
            got(locals())
            return f"{self.prefix}{n}{word}"

        @protect
        async def look_later(self, n: int, ctx: Any = None) -> str:
            await asyncio.sleep(0)
            got({"n": n})
            return f"{self.prefix}{n}{ctx is None}"

        @classmethod
        @protect
        def look_in_class(cls, n: int) -> str:
            got(locals())
            return f"{cls.prefix}{n}"

        @staticmethod
        @protect
        def look_anywhere(n: int) -> str:
            got(locals())
            return str(n)

    return Notes


@made_by({"n": 1}, {"n": 1, "word": "y"}, bad={"n": "one"})
def a_bound_method(protect: Protect) -> Any:
    return _class_with_tools(protect)().look


@made_by({"n": 1}, {"n": 1, "ctx": "mine"}, bad={"n": "one"})
def a_bound_async_method(protect: Protect) -> Any:
    return _class_with_tools(protect)().look_later


@made_by({"n": 1}, bad={"n": "one"})
def a_class_method(protect: Protect) -> Any:
    return _class_with_tools(protect).look_in_class


@made_by({"n": 1}, bad={"n": "one"})
def a_static_method(protect: Protect) -> Any:
    return _class_with_tools(protect).look_anywhere


@made_by({"n": 1}, {"n": 1, "word": "y"}, bad={"n": "one"})
def a_bound_method_that_is_guarded_outside_its_class(protect: Protect) -> Any:
    return protect(_class_with_tools(lambda fn: fn)().look)


# Partials: the server libraries take them only with a name


def _named_partial(fn: Callable[..., Any], **given: Any) -> Any:
    part = functools.partial(fn, **given)
    part.__name__, part.__doc__ = fn.__name__, fn.__doc__
    return part


@made_by({"n": 2}, {}, {"word": "zz"}, bad={"n": "two"})
def a_partial_with_a_name(protect: Protect) -> Any:
    return protect(_named_partial(_sync, n=1))


@made_by({"n": 2}, {"n": 2, "word": "zz"}, bad={"n": "two"})
def a_partial_of_an_async_function(protect: Protect) -> Any:
    return protect(_named_partial(_async, word="a"))


@made_by({"n": 2}, {}, bad={"n": "two"})
def a_partial_that_gets_its_name_from_the_guard(protect: Protect) -> Any:
    made = protect(functools.partial(_sync, n=1))
    return _named_partial(_sync, n=1) if isinstance(made, functools.partial) else made


@made_by({"n": 2}, bad={"n": "two"})
def a_partial_of_a_guarded_function(protect: Protect) -> Any:
    return _named_partial(protect(_sync), word="zz")


# What servers inject


class Settings(BaseModel):
    locale: str


def _default_locale() -> str:
    return "en"


async def _settings_of(name: str, locale: Annotated[str, Resolve(_default_locale)]) -> Settings:
    await asyncio.sleep(0)
    return Settings(locale=f"{locale}:{name}")


@tool({"n": 1}, bad={"n": "one"}, only="mcpserver")
async def a_context_of_the_sdk(n: int, ctx: SdkContext) -> str:
    got(locals())
    await ctx.report_progress(n)
    return type(ctx).__name__


@tool({"n": 1}, bad={"n": "one"}, only="mcpserver")
def a_context_of_the_sdk_in_a_sync_function(ctx: SdkContext[Any, Any], n: int = 2) -> str:
    got(locals())
    return f"{type(ctx).__name__} {ctx.request_id is not None}"


@tool({"n": 1}, bad={"n": "one"}, only="fastmcp")
async def a_context_of_fastmcp(n: int, ctx: FastContext) -> str:
    got(locals())
    await ctx.report_progress(n)
    return type(ctx).__name__


@tool({"n": 1}, bad={"n": "one"}, only="fastmcp")
def a_context_of_fastmcp_in_a_sync_function(n: int, ctx: FastContext | None = None) -> str:
    got(locals())
    return f"{type(ctx).__name__} {n}"


@tool({"n": 1}, bad={"n": "one"}, only="fastmcp")
def a_context_of_fastmcp_as_a_dependency(n: int, ctx: FastContext = CurrentContext()) -> str:  # noqa: B008
    got(locals())
    return type(ctx).__name__


@tool({"n": 1}, bad={"n": "one"}, only="mcpserver")
def a_resolver(n: int, locale: Annotated[str, Resolve(_default_locale)]) -> str:
    got(locals())
    return f"{n}{locale}"


@tool({"name": "a"}, bad={"name": 5}, only="mcpserver")
async def resolvers_that_take_arguments_by_name(
    name: str, settings: Annotated[Settings, Resolve(_settings_of)], ctx: SdkContext
) -> str:
    await asyncio.sleep(0)
    got(locals())
    return settings.locale


def _look_at_values(tags: list[str], copy: int) -> str:
    return f"{tags!r} {copy!r}"


@tool({"tags": ["a"], "copy": 3}, {"copy": 3}, bad={"copy": "x"}, only="mcpserver")
def a_resolver_that_sees_the_values_of_the_body(
    copy: int,
    seen: Annotated[str, Resolve(_look_at_values)],
    tags: list[str] = Field(default_factory=list),  # noqa: B008
) -> str:
    got(locals())
    return seen


async def _settings() -> Settings:
    await asyncio.sleep(0)
    return Settings(locale="en")


@tool({"n": 1}, bad={"n": "one"}, only="fastmcp")
def a_dependency(n: int, locale: str = Depends(_default_locale)) -> str:
    got(locals())
    return f"{n}{locale}"


@tool({"n": 1}, bad={"n": "one"}, only="fastmcp")
async def an_async_dependency(n: int, settings: Settings = Depends(_settings)) -> str:  # noqa: B008 - what is tested
    await asyncio.sleep(0)
    got(locals())
    return f"{n}{settings.locale}"


# What is said to the server's decorator


@tool(
    {"n": 1},
    bad={"n": "one"},
    options={
        "name": "renamed",
        "title": "A title",
        "description": "What the model reads.",
        "annotations": ToolAnnotations(title="Another", idempotent_hint=True),
        "meta": {"example.com/kept": [1]},
    },
)
def said_to_the_server(n: int) -> int:
    """Not what the model reads."""
    got(locals())
    return n


@tool({"n": 1}, bad={"n": "one"}, options={"structured_output": False}, only="mcpserver")
def no_structured_output(n: int) -> int:
    got(locals())
    return n


@tool({"n": 1}, bad={"n": "one"}, options={"output_schema": None}, only="fastmcp")
def no_output_schema(n: int) -> dict[str, int]:
    got(locals())
    return {"n": n}


@tool(
    {"n": 1},
    bad={"n": "one"},
    options={"output_schema": {"type": "object", "properties": {"m": {"type": "integer"}}}},
    only="fastmcp",
)
def an_output_schema_of_the_authors(n: int) -> dict[str, int]:
    got(locals())
    return {"m": n}


@tool({"n": 1}, bad={"n": "one"}, options={"run_in_thread": False}, only="fastmcp")
def not_in_a_thread_of_fastmcp(n: int) -> int:
    got(locals())
    return n
