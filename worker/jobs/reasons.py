"""Why a job failed: each reason code with the plain sentence and next step a person gets.

The queue stores the code; the sentence is put in when an event is read. A fuller message of the
work itself lies in the matter's file and is joined by the sender.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from protocol.errors import (
    BadRequest,
    Conflict,
    Damaged,
    ErrorValue,
    Internal,
    NotFound,
    Unavailable,
)

KEEPS_CRASHING: Final = "keeps_crashing"
"""The worker went down over and over while it ran this job."""

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        BadRequest.code: (
            "The request could not be understood.",
            "Check the request and ask again.",
        ),
        NotFound.code: (
            "Something the request names is not in this matter.",
            "Check the names with /documents and ask again.",
        ),
        Conflict.code: (
            "The matter is not as this work needs it: it changed, or another model read it.",
            "Ask again; if it comes again, the operator runs doctor on the box.",
        ),
        Unavailable.code: (
            "A part this needs is away, and waiting for it did not help.",
            "Ask again in a minute; if it stays so, run doctor on the box.",
        ),
        Damaged.code: (
            "Something stored in this matter does not match its hash.",
            "Do not rely on the matter; tell the operator, who runs doctor on the box.",
        ),
        Internal.code: (
            "Something went wrong on our side.",
            "Tell the operator the reference; the log knows more under it.",
        ),
        KEEPS_CRASHING: (
            "The worker went down several times while working on this, so it was given up.",
            "Tell the operator; what the matter held before is untouched.",
        ),
    }
)
"""Reason code to (what happened, what to do next)."""


def with_sentence(error: ErrorValue, reason: str) -> ErrorValue:
    """The error as a person gets it: sentence and next step of the reason.

    Args:
        error: As stored, without message.
        reason: The job's reason code; one without a sentence of its own gets its error code's.
    """
    general = SENTENCES[Internal.code]
    message, next_step = SENTENCES.get(reason) or SENTENCES.get(error.code) or general
    return ErrorValue(
        code=error.code,
        message=message,
        next_step=next_step,
        retry=error.retry,
        reference=error.reference,
    )
