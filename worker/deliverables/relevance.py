"""Which sentences of the passages found answer best: nearness in meaning and shared words.

An answer of a transcript is weighed together with its question, since "The second time, yes."
means nothing alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from protocol.ids import DocumentId
from protocol.record import Hit
from verify.amounts import find_figures
from verify.dates import find_dates
from worker.deliverables import Desk
from worker.quoting import Sentence
from worker.threads import to_the_end

_WORD: Final = re.compile(r"[^\W_]+", re.UNICODE)
_SHARED_WORDS: Final = 0.35
"""Weight of shared words beside the cosine: a named thing beats a merely similar one."""
_RANK: Final = 0.05
"""Weight of the passage's own rank, as retrieval has seen more than one sentence."""
_NAMED: Final = 0.2
"""For a sentence of a document that the question names: "the inspection", "the lease"."""
_SAID_BY: Final = re.compile(
    r"\b(?:(?:according to|under|in|of|from)\s+(?:the|this|that|her|his|their)\s+"
    r"(?P<source>\w+(?:\s\w+)?)"
    r"|(?:the|this|that|her|his|their)\s+(?P<speaker>\w+(?:\s\w+)?)\s+(?:says?|states?|provides?"
    r"|shows?|finds?|concludes?|mentions?|requires?|allows?|reports?|gives?))\b",
    re.IGNORECASE,
)
"""Where a question names the paper it asks."""
_FITS: Final = 0.25
"""For a sentence that holds the kind of thing asked for: a date to "when", a sum to "how much"."""
_WHEN: Final = re.compile(
    r"\b(?:when|what (?:date|day|year)|how (?:soon|long|late))\b|언제|며칠", re.I
)
_HOW_MUCH: Final = re.compile(
    r"\b(?:how much|what (?:sum|amount|price|cost)|costs?|damages|rent)\b|얼마", re.I
)
_WEIGHED: Final = 32
"""Sentences given to the model: all of the first passages, then those that share most words."""
_FIRST: Final = 2
"""Passages whose sentences are weighed whatever their words, as far as `_WEIGHED` allows."""
_FEW_WORDS: Final = 3
_COMMON: Final = frozenset(
    "a an and any are as at be been but by did do does for from had has have he her his how i in is"
    " it its of on or our she so that the their them they this to us was we were what when where"
    " which who whom whose why will with would you your".split()
)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A sentence and how well it answers; scores compare within one question only."""

    sentence: Sentence
    score: float


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    sentence: Sentence
    text: str
    """With its question, where it is an answer."""
    late: bool
    """From a passage that was not among the first."""
    plain: float
    """What is known without a model: shared words, rank, the kind asked for."""


async def best_sentences(
    desk: Desk, question: str, hits: Sequence[Hit], *, most: int
) -> tuple[Scored, ...]:
    """The best sentences of the passages, best first; empty when no passage holds one.

    Args:
        desk: The job.
        question: What was asked.
        hits: The passages, best first.
        most: How many to give at most.
    """
    candidates: list[tuple[Sentence, int, str]] = []
    every: dict[DocumentId, tuple[Sentence, ...]] = {}
    seen: set[tuple[DocumentId, int]] = set()
    for rank, hit in enumerate(hits):
        span = hit.passage.span
        if span.document not in every:
            every[span.document] = await desk.sentences(span.document)
        for sentence in every[span.document]:
            inside = span.start <= sentence.start < span.end
            if inside and (span.document, sentence.start) not in seen and _quotable(sentence):
                seen.add((span.document, sentence.start))
                candidates.append((sentence, rank, hit.passage.heading))
    if not candidates:
        return ()
    asked = {
        (one.document, one.start, one.end): one.words for many in every.values() for one in many
    }
    terms = _terms(question)
    asked_papers = (found["source"] or found["speaker"] for found in _SAID_BY.finditer(question))
    papers = _terms(" ".join(asked_papers))
    named = {info.id for info in desk.matter.record.documents() if papers & _terms(info.title)}
    weighed = [
        _Candidate(
            sentence=sentence,
            text=(text := _with_question(sentence, asked)),
            late=rank >= _FIRST,
            plain=_SHARED_WORDS * len(terms & _terms(f"{heading} {text}")) / max(1, len(terms))
            + _RANK / (1 + rank)
            + _NAMED * (sentence.document in named)
            + _FITS * _fits(question, sentence.words),
        )
        for sentence, rank, heading in candidates
    ]
    weighed.sort(key=lambda one: (one.late, -one.plain))
    del weighed[_WEIGHED:]
    async with desk.embedding:
        vectors, wanted = await to_the_end(
            lambda: (
                desk.matter.vectors.of(desk.embedder, [one.text for one in weighed]),
                desk.embedder.embed_question(question),
            )
        )
    near = vectors @ np.ravel(wanted)
    scored = [
        Scored(sentence=one.sentence, score=float(near[at]) + one.plain)
        for at, one in enumerate(weighed)
    ]
    scored.sort(key=lambda one: -one.score)
    return tuple(scored[:most])


def _fits(question: str, words: str) -> bool:
    if _WHEN.search(question) and find_dates(words):
        return True
    return bool(_HOW_MUCH.search(question)) and any(one.money for one in find_figures(words))


def _quotable(sentence: Sentence) -> bool:
    words = sentence.words
    return (
        sentence.turn in ("", "answer")
        and (not words.isupper())
        and (len(words.split()) >= _FEW_WORDS or sentence.question is not None)
    )


def _with_question(sentence: Sentence, asked: dict[tuple[DocumentId, int, int], str]) -> str:
    if sentence.question is None:
        return sentence.words
    question = asked.get((sentence.document, *sentence.question), "")
    return f"{question} {sentence.words}".strip()


def _terms(text: str) -> set[str]:
    """Content words, cut to their stems by the plainest rule that helps."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {_stem(word) for word in words if word not in _COMMON}


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)].removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word
