"""The queue of several boxes, in one PostgreSQL database.

The acts are those of every keeper here; PostgreSQL brings what several writers need: transactions,
locks, one clock, and notices that wake the other boxes. Why no job library stands between is told
in ``docs/decisions/0050-shared-queue.md``. One connection works, in a thread of its own; a second
one listens. Both come back by themselves after the server was away.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import psycopg  # noqa: TID251

from protocol.ids import JobId, new_job_id
from worker.jobs import Clock, Lease, MakeId, wordless
from worker.jobs.acts import Acts
from worker.jobs.keeper import Keeper
from worker.jobs.rows import from_ms
from worker.jobs.shared_store import PostgresStore, connect, translated
from worker.jobs.sql_store import Hook
from worker.logs import Log

T = TypeVar("T")

LOOK_S: Final = 5.0
"""How often everybody who waits looks again unasked: a notice can be lost with its connection."""

_AGAIN_S: Final = 1.0
_LOG: Final = Log("jobs")


class SharedQueue(Keeper):
    """A queue that several workers use at once. Made by `worker.jobs.open_shared_queue`."""

    def __init__(self, acts: Acts, store: PostgresStore, thread: ThreadPoolExecutor, box: str):
        super().__init__()
        self._acts = acts
        self._store = store
        self._thread = thread
        self._box = box
        self._closed = False
        self._listener: _Listener | None = None

    @classmethod
    def open(
        cls,
        conninfo: str,
        clock: Clock | None = None,
        *,
        box: str = "",
        schema: str = "secondchair",
        make_id: MakeId = new_job_id,
        hook: Hook = lambda name: None,
    ) -> SharedQueue:
        """Connects, and makes the tables where there are none.

        Args:
            conninfo: As libpq takes it; a path as ``host`` means a unix socket.
            clock: None for the server's.
            box: This box's name, the only one of its name. Its restart takes back what it ran;
                leases of other boxes must run out. Empty: this worker is the only one.
            schema: Where the tables stand.
            make_id: Gives job ids.
            hook: For tests.

        Raises:
            Unavailable: The server is away or refuses.
            Damaged: The schema is not a job queue, or not one of this version.
        """
        if box:
            wordless.check_code(box, "box")
        wordless.check_code(schema, "schema")
        thread = ThreadPoolExecutor(1, "jobs")
        try:
            with translated():
                made = thread.submit(lambda: PostgresStore(conninfo, schema, hook))
                store = made.result()
        except BaseException:
            thread.shutdown()
            raise
        acts = Acts(store, clock or (lambda: from_ms(store.now_ms())), make_id)
        acts.rung = store.topics  # one set: what an act rings is told to the other boxes too
        queue = cls(acts, store, thread, box)
        queue._listener = _Listener(conninfo, schema, store.process, queue._heard)
        return queue

    async def claim(self, board: str, owner: str) -> Lease | None:
        return await super().claim(board, f"{self._box}:{owner}" if self._box else owner)

    async def recover(self, *, starting: bool = False) -> tuple[JobId, ...]:
        mine = f"{self._box}:" if self._box else ""
        return await self._do(lambda acts: acts.recover(starting, mine))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        if self._listener is not None:
            self._listener.end()
            await loop.run_in_executor(self._thread, self._store.wake)
            await loop.run_in_executor(None, self._listener.join)
        await loop.run_in_executor(self._thread, self._store.close)
        self._thread.shutdown()

    async def _do(self, act: Callable[[Acts], T]) -> T:
        if self._closed:
            raise ValueError("the queue is closed")
        loop = asyncio.get_running_loop()
        if self._listener is not None:
            self._listener.start(loop)

        def run() -> T:
            with translated():
                self._store.begin_act()
                try:
                    result = act(self._acts)
                finally:
                    self._store.end_act()
            if self._acts.rung:
                loop.call_soon_threadsafe(self._bells.ring, frozenset(self._acts.rung))
            return result

        # A caller that is cancelled takes back an act that has not begun; one that has is finished.
        return await loop.run_in_executor(self._thread, run)

    def _heard(self, topics: frozenset[str]) -> None:
        """Rings here what another box rang; nothing named means: look at everything again."""
        self._bells.ring(topics or self._bells.topics())


def reachable(conninfo: str) -> None:
    """Nothing when the database answers; it is not changed.

    Raises:
        Unavailable: It is away or refuses.
    """
    with translated():
        connect(conninfo, "public").close()


class _Listener:
    """A thread that hears the notices of the database and passes them to the loop."""

    def __init__(
        self,
        conninfo: str,
        schema: str,
        ours: Callable[[], int],
        heard: Callable[[frozenset[str]], None],
    ) -> None:
        self._conninfo = conninfo
        self._schema = schema
        self._ours = ours
        self._heard = heard
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to listen; a second call does nothing."""
        if self._thread is None:
            self._loop = loop
            self._thread = threading.Thread(target=self._run, name="jobs-listen", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Tells the thread to end; it does at the next notice or within half a second."""
        self._ending.set()

    def join(self) -> None:
        """Waits until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        away = False
        while not self._ending.is_set():
            try:
                self._listen()
            except psycopg.Error as error:
                if not away:
                    _LOG.trouble("jobs.listen", error)
                away = True
                self._ending.wait(_AGAIN_S)
            else:
                away = False

    def _listen(self) -> None:
        with connect(self._conninfo, self._schema) as db:
            db.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(self._schema)))
            self._pass_on(frozenset())  # what was said while nobody listened
            quiet_s = 0.0
            while not self._ending.is_set():
                heard = list(db.notifies(timeout=0.5, stop_after=1))
                quiet_s = 0.0 if heard else quiet_s + 0.5
                others = {notice.payload for notice in heard if notice.pid != self._ours()}
                if others:
                    self._pass_on(frozenset(others))
                elif quiet_s >= LOOK_S:
                    quiet_s = 0.0
                    self._pass_on(frozenset())

    def _pass_on(self, topics: frozenset[str]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._heard, topics)
        except RuntimeError:  # the loop has ended before the queue was closed
            self._ending.set()
