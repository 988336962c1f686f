"""What stands on a PDF page, as plain values; made by `rag.loaders.pdf` alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Rect = tuple[float, float, float, float]
"""Left, bottom, right, top in points."""
Grid = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class TextObject:
    """One drawn stretch of text."""

    key: int
    order: int
    """Its turn in the drawing of the page; what has a higher one is drawn over it."""
    invisible: bool
    """Drawn in a mode that leaves no mark, or wholly transparent."""
    color: tuple[int, int, int]
    """The colour of its letters' outline where they have one, else of their inside."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A picture or filled path drawn on the page."""

    rect: Rect
    order: int
    picture: bool
    color: tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Note:
    """One annotation or form field."""

    kind: str
    rect: Rect
    text: str
    label: str
    """Author of a comment, name of a form field."""
    hidden: bool
