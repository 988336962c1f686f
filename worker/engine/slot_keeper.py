"""Saves and restores the head of a record for `worker.engine.llama_server`.

Both hold the engine's one slot while they work, so that what is saved is what was read.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

from protocol.errors import AppError, BadRequest, Unavailable
from worker.engine import (
    EngineLost,
    EngineProvenance,
    Finished,
    Limits,
    Prompt,
    Request,
    StreamEvent,
    Usage,
)
from worker.engine.calls import Calls
from worker.engine.llama_http import LlamaHttp
from worker.engine.slot_files import SUFFIX, has_room, lent, read_note, remove, slot_key, write_note
from worker.engine.wall import walled

Ask = Callable[[str, Prompt, Limits], AsyncGenerator[StreamEvent]]


class SlotKeeper:
    """Args:
    api: The server.
    calls: Gives out the slot.
    ask: Streams one answer inside the slot, walled.
    restored: Told the matter and tokens of what now lies in the slot.
    provenance: What the slot files depend on.
    slots: The server's own slot folder.
    token_bytes: What a token takes in a file.
    """

    def __init__(
        self,
        *,
        api: LlamaHttp,
        calls: Calls,
        ask: Ask,
        restored: Callable[[str, int], None],
        provenance: EngineProvenance,
        slots: Path,
        token_bytes: int,
    ) -> None:
        self._api = api
        self._calls = calls
        self._ask = ask
        self._restored = restored
        self._provenance = provenance
        self._slots = slots
        self._token_bytes = token_bytes

    async def save(self, matter: str, prompt: Prompt, folder: Path) -> Path | None:
        """See `Engine.save`; an equal file that is there already is kept.

        None where the disk has no room: the worker's own files must go on being written.
        """
        head = Prompt(system=prompt.system, record=prompt.record)
        file = folder / f"{slot_key(self._provenance, matter, head)}{SUFFIX}"
        if await asyncio.to_thread(read_note, file) is None:
            tokens = len(await self._api.prompt_tokens(walled(matter, head)))
            if not await asyncio.to_thread(has_room, folder, tokens * self._token_bytes):
                return None
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise Unavailable("the matter's slot folder cannot be written") from error
            await self._in_slot(matter, head, lambda: self._saving(matter, head, file))
        return file

    async def restore(self, matter: str, prompt: Prompt, folder: Path) -> bool:
        """See `Engine.restore`."""
        head = Prompt(system=prompt.system, record=prompt.record)
        file = folder / f"{slot_key(self._provenance, matter, head)}{SUFFIX}"
        note = await asyncio.to_thread(read_note, file)
        if note is None:
            return False
        tokens = note.tokens
        try:
            await self._in_slot(matter, head, lambda: self._restoring(matter, file, tokens))
        except BadRequest:
            remove(file)
            return False
        return True

    async def _in_slot(
        self, matter: str, head: Prompt, work: Callable[[], AsyncGenerator[StreamEvent]]
    ) -> None:
        """Run the work as a call, so that no other is in the slot meanwhile."""
        request = Request(
            id=f"slot-{secrets.token_hex(8)}",
            matter=matter,
            prompt=head,
            limits=Limits(max_tokens=1),
        )
        async with aclosing(self._calls.run(request, work)) as events:
            async for _ in events:
                pass

    async def _saving(self, matter: str, head: Prompt, file: Path) -> AsyncGenerator[StreamEvent]:
        last: StreamEvent = Finished(usage=Usage())
        async with aclosing(self._ask(matter, head, Limits(max_tokens=1))) as events:
            async for event in events:
                last = event
        try:
            with lent(file, self._slots) as name:
                tokens = await self._api.save_slot(name)
            await asyncio.to_thread(write_note, file, tokens)
        except BaseException as error:
            remove(file)
            if isinstance(error, AppError | OSError) and not isinstance(error, EngineLost):
                raise Unavailable("a slot file could not be written; it was removed") from error
            raise
        yield last

    async def _restoring(self, matter: str, file: Path, tokens: int) -> AsyncGenerator[StreamEvent]:
        with lent(file, self._slots) as name:
            loaded = await self._api.restore_slot(name)
        if loaded != tokens:
            await self._api.erase_slot()
            raise BadRequest("the slot file holds another number of tokens than it says")
        self._restored(matter, tokens)
        yield Finished(usage=Usage(prompt_tokens=tokens))
