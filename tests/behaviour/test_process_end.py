from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer

from mcp_guard import Guard

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="ends processes by SIGTERM"),
]

SERVER = Path(__file__).parent / "servers" / "hanging.py"
GRACE = 2.0
"""Seconds within which a finished server's process must end."""

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call_of(tool: str, arguments: dict[str, Any], request_id: int = 1) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": MODERN}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


class ServerProcess:
    """A real server process, its stderr read as it comes."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Both libraries fold their log lines to the width of the terminal.
            env={**os.environ, "COLUMNS": "500", "FASTMCP_SHOW_SERVER_BANNER": "false"},
        )
        self.stderr = ""
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_stderr)
        self._reader.start()

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)

    def wait_for(self, word: str, seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while word not in self.stderr:
            try:
                self.stderr += self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"no {word!r} within {seconds} s in:\n{self.stderr}")

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def seconds_to_end(self, limit: float = 20.0) -> float:
        """Wait for the end of the process and of its stderr."""
        started = time.monotonic()
        self.process.wait(limit)
        elapsed = time.monotonic() - started
        self._reader.join(limit)
        while not self._lines.empty():
            self.stderr += self._lines.get()
        return elapsed

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


Start = Callable[..., ServerProcess]
ON_BOTH_LIBRARIES = pytest.mark.parametrize("library", ["mcpserver", "fastmcp"])
HUNG_BODIES = pytest.mark.parametrize(
    ("library", "tool"), [("mcpserver", "nap"), ("mcpserver", "cling"), ("fastmcp", "nap")]
)


@pytest.fixture
def start() -> Iterator[Start]:
    processes: list[ServerProcess] = []

    def start(*arguments: str) -> ServerProcess:
        processes.append(ServerProcess(*arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.end()


class TestOverStdio:
    @HUNG_BODIES
    def test_a_hung_body_does_not_keep_the_process_after_eof_and_is_named(
        self, start: Start, library: str, tool: str
    ) -> None:
        server = start(library, "stdio")
        server.send(call_of(tool, {"budget": 60}))
        server.wait_for("<started>")
        server.close_stdin()

        assert server.seconds_to_end() < GRACE
        assert server.process.returncode == 0
        assert f"the server ended while {tool} was still running" in server.stderr

    def test_a_body_that_was_already_abandoned_does_not_keep_it_either(self, start: Start) -> None:
        server = start("mcpserver", "stdio")
        server.send(call_of("cling", {"budget": 0.2}))
        answer = server.receive()
        server.close_stdin()

        assert answer["result"]["_meta"]["io.github.mcp-guard/error"]["code"] == "OUTCOME_UNKNOWN"
        assert server.seconds_to_end() < GRACE
        assert server.process.returncode == 0
        assert server.stderr.count("the server ended while cling was still running") == 1

    @HUNG_BODIES
    def test_sigterm_ends_the_process_by_that_signal_and_the_hung_body_is_named(
        self, start: Start, library: str, tool: str
    ) -> None:
        server = start(library, "stdio")
        server.send(call_of(tool, {"budget": 60}))
        server.wait_for("<started>")
        server.process.terminate()

        assert server.seconds_to_end() < GRACE
        assert server.process.returncode == -signal.SIGTERM
        assert f"the server ended while {tool} was still running" in server.stderr

    def test_a_server_without_hung_bodies_ends_cleanly_and_names_nobody(self, start: Start) -> None:
        server = start("mcpserver", "stdio")
        server.send(call_of("quick", {}))
        answer = server.receive()
        server.close_stdin()

        assert answer["result"]["content"][0]["text"] == "here"
        assert server.seconds_to_end() < GRACE
        assert server.process.returncode == 0
        assert "still running" not in server.stderr
        assert "Traceback" not in server.stderr

    def test_a_well_behaved_body_is_cancelled_at_eof_and_not_named(self, start: Start) -> None:
        server = start("mcpserver", "stdio")
        server.send(call_of("wait", {}))
        server.wait_for("<started>")
        server.close_stdin()

        assert server.seconds_to_end() < GRACE
        assert "<cancelled>" in server.stderr
        assert "still running" not in server.stderr


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def post(port: int, message: dict[str, Any]) -> http.client.HTTPConnection:
    """Send a message, once the server listens; the answer is left to the caller."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": message["method"],
        "mcp-name": message["params"]["name"],
    }
    for _ in range(300):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            connection.request("POST", "/mcp", json.dumps(message), headers)
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return connection
    raise AssertionError(f"nothing listens on port {port}")


class TestOverHttp:
    @ON_BOTH_LIBRARIES
    def test_a_client_that_goes_away_in_mid_call_stops_the_async_body(self, start: Start, library: str) -> None:
        port = free_port()
        server = start(library, "http", str(port))
        with contextlib.closing(post(port, call_of("wait", {}))):
            server.wait_for("<started>")

        server.wait_for("<cancelled>", seconds=5)
        with contextlib.closing(post(port, call_of("quick", {}))) as connection:
            assert b'"here"' in connection.getresponse().read()

    @ON_BOTH_LIBRARIES
    def test_sigterm_with_a_hung_sync_body_ends_within_the_calls_budget_and_the_body_is_named(
        self, start: Start, library: str
    ) -> None:
        port = free_port()
        server = start(library, "http", str(port))
        with contextlib.closing(post(port, call_of("nap", {"budget": 1}))):
            server.wait_for("<started>")
            server.process.terminate()
            elapsed = server.seconds_to_end()

        assert elapsed < 1 + GRACE
        assert "the server ended while nap was still running" in server.stderr


def test_a_sigterm_handler_of_the_author_is_left_alone() -> None:
    def mine(_signum: int, _frame: object) -> None: ...

    before = signal.signal(signal.SIGTERM, mine)
    try:
        anyio.run(Guard(MCPServer("s")).ready)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)
