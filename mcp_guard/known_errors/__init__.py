"""What the exceptions that tools really raise mean, by the qualified names of their classes."""

# places rules   what a rule works with
# files services databases data peers   one table each

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_guard.call import Call
    from mcp_guard.faults import Fault
    from mcp_guard.known_errors.rules import Table

# Exceptions that carry the one that says more, by the attribute that holds it.
_WRAPPERS: Final = {"sqlalchemy.exc.DBAPIError": "orig", "urllib.error.URLError": "reason"}


def qualified_names(error: BaseException) -> list[str]:
    """Return the qualified names of an exception's class and of its bases, nearest first."""
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in type(error).__mro__]


@cache
def table() -> Table:
    """Return every rule by the qualified name of the class that it is for."""
    # Imported when something first fails: a server that starts has no use for them.
    from mcp_guard.known_errors import data, databases, files, peers, services  # noqa: PLC0415

    return {**data.TABLE, **databases.TABLE, **files.TABLE, **peers.TABLE, **services.TABLE}


def known_fault(error: BaseException, call: Call) -> Fault | None:
    """Return the fault for an exception that the table knows, by its nearest base; None for any other."""
    names = qualified_names(error)
    for name in names:
        wrapped = getattr(error, _WRAPPERS[name], None) if name in _WRAPPERS else None
        # SQLAlchemy's asyncpg dialect puts an exception of its own in between.
        for inner in (wrapped, getattr(wrapped, "__cause__", None)):
            if isinstance(inner, BaseException) and (fault := known_fault(inner, call)) is not None:
                return fault
    for name in names:
        if (rule := table().get(name)) is not None and (fault := rule(error, call)) is not None:
            return fault
    return None
