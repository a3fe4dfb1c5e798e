"""Which arms stand side by side, and what their figures should be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bench import servers
from bench.arms import Arm, Call, Request, fresh_interpreter, thread_hop
from bench.harness import Comparison, Target, plain_logging

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    Open = Callable[[servers.Build], AbstractAsyncContextManager[Call]]

GUARD = "mcp_guard"
TWIN = "bare, its twin"
HOP = "one thread hop"

ADD = Request("add", {"a": 1, "b": 2})
ADD_WAITING = Request("add_waiting", {"a": 1, "b": 2})
ADD_SYNC = Request("add_sync", {"a": 1, "b": 2})
REFUSED = Request("add", {"a": "three", "b": 2})
FAILING = Request("fail", {"a": 1, "b": 2})


def _three(open_: Open) -> list[Arm]:
    return [
        Arm("bare", partial(open_, servers.bare)),
        Arm(TWIN, partial(open_, servers.bare)),
        Arm(GUARD, partial(open_, servers.guarded)),
    ]


def _by_hand(open_: Open) -> Arm:
    return Arm("own task by hand", partial(open_, servers.own_task))


def _hop() -> Arm:
    return Arm(HOP, thread_hop, against=HOP)


def _fastmcp() -> list[Arm]:
    builds = {
        "fastmcp": servers.fast,
        "fastmcp, 3 middlewares": servers.fast_with_middleware,
        "fastmcp, mcp_guard": servers.fast_guarded,
    }
    return [Arm(name, partial(ADD.in_memory_fastmcp, build), against="fastmcp") for name, build in builds.items()]


def _imports() -> list[Arm]:
    serve = "from mcp.server import MCPServer; server = MCPServer('bench')"
    code = {
        "bare": serve,
        TWIN: serve,
        GUARD: f"{serve}; from mcp_guard import Guard; Guard(server)",
        "import mcp_guard alone": "import mcp_guard",
    }
    return [Arm(name, partial(fresh_interpreter, line)) for name, line in code.items()]


def _adds(answer: Any) -> bool:
    # A thread hop answers with the bare number.
    result = answer if isinstance(answer, int) else answer.structured_content["result"]
    return bool(result == 3)


def _fails(answer: Any) -> bool:
    return bool(answer.is_error)


def _exits_well(status: int) -> bool:
    return status == 0


_added = partial(Comparison, answered=_adds, batch=50, seconds=7, targets=[Target(GUARD, 0.4, per=HOP)])
_transported = partial(Comparison, answered=_adds, batch=5, targets=[Target(GUARD, 1.03)])
_refused = partial(Comparison, answered=_fails, batch=10, seconds=6, targets=[Target(GUARD, 1.10)])
_raising = partial(Comparison, answered=_fails, seconds=6, targets=[Target(GUARD, 1.0)])

COMPARISONS = [
    _added(
        "call-tool",
        "async add at server.call_tool",
        [*_three(ADD.direct), _by_hand(ADD.direct), _hop()],
    ),
    _added(
        "call-tool-waits",
        "the same, waiting for one turn of the loop",
        [*_three(ADD_WAITING.direct), _by_hand(ADD_WAITING.direct), _hop()],
    ),
    _added("call-tool-sync", "sync add at server.call_tool", [*_three(ADD_SYNC.direct), _hop()]),
    Comparison(
        "memory",
        "async add through an in-memory client",
        [*_three(ADD.in_memory), _by_hand(ADD.in_memory), *_fastmcp()],
        answered=_adds,
        batch=10,
        seconds=32,
        targets=[Target(GUARD, 1.15)],
    ),
    Comparison(
        "memory-waits",
        "the same, waiting for one turn of the loop",
        [*_three(ADD_WAITING.in_memory), _by_hand(ADD_WAITING.in_memory)],
        answered=_adds,
        batch=10,
        seconds=12,
        targets=[Target(GUARD, 1.15)],
    ),
    Comparison(
        "memory-sync",
        "sync add through an in-memory client",
        _three(ADD_SYNC.in_memory),
        answered=_adds,
        batch=10,
        seconds=8,
        targets=[Target(GUARD, 1.10)],
    ),
    _transported("stdio", "async add over stdio, server in a subprocess", _three(ADD.over_stdio), seconds=16),
    _transported("stdio-sync", "sync add, the same way", _three(ADD_SYNC.over_stdio), seconds=6),
    _transported("http", "async add over loopback HTTP, server in a subprocess", _three(ADD.over_http), seconds=16),
    _transported("http-sync", "sync add, the same way", _three(ADD_SYNC.over_http), seconds=6),
    _refused("refused", 'add(a="three"), the log without rich', _three(REFUSED.in_memory), log=plain_logging),
    _refused("refused-rich", 'add(a="three"), the log with rich', _three(REFUSED.in_memory)),
    _raising(
        "raising",
        'raise ValueError("x"), the log without rich',
        _three(FAILING.in_memory),
        batch=10,
        log=plain_logging,
    ),
    _raising("raising-rich", 'raise ValueError("x"), the log with rich', _three(FAILING.in_memory), batch=1),
    Comparison(
        "import",
        "a fresh interpreter that imports mcp and makes a server",
        _imports(),
        answered=_exits_well,
        batch=1,
        seconds=22,
        targets=[Target(GUARD, 1.05), Target("import mcp_guard alone", 1.05)],
    ),
]
