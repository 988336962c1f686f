"""Which places of the record are worth reading for a quotation.

The index proposes many; the words around each are counted, which is cheap, and only the few that
hold most of the quotation's words are read in full. The documents the reply names are always read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from protocol.ids import DocumentId
from verify.locate import Place
from verify.quotation import Quotation
from verify.record import OpenRecord

_PROPOSED: Final = 32
"""Places asked of the index for one passage."""
_READ: Final = 6
"""Places read in full."""
_NAMED: Final = 4
"""Places of a named document that are read whatever they hold."""
_SLACK: Final = 0.12
"""A place may hold this much less of the words than the best one."""
_FEW: Final = 5
"""Words up to which a quotation is also looked for by a plain scan."""
_FEW_NAMED: Final = 14
"""The same, in a document the reply names."""
_SCANNED: Final = 24
"""Documents scanned where the reply names none."""
_WORD: Final = re.compile(r"[^\W_]+")


def propose(
    text: str,
    form: Quotation,
    record: OpenRecord,
    documents: Sequence[DocumentId],
    first: Sequence[DocumentId],
) -> list[tuple[DocumentId, Place]]:
    """Documents and places, the most promising first.

    Args:
        text: The words between the marks.
        form: The reading of it that knows most gaps.
        record: The opened record.
        documents: Where to look.
        first: The documents the reply names.
    """
    words = form.words
    spans = [(words[a].unit.start, words[b - 1].unit.end) for a, b in form.parts]
    if len(spans) > 1:
        spans.insert(0, (0, len(text)))
    else:
        spans = [(0, len(text))]
    passages = [text[start:end] for start, end in spans]
    located = record.searcher(documents).locate(passages, best=_PROPOSED)
    chosen: list[tuple[float, DocumentId, Place]] = []
    for passage, (start, _), places in zip(passages, spans, located, strict=True):
        for held, document, place in _promising(passage, places, record, documents, first):
            moved = replace(place, start=max(0, place.start - start))
            chosen.append((held, document, moved))
    for document in first:
        if not any(document == name for _, name, _ in chosen):
            own = record.searcher((document,)).locate([text], best=_NAMED)[0]
            chosen += [(0.0, document, place) for place in own]
    chosen.sort(key=lambda row: -row[0])
    return [(document, place) for _, document, place in chosen]


def _promising(
    passage: str,
    places: Sequence[Place],
    record: OpenRecord,
    documents: Sequence[DocumentId],
    first: Sequence[DocumentId],
) -> list[tuple[float, DocumentId, Place]]:
    wanted = set(_WORD.findall(passage.casefold()))
    rated = []
    for place in places:
        document = documents[place.document]
        raw = record.source.text(document)
        low = max(0, place.start - 100 - len(passage) * 6 // 10)
        near = raw[low : place.end + 400 + len(passage) * 16 // 10]
        held = len(wanted.intersection(_WORD.findall(near.casefold()))) / max(1, len(wanted))
        rated.append((held, place.votes, document, place))
    rated.sort(key=lambda row: (-row[0], -row[1]))
    best = rated[0][0] if rated else 0.0
    kept = [row for row in rated if row[0] >= best - _SLACK][:_READ]
    for name in first:
        kept += [row for row in rated if row[2] == name and row not in kept][:_NAMED]
    return [(held, document, place) for held, _, document, place in kept]


def scan_places(
    form: Quotation,
    record: OpenRecord,
    documents: Sequence[DocumentId],
    first: Sequence[DocumentId],
) -> list[tuple[DocumentId, Place]]:
    """Where a few common words stand in a row: the index has no gram of them."""
    if len(form.words) > (_FEW_NAMED if first else _FEW):
        return []
    raws = [word.unit.raw for word in form.words]
    pattern = re.compile(
        (r"(?<!\w)" if raws[0][:1].isalnum() else "")
        + r"[\W_]*".join(re.escape(raw) for raw in raws)
        + (r"(?!\w)" if raws[-1][-1:].isalnum() else ""),
        re.IGNORECASE,
    )
    found: list[tuple[DocumentId, Place]] = []
    for document in first or tuple(documents)[:_SCANNED]:
        hits = pattern.finditer(record.source.text(document))
        found += [
            (document, Place(1.0, 0, hit.start(), hit.end()))
            for hit, _ in zip(hits, range(8), strict=False)
        ]
    return found
