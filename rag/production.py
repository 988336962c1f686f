"""Bates numbers over the whole of a matter: a production spans files, so its gaps lie between them.

One series is one prefix. What a file's own pages skip is said when it is read; here all files of a
series are laid side by side: numbers that no page carries, and numbers that two papers carry.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from protocol.ids import DocumentId
from rag.matters import OpenMatter
from rag.patterns import serial

MOST_TOLD: Final = 20
"""Gaps, and overlaps, of one series that are told one by one; all are counted."""
_LEAST_PAGES: Final = 2
"""Stamped pages from which a prefix is a series; one label alone has no gaps."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Numbers that no page of the matter carries, between two that pages do."""

    after: str
    """The label before it, as printed."""
    before: str
    missing: int


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """A number that pages of more than one document carry."""

    first: str
    last: str
    """The labels as printed; the same for a single page."""
    documents: tuple[DocumentId, ...]


@dataclass(frozen=True, kw_only=True)
class Series:
    """One prefix with all its numbers."""

    begin: str
    end: str
    pages: int
    documents: int
    gaps: tuple[Gap, ...]
    overlaps: tuple[Overlap, ...]

    def told(self) -> str:
        """The series in a sentence."""
        said = f"{self.begin} to {self.end}: {_many(self.pages, 'page')} of "
        said += _many(self.documents, "document")
        if self.gaps:
            missing = sum(gap.missing for gap in self.gaps)
            said += f", {_many(missing, 'number')} missing in {_many(len(self.gaps), 'gap')}"
        if self.overlaps:
            said += f", {_many(len(self.overlaps), 'stretch', 'es')} in more than one document"
        return said if self.gaps or self.overlaps else f"{said}, none missing"


def series(matter: OpenMatter) -> tuple[Series, ...]:
    """The stamped series of a matter, by prefix; quarantined documents count, for their numbers do.

    A number on a page whose stamp was not read counts as missing; the gap names its neighbours, so
    that somebody can look.
    """
    by_prefix: dict[str, dict[int, list[tuple[str, DocumentId]]]] = defaultdict(dict)
    for row in matter.store.rows(
        "SELECT p.bates, p.document FROM pages p JOIN documents d"
        " ON d.id = p.document AND d.text_sha256 = p.text_sha256"
        " WHERE p.bates IS NOT NULL ORDER BY p.document, p.number"
    ):
        if (found := serial(row["bates"])) is not None:
            prefix, number = found
            held = by_prefix[prefix].setdefault(number, [])
            held.append((row["bates"], DocumentId(row["document"])))
    return tuple(
        _series(numbers)
        for _, numbers in sorted(by_prefix.items())
        if sum(map(len, numbers.values())) >= _LEAST_PAGES
    )


def told(matter: OpenMatter) -> tuple[str, ...]:
    """Every series in a sentence, and each of its gaps and overlaps in one of its own."""
    names = {info.id: info.name for info in matter.documents()}
    out: list[str] = []
    for one in series(matter):
        out.append(one.told())
        out += [
            f"{gap.after}, then {gap.before}: {_many(gap.missing, 'number')} missing between"
            for gap in one.gaps[:MOST_TOLD]
        ]
        for both in one.overlaps[:MOST_TOLD]:
            where = both.first if both.first == both.last else f"{both.first} to {both.last}"
            papers = sorted(names.get(each, "a document set aside") for each in both.documents)
            out.append(f"{where}: in {' and in '.join(papers)}")
        left = max(0, len(one.gaps) - MOST_TOLD) + max(0, len(one.overlaps) - MOST_TOLD)
        if left:
            out.append(f"{one.begin} to {one.end}: {left:,} more gaps and stretches are not listed")
    return tuple(out)


def _series(numbers: dict[int, list[tuple[str, DocumentId]]]) -> Series:
    ordered = sorted(numbers)
    label = {number: numbers[number][0][0] for number in ordered}
    gaps = tuple(
        Gap(after=label[one], before=label[two], missing=two - one - 1)
        for one, two in pairwise(ordered)
        if two - one > 1
    )
    return Series(
        begin=label[ordered[0]],
        end=label[ordered[-1]],
        pages=sum(map(len, numbers.values())),
        documents=len({document for held in numbers.values() for _, document in held}),
        gaps=gaps,
        overlaps=_overlaps(numbers, label),
    )


def _overlaps(
    numbers: dict[int, list[tuple[str, DocumentId]]], label: dict[int, str]
) -> tuple[Overlap, ...]:
    """Neighbouring numbers that the same several documents carry, as one stretch."""
    found: list[tuple[int, int, tuple[DocumentId, ...]]] = []
    for number in sorted(numbers):
        documents = tuple(sorted({document for _, document in numbers[number]}))
        if len(documents) < 2:
            continue
        if found and found[-1][1] == number - 1 and found[-1][2] == documents:
            found[-1] = (found[-1][0], number, documents)
        else:
            found.append((number, number, documents))
    return tuple(
        Overlap(first=label[first], last=label[last], documents=documents)
        for first, last, documents in found
    )


def _many(count: int, thing: str, more: str = "s") -> str:
    return f"{count:,} {thing}{'' if count == 1 else more}"
