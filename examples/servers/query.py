"""A small book shop in a SQLite file that a model may query and add books to.

    python examples/servers/query.py [FILE]

The file is the first argument, else $QUERY_DATABASE, else `books.db` where the server is started; it is created with
a few rows if it is missing. The server speaks MCP over stdin and stdout.

What to look at: what the driver raises reaches the model as a fault that says what to change, and a query that takes
too long is answered at its deadline and stops working there.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from mcp_guard import Fault, Guard, current_call

DATABASE = Path(sys.argv[1] if sys.argv[1:] else os.environ.get("QUERY_DATABASE", "books.db"))

BOOKS = [
    ("9780141439518", "Pride and Prejudice", 1813, 7.99),
    ("9780142437247", "Moby-Dick", 1851, 12.5),
    ("9780141439563", "Great Expectations", 1861, 8.99),
    ("9780143039990", "War and Peace", 1869, 18.0),
    ("9780141439600", "A Tale of Two Cities", 1859, 7.5),
]
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
STEPS_BETWEEN_LOOKS = 10_000

mcp = MCPServer("query", log_level="WARNING")
guard = Guard(mcp)

Row = dict[str, str | int | float | None]


class QueryRefused(Fault):
    """SQLite does not accept the query, or it would do more than read."""

    code = "QUERY_REFUSED"
    message = "SQLite says: {reason}"
    fix = "Call schema to see the tables and columns, and write one SELECT: query only reads."


class BookExists(Fault):
    """There is a book with this ISBN already."""

    code = "BOOK_EXISTS"
    message = "there is a book with ISBN {isbn} already"
    fix = "Read it with query before you decide what to do."


@contextmanager
def connect() -> Generator[sqlite3.Connection]:
    """Open the database for one call; a statement that still runs when the call has been answered is interrupted."""
    call = current_call()
    with closing(sqlite3.connect(DATABASE)) as connection:
        connection.row_factory = sqlite3.Row
        connection.set_progress_handler(lambda: call.ended, STEPS_BETWEEN_LOOKS)
        with connection:
            yield connection


def only_reading(action: int, *_: str | None) -> int:
    """Allow what a SELECT needs and nothing else: not ATTACH either, which opens other files."""
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


@mcp.tool()
@guard.reads(timeout=2)
def schema() -> str:
    """Show the tables and their columns."""
    with connect() as connection:
        return "\n".join(row["sql"] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL"))


@mcp.tool()
@guard.reads(timeout=1)
def query(sql: str, limit: Annotated[int, Field(ge=1, le=500)] = 50) -> list[Row]:
    """Run one SELECT and return its first rows."""
    with connect() as connection:
        connection.set_authorizer(only_reading)
        try:
            return [dict(row) for row in connection.execute(sql).fetchmany(limit)]
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise QueryRefused(reason=error) from error


@mcp.tool()
@guard.writes(timeout=2, raises={sqlite3.IntegrityError: BookExists})
def add_book(
    isbn: Annotated[str, Field(pattern=r"^\d{13}$")], title: str, year: int, price: Annotated[float, Field(ge=0)]
) -> str:
    """Add a book; its ISBN must not be there yet."""
    with connect() as connection:
        connection.execute("INSERT INTO books VALUES (?, ?, ?, ?)", (isbn, title, year, price))
    return f"added {title}"


def create_database() -> None:
    """Make the file with its sample rows."""
    with closing(sqlite3.connect(DATABASE)) as connection, connection:
        connection.execute(
            "CREATE TABLE books (isbn TEXT PRIMARY KEY, title TEXT NOT NULL, year INTEGER, price REAL NOT NULL)"
        )
        connection.executemany("INSERT INTO books VALUES (?, ?, ?, ?)", BOOKS)


if __name__ == "__main__":
    if not DATABASE.exists():
        create_database()
    mcp.run()
