"""A reviewer's own words in a reply: checked like any other, and every approval before is void."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

import verify
from protocol.answers import Answer, Decision, ReviewState
from protocol.errors import BadRequest, Conflict, Unavailable
from protocol.ids import DocumentId
from protocol.jobs import Done, Edit, Result
from worker.checking import checked
from worker.handlers import Office
from worker.logs import Log
from worker.review import live_state, text_sha256
from worker.service import Caller

_LOG: Final = Log("edit")
_MAY: Final = frozenset({ReviewState.AWAITING, ReviewState.RETURNED, ReviewState.APPROVED})
MOST_CHARS: Final = 1_000_000
"""The longest text taken: some 400 pages."""


class Edits:
    """Takes a reply's new text in."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def edit(self, request: Edit, caller: Caller) -> Result:
        """Puts a new text in a reply's place, checked, awaiting review; the old one is kept.

        Raises:
            Conflict: The text or its state is another one now, or its job has not ended.
            BadRequest: There is no text.
            Unavailable: The checker could not run; nothing changed.
        """
        if not request.text.strip() or len(request.text) > MOST_CHARS:
            raise BadRequest(f"a reply has 1 to {MOST_CHARS:,} characters")
        office = self._office
        job = await office.ended(request.job)
        new = text_sha256(request.text)
        async with office.shelf.use(job.matter) as held:
            answer = held.work.answer(job.id)
            before = held.work.decision_for(request)
            if before is not None and answer.text_sha256 != request.answer_sha256:
                return Done()  # it was done then; more may have happened since
            _refuse_if_late(answer, request)
            try:
                report = await checked(
                    request.text, held.opened(), job=job.id, user_text=answer.question
                )
            except Exception as error:
                _LOG.trouble("edit.unchecked", error, job=job.id)
                raise Unavailable("the checker could not run; nothing was changed") from None
            async with office.deciding(job.matter):
                answer = held.work.answer(job.id)  # checking took its time
                before = held.work.decision_for(request)
                _refuse_if_late(answer, request)
                here = {info.id for info in held.record.documents()}
                edited = _edited(answer, request.text, report, caller, here)
                if before is None:
                    office.journal(job.matter).seal(
                        "review.edited",
                        by=caller.person,
                        through=caller.through,
                        now=office.now(),
                        job=job.id,
                        details={"before": answer.text_sha256, "answer": new},
                    )
                    # The newest decision is "awaiting", of the new text: an approval of before
                    # stays void even when somebody edits the text back to what it was.
                    decision = Decision(
                        state=ReviewState.AWAITING,
                        by=caller.person,
                        at=office.now(),
                        answer_sha256=new,
                        note="edited",
                    )
                    held.work.put_decision(request, decision)
                held.work.put_note(job.id, f"before.{answer.text_sha256}", answer.text)
                held.work.put_answer(edited)
        return Done()


def _refuse_if_late(answer: Answer, request: Edit) -> None:
    if request.answer_sha256 != answer.text_sha256:
        raise Conflict("the text changed since it was shown", next_step="open it again and edit")
    state = live_state(answer)
    if state not in _MAY:
        raise Conflict(f"a reply that is {state.lower()} cannot be edited")
    if request.text == answer.text:
        raise BadRequest("the text is the same")


def _edited(
    answer: Answer, text: str, report: verify.Report, caller: Caller, here: Collection[DocumentId]
) -> Answer:
    """The answer with a person's words; ``here``: documents that are not set aside. What was made
    from another one rests on it no longer: the person answers for the new words."""
    notes = [*answer.notes, *report.notes, f"Words of this reply were changed by {caller.person}."]
    if answer.table is not None:
        notes.append("The table of the first version is left out: its marks were of other words.")
    record = {
        place.document: place.text_sha256
        for item in report.findings
        for place in (*item.places, *item.also_in)
        if place.text_sha256
    }
    return msgspec.structs.replace(
        answer,
        text=text,
        text_sha256=text_sha256(text),
        items=report.findings,
        sentences=report.sentences,
        table=None,
        review=ReviewState.AWAITING,
        decision=None,
        notes=tuple(dict.fromkeys(notes)),
        provenance=msgspec.structs.replace(
            answer.provenance,
            checker_version=verify.CHECKER_VERSION,
            record=record,
            passages=tuple(
                name for name in answer.provenance.passages if name.partition(":")[0] in here
            ),
        ),
    )
