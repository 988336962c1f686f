"""Findings with their pages, differences, and the decisions of a reviewer."""

from __future__ import annotations

import msgspec
import pytest

from bot.blocks import Tone
from bot.terminal.paint import STYLES
from bot.terminal.testing import JOB, MATTER, a_job, say, seen, settle
from protocol import jobs as ask
from protocol.answers import ReviewState, Table
from protocol.ids import JobId

SIZES = [(60, 24), (80, 24), (120, 40), (200, 50)]


async def ask_and_wait(desk, pilot, question: str = "When?") -> None:
    await say(desk, pilot, question)
    await settle(pilot, lambda: "[1 ✔]" in seen(pilot))


# --- findings, sources, differences ---------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_finding_opens_its_page_with_the_passage_lit(desk_of, worker, size):
    desk = desk_of(worker)
    async with desk.run_test(size=size) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        await pilot.press("f2")
        # The failing one comes first, with record and reply side by side or one above the other.
        await settle(pilot, lambda: "The record says" in seen(pilot))
        assert "[not ]" in seen(pilot) or "[not]" in seen(pilot)
        await pilot.press("end", "o")
        await settle(pilot, lambda: "▌ A.  The second time, yes." in seen(pilot))
        lit = [
            segment.text
            for strip in desk.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.bgcolor == STYLES[Tone.LIT].bgcolor
        ]
        assert "The second time, yes." in "".join(lit)
        assert worker.all(ask.OpenSource)[-1].page == 3
        await pilot.press("escape", "escape")
        await settle(pilot, lambda: desk.composer.has_focus)
        assert "The record says" not in seen(pilot)


async def test_findings_stay_with_their_reply_whatever_comes_in(desk_of, worker, answer):
    """What is opened, compared or approved there is never another reply's."""
    later = JobId("J-0DV3K9Q9Z-0001")
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        await pilot.press("f2")
        await settle(pilot, lambda: desk.side.finding is not None)
        worker.results[ask.GetAnswer] = ask.AnswerIs(
            answer=msgspec.structs.replace(
                answer, job=later, items=(), text="Another.", text_sha256="b" * 64
            )
        )
        worker.jobs[MATTER] = (a_job(later, ask.JobState.DONE), a_job(JOB, ask.JobState.DONE))
        await desk._look_in(desk.channel)
        await settle(pilot, lambda: "Another." in seen(pilot))
        assert f"Findings of {JOB}" in seen(pilot)
        await pilot.press("end", "o")
        await settle(pilot, lambda: "▌ A.  The second time, yes." in seen(pilot))
        await pilot.press("r", *"no", "enter")
        await settle(pilot, lambda: worker.all(ask.Decide))
        assert worker.all(ask.Decide)[0].job == JOB
        assert worker.all(ask.Decide)[0].answer_sha256 == "a" * 64


# --- review ---------------------------------------------------------------------------------------


async def test_an_approval_needs_a_reason_for_every_item_that_is_not_green(desk_of, worker, answer):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        await pilot.press("f6")
        await settle(pilot, lambda: "Approve J-0DV3K9Q2A-7F3K" in seen(pilot))
        assert "2 ✘ ALTERED" in seen(pilot)
        assert "1 ✔ VERIFIED:" not in seen(pilot)
        desk.focused.value = "the lease is right"
        await pilot.press("enter", "enter")
        await settle(pilot, lambda: "Item 3 needs a reason" in seen(pilot))
        assert not worker.all(ask.Decide)
        approved = msgspec.structs.replace(answer, review=ReviewState.APPROVED)
        worker.results[ask.GetAnswer] = ask.AnswerIs(answer=approved)
        desk.focused.value = "page seen"
        await pilot.press("ctrl+s")
        await settle(pilot, lambda: worker.all(ask.Decide))
        sent = worker.all(ask.Decide)[0]
        assert sent.acknowledged == {2: "the lease is right", 3: "page seen"}
        assert sent.answer_sha256 == "a" * 64
        assert sent.state is ReviewState.APPROVED
        # The reply above says so in its corner.
        await settle(pilot, lambda: "Draft · awaiting review" not in seen(pilot))
        await pilot.press("f8")
        await settle(pilot, lambda: "a.md, 1,234 bytes" in seen(pilot))


