"""What the gateway may reach of the state folder when it runs as a user of its own.

Worker and gateway are two users with one group. Whether a box is shared so is said by the folder of
all matters itself: when its group may pass through, every matter lets the group into ``inbox``,
``incoming`` and ``out`` and nowhere else; otherwise everything is for one user alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MATTER_MODE: Final = 0o710
"""The group may pass through a matter's folder; it cannot list it."""
DOORS: Final = {"inbox": 0o770, "incoming": 0o770, "out": 0o750}
"""The folders of a matter that the gateway works in, with their modes on a shared box."""


def is_shared(matters: Path) -> bool:
    """Whether the group may pass through the folder of all matters."""
    return matters.is_dir() and bool(matters.stat().st_mode & 0o010)


def share_matter(folder: Path, matters: Path | None = None) -> None:
    """Opens a matter's doors on a shared box; does nothing elsewhere. Harmless to repeat.

    Args:
        folder: The matter's, which may lie aside until it is whole.
        matters: Where it is going to lie, when that is not where it lies now.
    """
    if not is_shared(matters or folder.parent):
        return
    for name, mode in DOORS.items():
        door = folder / name
        door.mkdir(mode=0o700, exist_ok=True)
        if door.stat().st_uid == os.geteuid() or os.geteuid() == 0:
            door.chmod(mode)
    folder.chmod(MATTER_MODE)
    for file in (folder / "out").iterdir():
        if file.is_file() and not file.is_symlink():
            file.chmod(0o640)
