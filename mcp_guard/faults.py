"""Every exception of this library, and every fault that a model can be told.

```
Exception
└── GuardError                      anything this library raises on purpose
    ├── ConfigurationError          the author declared something that cannot work
    └── Fault                       what the model is told; one class is one catalog entry
        ├── UnknownTool             UNKNOWN_TOOL            service    no such tool
        ├── Busy                    BUSY                    service    abandoned bodies hold every thread
        ├── InvalidArguments        INVALID_ARGUMENTS       validate   the arguments do not fit the tool
        │   └── PathOutsideRoot     PATH_OUTSIDE_ROOT       validate   a path leaves its root
        ├── TimedOut                TIMED_OUT               transport  the time budget ran out
        │   └── OutcomeUnknown      OUTCOME_UNKNOWN         transport  ... and a write may be half done
        ├── Cancelled               CANCELLED               transport  the client took the call back
        ├── NotFound                NOT_FOUND               exec       what the call names is not there
        ├── PermissionDenied        PERMISSION_DENIED       exec       the server may not do this
        ├── AuthenticationRequired  AUTHENTICATION_REQUIRED exec       a dependency wants credentials
        ├── Conflict                CONFLICT                exec       the state does not allow this
        ├── DependencyFailed        DEPENDENCY_FAILED       exec       something the tool relies on failed
        │   ├── DependencyUnavailable  DEPENDENCY_UNAVAILABLE          ... it cannot be reached
        │   └── DependencyTimedOut     DEPENDENCY_TIMED_OUT            ... it did not answer in time
        ├── InvalidData             INVALID_DATA            exec       the tool read something malformed
        ├── ResourceExhausted       RESOURCE_EXHAUSTED      exec       memory, disk or recursion ran out
        ├── InvalidOutput           INVALID_OUTPUT          exec       the tool ran; its result cannot be sent
        ├── OutputTooLarge          OUTPUT_TOO_LARGE        exec       the tool ran; its result is too big
        ├── ToolFailed              TOOL_FAILED             exec       the author's own message
        └── Internal                INTERNAL                exec       nobody declared this; nothing is shown
```

Codes are stable strings inside `isError` results: JSON-RPC integers belong to the protocol, and revision 2026-07-28
lets no implementation allocate new ones in -32000..-32099 (specification, basic/index, error codes).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, Self, get_args

from mcp_guard.templates import filled, template_fields

Stage = Literal["transport", "service", "validate", "exec", "rollback"]
"""Where a call failed."""

Effects = Literal["none", "rolled_back", "may_remain", "unknown", "applied"]
"""What a failed call left behind."""

Retry = Literal["never", "after_fix", "now", "after_delay", "check_first"]
"""Whether and how the same intent may be tried again."""

FaultSide = Literal["caller", "server", "dependency"]
"""Who has to change something."""

_CHOICES = {"stage": Stage, "effects": Effects, "retry": Retry, "fault_side": FaultSide}
_CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


class GuardError(Exception):
    """Base of everything that this library raises on purpose."""


class ConfigurationError(GuardError):
    """An author declared something that cannot work; the message names it and says what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with the arguments of a call.

    Attributes:
        field: Where, in the caller's spelling (`filter.rows[3].name`); empty for the arguments as a whole.
        message: What is wrong, wanted and given, as one clause (`expected an integer, got 'three'`).
        expected: What was wanted, for machines and summaries (`an integer from 1 to 1000`).
        received: The offending value as JSON text, at most 80 characters; None where it must not be shown.
        fix: What to send instead, as a sentence.
        suggestion: A right value as JSON text where one can be told.
    """

    field: str
    message: str
    expected: str | None = None
    received: str | None = None
    fix: str | None = None
    suggestion: str | None = None


class Fault(GuardError):
    """A failure in the words that the model reads, and one entry of the error catalog.

    Subclass it, say what happened, raise it from a tool or map an exception to it with `raises=`:

    ```python
    class NoteMissing(Fault):
        '''There is no note at this path.'''
        code = "NOTE_MISSING"
        message = "no note at {path}"
        fix = "Call list_notes to see the paths that exist."
    ```

    `{path}` is filled from the constructor's keyword arguments, else from the call's arguments, redacted; a text given
    to the constructor stands instead of the template.
    """

    code: ClassVar[str] = "TOOL_FAILED"
    message: ClassVar[str] = "the tool could not do this"
    stage: Stage = "exec"
    fix: str | None = None
    retry: Retry = "after_fix"
    retry_after: float | None = None
    """Seconds to wait before the next try."""
    transient: bool = False
    fault_side: FaultSide = "caller"
    effects: Effects | None = None
    """What is different in the world; None until the guard has worked it out."""

    field: str | None = None
    expected: str | None = None
    received: str | None = None
    suggestion: str | None = None
    problems: Sequence[Problem] = ()
    problem_count: int = 0
    """How many problems there were in all; `problems` may list fewer."""
    remaining: Sequence[str] = ()
    """What may remain in the world, one sentence each."""
    result: object = None
    """The author's own error result, when the failure was returned and not raised."""
    tool: str | None = None
    """The tool whose call failed; None until the guard raises the fault."""

    text: str | None = None
    values: Mapping[str, object] = MappingProxyType({})

    def __init__(self, text: str | None = None, /, **values: object) -> None:
        super().__init__(*(() if text is None else (text,)))
        self.text = text
        self.values = values

    def __init_subclass__(cls) -> None:
        if not (isinstance(cls.code, str) and _CODE.fullmatch(cls.code)):
            raise ConfigurationError(
                f"{cls.__qualname__}.code is {cls.code!r}; write it in capitals, like 'NOTE_MISSING'"
            )
        for option, allowed in _CHOICES.items():
            if (said := getattr(cls, option)) not in get_args(allowed) and not (option == "effects" and said is None):
                raise ConfigurationError(f"{cls.__qualname__}.{option} is {said!r}; write one of {get_args(allowed)}")
        for option in ("message", "fix"):
            try:
                template_fields(getattr(cls, option) or "")
            except (TypeError, ValueError) as error:
                raise ConfigurationError(
                    f"{cls.__qualname__}.{option}: {error}; a template may show plain argument names, like '{{path}}'"
                ) from error

    def __str__(self) -> str:
        return self.worded({})

    @classmethod
    def caused_by(cls, error: BaseException) -> Self:
        """Return the fault with the exception that it stands for as its `__cause__`."""
        fault = cls()
        fault.__cause__ = error
        return fault

    def worded(self, arguments: Mapping[str, object]) -> str:
        """Return the message with its template filled, from this fault's own values first, then `arguments`."""
        if self.text is not None:
            return self.text
        return self.filled(self.message, arguments)

    def filled(self, template: str, arguments: Mapping[str, object]) -> str:
        """Return `template` with each name replaced by this fault's value, else by the argument, else by a `?`."""
        return filled(template, self.values, arguments)

    def told(
        self,
        *,
        stage: Stage | None = None,
        field: str | None = None,
        expected: str | None = None,
        received: str | None = None,
        suggestion: str | None = None,
        fix: str | None = None,
        retry: Retry | None = None,
        retry_after: float | None = None,
        transient: bool | None = None,
        fault_side: FaultSide | None = None,
        effects: Effects | None = None,
        problems: Sequence[Problem] | None = None,
        problem_count: int | None = None,
        remaining: Sequence[str] | None = None,
        result: object = None,
    ) -> Self:
        """Return a copy of this fault with the given details: one that is raised twice must not change in place."""
        details = {name: value for name, value in locals().items() if value is not None and name != "self"}
        told = self._copied()
        told.__dict__.update(details)
        return told

    def _copied(self) -> Self:
        # Not copy.copy: it calls the constructor again, and a subclass may have one of its own.
        copied = type(self).__new__(type(self), *self.args)
        copied.__dict__.update(self.__dict__)
        copied.__cause__ = self.__cause__
        return copied

    def passed_on(self) -> Self:
        """Return this fault as the tool that called the failing one passes it on: place and effects are open again."""
        passed = self._copied()
        passed.__cause__ = self
        passed.text = f"{self.tool} failed: {self.field}: {self}" if self.field else f"{self.tool} failed: {self}"
        opened = {"field": None, "problems": (), "problem_count": 0, "effects": None, "remaining": (), "result": None}
        passed.__dict__.update(opened, stage="exec", tool=None)
        return passed


