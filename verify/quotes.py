"""One quotation against the record: seeds, aligns, types, asks the second opinion.

`search` gives the best reading in every document that could hold the quotation. It knows nothing
of what the reply attributes; `attribution.py` does, and `judge.py` brings both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from protocol.ids import DocumentId
from verify.align import Alignment, best_alignment, exact_runs
from verify.assess import Assessment, assess
from verify.candidates import propose, scan_places
from verify.danger import all_words
from verify.edits import Edit, EditKind, Setting, known_words
from verify.judged import Stretch
from verify.layout import TEXT_REGIONS, Region
from verify.locate import Place
from verify.quotation import Quotation, readings
from verify.record import OpenRecord
from verify.tokens import Unit, stream

_ALIGNED: Final = 4
"""Places that are aligned word by word where the words do not stand in a row."""
_BEFORE: Final = 700
_AFTER: Final = 5_000
"""Characters read before and after a place: a page may end with a long footnote."""
_NEAR: Final = 400
"""The same, where the words are hoped to stand in a row."""
_GAP: Final = 1_600
"""Characters a gap may add."""
_EVERYTHING: Final = frozenset({Region.BODY, Region.FOOTNOTE, Region.FURNITURE, Region.EMAIL_QUOTE})


class Grade(IntEnum):
    """How well the record bears a quotation out; smaller is better."""

    SAME = 0
    DISCLOSED = 1
    DOUBT = 2
    ALTERED = 3
    ABSENT = 4


@dataclass(frozen=True, kw_only=True)
class Match:
    """The best reading of a quotation at one place of one document."""

    grade: Grade
    document: DocumentId
    stretches: tuple[Stretch, ...]
    edits: tuple[Edit, ...]
    likeness: float
    """Share of the quotation's words that the record has there."""
    cost: float
    region: Region
    jumps: int
    """Jumps over page furniture or a footnote between the stretches."""
    asides: tuple[str, ...]

    @property
    def start(self) -> int:
        return self.stretches[0].start

    @property
    def end(self) -> int:
        return self.stretches[-1].end

    @property
    def rank(self) -> tuple[int, float, float]:
        return (int(self.grade), self.cost, -self.likeness)


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A quotation as it stands in a reply."""

    text: str
    """The words between the marks."""
    closes: bool = False
    """A full stop stands inside the closing mark."""
    citations_omitted: bool = False
    marks_omitted: bool = False


def search(
    quoted: Quoted,
    record: OpenRecord,
    documents: Sequence[DocumentId],
    *,
    first: Sequence[DocumentId] = (),
) -> list[Match]:
    """The places that bear a quotation out, the best first; at most a few a document.

    Args:
        quoted: The quotation.
        record: The opened record.
        documents: Where to look.
        first: The documents the reply names: they are read even where others look better.
    """
    forms = readings(quoted.text)
    if not forms:
        return []
    reading = _Reading(quoted, forms, record)
    places = propose(quoted.text, forms[-1], record, documents, first)
    found = reading.plain(places)
    if not any(match.grade <= Grade.DOUBT for match in found):
        found += reading.plain(scan_places(forms[0], record, documents, first))
    clean = {match.document for match in found if match.grade <= Grade.DISCLOSED}
    if not clean:
        found += reading.aligned(places[:_ALIGNED])
    elif first and not clean & set(first):
        found += reading.aligned([row for row in places if row[0] in first][:_ALIGNED])
    if first and not clean:
        found += reading.aligned([row for row in places if row[0] in first][:_ALIGNED])
    return _distinct(found)


class _Reading:
    """Reads places for one quotation: first for its words in a row, then for the best fit."""

    def __init__(self, quoted: Quoted, forms: Sequence[Quotation], record: OpenRecord) -> None:
        self.quoted = quoted
        self.forms = forms
        self.record = record
        self.vocabulary = frozenset().union(*(form.vocabulary for form in forms))
        self.gaps = sum(1 for k in forms[-1].gaps if 0 < k < len(forms[-1].words))
        self._done: set[tuple[DocumentId, int, int, bool]] = set()

    def plain(self, places: Sequence[tuple[DocumentId, Place]]) -> list[Match]:
        """Places where the words of a reading without gaps stand in a row."""
        found: list[Match] = []
        for document, place in places:
            low, high = self._window(document, place, _NEAR)
            if self._fresh(document, low, high, aligned=False):
                for units in self._streams(document, low, high):
                    for form in self.forms:
                        found += self._assessed(document, form, units, exact_runs(form, units))
        return found

    def aligned(self, places: Sequence[tuple[DocumentId, Place]]) -> list[Match]:
        """The best fit at each place, differences and all."""
        found: list[Match] = []
        for document, place in places:
            low, high = self._window(document, place, _AFTER)
            if not self._fresh(document, low, high, aligned=True):
                continue
            near = self._window(document, place, _NEAR)
            units = self._best_stream(document, near, (low, high))
            exact = [
                match
                for form in self.forms
                for match in self._assessed(document, form, units, exact_runs(form, units))
            ]
            found += exact
            if any(match.grade <= Grade.DISCLOSED for match in exact):
                continue
            for form in self.forms:
                best = best_alignment(form, units, omit_cost=self._omit_cost)
                found += self._assessed(document, form, units, [best] if best else [])
        return found

    @property
    def _omit_cost(self) -> float:
        return 0.3 if self.quoted.citations_omitted else 1.0

    def _fresh(self, document: DocumentId, low: int, high: int, *, aligned: bool) -> bool:
        """Whether these lines were not read before; remembers that they now are."""
        for name, a, b, kind in self._done:
            if name == document and kind == aligned and a <= low and high <= b:
                return False
        self._done.add((document, low, high, aligned))
        return True

    def _window(self, document: DocumentId, place: Place, after: int) -> tuple[int, int]:
        """Numbers of the first and last line to read around a place."""
        layout = self.record.layout(document)
        size = len(self.quoted.text)
        low = place.start - _BEFORE - self.gaps * _GAP - (size if self.gaps else 0)
        high = place.end + size * 2 + after + self.gaps * _GAP
        return layout.line_at(max(0, low)), layout.line_at(min(high, len(layout.text)))

    def _streams(self, document: DocumentId, low: int, high: int) -> list[list[Unit]]:
        """The plain text, the footnotes alone, and everything as it stands."""
        layout = self.record.layout(document)
        words = all_words() | self.vocabulary
        lines = range(low, high + 1)
        held = {layout.lines[number].region for number in lines}
        made = [stream(layout, lines, regions=TEXT_REGIONS, vocabulary=words)]
        if Region.FOOTNOTE in held:
            notes = frozenset({Region.FOOTNOTE})
            made.append(stream(layout, lines, regions=notes, vocabulary=words))
        if held - TEXT_REGIONS or layout.numbered:
            made.append(stream(layout, lines, regions=_EVERYTHING, vocabulary=words, raw=True))
        return made

    def _best_stream(
        self, document: DocumentId, near: tuple[int, int], far: tuple[int, int]
    ) -> list[Unit]:
        """The shortest stream that holds as many of the quotation's words as any."""
        wanted = self.vocabulary
        streams = [*self._streams(document, *near)[:1], *self._streams(document, *far)]
        held = [len(wanted & {unit.key for unit in units}) for units in streams]
        return streams[held.index(max(held))]

    def _assessed(
        self,
        document: DocumentId,
        form: Quotation,
        units: Sequence[Unit],
        alignments: Sequence[Alignment],
    ) -> list[Match]:
        layout = self.record.layout(document)
        setting = Setting(
            notes=layout.notes,
            is_word=known_words().__contains__,
            citations_omitted=self.quoted.citations_omitted,
            marks_omitted=self.quoted.marks_omitted,
        )
        made = []
        for alignment in alignments:
            said = assess(form, alignment, units, layout, setting, closes=self.quoted.closes)
            if said is not None:
                made.append(_match(said, form, document, units))
        return made


