"""Which document a question is about, before what it asks.

Most questions about papers name one ("the lease between A and B") and then ask for something in
it. Searched as one sentence, the names pull up every preamble and signature page. So the words that
name a document are told from the rest of the question and compared with titles and openings; where
one document clearly answers to them, the search stays inside it, and the reference is left out of
what is searched. Where the words fit several documents about equally, none is preferred.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from protocol.ids import DocumentId
from rag.cards import card, card_weights, ranked_cards, ranked_texts
from rag.store import Store
from rag.terms import terms

_MARGIN: Final = 1.15
"""The first document's score over the second's from which the first alone is meant."""
_LEAST_SHARE: Final = 0.5
"""Share of the naming words, by weight, that the meant document has."""
_LEAST_NAMES: Final = 2
_POOL: Final = 30
_GAP: Final = 3
"""Words between two naming words that may belong to the same reference."""

_TOKEN: Final = re.compile(r"[^\W_]+(?:[.'’&-][^\W_]+)*\.?")
_KINDS: Final = frozenset(
    terms(
        "agreement contract lease licence license deed deposition declaration affidavit transcript "
        "testimony hearing e-mail email mail message letter memo memorandum report invoice minutes "
        "statement complaint answer motion order exhibit policy plan schedule amendment note "
        "notes 계약서 진술서 녹취록 이메일 편지 보고서 소장 답변서 준비서면 의견서 청구서"
    )
)
"""Kinds of paper: words that make a name a reference ("the Acme lease")."""
_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "judge", "hon"})
_LEAD: Final = re.compile(
    r"(?:\b(?:consider|considering|regarding|concerning|under|in|into|of|per|from|see|for|within|"
    r"according\s+to|pursuant\s+to|with\s+respect\s+to|as\s+to|look(?:ing)?\s+at|by)\s+)?"
    r"(?:\b(?:the|this|that|an?)\s+)?$",
    re.IGNORECASE,
)
_FORM: Final = re.compile(
    r"^\s*(?:corporation|company|incorporated|limited|trust|bank|partnership|holdings)\b",
    re.IGNORECASE,
)
_TRAIL: Final = re.compile(r"^(?:\W+|and\b)+", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Route:
    """Where to search and for what."""

    documents: tuple[DocumentId, ...]
    """Documents that are named; empty means the whole selection."""
    preferred: tuple[DocumentId, ...]
    """Documents that fit the names in the question, but are not named: they go a little first."""
    asked: str
    """The question without its reference to a document."""
    why: str
    """In words, for the person who sees the hit; empty when the whole selection is searched."""


@dataclass(frozen=True, kw_only=True)
class _Word:
    """One word of a question that may name a document."""

    start: int
    end: int
    terms: tuple[str, ...]
    names: bool
    """Written as a name: a capital that is not the sentence's, or digits."""
    kind: bool


def route(store: Store, question: str, *, among: Sequence[DocumentId]) -> Route:
    """Finds the document that a question names, if it names one.

    Args:
        store: The matter's record.
        question: As the person wrote it.
        among: Documents that may be meant.
    """
    whole = Route(documents=(), preferred=(), asked=question, why="")
    run = _reference(question)
    if len(among) < 2 or not any(word.names for word in run):
        return whole
    by_card = _by_card(store, run, among)
    if not any(word.kind for word in run):
        # A name alone ("what did Reeves say?") stands in many papers that are not called by it.
        if by_card is None:
            return whole
        return Route(
            documents=(), preferred=(by_card,), asked=question, why="its title has the name"
        )
    meant = by_card or _by_text(store, run, among)
    if meant is None:
        return whole
    return Route(
        documents=(meant,),
        preferred=(),
        asked=_without(question, run[0].start, run[-1].end),
        why="in the document that the question names",
    )


def _by_card(store: Store, run: Sequence[_Word], among: Sequence[DocumentId]) -> DocumentId | None:
    """The document whose title and opening answer to a reference, clearly before all others."""
    wanted = [term for word in run for term in word.terms]
    allowed = set(among)
    ranked = [pair for pair in ranked_cards(store, wanted, _POOL) if pair[0] in allowed]
    if not ranked or (len(ranked) > 1 and ranked[0][1] < _MARGIN * ranked[1][1]):
        return None
    held = card(store, ranked[0][0])
    have = [word for word in run if set(word.terms) & held]
    if not any(word.names for word in have):
        return None
    weights = card_weights(store, wanted)
    share = sum(weights[term] for term in wanted if term in held) / (sum(weights.values()) or 1.0)
    return ranked[0][0] if share >= _LEAST_SHARE else None


def _by_text(store: Store, run: Sequence[_Word], among: Sequence[DocumentId]) -> DocumentId | None:
    """The one document in which the names of a reference stand together, wherever in it.

    Only for several names: one alone stands in many papers that are about something else.
    """
    wanted = [term for word in run if word.names and not word.kind for term in word.terms]
    if len(set(wanted)) < _LEAST_NAMES:
        return None
    allowed = set(among)
    found, whole = ranked_texts(store, wanted, _POOL)
    ranked = [entry for entry in found if entry[0] in allowed]
    if not ranked or ranked[0][2] < _LEAST_NAMES or ranked[0][1] < _LEAST_SHARE * whole:
        return None
    if len(ranked) > 1 and ranked[0][1] < _MARGIN * ranked[1][1]:
        return None
    return ranked[0][0]


def _words(question: str) -> list[_Word]:
    out = []
    for found in _TOKEN.finditer(question):
        word = found.group()
        said = tuple(terms(word))
        if not said or word.rstrip(".").casefold() in _TITLES:
            continue
        opens = not question[: found.start()].rstrip(" \"'“‘([")  # the sentence's own capital
        capital = any(char.isupper() for char in word) and not (opens and word[1:].islower())
        out.append(
            _Word(
                start=found.start(),
                end=found.end(),
                terms=said,
                names=capital or any(char.isdigit() for char in word),
                kind=any(term in _KINDS for term in said),
            )
        )
    return out


def _reference(question: str) -> list[_Word]:
    """The stretch of a question that reads most like a reference: its naming words, in order.

    Naming words that stand close together, with no stop between, belong to one reference.
    """
    runs: list[list[_Word]] = []
    for word in _words(question):
        if not (word.names or word.kind):
            continue
        between = question[runs[-1][-1].end : word.start] if runs else ";"
        if re.search(r"[;:?!]", between) or len(between.split()) > _GAP:
            runs.append([])
        runs[-1].append(word)
    return max(runs, key=lambda run: sum(word.names for word in run), default=[])


def _without(question: str, start: int, end: int) -> str:
    """The question with a reference cut out; one that asks nothing else is kept whole."""
    before = _LEAD.sub("", question[:start])
    after = _TRAIL.sub("", _FORM.sub("", question[end:]))
    asked = f"{before.rstrip()} {after}".strip()
    return asked if terms(asked) else question
