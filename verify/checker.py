"""Checks a whole reply: finds every checkable item, judges it, classes every sentence.

Nothing that goes wrong here may leave a green: an item whose judge fails is CHECK, "not checked",
and where a finder fails no sentence counts as supported and the report says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from protocol.answers import (
    Citation,
    Claim,
    Finding,
    ItemKind,
    SentenceClass,
    Verdict,
)
from protocol.ids import DocumentId
from verify.amounts import find_figures
from verify.authorities import find_reporter_cites
from verify.citations import find_authority_cites, judge_authority_cite, judge_record_cite
from verify.dates import find_dates, judge_date
from verify.figures import judge_figure
from verify.judged import Judged, Stretch
from verify.judging import judge_quote
from verify.locators import find_record_cites
from verify.marks import Marked, find_marked
from verify.names import find_names, judge_name
from verify.naming import speaking
from verify.pins import cite
from verify.record import OpenRecord
from verify.report import Report, count
from verify.sentences import class_sentences
from verify.source import Source
from verify.titles import exact_titles

NOT_CHECKED: Final = "not checked"
Span = tuple[int, int]
OnFailure = Callable[[Exception], None]
"""Told of an exception in a part of the checker, which shows in the report as "not checked"."""
_CASE: Final = re.compile(
    r"(?:In re |Ex parte )?[A-Z][\w.'’&-]*(?:,? (?:[A-Z&][\w.'’&-]*|of|the|for|and)){0,8} v\.? "
    r"[A-Z][\w.'’&-]*(?:,? (?:[A-Z&][\w.'’&-]*|of|the|for|and)){0,8},?\s*\Z"
)
_YEAR: Final = re.compile(r"(?:,\s*\d+)?\s*\([^()]{0,60}\d{4}\)")
_CITES: Final = re.compile(
    r"\b(?:according to|see|pursuant to|under (?:section|article|clause)|the (?:record|document|"
    r"lease|contract|agreement|"
    r"deposition|transcript|e-?mail|report|complaint|order|opinion)s? (?:show|say|state|provide|"
    r"confirm|establish|indicate)\w*)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class _Item:
    kind: ItemKind
    start: int
    end: int
    judge: Callable[[], Judged]


def check(
    answer: str,
    source: Source | OpenRecord,
    *,
    user_text: str = "",
    documents: Sequence[DocumentId] | None = None,
    on_failure: OnFailure = lambda _: None,
) -> Report:
    """Says what in an answer the record supports.

    Args:
        answer: The reply's text.
        source: The record, or one already opened (its indexes and tables are then reused).
        user_text: What the user wrote; it supports nothing.
        documents: Ids to look in; None for all of the record.
        on_failure: Told of each failure of the checker itself, for the caller's log; it must not
            raise, and must not repeat the exception's message, which may hold words of the record.

    Returns:
        A report in which every checkable item and every sentence has its place. A failure of the
        checker itself shows as CHECK, "not checked"; nothing is raised for any text.
    """
    try:
        record = source if isinstance(source, OpenRecord) else OpenRecord(source)
        scope = [info.id for info in record.infos] if documents is None else list(documents)
        items, failed = _items(answer, record, scope, user_text, on_failure)
    except Exception as error:
        on_failure(error)
        return _nothing(answer, on_failure)
    findings = tuple(
        _finding(number, item, record, on_failure) for number, item in enumerate(items, start=1)
    )
    failures = tuple(f"The search for {name} failed: they were not checked." for name in failed)
    notes = list(failures)
    frames = _frames(answer, record, on_failure)
    claims = _claims(answer, findings, frames, on_failure, doubtful=bool(failed))
    marked = [f for f in findings if f.verdict is not Verdict.NOT_A_QUOTE]
    if not marked and (_CITES.search(answer) or exact_titles(answer, record.infos)):
        notes.append("This reply speaks of documents but holds nothing that can be checked.")
    elif not marked and answer.strip():
        notes.append("This reply holds nothing that can be checked against the record.")
    used = {c.document for f in findings for c in (*f.places, *f.also_in, *f.nearest)}
    return Report(
        findings=findings,
        sentences=claims,
        counts=count(findings, claims),
        record={d: record.by_id[d].text_sha256 for d in sorted(used)},
        notes=tuple(notes),
        failures=failures,
    )


def _nothing(answer: str, on_failure: OnFailure) -> Report:
    claims = _claims(answer, (), (), on_failure, doubtful=True)
    failures = ("The checker could not read the record: nothing was checked.",)
    return Report(
        findings=(),
        sentences=claims,
        counts=count((), claims),
        record={},
        notes=failures,
        failures=failures,
    )


# --- finding --------------------------------------------------------------------------------------


def _items(
    answer: str,
    record: OpenRecord,
    scope: Sequence[DocumentId],
    user_text: str,
    on_failure: OnFailure,
) -> tuple[list[_Item], list[str]]:
    """Every checkable item in reading order, and the names of the searches that failed."""
    failed: list[str] = []

    def tried(name: str, find: Callable[[], Iterable[Span]]) -> list[Span]:
        try:
            return [(start, end) for start, end in find() if 0 <= start < end <= len(answer)]
        except Exception as error:
            on_failure(error)
            failed.append(name)
            return []

    made: list[_Item] = []
    taken: list[Span] = []

    def add(kind: ItemKind, spans: Iterable[Span], judge: Callable[[Span], Judged]) -> None:
        for span in spans:
            if not _meets(span, taken):
                made.append(
                    _Item(kind=kind, start=span[0], end=span[1], judge=partial(judge, span))
                )
                taken.append(span)

    titles = tried("titles", lambda: ((t.start, t.end) for t in exact_titles(answer, record.infos)))
    quotes = _quotes(answer, record, scope, user_text, failed, on_failure)
    made += [item for item, _ in quotes]
    taken += [(item.start, item.end) for item, quotes_record in quotes if quotes_record]
    source, tables = record.source, record.tables
    cites = tried("record cites", lambda: ((c.start, c.end) for c in find_record_cites(answer)))
    laws = tried("cites of law", lambda: _authorities(answer))
    add(
        ItemKind.AUTHORITY_CITE,
        laws,
        lambda s: judge_authority_cite(answer, s, source, scope, tables=tables),
    )
    add(
        ItemKind.RECORD_CITE,
        [c for c in cites if not _meets(c, titles)],
        lambda s: judge_record_cite(answer, s, source, scope),
    )
    dates = tried("dates", lambda: ((d.start, d.end) for d in find_dates(answer)))
    add(
        ItemKind.DATE,
        [d for d in dates if not _meets(d, titles)],
        lambda s: judge_date(answer, s, source, scope, tables=tables),
    )
    barred = [*titles, *cites, *dates, *(_with_case(answer, law) for law in laws)]
    figures = {}

    def figure_spans() -> Iterable[Span]:
        for figure in find_figures(answer, barred):
            figures[figure.start, figure.end] = figure
            yield figure.start, figure.end

    spans = tried("amounts and numbers", figure_spans)
    for money in (True, False):
        add(
            ItemKind.AMOUNT if money else ItemKind.NUMBER,
            [s for s in spans if figures[s].money is money],
            lambda s: judge_figure(answer, s, source, scope, tables=tables),
        )
    names = tried(
        "names", lambda: ((n.start, n.end) for n in find_names(answer, [*barred, *taken]))
    )
    add(ItemKind.NAME, names, lambda s: judge_name(answer, s, source, scope, tables=tables))
    return sorted(made, key=lambda item: (item.start, item.end)), failed


def _quotes(
    answer: str,
    record: OpenRecord,
    scope: Sequence[DocumentId],
    user_text: str,
    failed: list[str],
    on_failure: OnFailure,
) -> list[tuple[_Item, bool]]:
    """The quotations, judged at once: what quotes the record is not searched for other items."""
    try:
        marks = find_marked(answer)
    except Exception as error:
        on_failure(error)
        failed.append("quotations")
        return []
    made = []
    for mark in marks:
        judge = partial(_judge_mark, answer, mark, record, scope, user_text)
        judged = _safely(judge, on_failure)
        item = _Item(
            kind=ItemKind.QUOTE,
            start=mark.start,
            end=mark.end,
            judge=partial(_known, judged),
        )
        made.append((item, judged.verdict is not Verdict.NOT_A_QUOTE))
    return made


def _known(judged: Judged) -> Judged:
    """What was judged already."""
    return judged


def _judge_mark(
    answer: str, mark: Marked, record: OpenRecord, scope: Sequence[DocumentId], user_text: str
) -> Judged:
    judged = judge_quote(
        answer, (mark.start, mark.end), record, scope, user_text=user_text, block=mark.block
    )
    if mark.closed or judged.verdict is Verdict.NOT_A_QUOTE:
        return judged
    return Judged(
        verdict=Verdict.CHECK, reason="The closing quotation mark is missing", places=judged.places
    )


def _authorities(answer: str) -> Iterable[Span]:
    """Cites of law; without the citation parser only what our own grammar reads."""
    try:
        return find_authority_cites(answer)
    except ModuleNotFoundError:
        return [(c.start, c.end) for c in find_reporter_cites(answer)]


def _with_case(answer: str, law: Span) -> Span:
    """A cite of law with the case's name before it and the court and year after it."""
    name = _CASE.search(answer, max(0, law[0] - 160), law[0])
    year = _YEAR.match(answer, law[1])
    return (name.start() if name else law[0]), (year.end() if year else law[1])


