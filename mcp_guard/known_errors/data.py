"""Malformed data, programs that fail, and resources that run out."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from mcp_guard.faults import DependencyFailed, DependencyTimedOut, Fault, Internal, InvalidData, ResourceExhausted
from mcp_guard.known_errors.rules import Table, says, worded

if TYPE_CHECKING:
    from mcp_guard.call import Call

_LISTED: Final = 5
_NAME: Final = r"[A-Za-z_]\w{0,39}"


def _undecodable(error: UnicodeDecodeError, _call: Call) -> Fault:
    return worded(InvalidData, f"the data is not {_encoding(error)} text: byte {error.start:,} does not fit")


def _unencodable(error: UnicodeEncodeError, _call: Call) -> Fault:
    return worded(InvalidData, f"the text has a character that {_encoding(error)} cannot express, at {error.start:,}")


def _encoding(error: UnicodeError) -> str:
    name = str(getattr(error, "encoding", ""))
    return name.upper() if re.fullmatch(r"[\w-]{1,20}", name) else "valid"


def _bad_json(error: Any, _call: Call) -> Fault:
    return worded(InvalidData, f"the JSON is malformed at line {error.lineno:d}, column {error.colno:d}")


def _bad_xml(error: Any, _call: Call) -> Fault:
    line, column = error.position
    return worded(InvalidData, f"the XML is malformed at line {line:d}, column {column + 1:d}")


def _unfit(error: Any, _call: Call) -> Fault:
    """For a pydantic `ValidationError` of the body's own data: the names of the fields, and no value."""
    count = error.error_count()
    problems = islice(error.errors(include_url=False, include_context=False, include_input=False), _LISTED)
    names = list(dict.fromkeys(filter(None, (_field(problem["loc"]) for problem in problems))))
    more = f" and {count - _LISTED:,} more" if count > _LISTED else ""
    where = f": {', '.join(names)}{more}" if names else ""
    return worded(InvalidData, f"the data does not have the form that the tool expects{where}")


def _field(location: tuple[object, ...]) -> str:
    """Return a location in dotted form; what is no plain name may be data, so a star takes its place."""
    steps = (
        f"[{step}]" if isinstance(step, int) else f".{step if re.fullmatch(_NAME, str(step)) else '*'}"
        for step in location[:8]
    )
    return "".join(steps).removeprefix(".")


def _exit_status(error: Any, _call: Call) -> Fault:
    code = error.returncode
    ending = f"was ended by signal {-code:d}" if code < 0 else f"ended with exit status {code:d}"
    return worded(DependencyFailed, f"a program that this tool runs {ending}", retry="after_fix")


def _overran(error: Any, _call: Call) -> Fault:
    return worded(DependencyTimedOut, f"a program that this tool runs did not end within {error.timeout:g} s")


TABLE: Table = {
    "builtins.UnicodeDecodeError": _undecodable,
    "builtins.UnicodeEncodeError": _unencodable,
    "json.decoder.JSONDecodeError": _bad_json,
    "xml.etree.ElementTree.ParseError": _bad_xml,
    "tomllib.TOMLDecodeError": says(InvalidData, "the TOML is malformed"),
    "_csv.Error": says(InvalidData, "the CSV is malformed"),
    "zipfile.BadZipFile": says(InvalidData, "the file is no valid ZIP archive"),
    "gzip.BadGzipFile": says(InvalidData, "the file is no valid gzip file"),
    "pydantic_core._pydantic_core.ValidationError": _unfit,
    "subprocess.CalledProcessError": _exit_status,
    "subprocess.TimeoutExpired": _overran,
    "builtins.MemoryError": says(ResourceExhausted, "the server ran out of memory", fix=ResourceExhausted.fix),
    "builtins.RecursionError": says(
        ResourceExhausted, "the data is nested too deeply", fix="Send or ask for data that is nested less deeply."
    ),
    "builtins.SystemExit": says(Internal, "the tool tried to end the server, which goes on", fix=Internal.fix),
    "asyncio.exceptions.CancelledError": says(Internal, "the tool cancelled itself", fix=Internal.fix),
}
