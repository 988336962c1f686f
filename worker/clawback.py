"""Sets a document aside on demand of the other side, and says which answers were made from it.

The record, its indexes and caches are `rag.removal`'s. What the worker itself holds of the document
goes here: steps of summaries that wait, turns of conversations, live text, engine states. Answers
stay: withdrawing one is a reviewer's decision, so they are listed.
"""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass
from typing import Final

from protocol.answers import Answer
from protocol.errors import Conflict
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


def refuse_if_called_back(matter: OpenMatter, answer: Answer) -> None:
    """Refuses a reply that rests on a document which is set aside.

    A reply rests on what it cites and on every passage it was made from.

    Raises:
        Conflict: It does.
    """
    aside = {str(row["id"]) for row in matter.store.rows(_ASIDE)}
    if aside & _rests_on(answer):
        raise Conflict(
            "a document that this reply was made from has been called back",
            next_step="withdraw it, or edit it to do without that document",
        )


_ASIDE: Final = "SELECT id FROM documents WHERE quarantined = 1"


def _rests_on(answer: Answer) -> set[str]:
    cited = {
        str(place.document)
        for item in answer.items
        for place in (*item.places, *item.also_in, *item.nearest)
    }
    made_from = {str(name).partition(":")[0] for name in answer.provenance.passages}
    return cited | made_from | set(answer.provenance.record)
