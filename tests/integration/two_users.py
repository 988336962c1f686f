"""Starts a program as another user, and the worker without a network, as its unit would.

``two_users.py UID GID[,GID] NETWORK(yes|no) FOLDER PROGRAM [ARGUMENT ...]``, run by root. In a
mount namespace of its own the folders above the interpreter that are closed to others are opened,
since an installation for a service is readable and a developer's may not be. Without a network the
namespace has its loopback and nothing else (PrivateNetwork=yes).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN = 65, 1


def open_up(place: Path) -> None:
    """Lets others pass to a path whose parents are closed, in this namespace only."""
    closed = [one for one in place.parents if not one.stat().st_mode & 0o001]
    if not closed:
        return
    top = closed[-1]
    inner = Path(*place.parts[: len(top.parts) + 1])  # the installation, below the closed folder
    aside = Path("/mnt")
    subprocess.run(["mount", "--bind", inner, aside], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", top], check=True)
    inner.mkdir(parents=True)
    subprocess.run(["mount", "--move", aside, inner], check=True)


def main(uid: int, gids: list[int], network: bool, folder: str, command: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | (0 if network else CLONE_NEWNET)):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    open_up(Path(sys.executable).resolve())
    if not network:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.setgroups(gids[1:])
    os.setgid(gids[0])
    os.setuid(uid)
    os.umask(0o027 if network else 0o077)
    if network:  # the gateway's unit: MemoryDenyWriteExecute
        libc.prctl(PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
    os.environ.update(HOME="/nonexistent", XDG_CACHE_HOME=f"{folder}/cache-{uid}")
    os.chdir("/")
    os.execv(command[0], command)


if __name__ == "__main__":
    groups = [int(gid) for gid in sys.argv[2].split(",")]
    main(int(sys.argv[1]), groups, sys.argv[3] == "yes", sys.argv[4], sys.argv[5:])
