"""Failures of database drivers: SQLite, PostgreSQL (by SQLSTATE), and what SQLAlchemy makes of any of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp_guard.faults import (
    AuthenticationRequired,
    Conflict,
    DependencyFailed,
    DependencyTimedOut,
    DependencyUnavailable,
    Fault,
    InvalidData,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
)
from mcp_guard.known_errors.places import place_of_word
from mcp_guard.known_errors.rules import Rule, Table, says, worded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_guard.call import Call

    _Constraint = Callable[[object, Call], Fault]

_LOCKED = says(DependencyUnavailable, "the database is locked by other work")
_UNREACHABLE = says(DependencyUnavailable, "the database cannot be reached")
_INTERRUPTED = says(DependencyTimedOut, "the database stopped the statement before it was done")
_NOT_ALLOWED = says(PermissionDenied, "the database does not allow this")
_NO_LOGIN = says(AuthenticationRequired, "the database does not accept the server's credentials")
_FULL = says(ResourceExhausted, "the database has no room left", retry="never")
_EXCEEDED = says(ResourceExhausted, "the database ran out of a resource", fix=ResourceExhausted.fix)
_DAMAGED = says(DependencyFailed, "the database file is damaged, or is no database")
_UNOPENED = says(DependencyFailed, "the database file cannot be opened")
_BAD_VALUE = says(InvalidData, "a value does not fit where the database is to put it")
_CONFLICT = says(Conflict, "this conflicts with what the database holds")
_FAILED = says(DependencyFailed, "the database failed")

# How the drivers word that they do not know a name, around that name.
_REJECTED: tuple[tuple[str, str], ...] = (
    (
        "has no table {name}",
        (r'no such table: ([\w.]{1,128})$|relation "([^"]{1,128})" does not exist'),
    ),
    (
        "has no column {name}",
        (
            r"no such column: ([\w.]{1,128})$|has no column named (\w{1,128})$"
            r'|column "?([\w.]{1,128})"?(?: of relation "[^"]{1,128}")? does not exist'
        ),
    ),
    (
        "has no function {name}",
        (r"no such function: (\w{1,128})$|function ([\w.]{1,128})\([^\n]{0,200}\) does not exist"),
    ),
    (
        "found a syntax error near {name}",
        (r'near "([^"]{1,128})": syntax error|syntax error at or near "([^"]{1,128})"'),
    ),
)


def _rejected(error: Any, call: Call) -> Fault:
    """Return the fault for a statement that the database does not understand.

    A name in the driver's text is shown only where the caller sent it: so a tool that takes SQL says what to
    change, and of a statement that the tool wrote by itself nothing leaves the server.
    """
    text = str(error)[:1_000]
    for what, pattern in _REJECTED:
        found = re.search(pattern, text)
        place = place_of_word(call, found[found.lastindex or 0]) if found else None
        if place is not None:
            return worded(
                DependencyFailed,
                f"the database {what.format(name=place.sent)}",
                fix="Change the statement.",
                retry="after_fix",
                fault_side="caller",
                field=place.field,
                received=place.sent,
            )
    return worded(DependencyFailed, "the database did not accept the statement")


def _broken(about_column: str, otherwise: str) -> _Constraint:
    """Return the words for a broken constraint; a column is named where the tool has a parameter of its name."""

    def fault(column: object, call: Call) -> Fault:
        if isinstance(column, str) and (column in call.arguments or column in call.values):
            return worded(Conflict, about_column.format(name=column), field=column)
        return worded(Conflict, otherwise)

    return fault


_DUPLICATE = _broken("a record with this {name} exists already", "such a record exists already")
_MISSING = _broken("a record needs a value for {name}", "a record lacks a value that it needs")
_REFERENCE = _broken(
    "{name} refers to a record that does not exist",
    "a record refers to one that does not exist, or that would no longer exist",
)
_CHECK = _broken("the database does not accept this {name}", "the database does not accept a value")

_SQLITE_CONSTRAINTS: Mapping[str, _Constraint] = {
    "UNIQUE": _DUPLICATE,
    "NOT NULL": _MISSING,
    "FOREIGN KEY": _REFERENCE,
    "CHECK": _CHECK,
}
# Primary result codes (sqlite.org/rescode.html, section 3).
_SQLITE_CODES: Mapping[int, Rule] = {
    1: _rejected,  # ERROR
    3: _NOT_ALLOWED,  # PERM
    5: _LOCKED,  # BUSY
    6: _LOCKED,  # LOCKED
    7: _EXCEEDED,  # NOMEM
    8: _NOT_ALLOWED,  # READONLY
    9: _INTERRUPTED,  # INTERRUPT
    11: _DAMAGED,  # CORRUPT
    13: _FULL,  # FULL
    14: _UNOPENED,  # CANTOPEN
    18: _EXCEEDED,  # TOOBIG
    20: _BAD_VALUE,  # MISMATCH
    23: _NOT_ALLOWED,  # AUTH
    26: _DAMAGED,  # NOTADB
}


def _of_sqlite(error: Any, call: Call) -> Fault | None:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte of an extended code is the primary one (section 2 there).
    rule = _SQLITE_CODES.get(code & 0xFF, _FAILED) if isinstance(code, int) else _FAILED
    return rule(error, call)


def _of_sqlite_constraint(error: Any, call: Call) -> Fault | None:
    found = re.match(r"(UNIQUE|NOT NULL|FOREIGN KEY|CHECK) constraint failed(?:: \w+\.(\w+)$)?", str(error))
    return _SQLITE_CONSTRAINTS[found[1]](found[2], call) if found else _CONFLICT(error, call)


_SQLSTATE_CONSTRAINTS: Mapping[str, _Constraint] = {
    "23502": _MISSING,
    "23503": _REFERENCE,
    "23505": _DUPLICATE,
    "23514": _CHECK,
}
# PostgreSQL documentation, appendix A; two characters stand for the whole class.
_SQLSTATES: Mapping[str, Rule] = {
    "08": _UNREACHABLE,
    "22": _BAD_VALUE,
    "23": _CONFLICT,
    "25006": _NOT_ALLOWED,
    "28": _NO_LOGIN,
    "40": _LOCKED,
    "42": _rejected,
    "42501": _NOT_ALLOWED,
    "53": _EXCEEDED,
    "53100": _FULL,
    "53300": _UNREACHABLE,
    "54": _EXCEEDED,
    "55": _LOCKED,
    "57": _UNREACHABLE,
    "57014": _INTERRUPTED,
}


def _of_postgres(otherwise: Rule) -> Rule:
    """Return the rule for a driver's exception with a SQLSTATE; `otherwise` is for those without one."""

    def rule(error: Any, call: Call) -> Fault | None:
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if not isinstance(state, str):
            return otherwise(error, call)
        if (constraint := _SQLSTATE_CONSTRAINTS.get(state)) is not None:
            return constraint(_postgres_column(error), call)
        return (_SQLSTATES.get(state) or _SQLSTATES.get(state[:2], _FAILED))(error, call)

    return rule


