"""Decisions, holds and exports: sealed in the audit journal first, then in force."""

from __future__ import annotations

import asyncio

from protocol.jobs import Decide, Done, Export, Exported, HoldMatter, LiftHold, Result
from worker import export, holds, review
from worker.handlers import Office
from worker.service import Caller


class Gate:
    """The only way out."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def decide(self, request: Decide, caller: Caller) -> Result:
        """Takes a reviewer's decision of exactly the text that was shown.

        Raises:
            Conflict: The text or its state is another one now.
            BadRequest: An item that is not green has no reason.
        """
        office = self._office
        job = await office.queue.job(request.job)
        async with office.shelf.use(job.matter) as held:
            if held.work.decision_for(request) is not None:
                return Done()
            answer = held.work.answer(job.id)
            decision = review.decide(
                answer,
                request,
                by=caller.person,
                at=office.now(),
                looked_at=held.work.openings(caller.person),
            )
            office.journal(job.matter).seal(
                f"review.{decision.state.lower()}",
                by=caller.person,
                through=caller.through,
                now=decision.at,
                job=job.id,
                details={
                    "answer": decision.answer_sha256,
                    "acknowledged": str(len(request.acknowledged)),
                    "opened": str(len(decision.opened)),
                },
            )
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

        Raises:
            Conflict: There is no live approval of this text.
            BadRequest: The format is none of ours.
        """
        office = self._office
        job = await office.queue.job(request.job)
        async with office.shelf.use(job.matter) as held:
            answer = held.work.answer(job.id)
            decision = review.finalize(answer, by=caller.person, at=office.now())
            title = held.record.matter.title
            written = await asyncio.to_thread(
                export.write, answer, title=title, folder=held.record.out, form=request.format
            )
            office.journal(job.matter).seal(
                "export.written",
                by=caller.person,
                through=caller.through,
                now=office.now(),
                job=job.id,
                details={
                    "answer": answer.text_sha256,
                    "file": written.sha256,
                    "form": request.format,
                },
            )
            if decision != answer.decision and held.work.decision_for(request) is None:
                held.work.put_decision(request, decision)
        return Exported(name=written.name, size_bytes=written.size_bytes, sha256=written.sha256)
