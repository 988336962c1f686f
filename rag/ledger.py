"""The ledger: what became of every file that came in."""

from __future__ import annotations

from protocol.ids import DocumentId
from protocol.record import Ledger, LedgerRow, LedgerState
from rag.matters import OpenMatter


def settle(
    matter: OpenMatter,
    name: str,
    state: LedgerState,
    *,
    document: DocumentId | None = None,
    pages: int = 0,
    pages_read: int = 0,
    reason: str = "",
) -> None:
    """Says what became of a file; inside `Store.writing`."""
    matter.store.run(
        "settle_file",
        {
            "name": name,
            "state": state.value,
            "document": document,
            "pages": pages,
            "pages_read": pages_read,
            "reason": reason,
        },
    )


def ledger(matter: OpenMatter) -> Ledger:
    """What became of every file; a file that still waits is counted as skipped, and says so."""
    rows = []
    for row in matter.store.rows("SELECT * FROM files ORDER BY name"):
        waits = row["state"] == "pending"
        rows.append(
            LedgerRow(
                name=row["name"],
                original_sha256=row["original_sha256"],
                state=LedgerState.SKIPPED if waits else LedgerState(row["state"]),
                document=DocumentId(row["document"]) if row["document"] else None,
                pages=row["pages"],
                pages_read=row["pages_read"],
                reason="not read yet" if waits else row["reason"],
            )
        )
    return Ledger(rows=tuple(rows))
