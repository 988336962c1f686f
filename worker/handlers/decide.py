"""Decisions, holds and exports: sealed in the audit journal first, then in force."""

from __future__ import annotations

import msgspec

from protocol.answers import ReviewState
from protocol.jobs import Decide, Done, Export, Exported, HoldMatter, LiftHold, Result
from worker import export, holds, review
from worker.clawback import refuse_if_called_back
from worker.handlers import Office
from worker.service import Caller
from worker.threads import to_the_end


class Gate:
    """The only way out."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def decide(self, request: Decide, caller: Caller) -> Result:
        """Takes a reviewer's decision of exactly the text that was shown.

        Raises:
            Conflict: The text or its state is another one now, its job has not ended, or a document
                it was made from was called back.
            BadRequest: An item that is not green has no reason.
        """
        office = self._office
        job = await office.ended(request.job)
        async with office.shelf.use(job.matter) as held, office.deciding(job.matter):
            if held.work.decision_for(request) is not None:
                return Done()
            answer, now = held.work.answer(job.id), office.now()
            decision = review.decide(
                answer,
                request,
                by=caller.person,
                at=now,
                looked_at=held.work.openings(caller.person),
            )
            if decision.state is ReviewState.APPROVED:
                refuse_if_called_back(held.record, answer)
            office.journal(job.matter).seal(
                f"review.{decision.state.lower()}",
                by=caller.person,
                through=caller.through,
                now=now,
                job=job.id,
                details={
                    "answer": decision.answer_sha256,
                    "acknowledged": str(len(decision.acknowledged)),
                    "opened": str(len(decision.opened)),
                },
            )
            if decision.state is ReviewState.WITHDRAWN:
                await to_the_end(export.take_back, held.record.out, job.id)
            held.work.put_decision(request, decision)
        return Done()

    async def hold(self, request: HoldMatter, caller: Caller) -> Result:
        """Puts a matter on legal hold.

        Raises:
            BadRequest: There is no reason.
        """
        office = self._office
        async with office.shelf.use(request.matter) as held:
            holds.put_on(
                held.record.folder,
                office.journal(request.matter),
                request.reason,
                by=caller.person,
                through=caller.through,
                now=office.now(),
            )
        return Done()

    async def lift(self, request: LiftHold, caller: Caller) -> Result:
        """Ends a legal hold."""
        office = self._office
        async with office.shelf.use(request.matter) as held:
            holds.lift_from(
                held.record.folder,
                office.journal(request.matter),
                by=caller.person,
                through=caller.through,
                now=office.now(),
            )
        return Done()

    async def export(self, request: Export, caller: Caller) -> Result:
        """Writes an approved answer to the matter's ``out/``.

        The file can be fetched only when the journal tells of it and the reply is final. No
        decision and no edit comes between: they wait until it has left, or it is refused.

        Raises:
            Conflict: There is no live approval of this text, or a document it was made from was
                called back.
            BadRequest: The format is none of ours.
        """
        office = self._office
        job = await office.ended(request.job)
        async with office.shelf.use(job.matter) as held, office.deciding(job.matter):
            again = held.work.decision_for(request) is not None
            answer = held.work.answer(job.id)
            decision = review.finalize(answer, by=caller.person, at=office.now())
            refuse_if_called_back(held.record, answer)
            leaving = msgspec.structs.replace(answer, review=decision.state, decision=decision)
            title = held.record.matter.title
            file = await to_the_end(
                export.prepare, leaving, title=title, folder=held.record.out, form=request.format
            )
            try:
                office.journal(job.matter).seal(
                    "export.written",
                    by=caller.person,
                    through=caller.through,
                    now=office.now(),
                    job=job.id,
                    details={
                        "answer": answer.text_sha256,
                        "file": file.sha256,
                        "form": request.format,
                    },
                )
                if decision != answer.decision and not again:
                    held.work.put_decision(request, decision)
            except BaseException:
                file.discard()
                raise
            await to_the_end(file.publish)
        return Exported(name=file.name, size_bytes=file.size_bytes, sha256=file.sha256)
