"""Decorators that answer for what happens after an MCP tool call arrives.

```python
from mcp_guard import Guard

guard = Guard(mcp)


@mcp.tool()
@guard.reads(timeout=2)
def head(path: str, lines: int = 10) -> str: ...
```
"""

# templates faults redaction call contract ports suggestions   the vocabulary
# validation/    whether arguments fit            paths           staying inside a folder
# known_errors/  what exceptions mean             translation     exception -> fault     rendering  fault -> text
# runtime/       how a call runs                  policies/       one concern around a body each
# guard          the decorators and the binding   servers/        one adapter a server library
# lab/           the fault bench                  cli             the command line

from mcp_guard.call import Call
from mcp_guard.contract import Contract, GuardWarning
from mcp_guard.faults import (
    Busy,
    ConfigurationError,
    Conflict,
    DependencyFailed,
    DependencyTimedOut,
    DependencyUnavailable,
    Fault,
    GuardError,
    Internal,
    InvalidArguments,
    InvalidData,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    Problem,
    TimedOut,
    ToolFailed,
)
from mcp_guard.guard import Guard, GuardedTool
from mcp_guard.paths import Within
from mcp_guard.redaction import Sensitive
from mcp_guard.runtime.current import current_call

__all__ = [
    "Busy",
    "Call",
    "ConfigurationError",
    "Conflict",
    "Contract",
    "DependencyFailed",
    "DependencyTimedOut",
    "DependencyUnavailable",
    "Fault",
    "Guard",
    "GuardError",
    "GuardWarning",
    "GuardedTool",
    "Internal",
    "InvalidArguments",
    "InvalidData",
    "NotFound",
    "OutcomeUnknown",
    "PermissionDenied",
    "Problem",
    "Sensitive",
    "TimedOut",
    "ToolFailed",
    "Within",
    "current_call",
]

__version__ = "0.1.0"
