"""Which document an operator means."""

from __future__ import annotations

from protocol.errors import BadRequest, NotFound
from protocol.ids import DocumentId
from rag.matters import OpenMatter


def document_named(matter: OpenMatter, wanted: str) -> DocumentId:
    """A document by its id or its name; quarantined ones too.

    Raises:
        NotFound: There is none.
        BadRequest: Several have this name.
    """
    found = matter.store.rows(
        "SELECT id FROM documents WHERE id = ? OR name = ? ORDER BY id", (wanted, wanted)
    )
    if not found:
        raise NotFound("no such document")
    if len(found) > 1:
        raise BadRequest("several documents have this name", next_step="name it by its id")
    return DocumentId(found[0]["id"])
