"""Work that is over before its caller goes on, also when the caller is cancelled.

`asyncio.to_thread` leaves its thread running when the task that waits for it is cancelled, and
whatever the task held for the thread (a lock, an open matter, the embedder) is given away under it.
Where something is held, this is used instead.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Abandoned(Exception):
    """Raised on a thread whose caller was cancelled; nobody else sees it."""


async def to_the_end(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a function on a thread and gives its result.

    Cancelled, it waits until the function has returned, however often it is cancelled, and only
    then raises the cancellation; what the function gave or raised is lost then. For what takes
    seconds; what takes longer goes through `interruptible`.
    """
    return await whole(asyncio.to_thread(function, *args, **kwargs))


async def interruptible(function: Callable[[Callable[[], None]], T]) -> T:
    """The same for a function that takes long: it is given a check to call now and then.

    The check raises `Abandoned` once the caller was cancelled, and the function lets it pass.
    """
    gone = threading.Event()

    def check() -> None:
        if gone.is_set():
            raise Abandoned

    return await whole(asyncio.to_thread(function, check), gone.set)


async def whole(work: Awaitable[T], on_cancel: Callable[[], object] = lambda: None) -> T:
    """Awaits work to its end, however often the one who waits is cancelled meanwhile.

    Args:
        work: What must not be left in the middle.
        on_cancel: Called at the first cancellation, to have the work end sooner.

    Raises:
        asyncio.CancelledError: After the work has ended, if the one who waits was cancelled; what
            the work gave or raised is lost then.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        on_cancel()
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        if not task.cancelled():
            task.exception()  # looked at, so that nobody reports it
        raise
