"""The fault lab: the same tools behind three lines, six faults, and what each line makes of them.

The lines are `wire` (the functions called directly, as a first draft does), `sdk` (a plain `MCPServer`) and `guarded`
(the same server with a `Guard`). Every verdict rests on what came back and on what the world looks like afterwards:
the length of an answer, its text, the seconds it took, the files. A flag that says "error" is never read.
"""

from typing import Literal

FaultName = Literal["timeout", "unknown_tool", "bad_params", "exec_throw", "silent_truncate", "partial_write"]

LineName = Literal["wire", "sdk", "guarded"]

Transport = Literal["memory", "stdio", "http"]
"""How the two servers are reached: in this process, in one of their own, over HTTP on the loopback interface."""
