"""Reading what is new in a matter's folder, as a job: the reply is the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from protocol.answers import Provenance
from protocol.events import Progress, Stage
from protocol.jobs import Ingest
from protocol.record import Ledger, LedgerState
from rag import production
from rag.coverage import coverage
from rag.ingest import IngestProgress, ingest
from rag.ingest import ledger as read_ledger
from rag.matters import OpenMatter
from worker.deliverables import Desk, Draft
from worker.followed import folders_of
from worker.quotation_index import make_missing
from worker.threads import interruptible

MOST_NEW: Final = 50
"""New files that a reply names; all are counted."""


async def make(desk: Desk, request: Ingest) -> Draft:
    """Reads the matter's inbox and the folders it follows; says what became of every file."""
    loop = asyncio.get_running_loop()
    record = desk.matter.record
    inbox = record.folder / "inbox"

    def read(check: Callable[[], None]) -> Ledger:
        def say(progress: IngestProgress) -> None:
            check()
            body = Progress(stage=Stage.RETRIEVING, done=progress.done, total=progress.total)
            asyncio.run_coroutine_threadsafe(desk.context.say(body), loop).result()

        folder = inbox if inbox.is_dir() else None
        made = ingest(
            record, embedder=desk.embedder, folder=folder, followed=followed, on_progress=say
        )
        make_missing(record)
        return made

    followed = folders_of(record.folder)
    before = {(row.name, row.original_sha256) for row in read_ledger(record).rows}
    # Stopped, it holds matter and embedder until the thread has put down what it was doing.
    async with desk.matter.lock, desk.embedding:
        ledger = await interruptible(read)
    return Draft(
        question="/ingest",
        text=_written(ledger, before),
        coverage=await asyncio.to_thread(coverage, record),
        provenance=Provenance(composition="code"),
        notes=(
            *await asyncio.to_thread(_productions, record),
            *_not_there(followed),
        ),
    )


def _productions(record: OpenMatter) -> tuple[str, ...]:
    """Series of Bates numbers in which something is missing or stands twice."""
    lame = any(one.gaps or one.overlaps for one in production.series(record))
    return tuple(f"Bates {line}." for line in production.told(record)) if lame else ()


def _not_there(followed: Mapping[str, Path]) -> tuple[str, ...]:
    return tuple(
        f"The followed folder “{under}” cannot be read now."
        for under, folder in followed.items()
        if not folder.is_dir()
    )


def _written(ledger: Ledger, before: Collection[tuple[str, str]]) -> str:
    counts = {state: sum(row.state is state for row in ledger.rows) for state in LedgerState}
    head = f"{len(ledger.rows)} files in: " + ", ".join(
        f"{count} {state}" for state, count in counts.items()
    )
    told = [
        f"- {row.name}: {row.state}, {row.reason}"
        for row in ledger.rows
        if row.state is not LedgerState.INDEXED
    ]
    new = [
        f"- {row.name}: new, {row.pages} {'page' if row.pages == 1 else 'pages'}"
        for row in ledger.rows
        if row.state is LedgerState.INDEXED and (row.name, row.original_sha256) not in before
    ]
    more = [f"- and {len(new) - MOST_NEW} more new files"] if len(new) > MOST_NEW else []
    return "\n".join([head, *new[:MOST_NEW], *more, *told])
