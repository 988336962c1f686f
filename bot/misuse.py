"""A line that cannot be carried out as it was typed: said to the person, sent nowhere."""

from __future__ import annotations


class Misuse(Exception):
    """A mistake in a typed line, as a key of the catalogue; it never leaves the face.

    Unlike an `AppError` its blanks may hold what the person typed or a document's name, so it is
    shown and never logged.
    """

    def __init__(self, key: str, *, next_step: str = "", **blanks: object) -> None:
        """Names the sentence ``usage.KEY``, the one that helps, and the blanks of the first."""
        super().__init__(key)
        self.key = key
        self.next_step = next_step
        self.blanks = blanks
