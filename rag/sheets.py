"""Passages laid out for scoring: their vectors and term counts side by side.

A `Sheet` scores every passage it holds exactly, by words (BM25) and by meaning (cosine), so a
search inside one document misses nothing and needs no approximate index. A matter keeps the sheets
of the documents that were asked about last.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.ids import DocumentId
from rag.embedding import Vectors
from rag.store import Store
from rag.terms import terms

Scores = npt.NDArray[np.float64]
"""One score a passage, in the order of a sheet's ``numbers``."""

_K1: Final = 1.2
_B: Final = 0.75
_HEADING_WEIGHT: Final = 0.5
"""What a term in the heading adds beside its weight in the text."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Some passages, ready to be scored. Holds terms and vectors, no text."""

    numbers: npt.NDArray[np.int64]
    """Row numbers of the passages in the store."""
    lengths: Scores
    """Terms in each passage."""
    postings: Mapping[str, tuple[npt.NDArray[np.int64], Scores]]
    """Term to the positions in ``numbers`` that have it and how often."""
    headings: Mapping[str, npt.NDArray[np.int64]]
    """Term to the positions whose heading has it."""
    vectors: Vectors
    owners: npt.NDArray[np.int64]
    """For each vector, the position of its passage."""

    def __len__(self) -> int:
        return len(self.numbers)

    def by_words(self, wanted: Sequence[str], weight: Mapping[str, float]) -> Scores:
        """BM25 of every passage for the terms; 0 where none stands.

        Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
        2009, with the usual k1 = 1.2 and b = 0.75.
        """
        out = np.zeros(len(self), dtype=np.float64)
        if not len(self):
            return out
        norm = _K1 * (1 - _B + _B * self.lengths / max(1.0, float(self.lengths.mean())))
        for term in dict.fromkeys(wanted):
            if term in self.postings:
                at, count = self.postings[term]
                out[at] += weight[term] * count * (_K1 + 1) / (count + norm[at])
            if term in self.headings:
                out[self.headings[term]] += weight[term] * _HEADING_WEIGHT
        return out

    def by_meaning(self, vector: Vectors) -> Scores:
        """The cosine of each passage's nearest window; -1 where it has no vector yet."""
        out = np.full(len(self), -1.0, dtype=np.float64)
        if len(self.owners):
            np.maximum.at(out, self.owners, (self.vectors @ vector).astype(np.float64))
        return out


def sheet_of(store: Store, numbers: Sequence[int], *, only: frozenset[str] | None = None) -> Sheet:
    """Lays out passages by their row numbers; unknown numbers are left out.

    Args:
        store: The matter's record.
        numbers: Row numbers of passages.
        only: Terms that will be asked for, when the sheet is for one question; None keeps all.
    """
    held = store.passages(numbers)
    order = sorted(held)
    position = {n: at for at, n in enumerate(order)}
    postings: dict[str, list[tuple[int, int]]] = {}
    headings: dict[str, list[int]] = {}
    lengths = np.zeros(len(order), dtype=np.float64)
    for at, n in enumerate(order):
        found = terms(held[n].text)
        lengths[at] = len(found)
        for term, count in Counter(found).items():
            if only is None or term in only:
                postings.setdefault(term, []).append((at, count))
        for term in set(terms(held[n].heading)):
            if only is None or term in only:
                headings.setdefault(term, []).append(at)
    vectors, owners = store.vectors_of(order)
    return Sheet(
        numbers=np.array(order, dtype=np.int64),
        lengths=lengths,
        postings={
            term: (
                np.array([at for at, _ in pairs], dtype=np.int64),
                np.array([count for _, count in pairs], dtype=np.float64),
            )
            for term, pairs in postings.items()
        },
        headings={term: np.array(at, dtype=np.int64) for term, at in headings.items()},
        vectors=vectors,
        owners=np.array([position[n] for n in owners], dtype=np.int64),
    )


class SheetCache:
    """The sheets of the documents asked about last, bounded by passages."""

    def __init__(self, store: Store, *, most_passages: int = 20_000) -> None:
        """20,000 passages of 384 dimensions take about 80 MB."""
        self._store = store
        self._most = most_passages
        self._held: OrderedDict[DocumentId, Sheet] = OrderedDict()
        self._guard = threading.Lock()

    def sheet(self, document: DocumentId) -> Sheet:
        """A document's sheet, laid out now when it is not held."""
        with self._guard:
            if document in self._held:
                self._held.move_to_end(document)
                return self._held[document]
        made = sheet_of(self._store, self._store.numbers_of(document))
        with self._guard:
            self._held[document] = made
            while (
                sum(len(sheet) for sheet in self._held.values()) > self._most
                and len(self._held) > 1
            ):
                self._held.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forgets everything; after passages or vectors changed."""
        with self._guard:
            self._held.clear()


def joined(sheets: Sequence[Sheet], only: frozenset[str]) -> Sheet:
    """Several sheets as one, with the terms that will be asked for and no others."""
    if len(sheets) == 1:
        return sheets[0]
    offsets = np.cumsum([0, *(len(sheet) for sheet in sheets)])
    postings: dict[str, list[tuple[npt.NDArray[np.int64], Scores]]] = {}
    headings: dict[str, list[npt.NDArray[np.int64]]] = {}
    for offset, sheet in zip(offsets, sheets, strict=False):
        for term in only & sheet.postings.keys():
            at, count = sheet.postings[term]
            postings.setdefault(term, []).append((at + offset, count))
        for term in only & sheet.headings.keys():
            headings.setdefault(term, []).append(sheet.headings[term] + offset)
    with_vectors = [sheet.vectors for sheet in sheets if sheet.vectors.size]
    none = np.zeros(0, dtype=np.int64)
    return Sheet(
        numbers=np.concatenate([sheet.numbers for sheet in sheets] or [none]),
        lengths=np.concatenate([sheet.lengths for sheet in sheets] or [none.astype(np.float64)]),
        postings={
            term: (
                np.concatenate([at for at, _ in parts]),
                np.concatenate([count for _, count in parts]),
            )
            for term, parts in postings.items()
        },
        headings={term: np.concatenate(parts) for term, parts in headings.items()},
        vectors=np.concatenate(with_vectors) if with_vectors else np.zeros((0, 0), np.float32),
        owners=np.concatenate(
            [sheet.owners + offset for offset, sheet in zip(offsets, sheets, strict=False)]
            or [none]
        ),
    )


def term_weights(store: Store, wanted: Sequence[str]) -> dict[str, float]:
    """How telling each term is in the whole matter (inverse document frequency over passages)."""
    total = store.passage_count()
    counts = store.term_counts(tuple(dict.fromkeys(wanted)))
    return {
        term: math.log(1 + (total - counts.get(term, 0) + 0.5) / (counts.get(term, 0) + 0.5))
        for term in wanted
    }
