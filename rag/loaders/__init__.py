"""Turning a file into paged text, whatever its kind.

The promise of every loader:

- A file that is damaged, locked or of a kind that cannot be read gives a document whose pages are
  unreadable and say why. Only a missing or forbidden *path* raises.
- Nothing hidden stands in the text; what was hidden is listed in ``findings``.
- The same bytes and options give the same text, so spans made from it stay good.
- No loader writes outside a temp folder of its own, opens a socket, or logs words of a document.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag.paged import PagedText

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
    second_reader: bool = True
    """Whether a second reader counts each page's words."""
    tool_seconds: float = 60.0
    """Longest time for one run of an outside converter."""
    max_parts: int = 500
    """Most attachments taken from one file; the rest is named in a warning."""


def load(
    path: Path, *, name: str | None = None, options: LoadOptions | None = None
) -> tuple[PagedText, ...]:
    """Read one file; the first value is the document, the others came inside it.

    ``name`` is the name as given, when the file lies under another one (by its hash). Raises
    `protocol.errors.NotFound` when there is no such file, `Refused` when it may not be opened.
    """
    from rag.loaders import recognise  # the table of loaders imports each of them

    return recognise.load(path, name=name or path.name, options=options or LoadOptions())
