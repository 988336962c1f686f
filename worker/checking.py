"""The checker as the worker calls it: beside the loop, and with its own failures in the log.

`verify` turns what breaks inside it into "not checked" and has no log; an operator should still
learn where it broke. The log gets class and place of the error, never its words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import verify
from protocol.ids import DocumentId, JobId
from worker.logs import Log

_LOG: Final = Log("check")


async def checked(
    text: str,
    record: verify.OpenRecord,
    *,
    job: JobId,
    user_text: str = "",
    documents: Sequence[DocumentId] | None = None,
) -> verify.Report:
    """What the record supports of a text; see `verify.check`.

    Args:
        text: The reply or paper.
        record: The matter's record, opened.
        job: Whose reply it is, for the log.
        user_text: What the person wrote; it supports nothing.
        documents: Where to look; None for everywhere.
    """
    return await asyncio.to_thread(
        verify.check,
        text,
        record,
        user_text=user_text,
        documents=documents,
        on_failure=logged(job),
    )


def logged(job: JobId) -> Callable[[Exception], None]:
    """Puts a failure inside the checker into the log, as class and place."""

    def log(error: Exception) -> None:
        _LOG.trouble("check.part_failed", error, job=job)

    return log
