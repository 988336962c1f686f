"""Everything the worker may say about a job, numbered from 1 without gaps.

An event is stored before it is sent. Stored events hold ids, counts and references; the words
(live text, the answer) are joined from the matter's own file when an event is sent.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum

import msgspec

from protocol.answers import Answer
from protocol.errors import ErrorValue
from protocol.ids import JobId


class Stage(StrEnum):
    """What a running job is doing."""

    RETRIEVING = "retrieving"
    READING = "reading"
    """The engine reads the prompt (prefill)."""
    WRITING = "writing"
    """The engine writes (decode)."""
    CHECKING = "checking"
    """Every item is checked against the record."""


class _Body(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What an event says, tagged by its kind."""


class Queued(_Body, frozen=True, kw_only=True, tag="queued"):
    """On disk and waiting; ``place`` 1 is next."""

    place: int
    eta_s: float | None


class Started(_Body, frozen=True, kw_only=True, tag="started"):
    """A board has it. ``attempt`` over 1: discard the live text of the attempt before."""

    attempt: int
    board: str


class Progress(_Body, frozen=True, kw_only=True, tag="progress"):
    """How far a stage is; ``total`` 0 means the stage has just begun and is not counted."""

    stage: Stage
    done: int
    total: int
    eta_s: float | None = None
    """Seconds to the end of the stage; None where nobody can tell."""
    eta_estimated: bool = False
    """The box was never measured at this: ``eta_s`` is a guess."""


class Found(_Body, frozen=True, kw_only=True, tag="found"):
    """Passages the reply will be made from."""

    passages: int
    documents: int


class Words(_Body, frozen=True, kw_only=True, tag="words"):
    """Live text, unverified; sent only where the matter allows it; joined on sending."""

    part: int
    text: str = ""


class EngineLost(_Body, frozen=True, kw_only=True, tag="engine_lost"):
    """The engine went away; live text so far is void, the job goes on."""


class Interrupted(_Body, frozen=True, kw_only=True, tag="interrupted"):
    """The worker went away; the job waits again."""


class Parked(_Body, frozen=True, kw_only=True, tag="parked"):
    """A shorter job goes first; this one waits again."""


class Completed(_Body, frozen=True, kw_only=True, tag="completed"):
    """The last event of a job that ended well. ``answer`` is joined on sending."""

    answer_sha256: str
    verified: int
    to_look_at: int
    failing: int
    answer: Answer | None = None


class Failed(_Body, frozen=True, kw_only=True, tag="failed"):
    """The last event of a job that could not end well."""

    error: ErrorValue


class Stopped(_Body, frozen=True, kw_only=True, tag="stopped"):
    """The last event of a job that somebody stopped."""


EventBody = (
    Queued
    | Started
    | Progress
    | Found
    | Words
    | EngineLost
    | Interrupted
    | Parked
    | Completed
    | Failed
    | Stopped
)

LAST: tuple[type[EventBody], ...] = (Completed, Failed, Stopped)
"""After one of these a job says nothing more."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One numbered thing said about a job."""

    job: JobId
    seq: int
    """From 1, per job, without gaps."""
    at: dt.datetime
    body: EventBody
