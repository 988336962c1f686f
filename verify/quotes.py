"""One quotation against the record: seeds, aligns, types, asks the second opinion.

`search` gives the best reading in every document that could hold the quotation. It knows nothing
of what the reply attributes; `attribution.py` does, and `judge.py` brings both together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from protocol.ids import DocumentId
from verify.align import best_alignment, exact_runs
from verify.assess import Assessment, assess
from verify.danger import all_words
from verify.edits import Edit, EditKind, Setting, known_words
from verify.index import Place
from verify.judged import Stretch
from verify.layout import TEXT_REGIONS, Layout, Region
from verify.quotation import Quotation, readings
from verify.record import OpenRecord
from verify.tokens import Unit, stream

_FEW: Final = 5
"""Words up to which a quotation is also looked for by a plain scan."""
_FEW_NAMED: Final = 14
"""The same, in a document the reply names."""
_SCANNED: Final = 24
"""Documents scanned for it where the reply names none."""
_PER_DOCUMENT: Final = 3
"""Places of one document that are read in full."""
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
    quoted: Quoted, record: OpenRecord, documents: Sequence[DocumentId], *, first: Sequence[DocumentId] = ()
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
    places = _propose(quoted.text, forms[-1], record, documents, first)
    found: list[Match] = []
    for document, starts in places.items():
        found.extend(_in_document(quoted, forms, record, document, starts))
    few = _FEW_NAMED if first else _FEW
    if len(forms[0].words) <= few and not any(m.grade <= Grade.DOUBT for m in found):
        for document in first or tuple(documents)[:_SCANNED]:
            starts = _scan(forms[0], record.text(document))
            found.extend(_in_document(quoted, forms, record, document, starts))
    found.sort(key=lambda match: match.rank)
    return found


def _scan(form: Quotation, text: str) -> list[Place]:
    """Where a few common words stand in a row: the index has no gram of them."""
    pattern = r"[\W_]+".join(re.escape(word.unit.raw) for word in form.words)
    hits = re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)
    return [Place(1.0, 0, hit.start(), hit.end()) for hit, _ in zip(hits, range(8), strict=False)]


def _propose(
    text: str,
    form: Quotation,
    record: OpenRecord,
    documents: Sequence[DocumentId],
    first: Sequence[DocumentId],
) -> dict[DocumentId, list[Place]]:
    """Places by document; those that look hopeless beside the best are dropped."""
    words = form.words
    parts = [text[words[a].unit.start : words[b - 1].unit.end] for a, b in form.parts]
    spans = [(words[a].unit.start, words[b - 1].unit.end) for a, b in form.parts]
    passages = [text, *parts] if len(parts) > 1 else [text]
    offsets = [0, *(start for start, _ in spans)] if len(parts) > 1 else [0]
    located = record.searcher(documents).locate(passages, best=64)
    byd: dict[DocumentId, list[Place]] = {}
    for places, offset in zip(located, offsets, strict=True):
        top = max((place.votes for place in places), default=0.0)
        own: dict[DocumentId, float] = {}
        for place in places:
            document = documents[place.document]
            best = own.setdefault(document, place.votes)  # places come best first
            if place.votes * 2 < (best if document in first else max(best, top)):
                continue
            shifted = replace(place, start=max(0, place.start - offset))
            byd.setdefault(document, []).append(shifted)
    for document in first:
        if document not in byd:
            own = record.searcher((document,)).locate([text], best=_PER_DOCUMENT)[0]
            if own:
                byd[document] = own
    return {
        document: sorted(places, reverse=True)[: 4 * _PER_DOCUMENT] for document, places in byd.items()
    }


def _in_document(
    quoted: Quoted,
    forms: Sequence[Quotation],
    record: OpenRecord,
    document: DocumentId,
    places: Sequence[Place],
) -> list[Match]:
    layout = record.layout(document)
    setting = Setting(
        notes=layout.notes,
        is_word=known_words().__contains__,
        citations_omitted=quoted.citations_omitted,
        marks_omitted=quoted.marks_omitted,
    )
    found: list[Match] = []
    read: list[tuple[int, int]] = []
    for place in places:
        low, high = _window(layout, place, quoted.text, forms[-1])
        if any(a <= low and high <= b for a, b in read):
            continue
        read.append((low, high))
        if len(read) > _PER_DOCUMENT and found and min(m.grade for m in found) <= Grade.DISCLOSED:
            break
        near = layout.line_at(min(place.end + len(quoted.text) * 2 + _NEAR, len(layout.text)))
        clean = _in_window(
            quoted, forms, record, document, layout, setting, low, min(near, high), exact=True
        )
        found.extend(
            clean or _in_window(quoted, forms, record, document, layout, setting, low, high)
        )
    return _distinct(found)


def _window(layout: Layout, place: Place, text: str, form: Quotation) -> tuple[int, int]:
    """Numbers of the first and last line to read around a place."""
    gaps = sum(1 for k in form.gaps if 0 < k < len(form.words))
    low = place.start - _BEFORE - gaps * _GAP - (len(text) if gaps else 0)
    high = place.end + len(text) * 2 + _AFTER + gaps * _GAP
    return layout.line_at(max(0, low)), layout.line_at(min(high, len(layout.text)))


def _in_window(
    quoted: Quoted,
    forms: Sequence[Quotation],
    record: OpenRecord,
    document: DocumentId,
    layout: Layout,
    setting: Setting,
    low: int,
    high: int,
    *,
    exact: bool = False,
) -> list[Match]:
    vocabulary = all_words().union(*(form.vocabulary for form in forms))
    lines = range(low, high + 1)
    body = stream(layout, lines, regions=TEXT_REGIONS, vocabulary=vocabulary)
    streams = [body]
    held = {layout.lines[number].region for number in lines}
    if Region.FOOTNOTE in held:
        streams.append(
            stream(layout, lines, regions=frozenset({Region.FOOTNOTE}), vocabulary=vocabulary)
        )
    if held - TEXT_REGIONS or layout.numbered:
        streams.append(stream(layout, lines, regions=_EVERYTHING, vocabulary=vocabulary, raw=True))
    found = [
        match
        for units in streams
        for form in forms
        for match in _exact(quoted, form, units, record, document, layout, setting)
    ]
    if exact or any(match.grade <= Grade.DISCLOSED for match in found):
        return [match for match in found if match.grade <= Grade.DISCLOSED] if exact else found
    for units in _promising(streams, frozenset(vocabulary - all_words())):
        for form in forms:
            alignment = best_alignment(
                form, units, omit_cost=0.3 if quoted.citations_omitted else 1.0
            )
            if alignment is not None:
                said = assess(form, alignment, units, layout.text, setting, closes=quoted.closes)
                match = _match(said, form, quoted, record, document, layout, units)
                if match is not None:
                    found.append(match)
    return found


def _promising(streams: Sequence[list[Unit]], vocabulary: frozenset[str]) -> list[list[Unit]]:
    """The streams that hold most of the quotation's words; the plain text first among equals."""
    held = [len(vocabulary & {unit.key for unit in units}) for units in streams]
    most = max(held, default=0)
    kept: list[list[Unit]] = []
    for units, count in zip(streams, held, strict=True):
        if count == most and not kept:
            kept.append(units)
    return kept


