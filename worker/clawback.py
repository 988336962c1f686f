"""Sets a document aside on demand of the other side, and says which answers were made from it.

The record, its indexes and caches are `rag.removal`'s. What the worker itself holds of the document
goes here: steps of summaries that wait, turns of conversations, live text, engine states. Answers
stay: withdrawing one is a reviewer's decision, so they are listed.
"""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass

from protocol.answers import Answer
from protocol.ids import DocumentId, UserName
from rag.matters import OpenMatter
from rag.removal import quarantine, release
from worker.audit import Journal
from worker.holds import hold_on
from worker.workfile import WorkFile


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """What was set aside and what had been made from it."""

    documents: tuple[DocumentId, ...]
    """The document and its family: a message goes with its attachments."""
    answers: tuple[Answer, ...]
    turns_kept: bool
    """Whether a legal hold kept the conversations in which it is quoted, and steps made from it."""


def claw_back(
    matter: OpenMatter,
    work: WorkFile,
    journal: Journal,
    document: DocumentId,
    *,
    by: UserName,
    now: dt.datetime,
) -> SetAside:
    """Quarantines a document and its family; doing it twice lists the same answers.

    Raises:
        NotFound: No such document.
    """
    members = quarantine(matter, document)
    answers = work.answers_from(members)
    held = hold_on(matter.folder) is not None
    if not held:  # what a hold keeps is out of reach all the same: no list has the document
        work.forget_words(members, [one.job for one in answers])
    shutil.rmtree(matter.folder / "slots", ignore_errors=True)  # they hold the prompts' tokens
    journal.seal(
        "document.quarantined",
        by=by,
        now=now,
        details={"document": document, "family": str(len(members)), "answers": str(len(answers))},
    )
    return SetAside(documents=members, answers=answers, turns_kept=held and bool(answers))


def give_back(
    matter: OpenMatter, journal: Journal, document: DocumentId, *, by: UserName, now: dt.datetime
) -> tuple[DocumentId, ...]:
    """Brings a quarantined family back; its vectors follow with the next reading.

    Raises:
        NotFound: No such document.
    """
    members = release(matter, document)
    details = {"document": document, "family": str(len(members))}
    journal.seal("document.released", by=by, now=now, details=details)
    return members
