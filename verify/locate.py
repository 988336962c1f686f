"""Proposes places of a record for the words of quotations, from the indexes of its documents.

Grams vote: each one found says "then the passage begins about here", and votes that agree add up.
A passage too short for a kept gram is looked for by its rarer words in the postings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from verify.hashing import U32, U64, clean, grams_of, hash_words
from verify.index import DocumentIndex

_BIN: Final = 512
"""Grams whose beginnings lie this close, in characters, vote for the same place."""
_REPEATS: Final = 8
"""Places of one gram that are looked at, for each document: formulas repeat without end."""
_SHORT: Final = 12
"""Words below which a passage with few votes is also looked for by its words."""
_RARE: Final = 10
"""Words of a passage that are looked up in the postings, the rarest ones."""
_DOCUMENTS: Final = 8
"""Documents whose postings are read for one passage."""

I64 = NDArray[np.int64]


@dataclass(frozen=True, order=True)
class Place:
    """A proposed place; the better of two compares greater."""

    votes: float
    document: int
    """Number of the document in the record index."""
    start: int
    """About where the passage begins, in characters."""
    end: int
    """Where the passage has begun at the latest."""


class _Merged:
    """One sorted run of hashes over all documents, and which document each came from."""

    def __init__(self, runs: Sequence[U32]) -> None:
        self._bounds = np.cumsum([0, *(len(run) for run in runs)])
        joined = np.concatenate(runs) if runs else np.zeros(0, dtype=np.uint32)
        self._order = np.argsort(joined, kind="stable").astype(np.uint32)
        self._sorted = joined[self._order]

    def find(self, wanted: U32) -> tuple[I64, I64, I64]:
        """All entries equal to a wanted hash: which one, of which document, where in its run."""
        left = self._sorted.searchsorted(wanted)
        right = self._sorted.searchsorted(wanted, side="right")
        repeats = np.minimum(right - left, _REPEATS * max(1, len(self._bounds) - 1))
        which = np.repeat(np.arange(len(wanted)), repeats)
        step = np.arange(len(which)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        entry = self._order[left[which] + step].astype(np.int64)
        document = self._bounds.searchsorted(entry, side="right") - 1
        return which, document, entry - self._bounds[document]


class RecordIndex:
    """The indexes of all documents of a record, searched together.

    The documents' sorted hashes are merged once, at the first search; that takes about a second
    and as much memory as the text for 200 MB, and every later search is a few array operations.
    """

    def __init__(self, indexes: Sequence[DocumentIndex]) -> None:
        self._indexes = tuple(indexes)

    @cached_property
    def _grams(self) -> _Merged:
        return _Merged([index.grams for index in self._indexes])

    @cached_property
    def _gram_at(self) -> U32:
        return np.concatenate([index.gram_at for index in self._indexes])

    @cached_property
    def _gram_bounds(self) -> I64:
        return np.cumsum([0, *(len(index.grams) for index in self._indexes)])

    @cached_property
    def _words(self) -> _Merged:
        return _Merged([index.words for index in self._indexes])

    @cached_property
    def _counts(self) -> tuple[NDArray[np.uint16], I64]:
        joined = np.concatenate([index.counts for index in self._indexes])
        return joined, np.cumsum([0, *(len(index.counts) for index in self._indexes)])

    def locate(self, passages: Sequence[str], *, best: int = 8) -> list[list[Place]]:
        """Proposes places for every passage, the best first.

        Args:
            passages: Parts of quotations, as written.
            best: How many places a passage may have.
        """
        if not self._indexes:
            return [[] for _ in passages]
        prepared = [hash_words(clean(passage)) for passage in passages]
        found = self._vote(prepared, best)
        for number, places in enumerate(found):
            hashes, _ = prepared[number]
            if len(hashes) and (not places or (places[0].votes < 2 and len(hashes) < _SHORT)):
                found[number] = (places + self._by_words(hashes))[:best]
        return found

    def _vote(self, prepared: Sequence[tuple[U64, U32]], best: int) -> list[list[Place]]:
        grams = [grams_of(hashes) for hashes, _ in prepared]
        wanted = np.concatenate([values for values, _ in grams])
        owner = np.repeat(np.arange(len(grams)), [len(values) for values, _ in grams])
        offset = np.concatenate(
            [begins[at] for (_, begins), (_, at) in zip(prepared, grams, strict=True)]
        ).astype(np.int64)
        which, document, entry = self._grams.find(wanted)
        start = self._gram_at[self._gram_bounds[document] + entry].astype(np.int64) - offset[which]
        return _tally(owner[which], document, start, len(prepared), best)

    def _by_words(self, hashes: U64) -> list[Place]:
        """Blocks that hold most of the rarer words of a passage."""
        words = np.unique(hashes & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        which, document, entry = self._words.find(words)
        counts, bounds = self._counts
        count = counts[bounds[document] + entry].astype(np.int64)
        totals = np.bincount(which, weights=count, minlength=len(words))
        rare = [k for k in np.argsort(totals, kind="stable").tolist() if totals[k] > 0][:_RARE]
        if not rare:
            return []
        weight = np.zeros(len(words))
        weight[rare] = 1.0 / (1.0 + totals[rare])
        weight /= weight.sum()  # a block that holds them all has one vote
        promise = np.bincount(document, weights=weight[which], minlength=len(self._indexes))
        places: list[Place] = []
        for number in np.argsort(-promise, kind="stable")[:_DOCUMENTS].tolist():
            own = np.flatnonzero((document == number) & (weight[which] > 0))
            places += self._blocks(number, entry[own], count[own], weight[which[own]])
        places.sort(reverse=True)
        return places

    def _blocks(
        self, number: int, entries: I64, counts: I64, weights: NDArray[np.float64]
    ) -> list[Place]:
        index = self._indexes[number]
        if not len(entries):
            return []
        score = np.zeros(len(index.block_at) + 1)
        for entry, count, weight in zip(
            entries.tolist(), counts.tolist(), weights.tolist(), strict=True
        ):
            end = int(index.ends[entry])
            score[index.blocks[end - count : end]] += weight
        score[:-1] += 0.5 * score[1:]  # a passage may run into the next block
        top = np.argsort(-score[:-1], kind="stable")[:4].tolist()
        return [
            Place(float(score[block]), number, int(index.block_at[block]), _block_end(index, block))
            for block in top
            if score[block] > 0
        ]


def _block_end(index: DocumentIndex, block: int) -> int:
    bounds = index.block_at
    return int(bounds[block + 1]) if block + 1 < len(bounds) else int(bounds[block]) + 4096


def _tally(who: I64, document: I64, start: I64, passages: int, best: int) -> list[list[Place]]:
    """Adds up the votes: runs of beginnings that lie within one bin of each other."""
    order = np.lexsort((start, document, who))
    who, document, start = who[order], document[order], start[order]
    fresh = np.ones(len(who), dtype=bool)
    fresh[1:] = (
        (who[1:] != who[:-1]) | (document[1:] != document[:-1]) | (start[1:] - start[:-1] > _BIN)
    )
    first = np.flatnonzero(fresh)
    votes = np.diff(np.append(first, len(who)))
    last = np.append(first[1:], len(who)) - 1
    made: list[list[Place]] = [[] for _ in range(passages)]
    for passage in range(passages):
        own = np.flatnonzero(who[first] == passage)
        own = own[np.argsort(-votes[own], kind="stable")][:best]
        made[passage] = [
            Place(
                float(votes[k]),
                int(document[first[k]]),
                max(0, int(start[first[k]])),
                max(0, int(start[last[k]])) + _BIN,
            )
            for k in own.tolist()
        ]
    return made
