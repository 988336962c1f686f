"""Follows a folder: says when files in it have changed and come to rest.

It only tells; taking in and reading is `rag.ingest`'s, run by whoever called.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from watchfiles import watch

from protocol.errors import NotFound

_REST_MS: Final = 1500
"""A copy over the network writes in bursts; a file is read once nothing has changed for so long."""


def changes(
    folder: Path, *, stop: threading.Event, rest_ms: int = _REST_MS, polling: bool | None = None
) -> Iterator[int]:
    """Yields once for every burst of changes, with the number of files in it, until ``stop``.

    The first yield comes when watching has begun, with whatever changed by then (mostly 0), so that
    taking the folder in at that moment misses nothing. The caller's thread waits inside; ``stop``
    may be set from any other.

    Args:
        folder: Watched with everything under it.
        stop: Ends the wait within a second.
        rest_ms: How long nothing may change before a burst counts as over.
        polling: Looks at times of files instead of asking the system, for network drives; None lets
            the library decide.

    Raises:
        NotFound: There is no such folder.
    """
    if not folder.is_dir():
        raise NotFound("there is no such folder to watch")
    begun = False
    for burst in watch(
        folder,
        stop_event=stop,
        debounce=rest_ms,
        step=min(rest_ms, 200),
        rust_timeout=500,
        yield_on_timeout=True,
        force_polling=polling,
        raise_interrupt=False,
        ignore_permission_denied=True,
    ):
        if burst or not begun:
            begun = True
            yield len({path for _, path in burst})