class UnknownTool(Fault):
    """The server has no tool of this name."""

    code = "UNKNOWN_TOOL"
    message = "no tool of this name"
    stage = "service"


class Busy(Fault):
    """Bodies that overran their budget hold every worker thread, so this call was not started."""

    code = "BUSY"
    message = "the server is busy: calls that overran their time still hold all {threads} worker threads"
    stage = "service"
    fix = "Wait, then call again."
    retry = "after_delay"
    transient = True
    fault_side = "server"


class InvalidArguments(Fault):
    """The arguments do not fit the tool; the body did not run."""

    code = "INVALID_ARGUMENTS"
    message = "the arguments do not fit the tool"
    stage = "validate"


class PathOutsideRoot(InvalidArguments):
    """A path argument leaves the folder that the tool may use; the body did not run."""

    code = "PATH_OUTSIDE_ROOT"
    message = "the path leaves the folder that this tool may use"


class TimedOut(Fault):
    """The time budget of the call ran out."""

    code = "TIMED_OUT"
    message = "no result within {budget:g} s"
    stage = "transport"
    transient = True
    fault_side = "server"


class OutcomeUnknown(TimedOut):
    """The time budget ran out while a writing tool was still at work, so nobody knows yet what it did."""

    code = "OUTCOME_UNKNOWN"
    message = "no result within {budget:g} s, and the tool is still running"
    retry = "check_first"