async def test_an_approval_that_is_left_decides_nothing(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        await say(desk, pilot, "/approve")
        await settle(pilot, lambda: "Approve J-" in seen(pilot))
        await pilot.press("escape")
        await settle(pilot, lambda: len(desk.screen_stack) == 1)
        assert not worker.all(ask.Decide)


async def test_an_approval_of_a_report_does_not_call_the_findings_of_the_paper_verified(
    desk_of, worker, answer
):
    table = Table(
        columns=("item", "finding", "place in the brief", "words of the brief"),
        rows=(("January 9", "NOT FOUND", "Brief p. 1", "VERIFIED"),),
        items=(1,),
    )
    report = msgspec.structs.replace(answer, items=answer.items[:1], table=table)
    worker.bodies[JOB][-1] = msgspec.structs.replace(worker.bodies[JOB][-1], answer=report)
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await say(desk, pilot, "Check the brief.")
        await settle(pilot, lambda: "Brief p. 1" in seen(pilot))
        await pilot.press("f6")
        await settle(pilot, lambda: "Approve J-" in seen(pilot))
        assert "0 verified · 0 to look at · 1 failing" in seen(pilot)
        assert "findings on the paper that was checked" in seen(pilot)
        assert "Every item is verified" not in seen(pilot)


async def test_escape_closes_a_page_at_once(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(80, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await pilot.press("f1")
        await settle(pilot, lambda: "Commands" in seen(pilot) and desk.side.page.has_focus)
        await pilot.press("escape")
        await settle(pilot, lambda: desk.composer.has_focus and "Commands" not in seen(pilot))


async def test_the_list_of_matters_takes_a_small_screen_for_itself(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(40, 20)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await pilot.press("f1")
        await settle(pilot, lambda: "Commands" in seen(pilot))
        desk.composer.focus()
        await say(desk, pilot, "/matter")
        await settle(pilot, lambda: desk.matters.has_focus)
        await settle(pilot, lambda: "Commands" not in seen(pilot))
        assert desk.matters.size.width > 30


async def test_a_return_takes_a_note(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        await pilot.press("f7", *"wrong page", "enter")
        await settle(pilot, lambda: worker.all(ask.Decide))
        assert worker.all(ask.Decide)[0].note == "wrong page"
        assert worker.all(ask.Decide)[0].state is ReviewState.RETURNED


async def test_an_edit_is_of_the_reply_whose_words_were_opened(desk_of, worker, answer):
    later = JobId("J-0DV3K9Q9Z-0001")
    edited = msgspec.structs.replace(answer, text="Other words.", items=(), text_sha256="c" * 64)
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        await say(desk, pilot, "/edit")
        await settle(pilot, lambda: desk.composer.text == f"/edit {JOB}\n{answer.text}")
        # Another reply comes in while the words are being written.
        worker.jobs[MATTER] = (a_job(later, ask.JobState.DONE), a_job(JOB, ask.JobState.DONE))
        await desk.channel.look_in()
        await settle(pilot, lambda: later in [entry.job for entry in desk.channel.entries])
        await settle(pilot, lambda: all(entry.ended for entry in desk.channel.entries))
        worker.results |= {ask.Edit: ask.Done(), ask.GetAnswer: ask.AnswerIs(answer=edited)}
        desk.composer.take(desk.composer.text.replace("$640", "$650"))
        await pilot.press("enter")
        await settle(pilot, lambda: "is void" in seen(pilot))
        (sent,) = worker.all(ask.Edit)
        assert (sent.job, sent.answer_sha256) == (JOB, answer.text_sha256)
        assert sent.text == answer.text.replace("$640", "$650")
        await settle(pilot, lambda: "Other words." in seen(pilot))
        assert all(
            entry.answer is None or entry.answer.text == "Other words."
            for entry in desk.channel.entries
            if entry.job == JOB
        )
