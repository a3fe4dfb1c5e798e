"""Naming what is left behind when the process is told to end."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

from mcp_guard.runtime.bodies import log_all_left_behind


def name_left_behind_on_sigterm() -> None:
    """Make SIGTERM name the running bodies in the log before it ends the process, as it would have anyway.

    Nothing changes where somebody handles SIGTERM already, or off the main thread. Called when a server is bound, so
    that whoever handles SIGTERM for a while and then passes it on (uvicorn does) passes it on to this.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(signum: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    log_all_left_behind()
    os.kill(os.getpid(), signum)
