"""What of a matter can be read, and all its passages in order, for what must miss nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from protocol.ids import DocumentId
from protocol.record import Coverage, LedgerState, Passage, Reading, Unread
from rag.matters import OpenMatter

_BATCH = 200


def page_ranges(numbers: Sequence[int]) -> str:
    """Page numbers as people write them: "3, 31-33"."""
    out: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if out and number == out[-1][1] + 1:
            out[-1] = (out[-1][0], number)
        else:
            out.append((number, number))
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def coverage(
    matter: OpenMatter, *, documents: Sequence[DocumentId] | None = None, searched: str = ""
) -> Coverage:
    """What was read of a matter, or of some of its documents, and what could not be.

    Args:
        matter: The open matter.
        documents: A selection; None means the whole matter with every file that came in.
        searched: What the job looked through, in words.
    """
    wanted = None if documents is None else set(documents)
    chosen = [info for info in matter.documents() if wanted is None or info.id in wanted]
    counts = {row["document"]: row["pages"] for row in matter.store.rows("page_counts")}
    unreadable: dict[str, list[tuple[int, str]]] = {}
    for row in matter.store.rows("unreadable_pages", (Reading.UNREADABLE.value,)):
        unreadable.setdefault(row["document"], []).append((row["number"], row["reason"]))
    read = pages = pages_read = 0
    unread: list[Unread] = []
    for info in chosen:
        count, blank = counts[info.id], unreadable.get(info.id, [])
        pages += count
        pages_read += count - len(blank)
        read += len(blank) < count
        if blank:
            reasons = dict.fromkeys(reason for _, reason in blank if reason)
            unread.append(
                Unread(
                    document=info.id,
                    name=info.name,
                    pages=page_ranges([number for number, _ in blank]),
                    reason="; ".join(reasons) or "no text could be read",
                )
            )
    outside = _without_document(matter) if documents is None else []
    return Coverage(
        documents=len(chosen) + len(outside),
        documents_read=read,
        pages=pages,
        pages_read=pages_read,
        unread=tuple(unread + outside),
        searched=searched,
    )


def _without_document(matter: OpenMatter) -> list[Unread]:
    """Files that came in and gave no document at all: they count, since nobody has read them."""
    rows = matter.store.rows(
        "SELECT name, state, reason FROM files WHERE document IS NULL AND state IN (?, 'pending')"
        " ORDER BY name",
        (LedgerState.FAILED.value,),
    )
    return [
        Unread(
            document=None,
            name=row["name"],
            pages="",
            reason=row["reason"] or "not read yet",
        )
        for row in rows
    ]


def every_passage(
    matter: OpenMatter, documents: Sequence[DocumentId], *, after: str = ""
) -> Iterator[Passage]:
    """Every passage of a selection, document by document, in reading order.

    Args:
        matter: The open matter.
        documents: In the order wanted.
        after: A passage id to go on behind, so that a job that stopped need not begin again.
    """
    waiting = bool(after)
    for document in documents:
        numbers = [
            (row["n"], row["id"])
            for row in matter.store.rows(
                "SELECT n, id FROM passages WHERE document = ? ORDER BY starts", (document,)
            )
        ]
        if waiting:
            ids = [name for _, name in numbers]
            if after not in ids:
                continue
            numbers = numbers[ids.index(after) + 1 :]
            waiting = False
        for at in range(0, len(numbers), _BATCH):
            batch = [n for n, _ in numbers[at : at + _BATCH]]
            held = matter.store.passages(batch)
            yield from (held[n] for n in batch)


def count_passages(matter: OpenMatter, documents: Sequence[DocumentId]) -> int:
    """How many passages `every_passage` gives for a selection."""
    return sum(
        int(matter.store.one("SELECT count(*) FROM passages WHERE document = ?", (name,)) or 0)
        for name in documents
    )