def _match(said: Assessment, form: Quotation, document: DocumentId, units: Sequence[Unit]) -> Match:
    likeness = said.matched / len(form.words)
    grade = Grade.SAME
    if said.worst is EditKind.MATERIAL:
        close = likeness >= 0.5 and (said.longest >= 3 or said.longest * 2 >= len(form.words))
        grade = Grade.ALTERED if close else Grade.ABSENT
    elif said.worst >= EditKind.DOUBT:
        grade = Grade.DOUBT
    elif (
        said.worst is EditKind.DISCLOSED
        or form.asides
        or any(0 < k < len(form.words) for k in form.gaps)
    ):
        grade = Grade.DISCLOSED
    return Match(
        grade=grade,
        document=document,
        stretches=tuple(
            Stretch(document=document, start=start, end=end) for start, end in said.stretches
        ),
        edits=said.edits,
        likeness=likeness,
        cost=said.cost,
        region=units[said.first].region,
        jumps=said.jumps,
        asides=tuple(form.asides),
    )


def confirmed(match: Match, quoted: Quoted, record: OpenRecord) -> Match:
    """A clean match after the second opinion: the same, or one that two checks disagree on."""
    if match.grade > Grade.DISCLOSED:
        return match
    share = match.start / max(1, len(record.text(match.document)))
    folded = record.folded(match.document)
    if folded.agrees(quoted.text, share=share, jumps=match.jumps):
        return match
    doubt = Edit(kind=EditKind.DOUBT, record="", reply="", why="two checks disagree: look at it")
    return replace(match, grade=Grade.DOUBT, edits=(*match.edits, doubt))


def _distinct(found: Sequence[Match]) -> list[Match]:
    """The best match at every place."""
    kept: list[Match] = []
    for match in sorted(found, key=lambda match: match.rank):
        if not any(
            match.document == other.document and match.start < other.end and other.start < match.end
            for other in kept
        ):
            kept.append(match)
    return kept
