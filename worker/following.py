"""Follows the folders that matters name, while the worker runs: what is new there becomes a job.

One thread a folder waits for the system (or looks, on a network drive); everything else happens on
the loop. The job is the same `Ingest` that the drop asks for, in the name of whoever ordered the
following, so its ledger stands in the matter's channel like any reply. A folder that goes away is
tried again; what cannot be followed is said in the health of the worker, by number and reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from protocol.errors import AppError, Damaged
from protocol.ids import MatterId, matter_id
from protocol.jobs import Ingest, JobState, Result
from rag.intake import news
from rag.watching import REST_MS, changes
from worker.access import ROLE_MAY, Action
from worker.followed import Followed, followed_by
from worker.jobs import JobQueue
from worker.logs import Log
from worker.registry import RegistryFile
from worker.service import Caller
from worker.shelf import Shelf

_LOG: Final = Log("following")
_LOOK_S: Final = 5.0
"""Between looks at which folders are to be followed."""
_AGAIN_S: Final = 60.0
"""Between looks into a folder of which the system says nothing, and before one that failed."""

_FORGET_S: Final = 3600.0
"""After it a file that no reading took in (it could not be opened) is asked for once more."""

Submit = Callable[[Ingest, Caller], Awaitable[Result]]
Order = tuple[MatterId, str]
"""A matter and a folder that it follows."""


class Following:
    """Follows all folders of all matters; `run` does not return."""

    def __init__(
        self,
        matters: Path,
        shelf: Shelf,
        queue: JobQueue,
        registry: RegistryFile,
        submit: Submit,
        *,
        look_s: float = _LOOK_S,
        again_s: float = _AGAIN_S,
        rest_ms: int = REST_MS,
    ) -> None:
        """Joins the parts; nothing is followed before `run`.

        Args:
            matters: The folder of all matters.
            shelf: Opens them.
            queue: Says whether a matter's reading waits already.
            registry: Whether whoever ordered it may still add files.
            submit: Takes a request in.
            look_s: Between looks at the lists.
            again_s: Between tries of a folder.
            rest_ms: How long a folder must be at rest before it is looked into.
        """
        self._matters, self._shelf, self._queue = matters, shelf, queue
        self._registry, self._submit = registry, submit
        self._look_s, self._again_s, self._rest_ms = look_s, again_s, rest_ms
        self._tasks: dict[Order, asyncio.Task[None]] = {}
        self._trouble: dict[Order, str] = {}
        self._asked: dict[Order, tuple[frozenset[tuple[str, int, int]], float]] = {}
        """The files for which a reading was asked last, and when."""

    def health(self) -> tuple[str, str] | None:
        """State and sentence for the worker's health; None when nothing is to be followed."""
        if not self._tasks:
            return None
        said = f"{len(self._tasks)} followed"
        if not self._trouble:
            return "ok", said
        reasons = "; ".join(sorted(set(self._trouble.values())))
        return "degraded", f"{said}, {len(self._trouble)} of them not: {reasons}"

    async def run(self) -> None:
        """Follows until it is cancelled."""
        try:
            while True:
                wanted = await asyncio.to_thread(self._wanted)
                for order in [one for one in self._tasks if one not in wanted]:
                    self._tasks.pop(order).cancel()
                    self._trouble.pop(order, None)
                for order, one in wanted.items():
                    if order not in self._tasks:
                        self._tasks[order] = asyncio.create_task(self._follow(order, one))
                await asyncio.sleep(self._look_s)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _wanted(self) -> dict[Order, Followed]:
        found: dict[Order, Followed] = {}
        for path in sorted(self._matters.glob("*/followed.json")):
            with contextlib.suppress(Damaged, ValueError):
                matter = matter_id(path.parent.name)
                found |= {(matter, one.folder): one for one in followed_by(path.parent)}
        return found

    async def _follow(self, order: Order, one: Followed) -> None:
        """One folder, for as long as it is on the list."""
        while True:
            stop, burst = threading.Event(), asyncio.Event()
            ended = asyncio.get_running_loop().create_future()
            thread = threading.Thread(
                target=self._watch,
                args=(one, stop, burst, ended, asyncio.get_running_loop()),
                name="following",
                daemon=True,
            )
            thread.start()
            try:
                while not ended.done():
                    await asyncio.wait(
                        [ended, waiting := asyncio.ensure_future(burst.wait())],
                        timeout=self._again_s,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                    waiting.cancel()
                    burst.clear()
                    if not ended.done() and not await self._looked(order, one):
                        break
                else:
                    self._say(order, ended.result())
            finally:
                stop.set()
            await asyncio.sleep(self._again_s)

    def _watch(
        self,
        one: Followed,
        stop: threading.Event,
        burst: asyncio.Event,
        ended: asyncio.Future[str],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """The thread: rings at every burst; says why it ended."""
        why = "the folder is not followed any more"
        try:
            for _ in changes(Path(one.folder), stop=stop, rest_ms=self._rest_ms):
                loop.call_soon_threadsafe(burst.set)
        except AppError as error:
            why = error.message
        except Exception as error:  # a thread's end must not go unseen
            why = f"the system cannot watch this folder ({type(error).__name__})"
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_end, ended, why)

    async def _looked(self, order: Order, one: Followed) -> bool:
        """Asks for a reading where something is new; False when the folder must be tried again."""
        matter = order[0]
        if not self._may(matter, one):
            self._say(order, "whoever ordered it may not add files any more")
            return False
        try:
            async with self._shelf.use(matter) as held:
                new = await asyncio.to_thread(news, held.record, Path(one.folder), under=one.under)
            asked, at = self._asked.get(order, (frozenset(), 0.0))
            if time.monotonic() - at > _FORGET_S:
                asked = frozenset()
            if new - asked and not await self._waits(matter):
                request = Ingest(matter=matter, key=f"follow-{secrets.token_hex(8)}")
                await self._submit(request, Caller(person=one.by, through=None, matters=(matter,)))
                self._asked[order] = (new, time.monotonic())
                _LOG.info("ingest.asked", matter=matter, user=one.by, count=len(new))
        except AppError as error:
            self._say(order, error.message)
            return False
        except OSError:
            self._say(order, "the folder cannot be read")
            return False
        self._trouble.pop(order, None)
        return True

    async def _waits(self, matter: MatterId) -> bool:
        """Whether a reading of the matter waits in line: it will see the files."""
        jobs = await self._queue.jobs(matter, 50)
        return any(one.kind == "ingest" and one.state is JobState.WAITING for one in jobs)

    def _may(self, matter: MatterId, one: Followed) -> bool:
        registry = self._registry.current()
        user = registry.user(one.by)
        return (
            user is not None
            and matter in user.matters
            and not registry.walled(user.name, matter)
            and Action.ADD in ROLE_MAY[user.role]
        )

    def _say(self, order: Order, why: str) -> None:
        if self._trouble.get(order) != why:
            _LOG.warning("folder.not_followed", matter=order[0])
        self._trouble[order] = why


def _end(ended: asyncio.Future[str], why: str) -> None:
    if not ended.done():
        ended.set_result(why)
