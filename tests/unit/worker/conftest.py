"""Builders for the worker's tests."""

from __future__ import annotations

import datetime as dt

import pytest

from protocol.answers import (
    Answer,
    Finding,
    ItemKind,
    Provenance,
    ReviewState,
    Timings,
    Verdict,
)
from protocol.record import Coverage
from worker.review import text_sha256

NOON = dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC)


def make_finding(number=1, verdict=Verdict.VERIFIED, start=0, end=4):
    return Finding(
        number=number,
        start=start,
        end=end,
        kind=ItemKind.QUOTE,
        verdict=verdict,
        reason="The record's words",
    )


def make_answer(text="Some words.", items=(), **changes):
    values = {
        "job": "J-1M7Q5CQG0-R43K",
        "matter": "M-7F3K",
        "kind": "ask",
        "question": "What?",
        "text": text,
        "items": tuple(items),
        "sentences": (),
        "coverage": Coverage(documents=2, documents_read=1, pages=5, pages_read=4, unread=()),
        "timings": Timings(),
        "provenance": Provenance(),
        "text_sha256": text_sha256(text),
        "review": ReviewState.AWAITING,
    }
    return Answer(**(values | changes))


@pytest.fixture(name="make_answer")
def _make_answer():
    return make_answer


@pytest.fixture(name="make_finding")
def _make_finding():
    return make_finding


@pytest.fixture
def noon():
    return NOON
