"""Somebody stops the reading of a matter: its thread ends before the job does, nothing is lost."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bench.house import CODE, YOU, open_house
from protocol.events import Stopped
from protocol.jobs import Accepted, Cancel, Ingest, JobState
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.matters import create
from worker.clock import utc_now


class Gated(HashEmbedder):
    """An embedder that waits before its first batch."""

    def __init__(self):
        super().__init__()
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def embed(self, texts):
        self.begun.set()
        assert self.may_go_on.wait(60)
        return super().embed(texts)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "matters" / CODE
    create(folder, Matter(id=CODE, title="A v. B", opened_at=utc_now())).close()
    (folder / "inbox").mkdir(exist_ok=True)
    for name in "abc":
        (folder / "inbox" / f"{name}.txt").write_text(f"The pump of {name} had failed.\n")
    return tmp_path


async def test_a_stop_waits_for_the_thread_and_the_next_reading_goes_on(root):
    embedder = Gated()
    async with open_house(root, embedder=embedder) as house:
        accepted = await house.work.submit(Ingest(matter=CODE, key=house.key()), YOU)
        assert isinstance(accepted, Accepted)
        assert await asyncio.to_thread(embedder.begun.wait, 60)
        await house.work.cancel(Cancel(job=accepted.job), YOU)
        async with house.shelf.use(CODE) as held:
            for _ in range(20):
                await asyncio.sleep(0)
            assert held.lock.locked()  # the thread still works on the record
            assert (await house.queue.job(accepted.job)).state is JobState.RUNNING
            embedder.may_go_on.set()
            async with asyncio.timeout(60):
                events = await house.queue.wait_event(accepted.job, accepted.last_seq)
                while not isinstance(events[-1].body, Stopped):
                    events = await house.queue.wait_event(accepted.job, events[-1].seq)
            assert not held.lock.locked()
        answer = await house.answer(Ingest(matter=CODE, key=house.key()))
        assert answer.text.startswith("3 files in: 3 indexed")
