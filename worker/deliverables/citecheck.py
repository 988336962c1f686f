"""`/citecheck`: the other side's brief, every item of it held against the rest of the record.

The brief itself is left out of the search: a paper does not prove itself. The text shows each
sentence that holds something to check, in the brief's own words, the worst first, and beside a
quotation that differs the words as they really stand. The table says of each item what was found.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import verify
from protocol.answers import (
    AMBER,
    GREEN,
    RED,
    Citation,
    Finding,
    ItemKind,
    Provenance,
    Timings,
    Verdict,
)
from protocol.events import Stage
from protocol.ids import DocumentId
from protocol.jobs import CiteCheck
from protocol.record import DocumentClass, DocumentInfo
from rag.coverage import coverage
from worker.checking import checked
from worker.deliverables import Desk, Draft, Row
from worker.deliverables.wording import line
from worker.quoting import Sentence
from worker.told import FINDING, SHOWN

COLUMNS: Final = ("item", "kind", FINDING, "reason", "the record")
_DIFFERS: Final = frozenset({Verdict.ALTERED, Verdict.MISATTRIBUTED, Verdict.INCONSISTENT})
_GROUPS: Final = (
    ("Differs from the record:", _DIFFERS),
    ("The record does not hold this:", frozenset({Verdict.NOT_FOUND})),
    ("To look at:", AMBER),
    ("As the record has it:", GREEN),
)
_BETWEEN: Final = "\n\n"


@dataclass(frozen=True, kw_only=True)
class _Checked:
    """A sentence of the brief with what was found of its items."""

    sentence: Sentence
    items: tuple[tuple[str, Finding], ...]
    """Each with its words in the brief."""


class _Found(NamedTuple):
    """A report before it is a draft."""

    text: str
    rows: tuple[Row, ...]
    findings: list[Finding]
    title: str
    failures: tuple[str, ...]
    """What the checker could not look for."""


async def make(desk: Desk, request: CiteCheck) -> Draft:
    """The draft of a cite-check report."""
    started = time.perf_counter()
    await desk.stage(Stage.RETRIEVING)
    record = desk.matter.opened()
    if request.document is None:
        found = await _of_text(desk, record, request.text)
        proof = ("place", "mark")
    else:
        (brief,) = desk.chosen((request.document,))
        found = await _of_document(desk, record, brief)
        proof = ("place in the brief", SHOWN)
    return Draft(
        question=f"/citecheck {found.title}",
        text=found.text,
        coverage=await asyncio.to_thread(
            coverage, desk.matter.record, searched="every document but the one checked"
        ),
        timings=Timings(retrieving_ms=(time.perf_counter() - started) * 1000),
        provenance=Provenance(composition="code"),
        columns=COLUMNS,
        rows=found.rows,
        proof_columns=proof,
        notes=(*found.failures, *_counted(found.findings)),
    )


async def _of_document(desk: Desk, record: verify.OpenRecord, brief: DocumentInfo) -> _Found:
    sentences = await desk.sentences(brief.id)
    others = [info.id for info in record.infos if info.id != brief.id]
    items, failures = await _judged(desk, record, sentences, others)
    text, rows = "", []
    for heading, _ in _GROUPS:
        part = [one for one in items if _worst(one) == heading]
        if part:
            text += f"{_BETWEEN if text else ''}{heading}"
        for one in part:
            text += f"\n{line(brief.title, one.sentence, None)}"
            start, end = text.rfind(f"\n- {brief.title}: "), len(text)
            for words, finding in one.items:
                rows.append(Row(cells=_cells(words, finding), start=start, end=end))
            shown = await _true_words(desk, [finding for _, finding in one.items])
            for title, true in shown:
                text += f"\n{line(title, true, None)}"
    return _Found(
        text=text or "This document holds nothing that can be checked.",
        rows=tuple(rows),
        findings=[finding for one in items for _, finding in one.items],
        title=brief.title,
        failures=failures,
    )


async def _of_text(desk: Desk, record: verify.OpenRecord, brief: str) -> _Found:
    """A text that is no document is shown as given; pleadings are left out, they prove nothing."""
    text = brief.strip()
    evidence = [
        info.id for info in record.infos if info.document_class is not DocumentClass.PLEADING
    ]
    report = await checked(text, record, job=desk.context.job, documents=evidence)
    found = [one for one in report.findings if _tells(one)]
    rows = tuple(
        Row(cells=_cells(text[one.start : one.end], one), start=one.start, end=one.end)
        for one in found
    )
    return _Found(
        text=text, rows=rows, findings=found, title="of a given text", failures=report.failures
    )


async def _judged(
    desk: Desk,
    record: verify.OpenRecord,
    sentences: Sequence[Sentence],
    others: Sequence[DocumentId],
) -> tuple[list[_Checked], tuple[str, ...]]:
    """The items of the brief, sentence by sentence, judged in all other documents.

    What the checker could not look for is said beside them: it would be missing in silence.
    """
    text, starts = "", []
    for sentence in sentences:
        starts.append(len(text))
        text += f"{sentence.words}{_BETWEEN}"
    report = await checked(text, record, job=desk.context.job, documents=others)
    found = []
    for at, sentence in enumerate(sentences):
        begin, end = starts[at], starts[at] + len(sentence.words)
        items = tuple(
            (text[one.start : one.end], one)
            for one in report.findings
            if begin <= one.start < end and _tells(one)
        )
        if items:
            found.append(_Checked(sentence=sentence, items=items))
    return found, report.failures


def _tells(finding: Finding) -> bool:
    """Whether a finding is worth a row: a name that the record knows is not."""
    if finding.verdict is Verdict.NOT_A_QUOTE:
        return False
    return finding.kind is not ItemKind.NAME or finding.verdict not in GREEN


def _worst(one: _Checked) -> str:
    verdicts = {finding.verdict for _, finding in one.items}
    return next(heading for heading, group in _GROUPS if verdicts & group)


def _cells(words: str, finding: Finding) -> tuple[str, ...]:
    places = finding.places or finding.nearest
    true = "; ".join(f"{place.pin_cite}: {place.words}" for place in places[:2])
    if finding.verdict in GREEN:
        true = "; ".join(place.pin_cite for place in places[:2])
    return (
        " ".join(words.split()),
        finding.kind.replace("_", " "),
        finding.verdict.replace("_", " "),
        (finding.diff or finding.reason).replace("reply", "brief"),
        true,
    )


async def _true_words(desk: Desk, findings: Sequence[Finding]) -> list[tuple[str, Sentence]]:
    """Beside a quotation that differs: the whole sentence as the record has it."""
    shown: dict[tuple[DocumentId, int], tuple[str, Sentence]] = {}
    for finding in findings:
        if finding.kind is not ItemKind.QUOTE or finding.verdict not in RED | AMBER:
            continue
        for place in (*finding.places, *finding.nearest)[:1]:
            async_sentences = await desk.sentences(place.document)
            for sentence in _around(place, async_sentences):
                shown.setdefault((place.document, sentence.start), (place.title, sentence))
    return list(shown.values())


def _around(place: Citation, every: Sequence[Sentence]) -> Iterator[Sentence]:
    for sentence in every:
        if sentence.start <= place.span.start < sentence.end:
            yield sentence


def _counted(findings: Sequence[Finding]) -> Iterator[str]:
    """What was found, by kind: counts of our own, so they stand beside the text."""
    kinds = Counter((one.kind, _word(one)) for one in findings)
    for kind in ItemKind:
        parts = [f"{count} {word}" for (of, word), count in sorted(kinds.items()) if of is kind]
        if parts:
            yield f"{kind.replace('_', ' ').capitalize()}: {', '.join(parts)}."
    if any(one.kind is ItemKind.AUTHORITY_CITE for one in findings):
        yield "Cites of law were read for their form only: no authorities are loaded."


def _word(finding: Finding) -> str:
    return finding.verdict.replace("_", " ").lower()
