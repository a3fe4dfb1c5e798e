"""A folder of notes that a model may list, read and append to.

    python examples/servers/notes.py [FOLDER]

The folder is the first argument, else $NOTES_FOLDER, else `notes` where the server is started; it is created if it is
missing. The server speaks MCP over stdin and stdout.
"""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from mcp_guard import Fault, Guard, Within

FOLDER = Path(sys.argv[1] if sys.argv[1:] else os.environ.get("NOTES_FOLDER", "notes"))
FOLDER.mkdir(parents=True, exist_ok=True)

mcp = MCPServer("notes", log_level="WARNING")
guard = Guard(mcp)

Note = Annotated[Path, Within(FOLDER)]


class NoteMissing(Fault):
    """There is no note at this path."""

    code = "NOTE_MISSING"
    message = "no note at {path}"
    fix = "Call list_notes to see the paths that exist."


@mcp.tool()
@guard.reads(timeout=2)
def list_notes() -> list[str]:
    """List the paths of all notes."""
    return sorted(note.relative_to(FOLDER).as_posix() for note in FOLDER.rglob("*") if note.is_file())


@mcp.tool()
@guard.reads(timeout=2, max_chars=2_000, raises={FileNotFoundError: NoteMissing})
def head(path: Note, lines: Annotated[int, Field(ge=1, le=1000)] = 10) -> str:
    """Read the first lines of a note."""
    with path.open(encoding="utf-8") as note:
        return "".join(islice(note, lines))


@mcp.tool()
@guard.writes(timeout=2)
def append_note(path: Note, text: str) -> str:
    """Append a line to a note; a note that does not exist yet is created."""
    with path.open("a", encoding="utf-8") as note:
        note.write(f"{text}\n")
    return f"appended {len(text)} characters"


if __name__ == "__main__":
    mcp.run()
