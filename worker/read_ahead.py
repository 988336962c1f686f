"""Reads the records of matters into one board's engine while no job needs it.

Somebody who opens a matter is about to ask. Until the first question comes, the engine reads the
matter's head (`worker.heads`), or loads it from the slot file of an earlier start; the question
then costs its own tokens only. A job always goes first: what is being read ahead stops within a
batch, and what was read so far is not lost where the next prompt begins with it.

Whether it worked is checked afterwards: every way in which reuse can break is silent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from protocol.errors import AppError, NotFound
from protocol.ids import JobId, MatterId
from worker.engine import Engine
from worker.engine.slot_files import FOLDER, SUFFIX, keep_newest, keep_only
from worker.engine.speeds import Speed
from worker.heads import Head, Heads
from worker.logs import Log
from worker.shelf import Held, Shelf

_LOG: Final = Log("read_ahead")
_CLOSED_EVERY_S: Final = 60.0
"""Between looks for matters that were closed while the engine holds something of them."""
_PAUSED_S: Final = 2.0
"""Between looks whether a paused board may work again, and whether one that reads still may."""
_REUSED_SHARE: Final = 0.5
"""Of a head that the engine has just read, at least so much must be found again."""
_NOTHING: Final = ("", 0)


async def _always() -> bool:
    return True


class ReadAhead:
    """Reading ahead on one board.

    Args:
        board: Its name.
        engine: Its engine.
        ready: Set once the engine's start has ended.
        heads: Makes the heads.
        shelf: The matters.
        matters: The folder of all matters.
        slot_bytes: Disk that all slot files may take.
        speed: Told how fast a head was read.
        may_work: Whether the board may work now: one that health paused reads nothing either.
    """

    def __init__(
        self,
        board: str,
        *,
        engine: Engine,
        ready: asyncio.Event,
        heads: Heads,
        shelf: Shelf,
        matters: Path,
        slot_bytes: int,
        speed: Speed | None = None,
        may_work: Callable[[], Awaitable[bool]] = _always,
    ) -> None:
        self._board = board
        self._engine = engine
        self._ready = ready
        self._heads = heads
        self._shelf = shelf
        self._matters = matters
        self._slot_bytes = slot_bytes
        self._speed = speed
        self._may_work = may_work
        self._wanted: dict[MatterId, None] = {}  # in the order of asking, newest last
        self._asked = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._jobs = 0
        self._act: asyncio.Task[None] | None = None
        self._last = _NOTHING
        self._saved: set[str] = set()
        self._inside: set[MatterId] = set()
        self.alert = ""
        """What is wrong with reuse on this board, in one sentence; empty when nothing is."""

    def want(self, matter: MatterId) -> None:
        """Somebody opened the matter, or its record is another one now."""
        self._wanted.pop(matter, None)
        self._wanted[matter] = None
        self._asked.set()

    @contextlib.asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """The board is needed: nothing is read ahead until the block ends."""
        self._jobs += 1
        self._quiet.clear()
        try:
            await self._stop()
            yield
        finally:
            self._jobs -= 1
            if not self._jobs:
                self._quiet.set()

    async def run(self) -> None:
        """Reads what is wanted, for ever; between, looks for matters that were closed."""
        await self._ready.wait()
        loop = asyncio.get_running_loop()
        look_at = loop.time() + _CLOSED_EVERY_S
        try:
            while True:
                try:
                    async with asyncio.timeout_at(look_at):
                        await self._asked.wait()
                        while not await self._may_work():  # noqa: ASYNC110 - nobody tells
                            await asyncio.sleep(_PAUSED_S)
                        await self._quiet.wait()
                except TimeoutError:  # also while the board is paused or busy
                    await self._forget_closed()
                    look_at = loop.time() + _CLOSED_EVERY_S
                    continue
                await self._read_newest()
        finally:
            await self._stop()

    async def head(self, held: Held) -> Head | None:
        """The head for a question that is asked now, loaded from its slot file where that helps.

        Call it aside; None where this matter's prompts have no stable head.
        """
        head = await self._heads.of(self._engine, held)
        if head is not None and self._last != await self._mark(head):
            await self._restore(held.id, head)
        return head

    async def asked(self, job: JobId, matter: MatterId, head: Head | None, reused: int) -> None:
        """Takes note of a question that was answered.

        Args:
            job: The question's.
            matter: Its matter.
            head: What its prompt stood on.
            reused: Tokens the engine did not have to read (``cache_n``).
        """
        self._inside.add(matter)
        if head is None:
            self._last = _NOTHING
            return
        mark = await self._mark(head)
        if mark == self._last:
            again = reused < head.tokens * _REUSED_SHARE
            self.alert = "a record that was just read was read again" if again else ""
            if again:
                _LOG.warning(
                    "head.read_again", board=self._board, job=job, tokens=head.tokens, count=reused
                )
        self._last = mark
        if self._engine.capabilities.save_restore and head.key not in self._saved:
            self.want(matter)  # it goes into a slot file once the board is quiet

    # --- inside ----------------------------------------------------------------------------------

    async def _mark(self, head: Head) -> tuple[str, int]:
        """A head's name with the engine's start: after a restart nothing is in it."""
        return head.key, (await self._engine.health()).restarts

    async def _stop(self) -> None:
        act = self._act
        if act is not None and not act.done():
            act.cancel()
            await asyncio.wait({act})

    async def _read_newest(self) -> None:
        matter = next(reversed(self._wanted))
        self._act = asyncio.create_task(self._read(matter), name="read-ahead")
        try:
            while not (await asyncio.wait({self._act}, timeout=_PAUSED_S))[0]:
                if not await self._may_work():
                    break
        finally:
            await self._stop()
        if self._act.cancelled():
            return  # a job went first, or the board was paused; it is still wanted
        self._wanted.pop(matter, None)
        if not self._wanted:
            self._asked.clear()

    async def _read(self, matter: MatterId) -> None:
        try:
            async with self._shelf.use(matter) as held:
                head = await self._heads.of(self._engine, held)
                if head is None:
                    return
                self._inside.add(matter)
                if self._last != await self._mark(head):
                    if not await self._restore(matter, head):
                        usage = await self._engine.prewarm(matter, head.prompt)
                        if self._speed:
                            self._speed.note(usage)
                        _LOG.info(
                            "head.read",
                            board=self._board,
                            matter=matter,
                            tokens=usage.prompt_tokens,
                            took_ms=usage.prefill_ms,
                        )
                    self._last = await self._mark(head)
                await self._save(matter, head)
        except AppError as error:
            _LOG.warning("head.not_read", board=self._board, matter=matter, code=error.code)
        except Exception as error:  # reading ahead is a kindness: its faults stop nothing
            _LOG.trouble("head.not_read", error, board=self._board, matter=matter)

    async def _restore(self, matter: MatterId, head: Head) -> bool:
        if not self._engine.capabilities.save_restore:
            return False
        folder = self._shelf.folder(matter) / FOLDER
        if not await self._engine.restore(matter, head.prompt, folder):
            if any(folder.glob(f"*{SUFFIX}")):
                reason = "other_record_model_or_build"
                _LOG.info("head.not_restored", board=self._board, matter=matter, reason=reason)
            return False
        _LOG.info("head.restored", board=self._board, matter=matter, tokens=head.tokens)
        self._last = await self._mark(head)
        self._saved.add(head.key)
        return True

    async def _save(self, matter: MatterId, head: Head) -> None:
        if head.key in self._saved or not self._engine.capabilities.save_restore:
            return
        folder = self._shelf.folder(matter) / FOLDER
        self._saved.add(head.key)  # also where it fails: a full disk is not filled anew each time
        try:
            file = await self._engine.save(matter, head.prompt, folder)
        except asyncio.CancelledError:
            self._saved.discard(head.key)
            raise
        if file is None:
            _LOG.warning("head.not_saved", board=self._board, matter=matter, reason="disk_full")
            return
        await asyncio.to_thread(keep_only, file)
        gone = await asyncio.to_thread(keep_newest, self._matters, self._slot_bytes)
        _LOG.info("head.saved", board=self._board, matter=matter, count=gone)

    async def _forget_closed(self) -> None:
        """A matter that was closed leaves nothing in the engine's memory either."""
        for matter in [one for one in self._inside if not self._shelf.exists(one)]:
            try:
                await self._quiet.wait()
                await self._engine.forget(matter)
                self._inside.discard(matter)
                self._last = _NOTHING
                _LOG.info("matter.forgotten", board=self._board, matter=matter)
            except NotFound:
                self._inside.discard(matter)
            except AppError as error:
                _LOG.warning("matter.not_forgotten", board=self._board, code=error.code)
