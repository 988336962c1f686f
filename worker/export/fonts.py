"""The font for what Latin letters cannot write: put into the file where the box has one.

A free Korean font that is installed (Debian: ``fonts-nanum``) is embedded, so that the page looks
the same on every machine. Without one the page names a font that readers of PDF bring along or
replace; then it is the reader's machine that decides how Hangul looks.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont

_FREE: Final = ("NanumGothic.ttf", "NanumBarunGothic.ttf")
"""Fonts under the SIL Open Font License: they may go into papers."""
_FOLDERS: Final = ("/usr/share/fonts", "/usr/local/share/fonts")
_NAMED: Final = "HYGothic-Medium"
"""A font of Adobe's Korean set, which a reader of PDF is to have."""
_EMBEDDED: Final = "Korean"


@functools.cache
def korean() -> str:
    """The name under which the page may use it, registered."""
    for path in installed():
        try:
            pdfmetrics.registerFont(TTFont(_EMBEDDED, path))
        except (TTFError, OSError):
            continue  # it is damaged, or of a kind that cannot be embedded
        return _EMBEDDED
    pdfmetrics.registerFont(UnicodeCIDFont(_NAMED))
    return _NAMED


def installed() -> tuple[Path, ...]:
    """The free Korean fonts of this box, best first."""
    return tuple(
        path
        for name in _FREE
        for folder in _FOLDERS
        for path in sorted(Path(folder).rglob(name))
        if path.is_file()
    )
