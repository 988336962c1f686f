"""Channels, the queue, coming back, and what goes wrong."""

from __future__ import annotations

import gc
import inspect

import msgspec
import pytest

from bot.blocks import cells
from bot.outbox import Outbox
from bot.terminal.testing import JOB, MATTER, NOW, OLD, OTHER, a_job, say, seen, settle
from protocol import jobs as ask
from protocol.answers import ItemKind, Verdict
from protocol.audit import AuditEntry
from protocol.errors import NotFound, Unavailable
from protocol.ids import JobId, UserName

SIZES = [(60, 24), (80, 24), (120, 40), (200, 50)]


async def ask_and_wait(desk, pilot, question: str = "When?") -> None:
    await say(desk, pilot, question)
    await settle(pilot, lambda: "[1 ✔]" in seen(pilot))


# --- channels, the queue, coming back -------------------------------------------------------------


async def test_a_channel_fills_itself_from_the_worker(desk_of, worker):
    """Closing the window lost nothing: the reply of before and the job at work are there."""
    worker.jobs[MATTER] = (a_job(JOB, ask.JobState.RUNNING), a_job(OLD, ask.JobState.DONE))
    worker.results[ask.GetAnswer] = lambda request: (
        NotFound("no reply yet") if request.job == JOB else worker.old
    )
    done = worker.bodies[JOB][-1]
    worker.old = ask.AnswerIs(
        answer=msgspec.structs.replace(done.answer, question="Before?", job=OLD)
    )
    worker.gate.clear()
    desk = desk_of(worker, matter="")
    async with desk.run_test(size=(120, 60)) as pilot:
        await settle(pilot, lambda: "/ask Before?" in seen(pilot))
        assert desk.channel.matter.id == MATTER  # the one in which this person worked last
        await settle(pilot, lambda: "reading (62 %)" in seen(pilot))
        worker.gate.set()
        await settle(
            pilot,
            lambda: "/ask When?" in seen(pilot) or seen(pilot).count("[1 ✔]") == 2,
        )


async def test_a_job_from_elsewhere_marks_its_channel_until_it_is_read(desk_of, worker):
    worker.jobs[OTHER] = (a_job(OLD, ask.JobState.DONE, OTHER),)
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        other = desk.channels[1]
        await other.look_in()
        assert other.unread == 0  # it was there before
        worker.jobs[OTHER] = (a_job(JOB, ask.JobState.DONE, OTHER), *worker.jobs[OTHER])
        await desk._look_in(other)
        await settle(pilot, lambda: "● 1 new" in seen(pilot))
        await pilot.press("ctrl+n")
        await settle(pilot, lambda: desk.channel is other and other.entries)
        await settle(pilot, lambda: "new" not in seen(pilot).split("hartwell")[0])
        assert other.unread == 0


async def test_what_was_missed_while_the_window_was_closed_is_new(desk_of, worker):
    """On a PC the outbox remembers, without words, what was asked for and not yet shown."""
    outbox = Outbox(None)
    outbox.expect(f"chat-you/{OTHER}", OLD)
    worker.jobs[OTHER] = (a_job(OLD, ask.JobState.DONE, OTHER),)
    desk = desk_of(worker, outbox=outbox)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await desk._look_in(desk.channels[1])
        await settle(pilot, lambda: "● 1 new" in seen(pilot))
        await pilot.press("ctrl+n")
        await settle(pilot, lambda: "[1 ✔]" in seen(pilot))
        assert outbox.unfinished(f"chat-you/{OTHER}") == []


async def test_what_is_being_written_stays_in_its_channel(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(60, 24)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        desk.composer.insert("half a ques")
        await pilot.press("ctrl+n")
        await settle(pilot, lambda: desk.channel is desk.channels[1])
        assert desk.composer.text == ""
        await pilot.press("ctrl+p")
        await settle(pilot, lambda: desk.channel is desk.channels[0])
        assert desk.composer.text == "half a ques"


async def test_the_queue_cancels_and_shows(desk_of, worker):
    worker.jobs[MATTER] = (a_job(JOB, ask.JobState.RUNNING), a_job(OLD, ask.JobState.DONE))
    worker.gate.clear()
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None and len(desk.channel.entries) == 2)
        await pilot.press("f3")
        await settle(pilot, lambda: "Queue of #M-7F3K" in seen(pilot))
        assert "on board A" in seen(pilot)
        await pilot.press("c")
        await settle(pilot, lambda: worker.all(ask.Cancel))
        assert worker.all(ask.Cancel)[0].job == JOB
        worker.gate.set()


