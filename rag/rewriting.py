"""Question to searches: the Rewriter promise and its keepers.

People and contracts use different words for one thing. A rewriter adds searches to the question's
own; it never replaces the question, and it never sees the record.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files
from typing import Final, Protocol
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from rag.embedding import Embedder, Vectors
from rag.terms import terms


@dataclass(frozen=True, kw_only=True)
class Search:
    """More wordings to search for beside the question; each may be what the record says."""

    texts: tuple[str, ...]
    weight: float
    """Beside the question's own weight of 1."""
    why: str
    """In words, for the person who sees the hit: "worded like termination for convenience"."""


class Rewriter(Protocol):
    """Adds searches to a question.

    The same question gives the same searches. An empty result means the question stands alone,
    which is also what a keeper gives when its model is away: rewriting helps, it is never needed.
    Nothing is raised.
    """

    def searches(self, question: str) -> tuple[Search, ...]:
        """Further searches for a question (its reference to a document already taken out)."""
        ...


class NoRewriter:
    """The question as it is."""

    def searches(self, question: str) -> tuple[Search, ...]:
        return ()


class Clause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of clause: how people ask about it and how contracts word it."""

    asks: tuple[str, ...]
    says: tuple[str, ...]


# A question and a kind of clause are compared by the nearest way of asking, the nearest wording and
# the share of the question's telling words that the entry has. Questions about facts stay below 0.8
# with the bundled model, questions about clauses lie above 0.9.
_WORDS_WEIGHT: Final = 0.6
_WORDING_WEIGHT: Final = 0.5
_FROM: Final = 0.7
_FULL: Final = 1.1
_MOST: Final = 2
_FALL: Final = 0.1
"""How fast the second kind loses weight: a tenth behind the first, it has 1/e of its weight."""


class ClauseRewriter:
    """Adds the usual wording of the kind of clause that a question is about (``clauses.toml``)."""

    def __init__(self, embedder: Embedder, clauses: dict[str, Clause] | None = None) -> None:
        """The list's own vectors are made on first use (about 250 short texts).

        Args:
            embedder: The matter's model.
            clauses: By name; the list that ships with the package when None.
        """
        self._embedder = embedder
        self._clauses = clauses if clauses is not None else bundled_clauses()
        self._words = {
            name: set(terms(" ".join((name.replace("_", " "), *clause.asks, *clause.says))))
            for name, clause in self._clauses.items()
        }
        spread = Counter(term for words in self._words.values() for term in words)
        self._spread = spread
        self._asks: list[Vectors] = []
        self._says: list[Vectors] = []

    def searches(self, question: str) -> tuple[Search, ...]:
        if not self._clauses or not question.strip():
            return ()
        near = sorted(self._near(question).items(), key=lambda pair: -pair[1])[:_MOST]
        if not near or near[0][1] <= _FROM:
            return ()
        best = near[0][1]
        shares = [math.exp((score - best) / _FALL) for _, score in near]
        sure = min(1.0, (best - _FROM) / (_FULL - _FROM))
        return tuple(
            Search(
                texts=self._clauses[name].says,
                weight=sure * share / sum(shares),
                why=f"worded like {name.replace('_', ' ')}",
            )
            for (name, _), share in zip(near, shares, strict=True)
        )

    def _near(self, question: str) -> dict[str, float]:
        """How near a question is to each kind of clause."""
        if not self._asks:
            self._asks = self._vectors([clause.asks for clause in self._clauses.values()])
            self._says = self._vectors([clause.says for clause in self._clauses.values()])
        vector = self._embedder.embed_question(question)
        total = len(self._clauses)
        telling = {
            term: math.log(1 + total / (self._spread[term] + 0.5)) for term in set(terms(question))
        }
        whole = sum(telling.values()) or 1.0
        return {
            name: float(np.max(asks @ vector))
            + _WORDING_WEIGHT * float(np.max(says @ vector))
            + _WORDS_WEIGHT * sum(w for t, w in telling.items() if t in self._words[name]) / whole
            for name, asks, says in zip(self._clauses, self._asks, self._says, strict=True)
        }

    def _vectors(self, groups: Sequence[Sequence[str]]) -> list[Vectors]:
        """The vectors of each group of texts, all made in one call."""
        whole = self._embedder.embed([text for group in groups for text in group])
        ends = np.cumsum([len(group) for group in groups])
        return np.split(whole, ends[:-1])


_held: WeakKeyDictionary[Embedder, ClauseRewriter] = WeakKeyDictionary()


def bundled(embedder: Embedder) -> ClauseRewriter:
    """The bundled list for an embedder, made once and kept as long as the embedder."""
    if embedder not in _held:
        _held[embedder] = ClauseRewriter(embedder)
    return _held[embedder]


@cache
def bundled_clauses() -> dict[str, Clause]:
    """The list that ships with the package."""
    content = package_files("rag").joinpath("clauses.toml").read_bytes()
    return msgspec.convert(tomllib.loads(content.decode("utf-8")), dict[str, Clause])