class Cancelled(Fault):
    """The client took the call back; this is logged, never sent."""

    code = "CANCELLED"
    message = "the client cancelled the call"
    stage = "transport"
    retry = "never"


class NotFound(Fault):
    """What the call names does not exist."""

    code = "NOT_FOUND"
    message = "not found"


class PermissionDenied(Fault):
    """The server, or the account it uses, may not do this."""

    code = "PERMISSION_DENIED"
    message = "permission denied"
    retry = "never"
    fault_side = "server"


class AuthenticationRequired(Fault):
    """A dependency wants credentials that the server does not have or that have expired."""

    code = "AUTHENTICATION_REQUIRED"
    message = "the service behind this tool asks for credentials"
    retry = "never"
    fault_side = "server"


class Conflict(Fault):
    """The present state does not allow this: it exists already, it changed meanwhile, or another record needs it."""

    code = "CONFLICT"
    message = "this conflicts with the present state"


class DependencyFailed(Fault):
    """A service that the tool relies on failed."""

    code = "DEPENDENCY_FAILED"
    message = "a service that this tool relies on failed"
    retry: Retry = "never"
    fault_side = "dependency"


class DependencyUnavailable(DependencyFailed):
    """A service that the tool relies on cannot be reached or refuses for now."""

    code = "DEPENDENCY_UNAVAILABLE"
    message = "a service that this tool relies on cannot be reached"
    retry = "after_delay"
    transient = True


class DependencyTimedOut(DependencyFailed):
    """A service that the tool relies on did not answer in time."""

    code = "DEPENDENCY_TIMED_OUT"
    message = "a service that this tool relies on did not answer in time"
    retry = "after_delay"
    transient = True


class InvalidData(Fault):
    """The tool read something that is not in the form it expects."""

    code = "INVALID_DATA"
    message = "the tool read data that is not in the expected form"


class ResourceExhausted(Fault):
    """Memory, disk space, file handles or recursion depth ran out."""

    code = "RESOURCE_EXHAUSTED"
    message = "the server ran out of a resource"
    fix = "Ask for less at once."
    fault_side = "server"


class InvalidOutput(Fault):
    """The tool ran, but its result cannot be sent."""

    code = "INVALID_OUTPUT"
    message = "the tool ran, but its result cannot be sent"
    fix = "Do not repeat it; report the reference below to whoever runs this server."
    retry = "never"
    fault_side = "server"


class OutputTooLarge(Fault):
    """The tool ran, but its result is larger than may be sent."""

    code = "OUTPUT_TOO_LARGE"
    message = "the tool ran, but its result is too large"
    fix = "Ask for less: a narrower query, a smaller page."


class ToolFailed(Fault):
    """The tool says in its own words why it failed."""

    code = "TOOL_FAILED"
    message = "the tool failed"


class Internal(Fault):
    """An exception that nobody declared: its text stays on the server, the reference finds it in the log."""

    code = "INTERNAL"
    message = "the tool failed unexpectedly"
    fix = "Do not repeat the same call; report the reference below to whoever runs this server."
    retry = "never"
    fault_side = "server"
