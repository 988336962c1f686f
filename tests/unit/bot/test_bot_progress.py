"""A job's events fill one line; live text is void when an attempt starts over."""

from __future__ import annotations

import datetime as dt

import pytest

from bot import words as catalogue
from bot.progress import Watch
from protocol import events as ev
from protocol.errors import ErrorValue
from protocol.ids import JobId

JOB = JobId("J-0DV3K9Q2A-7F3K")


def event(body: ev.EventBody, seq: int = 1) -> ev.Event:
    return ev.Event(job=JOB, seq=seq, at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC), body=body)


def fed(*bodies: ev.EventBody, language: str = "en") -> Watch:
    watch = Watch(catalogue.load(language))
    for seq, body in enumerate(bodies, start=1):
        watch.feed(event(body, seq))
    return watch


def stage(of: ev.Stage, done: int = 0, total: int = 0, eta_s: float | None = None) -> ev.Progress:
    return ev.Progress(stage=of, done=done, total=total, eta_s=eta_s)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (ev.Queued(place=2, eta_s=40.2), "queued (2nd, about 40 s)"),
        (ev.Queued(place=1, eta_s=None), "queued (1st)"),
        (ev.Queued(place=1, eta_s=0.4), "queued (1st)"),
        (ev.Started(attempt=1, board="A"), "starting"),
        (ev.Started(attempt=2, board="A"), "starting again (attempt 2)"),
        (stage(ev.Stage.RETRIEVING), "searching"),
        (stage(ev.Stage.READING, 62, 100), "reading (62 %)"),
        (stage(ev.Stage.READING, 1_270, 2_050, 3.6), "reading (61 %, about 4 s)"),
        # More than all is still all.
        (stage(ev.Stage.WRITING, 9, 7), "writing (100 %)"),
        (stage(ev.Stage.CHECKING), "checking"),
        (ev.Found(passages=12, documents=3), "found 12 passages in 3 documents"),
        (ev.EngineLost(), "the engine went away; the job goes on with a new one"),
        (ev.Interrupted(), "the worker went away; the job waits again"),
        (ev.Parked(), "a shorter request goes first; this one waits again"),
    ],
)
def test_each_event_says_where_the_job_is(body, line):
    assert fed(body).line == line


def test_in_korean():
    assert fed(ev.Queued(place=2, eta_s=40), language="ko").line == "대기 중 (2번째, 약 40초)"


def test_a_growing_percent_is_the_same_stage():
    first = fed(stage(ev.Stage.READING, 1, 9))
    second = fed(stage(ev.Stage.READING, 1, 9), stage(ev.Stage.READING, 2, 9))
    assert first.line != second.line
    assert first.stage == second.stage


def test_live_text_is_joined_in_order_and_sent_parts_replace_themselves():
    watch = fed(ev.Words(part=2, text="world"), ev.Words(part=1, text="hello "))
    watch.feed(event(ev.Words(part=2, text="moon")))
    assert watch.live == "hello moon"


@pytest.mark.parametrize(
    "body", [ev.Started(attempt=2, board="A"), ev.EngineLost(), ev.Interrupted()]
)
def test_live_text_is_void_when_the_attempt_is(body):
    assert fed(ev.Words(part=1, text="hello"), body).live == ""


def test_last_events_leave_the_line_to_the_reply():
    value = ErrorValue(code="internal", message="x")
    for body in (
        ev.Completed(answer_sha256="0", verified=0, to_look_at=0, failing=0),
        ev.Failed(error=value),
        ev.Stopped(),
    ):
        assert fed(stage(ev.Stage.CHECKING), body).line == "checking"
