"""Acts that come while the disk is busy, carried out together with one commit for all of them.

A sync of a loaded disk takes tens of milliseconds. With twenty jobs at work, one sync for each
event would let every event wait for all the others'. So whatever came during one commit goes into
the next. Nothing is told before it is on the disk: an act's outcome is given after the commit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Final, Generic, TypeVar

A = TypeVar("A")
T = TypeVar("T")

_MOST: Final = 200
"""Acts of one commit; more would let the first wait for the last."""


class Waiting(Generic[A]):
    """One act and what came of it."""

    def __init__(self, act: Callable[[A], Any]) -> None:
        self.act = act
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: BaseException | None = None

    def carry_out(self, acts: A) -> None:
        """Does it; keeps the outcome until `tell`."""
        self.result = self.error = None
        try:
            self.result = self.act(acts)
        except BaseException as error:
            self.error = error

    def tell(self) -> None:
        """Gives the outcome to whoever waits."""
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Crowd(Generic[A]):
    """Acts in the order in which they came, handed to one thread as many as there are."""

    def __init__(self, thread: Executor, work: Callable[[Sequence[Waiting[A]]], None]) -> None:
        """Nothing waits yet.

        Args:
            thread: An executor of one thread.
            work: Carries acts out, there, and keeps their outcomes in them. What it raises is the
                outcome of all of them.
        """
        self._thread = thread
        self._work = work
        self._lock = threading.Lock()
        self._waiting: list[Waiting[A]] = []
        self._busy = False

    def put(self, act: Callable[[A], T]) -> Future[T]:
        """Hands in an act; one that has not begun can be taken back by cancelling the future."""
        waiting = Waiting(act)
        with self._lock:
            self._waiting.append(waiting)
            begin, self._busy = not self._busy, True
        if begin:
            self._thread.submit(self._run)
        return waiting.future

    def _run(self) -> None:
        while True:
            with self._lock:
                here, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                self._busy = bool(here)
            if not here:
                return
            begun = [one for one in here if one.future.set_running_or_notify_cancel()]
            try:
                self._work(begun)
            except BaseException as error:
                for one in begun:
                    one.error = error
            for one in begun:
                one.tell()
