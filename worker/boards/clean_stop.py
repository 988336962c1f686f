"""Whether the box went down without a clean stop: a mark that names the boot it was made in.

After a sudden reset (a supply that gave up, a card that took the bus with it) the cards should not
simply be loaded again. A worker that only crashed leaves the mark too, but in the same boot.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class _Mark(msgspec.Struct, frozen=True, kw_only=True):
    boot: str
    clean: bool


class CleanStop:
    """The mark in the state folder."""

    def __init__(self, path: Path, *, boot_id: Path = _BOOT_ID) -> None:
        """Reads and writes nothing yet."""
        self._path = path
        self._boot_id = boot_id

    def started(self) -> bool:
        """Makes the mark for this run; True when the box went down under the run before.

        A mark that cannot be read counts as none: that alone should stop nobody's work.
        """
        boot = self._boot()
        try:
            before = msgspec.json.decode(self._path.read_bytes(), type=_Mark)
        except (OSError, msgspec.DecodeError):
            before = _Mark(boot=boot, clean=True)
        self._write(_Mark(boot=boot, clean=False))
        return not before.clean and before.boot != boot

    def stopped(self) -> None:
        """Says that this run ended as it should."""
        self._write(_Mark(boot=self._boot(), clean=True))

    def _boot(self) -> str:
        try:
            return self._boot_id.read_text("ascii").strip()
        except OSError:
            return ""

    def _write(self, mark: _Mark) -> None:
        new = self._path.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(mark))
        new.replace(self._path)
