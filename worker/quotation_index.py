"""The quotation indexes of a matter, made where documents are read, so that no check waits for one.

The finder (`rag`) and the checker (`verify`) do not know each other; the worker joins them here. An
index is keyed by its text's hash, lies in the matter's ``index/quotes`` and can be made anew.
"""

from __future__ import annotations

from protocol.errors import Damaged
from rag.matters import OpenMatter
from verify.index import build_index, open_index, write_index


def make_missing(record: OpenMatter) -> int:
    """Makes the index of every document that has none that fits, and removes those of no document.

    Returns:
        How many were made. A second call makes none.
    """
    made = 0
    wanted = set()
    for info in record.documents():
        path = record.index_path(info.id)
        if path is None:
            continue
        wanted.add(path)
        try:
            open_index(path, info.text_sha256)
        except (FileNotFoundError, Damaged):
            write_index(build_index(record.text(info.id)), path, info.text_sha256)
            made += 1
    for path in record.quotes.glob("*.idx"):
        if path not in wanted:  # of a document that went, or of an older text
            path.unlink()
    return made
