"""The tools under test: plain functions over a folder of notes, and the state of that folder."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Final

SLOW_SECONDS: Final = 2.0
"""How long `slow_head` takes."""

MAX_CHARS: Final = 2_000
"""How many characters of `dump` a line may show."""

CHORES: Final = "water the plants\nsharpen the pencils\nfeed the cat\n"
LONG: Final = "".join(f"{number:04} the quick brown fox jumps over the lazy dog.\n" for number in range(1, 401))
"""A note of 20,000 characters."""


class Notes:
    """A folder with a few notes, and the tools that work on it.

    Each tool leaves a mark before it does anything else, so that whether a body ran can be seen from outside,
    whatever the answer says.

    Args:
        folder: Where the notes and the marks are kept; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self._marks = folder / "marks"

    def head(self, path: str, lines: int = 10) -> str:
        """Read the first lines of a note."""
        self._mark("head")
        return self._first_lines(path, lines)

    def slow_head(self, path: str, lines: int = 10) -> str:
        """Read the first lines of a note, slowly."""
        self._mark("slow_head")
        text = self._first_lines(path, lines)
        time.sleep(SLOW_SECONDS)
        return text

    def dump(self, path: str) -> str:
        """Read a whole note."""
        self._mark("dump")
        return (self.notes / path).read_text(encoding="utf-8")

    def append_note(self, path: str, text: str) -> str:
        """Append a line to a note, and the note's name to the index."""
        self._mark("append_note")
        for name, line in ((path, text), ("index.txt", path)):
            with (self.notes / name).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        return f"appended to {path}"

    def restore(self) -> None:
        """Put the folder into its first state, without marks."""
        for folder in (self.notes, self._marks):
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(parents=True)
        (self.notes / "archive").mkdir()
        for name, text in (("todo.md", CHORES), ("long.md", LONG), ("index.txt", "")):
            (self.notes / name).write_text(text, encoding="utf-8")

    def break_index(self) -> None:
        """Make `append_note` fail halfway: the index cannot be written to."""
        (self.notes / "index.txt").unlink()
        (self.notes / "index.txt").mkdir()

    def ran(self) -> bool:
        """Return whether the body of any tool was started since `restore`."""
        return any(self._marks.iterdir())

    def state(self) -> dict[str, str]:
        """Return the text of every note by its name."""
        return {file.name: file.read_text(encoding="utf-8") for file in self.notes.iterdir() if file.is_file()}

    def _first_lines(self, path: str, lines: int) -> str:
        return "\n".join((self.notes / path).read_text(encoding="utf-8").splitlines()[:lines])

    def _mark(self, tool: str) -> None:
        (self._marks / tool).touch()
