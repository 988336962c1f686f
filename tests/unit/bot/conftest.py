"""Builders of answers and looks: small, with only what a test names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot import words as catalogue
from bot.look import UNICODE, Look
from protocol.answers import (
    Answer,
    Citation,
    Claim,
    Finding,
    ItemKind,
    Provenance,
    SentenceClass,
    Timings,
    Verdict,
)
from protocol.ids import DocumentId, JobId, MatterId
from protocol.record import Coverage
from protocol.spans import SourceSpan


@pytest.fixture(scope="session")
def make_cite() -> Callable[..., Citation]:
    """A place in the record."""

    def make(pin_cite: str, *, words: str = "", start: int = 0, page: int = 1) -> Citation:
        span = SourceSpan(
            document=DocumentId("d1"), start=start, end=start + max(1, len(words)), page=page
        )
        return Citation(
            document=DocumentId("d1"),
            title="Reeves Dep.",
            span=span,
            line_begin=None,
            line_end=None,
            end_page=page,
            pin_cite=pin_cite,
            words=words,
        )

    return make


@pytest.fixture(scope="session")
def make_item() -> Callable[..., Finding]:
    """A finding on the first place where ``words`` stand in ``text``."""

    def make(
        number: int,
        text: str,
        words: str,
        verdict: Verdict,
        *,
        kind: ItemKind = ItemKind.QUOTE,
        reason: str = "",
        **more: object,
    ) -> Finding:
        start = text.index(words)
        return Finding(
            number=number,
            start=start,
            end=start + len(words),
            kind=kind,
            verdict=verdict,
            reason=reason,
            **more,
        )

    return make


@pytest.fixture(scope="session")
def make_answer() -> Callable[..., Answer]:
    """An answer with sentences cut at every sentence that is given, in order."""

    def make(
        text: str,
        items: tuple[Finding, ...] = (),
        *,
        sentences: tuple[str, ...] = (),
        classes: tuple[SentenceClass, ...] = (),
        **more: object,
    ) -> Answer:
        claims = []
        at = 0
        for number, sentence in enumerate(sentences):
            at = text.index(sentence, at)
            kind = classes[number] if number < len(classes) else SentenceClass.SUPPORTED
            claims.append(Claim(start=at, end=at + len(sentence), sentence_class=kind))
            at += len(sentence)
        values: dict[str, object] = {
            "job": JobId("J-0DV3K9Q2A-7F3K"),
            "matter": MatterId("M-7F3K"),
            "kind": "ask",
            "question": "When?",
            "coverage": Coverage(documents=8, documents_read=8, pages=21, pages_read=21, unread=()),
            "timings": Timings(),
            "provenance": Provenance(),
            "text_sha256": "0" * 64,
        }
        return Answer(text=text, items=items, sentences=tuple(claims), **{**values, **more})

    return make


@pytest.fixture(scope="session")
def look() -> Look:
    """English, with signs, 110 cells, UTC."""
    return Look(words=catalogue.load("en"), signs=UNICODE, width=110)
