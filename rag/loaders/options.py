"""How a matter wants its files read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

MAX_DEPTH = 4
"""How deep a message inside a message is followed."""


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """How a matter wants its files read."""

    languages: tuple[str, ...] = ("eng",)
    """Languages of OCR, by tesseract's names, the likeliest first."""
    ocr: bool = True
    """Whether pages without text are recognised; without it they are unreadable."""
    ocr_dpi: int = 300
    ocr_seconds: float = 60.0
    """Longest time for one page."""
    hidden_scan: bool = True
    """Whether pages are looked through for text a person cannot see. Off only for measuring."""
    admitted: bool = False
    """Whether somebody has admitted this file by hand: a page on which the scan for hidden text
    fails is then read without it, and marked so that nothing on it is green."""
    second_reader: bool = True
    """Whether a second reader counts each page's words."""
    tool_seconds: float = 60.0
    """Longest time for one run of an outside converter."""
    tool_bytes: int = 4 << 30
    """Most memory (address space) an outside converter may ask for."""
    max_parts: int = 20_000
    """Most files taken out of one file, at every depth together; the rest counts as unread."""
    on_page: Callable[[int, int], None] | None = field(default=None, compare=False)
    """Called after every page with how many are done and how many there are."""

    def done(self, pages: int, of: int) -> None:
        """Say that a page is done."""
        if self.on_page is not None:
            self.on_page(pages, of)
