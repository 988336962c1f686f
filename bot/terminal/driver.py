"""The terminal is asked nothing and left as it was: what a cut line leaves behind stays small.

A terminal answers a question by typing. If the line breaks in between, it types into the person's
shell. So the size comes from the system, keys come in their plain form, and neither focus nor mouse
is reported unless the mouse was switched on.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING or sys.platform != "win32":
    from textual.drivers.linux_driver import LinuxDriver  # noqa: TID251 - the terminal's door

    _NOT_SENT: Final = re.compile(r"\x1b\[(?:[<>][0-9]*u|\?(?:1004[hl]|[0-9]+\$p))")
    """Enhanced keyboard mode, focus reports, and questions about what the terminal can do."""

    class QuietDriver(LinuxDriver):
        """The toolkit's driver without questions and reports."""

        def write(self, data: str) -> None:
            """Writes everything but what `_NOT_SENT` names."""
            if data.startswith("\x1b["):
                data = _NOT_SENT.sub("", data)
            if data:
                super().write(data)

        @property
        def mouse(self) -> bool:
            """Whether the terminal reports the mouse."""
            return self._mouse

        def set_mouse(self, on: bool) -> None:
            """Switches the reports of the mouse on or off."""
            if on:
                self._mouse = True
                self._enable_mouse_support()
            else:
                self._disable_mouse_support()
                self._mouse = False
