"""Follows a folder: says when files in it have changed and come to rest.

It only tells; taking in and reading is `rag.ingest`'s, run by whoever called.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from watchfiles import watch

from protocol.errors import NotFound, Unavailable

REST_MS: Final = 1500
"""A copy over the network writes in bursts; a file is read once nothing has changed for so long."""
_LOOKS_MS: Final = 5000
"""Between looks at the times of files on a network drive."""
_FAR: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs"})
"""File systems of which the kernel does not hear what another machine changes."""
_MOUNTS: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def changes(
    folder: Path, *, stop: threading.Event, rest_ms: int = REST_MS, polling: bool | None = None
) -> Iterator[int]:
    """Yields once for every burst of changes, with the number of files in it, until ``stop``.

    The first yield comes when watching has begun, with whatever changed by then (mostly 0), so that
    taking the folder in at that moment misses nothing. The caller's thread waits inside; ``stop``
    may be set from any other.

    Args:
        folder: Watched with everything under it.
        stop: Ends the wait within a second.
        rest_ms: How long nothing may change before a burst counts as over.
        polling: Looks at times of files instead of asking the system; None does so on network
            drives.

    Raises:
        NotFound: There is no such folder.
        Unavailable: The system cannot watch it: no right to look in, or too many are watched.
    """
    if not folder.is_dir():
        raise NotFound("there is no such folder to watch")
    begun = False
    try:
        for burst in watch(
            folder,
            stop_event=stop,
            debounce=rest_ms,
            step=min(rest_ms, 200),
            rust_timeout=500,
            yield_on_timeout=True,
            force_polling=is_far(folder) if polling is None else polling,
            poll_delay_ms=min(rest_ms, _LOOKS_MS) if polling else _LOOKS_MS,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            if burst or not begun:
                begun = True
                yield len({path for _, path in burst})
    except (OSError, RuntimeError) as error:
        raise Unavailable("the system cannot watch this folder") from error


def is_far(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether a folder lies on a network drive, by the system's table of mounts.

    Source: proc_pid_mountinfo(5): the mount point is the fifth field, the type the first after
    the dash.
    """
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    whole = folder.resolve()
    longest, kind = -1, ""
    for line in lines:
        fields, _, tail = line.partition(" - ")
        parts = fields.split(" ")
        if len(parts) < 5 or not tail:
            continue
        point = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), parts[4]))
        if whole.is_relative_to(point) and len(point.parts) >= longest:
            longest, kind = len(point.parts), tail.split(" ")[0]
    return kind in _FAR or kind.startswith("fuse.")
