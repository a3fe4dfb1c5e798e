"""Path containment: a path argument that stays in the folder it belongs to."""

from __future__ import annotations

import os
import re
import types
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic_core import PydanticCustomError, core_schema

from mcp_guard.faults import ConfigurationError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

PathT = TypeVar("PathT", str, PurePath)

_MAX_CHARS: Final = 4_096
_DRIVE = re.compile(r"[A-Za-z]:([\\/]|$)")


class Within:
    """Keeps a path parameter inside a folder: `path: Annotated[Path, Within("notes/")]`.

    A value may be relative to the root or absolute inside it. Symbolic links are followed before the comparison, so
    a link that leads out is refused, and so are `..`, `~` and the paths of another operating system; the file itself
    need not exist. The body receives the absolute real path, as a `Path` or a `str` as annotated. The published
    schema is that of the bare annotation. A default value is the author's own and reaches the body as it stands.

    The check looks at the disk before the body does. Where somebody else can replace a folder by a link in between,
    a body that must not be fooled opens the path relative to a directory handle, with `os.O_NOFOLLOW`.

    Args:
        root: The folder; resolved once, here, against the working directory. It may be created later.

    Attributes:
        root: The absolute real path of the folder.

    Raises:
        ConfigurationError: If `root` exists and is not a folder.
    """

    __slots__ = ("root",)

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root: Final = Path(os.path.realpath(os.path.expanduser(root)))
        if self.root.exists() and not self.root.is_dir():
            raise ConfigurationError(f"Within({os.fspath(root)!r}): this is a file; name the folder around it")

    def __repr__(self) -> str:
        return f"Within({str(self.root)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Within) and other.root == self.root

    def __hash__(self) -> int:
        return hash((Within, self.root))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        if not _is_path_type(source):
            raise ConfigurationError(
                f"Within() belongs to a parameter of type Path or str, not {source!r}; "
                f"for several paths, write list[Annotated[Path, Within(...)]]"
            )
        return core_schema.no_info_after_validator_function(self._contained, handler(source))

    def _contained(self, value: PathT | None) -> PathT | None:
        if value is None:
            return None
        path = os.fspath(value)
        real = None if _is_foreign(path) else _real(self.root / path)
        if real is None or not real.is_relative_to(self.root):
            raise PydanticCustomError("path_outside_root", "the path leaves the folder that this tool may use")
        return type(value)(real)


def _real(path: Path) -> Path | None:
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        # A NUL byte, or characters that no file name can hold.
        return None


def _is_foreign(path: str) -> bool:
    """Return whether this system would take the spelling of a place outside for a file name, or can open none."""
    if len(path) > _MAX_CHARS or path.split("/", 1)[0] == "~":
        return True
    return os.sep == "/" and (_DRIVE.match(path) is not None or path.startswith("\\") or ".." in path.split("\\"))


def _is_path_type(source: Any) -> bool:
    if get_origin(source) is Annotated:
        return _is_path_type(get_args(source)[0])
    if get_origin(source) in (Union, types.UnionType):
        return all(part is types.NoneType or _is_path_type(part) for part in get_args(source))
    return isinstance(source, type) and issubclass(source, str | PurePath)