def _exact(
    quoted: Quoted,
    form: Quotation,
    units: Sequence[Unit],
    record: OpenRecord,
    document: DocumentId,
    layout: Layout,
    setting: Setting,
) -> list[Match]:
    made = []
    for alignment in exact_runs(form, units):
        said = assess(form, alignment, units, layout.text, setting, closes=quoted.closes)
        match = _match(said, form, quoted, record, document, layout, units)
        if match is not None:
            made.append(match)
    return made


def _match(
    said: Assessment | None,
    form: Quotation,
    quoted: Quoted,
    record: OpenRecord,
    document: DocumentId,
    layout: Layout,
    units: Sequence[Unit],
) -> Match | None:
    if said is None:
        return None
    likeness = said.matched / len(form.words)
    grade = Grade.SAME
    if said.worst is EditKind.MATERIAL:
        close = likeness >= 0.5 and (said.longest >= 3 or said.longest * 2 >= len(form.words))
        grade = Grade.ALTERED if close else Grade.ABSENT
    elif said.worst >= EditKind.DOUBT:
        grade = Grade.DOUBT
    elif said.worst is EditKind.DISCLOSED or form.asides or any(0 < k < len(form.words) for k in form.gaps):
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
        if not any(match.start < other.end and other.start < match.end for other in kept):
            kept.append(match)
    return kept
