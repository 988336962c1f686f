"""Starts a program that dies with us: ``launcher.py PARENT_PID PROGRAM [ARGUMENT ...]``.

Run as a script in a process of its own, it asks the kernel to kill it when its parent ends, then
becomes the program (the request survives exec). Linux only: elsewhere the program is started
without it, and the supervisor's stop is what ends it.

It imports nothing of ours, so that it starts in milliseconds and needs no import path.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel send SIGKILL to this process when its parent ends; exit if it has already."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def main(arguments: list[str]) -> None:
    """Become the program named in the arguments."""
    os.umask(0o077)
    die_with_parent(int(arguments[0]))
    os.execv(arguments[1], arguments[1:])  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    main(sys.argv[1:])
