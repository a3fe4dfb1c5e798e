from __future__ import annotations

import os
import runpy
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVERS = Path(__file__).parent.parent / "examples" / "servers"
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS c FROM n"


@asynccontextmanager
async def serving(script: str, *args: str, cwd: Path | None = None) -> AsyncGenerator[Client]:
    """Run an example as a user does, and connect over stdio."""
    server = StdioServerParameters(
        command=sys.executable, args=[str(SERVERS / script), *args], env=dict(os.environ), cwd=cwd
    )
    async with Client(server) as client:
        yield client


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    return "\n".join(block.text for block in result.content if block.type == "text")


async def value_of(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content["result"]


async def test_notes_can_be_written_listed_and_read(tmp_path: Path) -> None:
    async with serving("notes.py", str(tmp_path / "new")) as client:
        await text_of(client, "append_note", path="todo.md", text="water the plants")
        await text_of(client, "append_note", path="todo.md", text="feed the cat")

        assert await value_of(client, "list_notes") == ["todo.md"]
        assert await value_of(client, "head", path="todo.md", lines=1) == "water the plants\n"

    assert (tmp_path / "new" / "todo.md").read_text() == "water the plants\nfeed the cat\n"


async def test_the_notes_folder_is_made_where_the_server_starts(tmp_path: Path) -> None:
    async with serving("notes.py", cwd=tmp_path) as client:
        assert await value_of(client, "list_notes") == []

    assert (tmp_path / "notes").is_dir()


async def test_a_missing_note_is_answered_with_what_to_do(tmp_path: Path) -> None:
    async with serving("notes.py", str(tmp_path)) as client:
        told = await text_of(client, "head", path="nope.md")

    assert told.startswith("[exec] head")
    assert "no note at nope.md" in told
    assert "Fix: Call list_notes to see the paths that exist." in told
    assert "Effects: none" in told
    assert str(tmp_path) not in told


async def test_a_refused_call_names_the_field_and_the_value(tmp_path: Path) -> None:
    async with serving("notes.py", str(tmp_path)) as client:
        told = await text_of(client, "head", path="todo.md", lines="three")
        misspelt = await text_of(client, "append_note", path="todo.md", txt="x")

    assert told.startswith("[validate] head.lines: ")
    assert "three" in told
    assert misspelt.startswith("[validate] append_note.t")
    assert not (tmp_path / "todo.md").exists()


async def test_a_path_outside_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "link.txt").symlink_to(tmp_path / "secret.txt")
    async with serving("notes.py", str(tmp_path / "notes")) as client:
        for path in ("../secret.txt", "/etc/passwd", "link.txt"):
            read = await text_of(client, "head", path=path)
            written = await text_of(client, "append_note", path=path, text="x")

            assert read.startswith("[validate] head.path: ")
            assert written.startswith("[validate] append_note.path: ")
            assert str(tmp_path) not in read + written
    assert (tmp_path / "secret.txt").read_text() == "secret"


async def test_a_query_returns_rows_of_a_real_database(tmp_path: Path) -> None:
    async with serving("query.py", str(tmp_path / "books.db")) as client:
        rows = await value_of(client, "query", sql="SELECT title, year FROM books ORDER BY year", limit=2)
        assert "CREATE TABLE books" in await value_of(client, "schema")

    assert rows == [{"title": "Pride and Prejudice", "year": 1813}, {"title": "Moby-Dick", "year": 1851}]


async def test_what_the_driver_says_about_a_query_reaches_the_model(tmp_path: Path) -> None:
    async with serving("query.py", str(tmp_path / "books.db")) as client:
        told = await text_of(client, "query", sql="SELECT prise FROM books")

    assert told.startswith("[exec] query")
    assert "SQLite says: no such column: prise" in told
    assert "Fix: Call schema" in told


async def test_a_query_that_does_more_than_read_is_refused(tmp_path: Path) -> None:
    async with serving("query.py", str(tmp_path / "books.db"), cwd=tmp_path) as client:
        for sql in ("DELETE FROM books", "ATTACH 'other.db' AS other", "SELECT 1; SELECT 2"):
            assert (await text_of(client, "query", sql=sql)).startswith("[exec] query")
        books = await value_of(client, "query", sql="SELECT count(*) AS books FROM books")

    assert books == [{"books": 5}]
    assert [file.name for file in tmp_path.iterdir()] == ["books.db"]


async def test_a_book_can_be_added_once(tmp_path: Path) -> None:
    book = {"isbn": "9780140449136", "title": "The Odyssey", "year": -700, "price": 11.0}
    async with serving("query.py", str(tmp_path / "books.db")) as client:
        assert await value_of(client, "add_book", **book) == "added The Odyssey"
        again = await text_of(client, "add_book", **book)
        wrong = await text_of(client, "add_book", **{**book, "isbn": "978"})

    assert again.startswith("[exec] add_book")
    assert "there is a book with ISBN 9780140449136 already" in again
    assert wrong.startswith("[validate] add_book.isbn: ")


async def test_a_query_without_end_is_answered_at_its_deadline(tmp_path: Path) -> None:
    async with serving("query.py", str(tmp_path / "books.db")) as client:
        started = time.perf_counter()
        told = await text_of(client, "query", sql=FOREVER)
        elapsed = time.perf_counter() - started
        books = await value_of(client, "query", sql="SELECT count(*) AS books FROM books")

    assert told.startswith("[transport] query: no result within 1 s")
    assert "Effects: none" in told
    assert elapsed < 3
    assert books == [{"books": 5}]


async def test_a_query_whose_time_is_up_gives_its_thread_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["query.py", str(tmp_path / "books.db")])
    example = SimpleNamespace(**runpy.run_path(str(SERVERS / "query.py")))
    example.create_database()
    async with Client(example.mcp) as client:
        await client.call_tool("query", {"sql": FOREVER})
        with anyio.fail_after(5):
            while example.guard.threads.abandoned:
                await anyio.sleep(0.01)
