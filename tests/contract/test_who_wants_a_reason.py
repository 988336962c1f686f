"""One rule for every face: terminal, Discord and gate want a reason for the same items."""

from __future__ import annotations

import datetime as dt
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.terminal.panes import to_acknowledge
from protocol.answers import (
    Answer,
    Finding,
    ItemKind,
    Provenance,
    ReviewState,
    Timings,
    Verdict,
)
from protocol.errors import BadRequest
from protocol.ids import JobId, MatterId, UserName
from protocol.jobs import Decide
from protocol.record import Coverage
from worker import review

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the Discord library's own imports
    from bot.guild.review import _unproven

AT = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
TEXT = "x" * 60


def answer_with(verdicts):
    items = tuple(
        Finding(number=n, start=n, end=n + 1, kind=ItemKind.QUOTE, verdict=verdict, reason="r")
        for n, verdict in enumerate(verdicts, start=1)
    )
    return Answer(
        job=JobId("J-1M7Q5CQG0-R43K"),
        matter=MatterId("M-7F3K"),
        kind="ask",
        question="",
        text=TEXT,
        items=items,
        sentences=(),
        coverage=Coverage(documents=0, documents_read=0, pages=0, pages_read=0, unread=()),
        timings=Timings(),
        provenance=Provenance(),
        text_sha256=review.text_sha256(TEXT),
    )


def decided(answer, reasons):
    request = Decide(
        job=answer.job,
        answer_sha256=answer.text_sha256,
        state=ReviewState.APPROVED,
        key="k",
        acknowledged=reasons,
    )
    return review.decide(answer, request, by=UserName("kim"), at=AT)


@given(st.lists(st.sampled_from(list(Verdict)), max_size=12))
def test_every_face_asks_for_exactly_what_the_gate_wants(verdicts):
    answer = answer_with(verdicts)
    wanted = [item.number for item in review.open_items(answer)]
    assert [item.number for item in to_acknowledge(answer)] == wanted
    assert sorted(_unproven(answer)) == wanted
    assert decided(answer, dict.fromkeys(wanted, "seen")).acknowledged == dict.fromkeys(
        wanted, "seen"
    )
    for number in wanted:  # with one reason fewer it is refused, whoever sends it
        fewer = {other: "seen" for other in wanted if other != number}
        with pytest.raises(BadRequest, match=f"items {number} "):
            decided(answer, fewer)
