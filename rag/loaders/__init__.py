"""Turning a file into paged text, whatever its kind.

The promise of every loader:

- A file that is damaged, locked or of a kind that cannot be read gives a document whose pages are
  unreadable and say why. Only a missing or forbidden *path* raises.
- Nothing hidden stands in the text; what was hidden is listed in ``findings``.
- The same bytes and options give the same text, so spans made from it stay good.
- No loader writes outside a temp folder of its own, opens a socket, or logs words of a document.
"""

from __future__ import annotations

from pathlib import Path

from rag.loaders import recognise
from rag.loaders.options import LoadOptions
from rag.paged import PagedText

__all__ = ["LoadOptions", "load"]


def load(
    path: Path, *, name: str | None = None, options: LoadOptions | None = None
) -> tuple[PagedText, ...]:
    """Read one file; the first value is the document, the others came inside it.

    ``name`` is the name as given, when the file lies under another one (by its hash). Raises
    `protocol.errors.NotFound` when there is no such file, `Refused` when it may not be opened.
    """
    return recognise.load(path, name=name or path.name, options=options or LoadOptions())