def _meets(span: Span, others: Iterable[Span]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


# --- judging --------------------------------------------------------------------------------------


def _safely(judge: Callable[[], Judged], on_failure: OnFailure) -> Judged:
    try:
        return judge()
    except Exception as error:
        on_failure(error)
        return Judged(verdict=Verdict.CHECK, reason=NOT_CHECKED)


def _finding(number: int, item: _Item, record: OpenRecord, on_failure: OnFailure) -> Finding:
    judged = _safely(item.judge, on_failure)
    try:
        places = _cited(judged.places, record, joined=item.kind is ItemKind.QUOTE)
        also = _cited(judged.also_in, record)
        nearest = _cited(judged.nearest, record, joined=item.kind is ItemKind.QUOTE)
    except Exception as error:
        on_failure(error)
        judged = Judged(verdict=Verdict.CHECK, reason=NOT_CHECKED)
        places = also = nearest = ()
    return Finding(
        number=number,
        start=item.start,
        end=item.end,
        kind=item.kind,
        verdict=judged.verdict,
        reason=judged.reason,
        places=places,
        also_in=also,
        nearest=nearest,
        diff=judged.diff,
        steps=judged.steps,
    )


def _cited(
    stretches: Sequence[Stretch], record: OpenRecord, *, joined: bool = False
) -> tuple[Citation, ...]:
    """Citations of places; the parts of one quotation make one citation."""
    if not stretches:
        return ()
    if joined and len({s.document for s in stretches}) == 1:
        return (cite(record, stretches),)
    return tuple(cite(record, (stretch,)) for stretch in stretches)


def _frames(answer: str, record: OpenRecord, on_failure: OnFailure) -> list[Span]:
    """The stretches of a reply that name a document or say who speaks; empty where that fails."""
    try:
        titles = [(t.start, t.end) for t in exact_titles(answer, record.infos)]
        return titles + speaking(answer)
    except Exception as error:
        on_failure(error)
        return []


def _claims(
    answer: str,
    findings: tuple[Finding, ...],
    frames: Sequence[Span],
    on_failure: OnFailure,
    *,
    doubtful: bool,
) -> tuple[Claim, ...]:
    """The sentences; none is supported where the checker is not sure to have seen everything."""
    try:
        claims = class_sentences(answer, findings, frames)
    except Exception as error:
        on_failure(error)
        whole = Claim(
            start=0,
            end=len(answer),
            sentence_class=SentenceClass.NO_SOURCE,
            items=tuple(finding.number for finding in findings),
        )
        return (whole,) if answer.strip() else ()
    if not doubtful:
        return claims
    return tuple(
        msgspec.structs.replace(claim, sentence_class=SentenceClass.UNSUPPORTED)
        if claim.sentence_class is SentenceClass.SUPPORTED
        else claim
        for claim in claims
    )
