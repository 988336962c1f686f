"""Reading what is new in a matter's folder, as a job: the reply is the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from protocol.answers import Provenance
from protocol.events import Progress, Stage
from protocol.jobs import Ingest
from protocol.record import Ledger, LedgerState
from rag.coverage import coverage
from rag.ingest import IngestProgress, ingest
from worker.deliverables import Desk, Draft
from worker.quotation_index import make_missing
from worker.threads import interruptible


async def make(desk: Desk, request: Ingest) -> Draft:
    """Reads the matter's inbox and says what became of every file."""
    loop = asyncio.get_running_loop()
    record = desk.matter.record
    inbox = record.folder / "inbox"

    def read(check: Callable[[], None]) -> Ledger:
        def say(progress: IngestProgress) -> None:
            check()
            body = Progress(stage=Stage.RETRIEVING, done=progress.done, total=progress.total)
            asyncio.run_coroutine_threadsafe(desk.context.say(body), loop).result()

        folder = inbox if inbox.is_dir() else None
        made = ingest(record, embedder=desk.embedder, folder=folder, on_progress=say)
        make_missing(record)
        return made

    # Stopped, it holds matter and embedder until the thread has put down what it was doing.
    async with desk.matter.lock, desk.embedding:
        ledger = await interruptible(read)
    return Draft(
        question="/ingest",
        text=_written(ledger),
        coverage=await asyncio.to_thread(coverage, record),
        provenance=Provenance(composition="code"),
    )


def _written(ledger: Ledger) -> str:
    counts = {state: sum(row.state is state for row in ledger.rows) for state in LedgerState}
    head = f"{len(ledger.rows)} files in: " + ", ".join(
        f"{count} {state}" for state, count in counts.items()
    )
    told = [
        f"- {row.name}: {row.state}, {row.reason}"
        for row in ledger.rows
        if row.state is not LedgerState.INDEXED
    ]
    return "\n".join([head, *told])