async def test_health_help_and_record_stand_beside(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 60)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        for key, words in (
            ("f4", "board A: 82 °C"),
            ("f5", "Reeves Dep."),
            ("f1", "Ctrl+Q: leave"),
        ):
            await pilot.press(key)
            await settle(pilot, lambda words=words: words in seen(pilot))
        await pilot.press("f1")
        await settle(pilot, lambda: "Ctrl+Q: leave" not in seen(pilot))
        assert desk.composer.has_focus


async def test_looking_back_stands_in_the_channel_at_every_width(desk_of, worker):
    worker.jobs[MATTER] = (a_job(OLD, ask.JobState.FAILED),)
    worker.results[ask.ListAudit] = ask.AuditIs(
        entries=(AuditEntry(n=1, holds=True, at=NOW, what="file.put", by=UserName("kim")),),
        total=1, head="sha256-1:ab", broken_at=None, reason="", anchor="", anchored=0, troubles=(),
    )  # fmt: skip
    for width in (60, 120):
        desk = desk_of(worker)
        async with desk.run_test(size=(width, 60)) as pilot:
            await settle(pilot, lambda desk=desk: desk.channel is not None)
            await say(desk, pilot, "/audit")
            await settle(pilot, lambda pilot=pilot: "No anchor is kept yet" in seen(pilot))
            assert "file.put" in seen(pilot)
            await say(desk, pilot, "/history")
            await settle(pilot, lambda pilot=pilot: "Asked in #M-7F3K, newest" in seen(pilot))


async def test_search_reply_and_again(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        await pilot.press("ctrl+f")
        desk.query_one("#search").value = "second time"
        await pilot.press("enter")
        await settle(pilot, lambda: "1 of 1" in seen(pilot))
        await pilot.press("ctrl+f")
        desk.query_one("#search").value = "no such"
        await pilot.press("enter")
        await settle(pilot, lambda: "not found: no such" in seen(pilot))
        assert desk.messages.has_focus
        await pilot.press("t")
        await settle(pilot, lambda: len(worker.all(ask.Ask)) == 2)
        assert worker.all(ask.Ask)[1].question == "When?"
        await pilot.press("q")
        assert desk.composer.text == "About “When?”: "


# --- what goes wrong ------------------------------------------------------------------------------


async def test_a_lost_line_and_a_refusal_are_said_in_words(desk_of, worker):
    up = [True]
    desk = desk_of(worker, up=lambda: up[0])
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        worker.results[ask.Ask] = Unavailable("the worker is away", next_step="try again")
        await say(desk, pilot, "When?")
        await settle(pilot, lambda: "✘ FAILED  the worker is away" in seen(pilot))
        up[0] = False
        desk._poll()
        await settle(pilot, lambda: "line lost" in seen(pilot))


async def test_a_matter_that_cannot_be_opened_says_why_and_opens_once_it_can(
    desk_of, worker, monkeypatch
):
    monkeypatch.setattr("bot.terminal.desk._POLL_S", 0.1)
    matters = worker.results[ask.ListMatters]
    worker.results[ask.ListMatters] = Unavailable("the record is being copied")
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: "✘ FAILED  the record is being copied" in seen(pilot))
        await pilot.press("x")
        assert "✘ FAILED  the record is being copied" in seen(pilot)
        worker.results[ask.ListMatters] = matters
        await settle(pilot, lambda: desk.channel is not None)
        assert "FAILED" not in seen(pilot)
        assert desk.composer.text == "x"


async def test_a_mistake_of_ours_ends_without_words_of_the_case(desk_of, worker, capsys):
    worker.results[ask.Ask] = lambda request: RuntimeError(request.question)
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await say(desk, pilot, "SECRET")
        await settle(pilot, lambda: "this program failed (RuntimeError)" in seen(pilot))
    assert "SECRET" not in "".join(capsys.readouterr())


