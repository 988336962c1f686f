"""Outside programs: run without a shell, in a folder of their own, with limits.

A program gets no environment but a search path, a home inside the temp folder and a UTF-8 locale;
it may use a stated time and address space, may write no file over 512 MiB, and is ended with all
its children when the time is over. It never sees words on its command line, only paths of ours.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rag.loaders.options import LoadOptions
from rag.loaders.parts import Unread

_FILE_BYTES = 512 << 20
_BOUND = """
import os, resource, sys
space, size = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (space, space))
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Becomes the program once the limits stand: set from outside they would come after its start."""


def run_tool(
    command: Sequence[str],
    *,
    folder: Path,
    options: LoadOptions,
    seconds: float | None = None,
    stdin: bytes | None = None,
    extra: Mapping[str, str] | None = None,
    check: bool = True,
) -> bytes:
    """What the program wrote to its standard output.

    Raises `Unread` when it takes longer than ``seconds`` (default: the options' ``tool_seconds``),
    cannot be started, or, with ``check``, ends with an error.
    """
    tool = Path(command[0]).name
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        **(extra or {}),
    }
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        raise Unread(f"{tool} cannot be started")
    bounds = (str(options.tool_bytes), str(_FILE_BYTES))
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOUND, *bounds, program, *command[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise Unread(f"{tool} cannot be started") from error
    try:
        out, _ = child.communicate(stdin, timeout=seconds or options.tool_seconds)
    except subprocess.TimeoutExpired as error:
        raise Unread(f"{tool} took too long") from error
    finally:
        _end(child)
    if check and child.returncode != 0:
        raise Unread(f"{tool} failed on this file (exit {child.returncode})")
    return out


def _end(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()
