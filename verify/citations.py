"""Cites in a reply: into the record, and to law.

`named_document` says which document, page, line or Bates label the reply attributes an item to,
and is what quotations, dates and figures ask before they look anywhere. `judge_record_cite`
resolves a record cite to a place that exists. `judge_authority_cite` finds a reporter cite in the
record's text; beyond that a cite of law is "form only, not validated". eyecite's one door.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from protocol.answers import Verdict
from protocol.record import DocumentInfo
from verify.authorities import ReporterCite, find_reporter_cites
from verify.judged import Judged, Stretch
from verify.locators import find_record_cites
from verify.naming import Attribution, misplaced, named_document
from verify.places import in_scope, supports_facts
from verify.resolve import resolve
from verify.source import Source
from verify.tables import Tables
from verify.titles import exact_titles

__all__ = [
    "Attribution",
    "find_authority_cites",
    "judge_authority_cite",
    "judge_record_cite",
    "misplaced",
    "named_document",
]


# --- record cites ---


def judge_record_cite(
    reply: str,
    span: tuple[int, int],
    source: Source,
    documents: Sequence[str] | None = None,
) -> Judged:
    """Whether the record cite at ``span`` points to a place that exists.

    VERIFIED says that the place is there, not that it says what the reply says: the quotations,
    dates and figures beside the cite are checked at that place by their own judges.
    """
    infos = in_scope(source, documents)
    titles = exact_titles(reply, infos)
    cites = find_record_cites(reply)
    cite = next((c for c in cites if c.start < span[1] and span[0] < c.end), None)
    if cite is None:
        return Judged(verdict=Verdict.CHECK, reason="Not read as a record cite: look at it")
    found = resolve(cite, reply, cites, titles, infos, source)
    if found.problem:
        return Judged(verdict=Verdict.NOT_FOUND, reason=found.problem, nearest=found.nearest)
    if len(found.documents) > 1:
        return Judged(
            verdict=Verdict.CHECK,
            reason="Fits several documents of the record",
            places=found.places,
        )
    if not found.documents or not found.places or not found.certain:
        return Judged(
            verdict=Verdict.CHECK,
            reason=found.doubt or "The document is not certain from these words",
            places=found.places,
        )
    return Judged(verdict=Verdict.VERIFIED, reason="The place cited exists", places=found.places)


# --- cites of law ---


def judge_authority_cite(
    reply: str,
    span: tuple[int, int],
    source: Source,
    documents: Sequence[str] | None = None,
    *,
    tables: Tables | None = None,
) -> Judged:
    """Whether the record holds the reporter or statute cite at ``span``.

    A cite the record holds, in the document the reply names if it names one, is VERIFIED: the
    record cites it so. That an authority exists or says anything is never checked here.
    """
    tables = tables or Tables()
    cite = _cite_at(reply, span)
    if cite is None:
        return _by_form(reply, span, source, documents)
    infos = in_scope(source, documents)
    named = named_document(reply, span, source, documents)
    loose = named.carried or named.guessed
    first = [info for info in infos if info.id in named.documents and not loose]
    held = _holding(cite, first or infos, source, tables)
    if held:
        return _compare_cite(reply, cite, held, source)
    elsewhere = _holding(cite, infos, source, tables) if first else []
    if elsewhere:
        info, place = elsewhere[0]
        return Judged(
            verdict=Verdict.MISATTRIBUTED if named.exact else Verdict.CHECK,
            reason=f"Cited in {info.title}, not in the document the reply names; not validated",
            places=(Stretch(document=info.id, start=place.start, end=place.end),),
        )
    nearest = _close(cite, first or infos, source, tables)
    if first:
        return Judged(
            verdict=Verdict.NOT_FOUND,
            reason="The document named does not cite this; form only, not validated",
            nearest=nearest,
        )
    form = "well formed" if _known_form(reply[cite.start : cite.end]) else "not a form we know"
    return Judged(
        verdict=Verdict.CHECK,
        reason=f"Form only, not validated ({form}); the record does not hold it",
        nearest=nearest,
    )


def _cite_at(reply: str, span: tuple[int, int]) -> ReporterCite | None:
    for cite in find_reporter_cites(reply):
        if cite.start < span[1] and span[0] < cite.end:
            return cite
    return None


def _holding(
    cite: ReporterCite, infos: Sequence[DocumentInfo], source: Source, tables: Tables
) -> list[tuple[DocumentInfo, ReporterCite]]:
    return [
        (info, place)
        for info in infos
        for place in tables.get("authorities", source, info, find_reporter_cites)
        if place.key == cite.key
    ]


def _close(
    cite: ReporterCite, infos: Sequence[DocumentInfo], source: Source, tables: Tables
) -> tuple[Stretch, ...]:
    """The cite of the same reporter that shares the volume or the page."""
    for info in infos:
        for place in tables.get("authorities", source, info, find_reporter_cites):
            same = place.volume == cite.volume or place.page == cite.page
            if place.reporter == cite.reporter and same:
                return (Stretch(document=info.id, start=place.start, end=place.end),)
    return ()


def _compare_cite(
    reply: str, cite: ReporterCite, held: list[tuple[DocumentInfo, ReporterCite]], source: Source
) -> Judged:
    """The same cite stands in the record; name, pin and year must not contradict it."""
    said = _case_name(reply, cite.start)
    places = tuple(Stretch(document=i.id, start=c.start, end=c.end) for i, c in held)
    names = [_case_name(source.text(info.id), place.start) for info, place in held]
    known = [name for name in names if name]
    if said and known and not any(_same_case(said, name) for name in known):
        return Judged(
            verdict=Verdict.MISATTRIBUTED,
            reason=f"The record gives this cite to {known[0]}",
            places=places[:1],
            diff=f'record "{known[0]}" / reply "{said}"',
        )
    years = {place.year for _, place in held if place.year}
    if cite.year and years and cite.year not in years:
        return Judged(
            verdict=Verdict.ALTERED,
            reason="The record gives another year for this cite",
            places=places[:1],
            diff=f'record "{sorted(years)[0]}" / reply "{cite.year}"',
        )
    if cite.pin and cite.pin not in {place.pin for _, place in held}:
        return Judged(
            verdict=Verdict.CHECK,
            reason=f"The record cites this, but not at {cite.pin}; not validated",
            places=places[:1],
        )
    facts = any(supports_facts(info) for info, _ in held)
    label = "" if facts else " (an authority of the record, not evidence)"
    return Judged(
        verdict=Verdict.VERIFIED,
        reason=f"The record holds this cite{label}; the authority itself was not validated",
        places=places[:1],
        also_in=places[1:6],
    )


_CASE_NAME = re.compile(
    r"(?P<one>[A-Z][\w.,'’&-]*(?:\s+(?:[A-Z&][\w.,'’&-]*|of|the|for|and|ex"
    r"|rel\.)){0,6}?)\s+v\.?s?\.?\s+"
    r"(?P<two>[A-Z][\w.'’&-]*(?:\s+(?:[A-Z&][\w.'’&-]*|of|the|for|and)){0,6}),?\s*(?:Inc\.|Co\."
    r"|Corp\.|L\.?P\.?|LLC)?,?\s*$"
)


def _case_name(text: str, at: int) -> str:
    before = re.sub(r"\s+", " ", text[max(0, at - 160) : at])
    found = _CASE_NAME.search(before)
    return f"{found['one'].strip(' ,')} v. {found['two'].strip(' ,')}" if found else ""


def _same_case(a: str, b: str) -> bool:
    """Whether both sides of two case names share a word of their own."""
    common = {
        "united",
        "states",
        "state",
        "city",
        "county",
        "v",
        "the",
        "of",
        "inc",
        "co",
        "corp",
        "in",
        "re",
        "see",
    }
    first = [{*re.findall(r"\w{2,}", side.lower())} for side in a.split(" v. ", 1)]
    second = [{*re.findall(r"\w{2,}", side.lower())} for side in b.split(" v. ", 1)]
    sides = [(x, y) for x, y in zip(first, second, strict=False) if (x - common) and (y - common)]
    if not sides:
        return first == second
    return all((x & y) - common for x, y in sides)


def _by_form(
    reply: str, span: tuple[int, int], source: Source, documents: Sequence[str] | None
) -> Judged:
    """A statute, rule or foreign cite: looked up as words, spaces and points left out."""
    wanted = re.sub(r"[\s.]", "", reply[span[0] : span[1]])
    if len(wanted) < 4 or not any(sign.isdigit() for sign in wanted):
        return Judged(verdict=Verdict.CHECK, reason="Not read as a cite: look at it")
    pattern = re.compile(
        r"(?<![\w])" + r"[\s.]*".join(map(re.escape, wanted)) + r"(?![\w(]|[.,-]\d|\([a-z0-9])"
    )
    named = named_document(reply, span, source, documents)
    infos = in_scope(source, documents)
    chosen = [info for info in infos if info.id in named.documents] or list(infos)
    for info in chosen:
        found = pattern.search(source.text(info.id))
        if found:
            return Judged(
                verdict=Verdict.VERIFIED,
                reason="The record holds this cite; the authority itself was not validated",
                places=(Stretch(document=info.id, start=found.start(), end=found.end()),),
            )
    sure = named.documents and not (named.carried or named.guessed)
    verdict = Verdict.NOT_FOUND if sure else Verdict.CHECK
    form = "well formed" if _known_form(reply[span[0] : span[1]]) else "not a form we know"
    return Judged(
        verdict=verdict, reason=f"Form only, not validated ({form}); the record does not hold it"
    )


def _known_form(cite: str) -> bool:
    """Whether eyecite reads the words as a cite of its grammar."""
    from eyecite import get_citations  # noqa: TID251
    from eyecite.models import UnknownCitation  # noqa: TID251

    found = get_citations(cite)
    return any(not isinstance(one, UnknownCitation) for one in found)


def find_authority_cites(text: str) -> tuple[tuple[int, int], ...]:
    """The spans of reporter and statute cites in a reply, by eyecite's grammar and our own."""
    from eyecite import get_citations  # noqa: TID251
    from eyecite.models import (  # noqa: TID251
        FullCaseCitation,
        FullJournalCitation,
        FullLawCitation,
    )

    kinds = (FullCaseCitation, FullLawCitation, FullJournalCitation)
    found = (one for one in get_citations(text) if isinstance(one, kinds))
    # eyecite declares its classes but not this method
    spans: set[tuple[int, int]] = {one.span() for one in found}  # type: ignore[no-untyped-call]
    for start, end in ((cite.start, cite.end) for cite in find_reporter_cites(text)):
        if _known_form(text[start:end]) and not any(a < end and start < b for a, b in spans):
            spans.add((start, end))
    return tuple(sorted(spans))