def _postgres_column(error: Any) -> object:
    told = getattr(error, "diag", error)
    if column := getattr(told, "column_name", None):
        return column
    detail = getattr(told, "message_detail", None) or getattr(error, "detail", None)
    found = re.match(r"Key \((\w{1,128})\)=", detail) if isinstance(detail, str) else None
    return found[1] if found else None


def _drivers(*modules: str, rules: Mapping[str, Rule]) -> Table:
    return {f"{module}.{name}": rule for module in modules for name, rule in rules.items()}


TABLE: Table = {
    **_drivers(
        "sqlite3",
        rules={"IntegrityError": _of_sqlite_constraint, "DataError": _BAD_VALUE, "Error": _of_sqlite},
    ),
    **_drivers(
        "psycopg",
        "psycopg2",
        rules={
            "OperationalError": _of_postgres(_UNREACHABLE),
            "IntegrityError": _of_postgres(_CONFLICT),
            "DataError": _of_postgres(_BAD_VALUE),
            "Error": _of_postgres(_FAILED),
        },
    ),
    "asyncpg.exceptions._base.PostgresError": _of_postgres(_FAILED),
    "asyncpg.exceptions._base.InterfaceError": _FAILED,
    **_drivers(
        "sqlalchemy.exc",
        rules={
            "OperationalError": _UNREACHABLE,
            "IntegrityError": _CONFLICT,
            "DataError": _BAD_VALUE,
            "TimeoutError": says(DependencyUnavailable, "no connection to the database is free"),
            "NoResultFound": says(NotFound, "there is no such record"),
            "MultipleResultsFound": says(Conflict, "more than one record fits"),
            "DBAPIError": _FAILED,
        },
    ),
}
