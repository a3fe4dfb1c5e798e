"""The `OSError` family: which argument names the file, and what is wrong with it."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_guard.call import Call
from mcp_guard.faults import (
    Conflict,
    DependencyFailed,
    DependencyTimedOut,
    DependencyUnavailable,
    Fault,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
)
from mcp_guard.known_errors.places import place_of_path
from mcp_guard.known_errors.rules import Rule, Table, says, worded

_LATER: dict[str, Any] = {"retry": "after_delay", "transient": True}


@dataclass(frozen=True, slots=True)
class _Kind:
    """What one error number means.

    Attributes:
        fault: The class of the fault.
        about_path: The message where an argument names the path; `{path}` is what the caller sent. None where it
            is not the path that matters.
        otherwise: The message where none does.
        fix: What to send instead, where an argument names the path.
        details: Other attributes of the fault.
    """

    fault: type[Fault]
    about_path: str | None
    otherwise: str
    fix: str | None = None
    details: dict[str, Any] = field(default_factory=dict[str, Any])


_FILE_KINDS: dict[int, _Kind] = {
    errno.ENOENT: _Kind(
        NotFound,
        "{path} does not exist",
        "a file that the tool needs does not exist",
        "Send the path of something that exists.",
    ),
    errno.EISDIR: _Kind(
        NotFound,
        "{path} is a folder, not a file",
        "there is a folder where the tool needs a file",
        "Send the path of a file.",
    ),
    errno.ENOTDIR: _Kind(
        NotFound,
        "{path} takes a file for a folder",
        "there is a file where the tool needs a folder",
        "Send a path whose folders are folders.",
    ),
    errno.ENAMETOOLONG: _Kind(NotFound, "{path} is too long for a path", "a path is too long", "Send a shorter path."),
    errno.ELOOP: _Kind(
        NotFound, "{path} is a link that leads in circles", "a link leads in circles", "Send another path."
    ),
    errno.EACCES: _Kind(PermissionDenied, "the server may not access {path}", "the server may not do this"),
    errno.EPERM: _Kind(PermissionDenied, "the server may not change {path}", "the server may not do this"),
    errno.EROFS: _Kind(PermissionDenied, "{path} can only be read", "this place can only be read"),
    errno.EEXIST: _Kind(Conflict, "{path} exists already", "a file exists already", "Send another path."),
    errno.ENOTEMPTY: _Kind(Conflict, "{path} is not empty", "a folder is not empty"),
    errno.EBUSY: _Kind(Conflict, "{path} is in use", "a file is in use", details={**_LATER, "fault_side": "server"}),
}


_FOLDER_MISSING = _Kind(
    NotFound,
    "the folder that {path} would be in does not exist",
    "a folder that the tool needs does not exist",
    "Send a path in a folder that exists.",
)


def _exhausted(what: str, *, fix: str | None = None, **details: Any) -> _Kind:
    return _Kind(ResourceExhausted, None, what, details={"fix": fix, **details})


def _unreachable(what: str) -> _Kind:
    return _Kind(DependencyUnavailable, None, what)


_KINDS: dict[int, _Kind] = {
    **_FILE_KINDS,
    errno.ENOSPC: _exhausted("the disk is full", retry="never"),
    errno.EDQUOT: _exhausted("the disk quota is used up", retry="never"),
    errno.EFBIG: _exhausted("the file would become too large", fix="Write less."),
    errno.EMFILE: _exhausted("the server has too many files open", **_LATER),
    errno.ENFILE: _exhausted("the server has too many files open", **_LATER),
    errno.ENOMEM: _exhausted("the server ran out of memory", fix=ResourceExhausted.fix),
    errno.EAGAIN: _unreachable("a resource is not available for the moment"),
    errno.ECONNREFUSED: _unreachable("a service that this tool relies on refused the connection"),
    errno.ECONNRESET: _unreachable("a service that this tool relies on broke off the connection"),
    errno.ECONNABORTED: _unreachable("the connection to a service that this tool relies on broke off"),
    errno.EPIPE: _unreachable("a service that this tool relies on closed the connection"),
    errno.ENOTCONN: _unreachable("the connection to a service that this tool relies on broke off"),
    errno.EHOSTUNREACH: _unreachable(DependencyUnavailable.message),
    errno.ENETUNREACH: _unreachable(DependencyUnavailable.message),
    errno.ENETDOWN: _unreachable(DependencyUnavailable.message),
    errno.ETIMEDOUT: _Kind(DependencyTimedOut, None, DependencyTimedOut.message),
    errno.EIO: _Kind(DependencyFailed, None, "a device of the server failed"),
    errno.ESRCH: _Kind(NotFound, None, "there is no such process"),
}


def _by_number(error: OSError, call: Call) -> Fault | None:
    number = error.errno
    return _fault(_KINDS.get(number), error, call) if isinstance(number, int) else None


def _like(number: int) -> Rule:
    """Return the rule for a class that stands for an error number, whether or not the exception carries one."""

    def rule(error: OSError, call: Call) -> Fault | None:
        return _by_number(error, call) or _fault(_KINDS[number], error, call)

    return rule


def _fault(kind: _Kind | None, error: OSError, call: Call) -> Fault | None:
    if kind is None:
        return None
    place = place_of_path(call, error.filename, error.filename2) if kind.about_path else None
    if kind is _FILE_KINDS[errno.ENOENT] and place is not None and _folder_is_missing(error.filename):
        kind = _FOLDER_MISSING
    if place is not None and kind.about_path:
        text = kind.about_path.format(path=place.sent or "the path")
        found: dict[str, Any] = {"field": place.field, "received": place.sent}
        return worded(kind.fault, text, **{"fix": kind.fix, **kind.details, **found})
    # Where no argument is to blame, the file is the server's own affair.
    servers: dict[str, Any] = {"fault_side": "server", "retry": "never"} if kind.fault.fault_side == "caller" else {}
    return worded(kind.fault, kind.otherwise, **{**servers, **kind.details})


def _folder_is_missing(filename: object) -> bool:
    return isinstance(filename, str) and not Path(filename).parent.is_dir()


def _unnamed_host(_error: OSError, _call: Call) -> Fault:
    """For a failed name look-up, whose numbers are not those of `errno`."""
    return worded(
        DependencyUnavailable,
        "the name of a host could not be resolved",
        fix="If an argument names the host, check its spelling.",
    )


_NO_SECURE_CONNECTION = says(
    DependencyFailed, "no secure connection to a service that this tool relies on could be made"
)

TABLE: Table = {
    "builtins.OSError": _by_number,
    "builtins.FileNotFoundError": _like(errno.ENOENT),
    "builtins.FileExistsError": _like(errno.EEXIST),
    "builtins.PermissionError": _like(errno.EACCES),
    "builtins.IsADirectoryError": _like(errno.EISDIR),
    "builtins.NotADirectoryError": _like(errno.ENOTDIR),
    "builtins.ProcessLookupError": _like(errno.ESRCH),
    "builtins.BlockingIOError": _like(errno.EAGAIN),
    "builtins.TimeoutError": _like(errno.ETIMEDOUT),
    "builtins.ConnectionError": _like(errno.ECONNABORTED),
    "builtins.ConnectionRefusedError": _like(errno.ECONNREFUSED),
    "builtins.ConnectionResetError": _like(errno.ECONNRESET),
    "builtins.BrokenPipeError": _like(errno.EPIPE),
    "socket.gaierror": _unnamed_host,
    "socket.herror": _unnamed_host,
    "ssl.SSLCertVerificationError": says(
        DependencyFailed, "the certificate of a service that this tool relies on could not be verified"
    ),
    "ssl.SSLError": _NO_SECURE_CONNECTION,
}