async def test_korean(desk_of, worker):
    desk = desk_of(worker, language="ko")
    async with desk.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot, "언제?")
        shown = seen(pilot)
        assert "초안" in shown
        assert all(cells(line) <= 80 for line in shown.splitlines())


async def test_a_mistake_in_the_app_itself_ends_it_without_a_traceback(desk_of, worker, capsys):
    desk = desk_of(worker)

    async def goes_wrong() -> None:
        async with desk.run_test(size=(100, 40)) as pilot:
            await settle(pilot, lambda: desk.channel is not None)
            desk._handle_exception(RuntimeError("SECRET"))
            await pilot.pause()

    with pytest.raises(RuntimeError):
        await goes_wrong()
    assert isinstance(desk.failure, RuntimeError)
    assert not desk._exit_renderables
    assert "SECRET" not in "".join(capsys.readouterr())


# --- much of it -----------------------------------------------------------------------------------


async def test_a_list_to_go_through_that_is_longer_than_the_screen_can_be_gone_through(
    desk_of, worker, answer, make_item, text
):
    many = tuple(
        make_item(n, text, "$640", Verdict.CHECK, kind=ItemKind.AMOUNT, reason="By OCR")
        for n in range(1, 31)
    )
    worker.bodies[JOB][-1] = msgspec.structs.replace(
        worker.bodies[JOB][-1], answer=msgspec.structs.replace(answer, items=many)
    )
    desk = desk_of(worker)
    async with desk.run_test(size=(60, 20)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await say(desk, pilot, "When?")
        await settle(pilot, lambda: "[30 ≈]" in seen(pilot) or desk.channel.entries[0].ended)
        await say(desk, pilot, "/approve")
        await settle(pilot, lambda: "Ctrl+S approve" in seen(pilot))
        for n in range(1, 31):
            desk.screen.query_one(f"#reason-{n}").value = f"seen {n}"
        desk.screen.query_one("#reason-30").focus()
        await settle(pilot, lambda: "30 ≈ CHECK" in seen(pilot))
        assert "Ctrl+S approve" in seen(pilot)
        await pilot.press("enter")
        await settle(pilot, lambda: worker.all(ask.Decide))
        assert worker.all(ask.Decide)[0].acknowledged == {n: f"seen {n}" for n in range(1, 31)}


async def test_older_jobs_come_when_one_goes_up(desk_of, worker):
    made = [JobId(f"J-0DV3K9{n:03d}-0000") for n in range(30)]
    worker.jobs[MATTER] = tuple(a_job(job, ask.JobState.DONE) for job in reversed(made))
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None and len(desk.channel.entries) == 12)
        await settle(pilot, lambda: all(entry.ended for entry in desk.channel.entries))
        assert desk.channel.entries[-1].job == made[-1]
        desk.messages.focus()
        await pilot.press("home", "up")
        await settle(pilot, lambda: len(desk.channel.entries) == 24)
        assert [entry.job for entry in desk.channel.entries] == made[6:]
        # What was on top is still in view.
        assert desk.messages.row.job == made[18]


async def test_the_head_says_that_no_model_answers_until_one_does(desk_of, worker):
    worker.results[ask.Health] = ask.HealthIs(parts={"board A": ("down", "no such file")})
    desk = desk_of(worker)
    async with desk.run_test(size=(160, 40)) as pilot:
        await settle(pilot, lambda: "replies from the record alone" in seen(pilot))
        assert "No model answers now: no such file." in seen(pilot)
        worker.results[ask.Health] = ask.HealthIs(parts={"board A": ("ok", "ready")})
        desk._look_at_engines()
        await settle(pilot, lambda: "replies from the record alone" not in seen(pilot))


async def test_what_gives_way_before_it_began_leaves_nothing_unawaited(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(80, 24)) as pilot:
        done = []

        async def doing(number):
            done.append(number)

        first = doing(1)
        desk.spawn(first, instead="one")
        desk.spawn(doing(2), instead="one")
        await settle(pilot, lambda: done)
        gc.collect()
        await settle(pilot, lambda: inspect.getcoroutinestate(first) == inspect.CORO_CLOSED)
        assert done == [2]
