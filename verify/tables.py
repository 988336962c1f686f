"""What was found in each text, kept by the text's hash so that it is found once.

A table is a pure function of the text: it may be dropped at any time. One `Tables` serves one
checking run or a whole session; it holds no text, only places and values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar, cast

from protocol.record import DocumentInfo
from verify.source import Source

Table = TypeVar("Table")


class Tables:
    """A memory for per-document tables.

    Args:
        most_documents: Oldest tables are dropped above this many; a matter of ten thousand
            documents keeps well under a gigabyte.
    """

    def __init__(self, *, most_documents: int = 20_000) -> None:
        self._kept: dict[tuple[str, str], object] = {}
        self._most = most_documents
        self._of_reply: tuple[tuple[str, str], object] | None = None

    def get(
        self, kind: str, source: Source, info: DocumentInfo, make: Callable[[str], Table]
    ) -> Table:
        """The table ``kind`` of a document, made from its text the first time.

        ``make`` must be one function for one ``kind`` and depend on the text alone.
        """
        key = (kind, info.text_sha256)
        if key not in self._kept:
            while len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = make(source.text(info.id))
        return cast(Table, self._kept[key])

    def of_reply(self, kind: str, reply: str, make: Callable[[str], Table]) -> Table:
        """The table ``kind`` of the reply that is being checked; the last one asked for is kept."""
        key = (kind, hashlib.sha256(reply.encode("utf-8", "surrogatepass")).hexdigest())
        if self._of_reply is None or self._of_reply[0] != key:
            self._of_reply = (key, make(reply))
        return cast(Table, self._of_reply[1])
