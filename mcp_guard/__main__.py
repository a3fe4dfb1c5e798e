"""`python -m mcp_guard` is `mcp-guard`."""

from mcp_guard.cli import main

main()
