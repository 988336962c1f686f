"""What is being written and how far one has read is kept on the worker, not in the window."""

from __future__ import annotations

import msgspec
import pytest

from bot.terminal.channels import MOST_KEPT_CHARS
from bot.terminal.testing import JOB, MATTER, OLD, OTHER, a_job, say, seen, settle
from protocol import jobs as ask
from protocol.errors import BadRequest, NotFound, Unavailable

LINES = "\n".join(f"line {number} — 한글" for number in range(500))


async def test_a_closed_window_loses_no_unsent_line_and_opens_where_one_was(desk_of, worker):
    desk = desk_of(worker, matter="")
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await pilot.press("ctrl+n")
        await settle(pilot, lambda: desk.channel.matter.id == OTHER)
        desk.composer.take(LINES)
        await settle(pilot, lambda: worker.places.get(OTHER) and worker.places[OTHER].draft)
    assert worker.places[OTHER].draft == LINES
    again = desk_of(worker, matter="")
    async with again.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: again.composer.text == LINES)
        assert again.channel.matter.id == OTHER


async def test_leaving_keeps_what_was_typed_a_moment_before(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: MATTER in worker.places)
        desk.composer.insert("half a quest")
        desk.action_leave()
        await settle(pilot, lambda: worker.places[MATTER].draft == "half a quest")


async def test_a_line_that_was_sent_is_no_draft_any_more(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        desk.composer.take("When?")
        await settle(pilot, lambda: MATTER in worker.places and worker.places[MATTER].draft)
        await pilot.press("enter")
        await settle(pilot, lambda: worker.all(ask.Ask))
        await settle(pilot, lambda: worker.places[MATTER].draft == "")


async def test_what_ended_while_nobody_looked_is_new_and_said(desk_of, worker):
    worker.jobs[MATTER] = (a_job(JOB, ask.JobState.DONE), a_job(OLD, ask.JobState.RUNNING))
    answered = worker.results[ask.GetAnswer]
    worker.results[ask.GetAnswer] = lambda request: (
        NotFound("no reply yet") if request.job == OLD else answered(request)
    )
    worker.bodies[OLD] = worker.bodies[JOB]
    worker.gate.clear()
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: MATTER in worker.places)
        await settle(pilot, lambda: worker.places[MATTER].pending == (OLD,))
        assert worker.places[MATTER].seen == JOB
    # The older job ends after the younger one that was read: a number alone would miss it.
    worker.jobs[MATTER] = (a_job(JOB, ask.JobState.DONE), a_job(OLD, ask.JobState.DONE))
    worker.results[ask.GetAnswer] = answered
    again = desk_of(worker)
    async with again.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: "1 new since you were here" in seen(pilot))
        await settle(pilot, lambda: worker.places[MATTER].pending == ())


async def test_what_was_missed_elsewhere_marks_its_channel(desk_of, worker):
    worker.places[OTHER] = ask.KeepPlace(matter=OTHER, seen=OLD)
    worker.places[MATTER] = ask.KeepPlace(matter=MATTER, draft="x")
    worker.jobs[OTHER] = (
        a_job(JOB, ask.JobState.DONE, OTHER),
        a_job(OLD, ask.JobState.DONE, OTHER),
    )
    desk = desk_of(worker, matter="")
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.composer.text == "x")
        assert desk.channel.matter.id == MATTER
        await desk._look_in(desk.channels[1])
        await settle(pilot, lambda: "● 1 new" in seen(pilot))
        assert worker.places[OTHER].seen == OLD, "not read yet"


@pytest.mark.parametrize("error", [BadRequest("unknown"), Unavailable("away")])
async def test_a_worker_that_keeps_nothing_takes_nothing_away(desk_of, worker, error):
    plain = worker.call

    async def call(request):
        if isinstance(request, ask.KeepPlace):
            raise error
        if isinstance(request, ask.ListPlaces) and isinstance(error, BadRequest):
            raise error
        return await plain(request)

    worker.call = call
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await say(desk, pilot, "When?")
        await settle(pilot, lambda: "[1 ✔]" in seen(pilot))
        desk.composer.take("more")
        await settle(pilot)
        assert desk.composer.text == "more"
        assert worker.places == {}


async def test_a_line_too_long_to_be_kept_is_not_kept_in_part(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: MATTER in worker.places)
        desk.composer.take("가" * (MOST_KEPT_CHARS + 1))
        await desk._keeper.keep(desk.channels)
        assert worker.places[MATTER].draft == ""
        longest = ask.KeepPlace(matter=MATTER, draft="가" * MOST_KEPT_CHARS)
        assert len(msgspec.json.encode(longest)) < 256 * 1024
