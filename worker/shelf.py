"""The matters this worker has open: an LRU, so that a firm's thousand matters cost only a few.

A matter is opened when it is first used, stays open while anybody uses it, and is closed when it
has been idle longest and more are open than may be.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from protocol.ids import DocumentId, MatterId, matter_id
from rag.matters import OpenMatter, matters_in
from verify import OpenRecord
from worker.quoting import Sentence, sentences
from worker.sentence_vectors import SentenceVectors
from worker.threads import to_the_end
from worker.workfile import WorkFile

MOST_OPEN: Final = 24
"""About 5 MB, 12 descriptors and 7 threads each while the vector index is open."""


MOST_SENTENCES: Final = 40_000
"""Sentences kept of one open matter: about 20 MB, or some 2,000 pages."""


@dataclass(kw_only=True)
class Held:
    """One open matter: its record and its work file."""

    id: MatterId
    record: OpenMatter
    """May be read from several threads."""
    work: WorkFile
    """For the loop's thread only."""
    users: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever changes the record (an ingest)."""
    vectors: SentenceVectors = field(default_factory=SentenceVectors)
    _opened: OpenRecord | None = None
    _sentences: OrderedDict[tuple[DocumentId, str], tuple[Sentence, ...]] = field(
        default_factory=OrderedDict
    )

    async def sentences(self, document: DocumentId) -> tuple[Sentence, ...]:
        """All quotable sentences of a document, in order; those asked for last are kept."""
        version = self._version(document)
        kept = self._sentences.get((document, version))
        if kept is not None:
            self._sentences.move_to_end((document, version))
            return kept
        record = self.record
        made = await asyncio.to_thread(
            lambda: sentences(document, record.text(document), record.pages(document))
        )
        if version and self._version(document) == version:  # not read anew meanwhile
            self._sentences[document, version] = made
            while (
                len(self._sentences) > 1
                and sum(map(len, self._sentences.values())) > MOST_SENTENCES
            ):
                self._sentences.popitem(last=False)
        return made

    def _version(self, document: DocumentId) -> str:
        """The hash of a document's text as it stands; empty when there is no such document."""
        infos = self.record.documents()
        return next((info.text_sha256 for info in infos if info.id == document), "")

    def opened(self) -> OpenRecord:
        """The record as the checker reads it, kept between checks while no document changes."""
        infos = tuple(self.record.documents())
        if self._opened is None or self._opened.infos != infos:
            self._opened = OpenRecord(self.record)
        return self._opened


class Shelf:
    """Opens, keeps and closes matters under one folder."""

    def __init__(self, root: Path, *, most_open: int = MOST_OPEN) -> None:
        self._root = root
        self._most_open = most_open
        self._open: OrderedDict[MatterId, Held] = OrderedDict()
        self._opening = asyncio.Lock()

    def folder(self, matter: MatterId) -> Path:
        """Where a matter lies, open or not."""
        return self._root / matter_id(matter)

    def exists(self, matter: MatterId) -> bool:
        """Whether there is such a matter."""
        return (self.folder(matter) / "matter.json").is_file()

    async def known(self) -> tuple[MatterId, ...]:
        """The codes of all matters, open or not."""
        listed = await asyncio.to_thread(lambda: tuple(matters_in(self._root)))
        return tuple(matter.id for matter in listed)

    @contextlib.asynccontextmanager
    async def use(self, matter: MatterId) -> AsyncIterator[Held]:
        """The matter, open at least until the block ends.

        Raises:
            NotFound: There is no such matter.
            Unavailable: Another process has it open.
            Damaged: Its files cannot be read.
        """
        async with self._opening:
            held = self._open.get(matter)
            if held is None:
                held = self._open[matter] = await self._opened(matter)
            self._open.move_to_end(matter)
            held.users += 1
        try:
            await self._close_idle()
            yield held
        finally:
            held.users -= 1

    async def put_away(self, matter: MatterId) -> bool:
        """Closes a matter if nobody uses it; True when it is not open afterwards."""
        async with self._opening:
            held = self._open.get(matter)
            if held is not None and held.users:
                return False
            if held is not None:
                await self._close(held)
            return True

    async def close(self) -> None:
        """Closes everything, used or not; for the end of the process."""
        async with self._opening:
            for held in list(self._open.values()):
                await self._close(held)

    async def _opened(self, matter: MatterId) -> Held:
        folder = self.folder(matter)
        made: list[OpenMatter] = []
        try:
            await to_the_end(lambda: made.append(OpenMatter(folder)))
            return Held(id=matter, record=made[0], work=WorkFile(folder / "work.sqlite"))
        except BaseException:  # cancelled meanwhile, too: its lock must not outlive the attempt
            for record in made:
                await to_the_end(record.close)
            raise

    async def _close_idle(self) -> None:
        if len(self._open) <= self._most_open:
            return
        async with self._opening:
            idle = [held for held in self._open.values() if not held.users]
            for held in idle[: max(0, len(self._open) - self._most_open)]:
                await self._close(held)

    async def _close(self, held: Held) -> None:
        del self._open[held.id]
        held.work.close()
        await to_the_end(held.record.close)
