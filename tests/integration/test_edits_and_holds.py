"""Edits void approvals, holds block deletion, openings are recorded; each is in the journal."""

from __future__ import annotations

import asyncio

import pytest

from bench.house import CODE, YOU
from bench.house import open_house as house_of
from protocol.answers import GREEN, ReviewState
from protocol.errors import BadRequest, Conflict
from protocol.jobs import Decide, Edit, Export, Extract, Forget, HoldMatter, LiftHold, OpenSource
from worker.audit import path_of, read
from worker.handlers.edit import Edits
from worker.holds import hold_on
from worker.stats import tallies


@pytest.fixture
async def house(sample_root):
    async with house_of(sample_root) as opened:
        yield opened


def entries(house):
    return [entry.what for entry in read(path_of(house.office.audit, CODE))]


async def approve(house, answer):
    reasons = {item.number: "looked at" for item in answer.items if item.verdict not in GREEN}
    await house.gate.decide(
        Decide(
            job=answer.job,
            answer_sha256=answer.text_sha256,
            state=ReviewState.APPROVED,
            key=house.key(),
            acknowledged=reasons,
        ),
        YOU,
    )


async def stored(house, answer):
    async with house.shelf.use(CODE) as held:
        return held.work.answer(answer.job)


def edit_of(house, answer, text, **changes):
    values = {"job": answer.job, "answer_sha256": answer.text_sha256, "text": text}
    return Edit(**(values | {"key": house.key()} | changes))


async def test_an_edit_is_checked_and_voids_the_approval(house):
    answer = await house.answer(house.ask("When did Northgate first know of the leak?"))
    await approve(house, answer)
    lie = f"{answer.text}\nThe Lease was signed on May 5, 1999."
    await house.edits.edit(edit_of(house, answer, lie), YOU)
    edited = await stored(house, answer)
    assert edited.text == lie
    assert edited.review is ReviewState.AWAITING
    false = [item for item in edited.items if "1999" in lie[item.start : item.end]]
    assert false
    assert all(item.verdict not in GREEN for item in false)
    with pytest.raises(Conflict):
        await house.gate.export(Export(job=answer.job, format="md", key=house.key()), YOU)
    assert "review.edited" in entries(house)


async def test_editing_a_text_back_does_not_bring_its_approval_back(house):
    answer = await house.answer(house.ask("How much is the base rent per month?"))
    await approve(house, answer)
    await house.edits.edit(edit_of(house, answer, f"{answer.text} More."), YOU)
    changed = await stored(house, answer)
    await house.edits.edit(edit_of(house, changed, answer.text), YOU)
    back = await stored(house, answer)
    assert back.text_sha256 == answer.text_sha256
    assert back.review is ReviewState.AWAITING
    with pytest.raises(Conflict):
        await house.gate.export(Export(job=answer.job, format="md", key=house.key()), YOU)


async def test_an_edit_sent_twice_is_done_once_and_a_stale_one_is_refused(house):
    answer = await house.answer(house.ask("What did the second patch cost?"))
    request = edit_of(house, answer, "The second patch is described in the record.")
    await house.edits.edit(request, YOU)
    before = entries(house).count("review.edited")
    await house.edits.edit(request, YOU)
    assert entries(house).count("review.edited") == before
    with pytest.raises(Conflict, match="changed since it was shown"):
        await house.edits.edit(edit_of(house, answer, "Other words."), YOU)
    changed = await stored(house, answer)
    with pytest.raises(BadRequest):
        await house.edits.edit(edit_of(house, changed, " "), YOU)


async def test_an_edit_whose_checker_fails_changes_nothing(house, monkeypatch):
    answer = await house.answer(house.ask("What caused the leak?"))

    def broken(*_, **__):
        raise RuntimeError("broken")

    monkeypatch.setattr("worker.handlers.edit.verify.check", broken)
    with pytest.raises(Exception, match="nothing was changed"):
        await Edits(house.office).edit(edit_of(house, answer, "New words."), YOU)
    assert (await stored(house, answer)).text == answer.text


async def test_the_ledger_tells_approved_from_edited_from_rejected(house):
    before = {row.kind: row for row in tallies(house.office.audit)}["all"]
    plain, worded, bad = [
        await house.answer(house.ask(f"What did Mr. Osei say on January 9? {n}")) for n in range(3)
    ]
    await approve(house, plain)
    await house.edits.edit(edit_of(house, worded, "He said that he would look at it."), YOU)
    await approve(house, await stored(house, worded))
    await house.gate.decide(
        Decide(
            job=bad.job,
            answer_sha256=bad.text_sha256,
            state=ReviewState.RETURNED,
            key=house.key(),
        ),
        YOU,
    )
    now = {row.kind: row for row in tallies(house.office.audit)}["all"]
    assert now.approved - before.approved == 1
    assert now.edited - before.edited == 1
    assert now.rejected - before.rejected == 1
    assert now.jobs - before.jobs == 3


async def test_what_the_reviewer_opened_is_part_of_his_decision(house):
    answer = await house.answer(Extract(matter=CODE, what="amounts", key=house.key()))
    item = next(one for one in answer.items if one.places and one.verdict in GREEN)
    place = item.places[0]
    await house.look.page(
        OpenSource(matter=CODE, document=place.document, page=place.span.page), YOU
    )
    await approve(house, answer)
    decision = (await stored(house, answer)).decision
    shown = [answer.sentences[number - 1] for number in decision.opened]
    assert any(item.number in claim.items for claim in shown)
    assert len(decision.opened) < len(answer.sentences)
    last = [e for e in read(path_of(house.office.audit, CODE)) if e.what == "review.approved"][-1]
    assert last.details["opened"] == str(len(decision.opened))


async def test_a_hold_blocks_forgetting_until_it_is_lifted(house):
    await house.gate.hold(HoldMatter(matter=CODE, reason="suit expected", key=house.key()), YOU)
    assert hold_on(house.folder).by == YOU.person
    with pytest.raises(Conflict, match="legal hold"):
        await house.look.forget(Forget(matter=CODE, conversation="c", key=house.key()), YOU)
    await house.gate.lift(LiftHold(matter=CODE, key=house.key()), YOU)
    assert hold_on(house.folder) is None
    await house.look.forget(Forget(matter=CODE, conversation="c", key=house.key()), YOU)
    assert [what for what in entries(house) if what.startswith("hold.")][-2:] == [
        "hold.set",
        "hold.lifted",
    ]
    with pytest.raises(BadRequest):
        await house.gate.hold(HoldMatter(matter=CODE, reason=" ", key=house.key()), YOU)


async def test_two_edits_at_once_leave_one_of_them(house):
    answer = await house.answer(house.ask("How many rooms had water?"))
    both = await asyncio.gather(
        *(house.edits.edit(edit_of(house, answer, f"Words {n}."), YOU) for n in (1, 2)),
        return_exceptions=True,
    )
    now = await stored(house, answer)
    assert now.text in ("Words 1.", "Words 2.")
    assert now.review is ReviewState.AWAITING
    assert sum(isinstance(one, Conflict) for one in both) == 1
