"""Cites in a reply: into the record, and to law.

`named_document` says which document, page, line or Bates label the reply attributes an item to,
and is what quotations, dates and figures ask before they look anywhere. `judge_record_cite`
resolves a record cite to a place that exists. `judge_authority_cite` finds a reporter cite in the
record's text; beyond that a cite of law is "form only, not validated". eyecite's one door.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from protocol.answers import Verdict
from protocol.ids import DocumentId
from protocol.record import DocumentInfo
from verify.authorities import ReporterCite, find_reporter_cites
from verify.judged import Judged, Stretch
from verify.locators import CiteKind, RecordCite, find_record_cites
from verify.places import in_scope, supports_facts
from verify.resolve import Resolved, resolve
from verify.source import Source
from verify.tables import Tables
from verify.titles import Named, exact_titles, loose_titles
from verify.word_forms import sentence_end, sentence_start

_SPEAKER = re.compile(
    r"(?P<who>(?:(?:Chief\s+)?Justice|Judge|Mr\.|Ms\.|Mrs\.|Dr\.|Professor"
    r"|General)\s+[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)?"
    r"|[A-Z][\w'’-]+)\s+(?:\w+ly\s+)?(?:said|says|stated|states|testified|testifies|asked|answered"
    r"|replied|responded|"
    r"argued|wrote|writes|explained|admitted|conceded|acknowledged|told|observed|remarked)\b"
)


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """To what the reply attributes an item; every part empty or None where it names none."""

    documents: tuple[DocumentId, ...] = ()
    """The document; several where the name fits several, and then none of them is certain."""
    exact: bool = False
    """Named by its whole title, exhibit label, docket number or Bates label."""
    naming: tuple[tuple[int, int], ...] = ()
    """The stretches of the reply that name documents or places: they are not about the event."""
    place: RecordCite | None = None
    """The page, lines, paragraph or Bates label named beside the document."""
    speaker: str = ""
    """Who is said to have spoken or written the item, as the reply writes it."""
    problem: str = ""
    """Why the named document or place cannot be ("the document has 3 pages"); empty when it can."""


def named_document(
    reply: str,
    span: tuple[int, int],
    source: Source,
    documents: Sequence[str] | None = None,
) -> Attribution:
    """Which document, and where in it, the reply attributes the item at ``span`` to.

    A name in the item's own sentence wins, the nearest one before or after it; then the nearest
    earlier name of the same paragraph; then a single name anywhere in the reply. Within a
    sentence a full title or label wins over a loose name ("the lease", "Reeves testified").
    ``id.`` and ``supra`` refer to the last full record cite before them.
    """
    infos = in_scope(source, documents)
    titles = exact_titles(reply, infos)
    cites = _outside(find_record_cites(reply), titles)
    resolved = [(cite, resolve(cite, reply, cites, titles, infos, source)) for cite in cites]
    pointers = [
        cite for cite, found in resolved if found.documents or cite.kind is not CiteKind.PAGE
    ]
    names = [*titles, *_as_names(resolved)]
    start, end = _sentence(reply, span, titles)
    chosen = _nearest(names, span, start, end)
    if chosen is None or (chosen not in titles and chosen.end <= span[0]):
        chosen = _introducing(titles, span, reply) or chosen
    if chosen is None:
        loose = loose_titles(_blank(reply, span)[start:end], start, infos)
        chosen = loose[0] if loose else _earlier(names, span, reply)
    naming = tuple((named.start, named.end) for named in names)
    naming += tuple((cite.start, cite.end) for cite in pointers)
    near = [
        (cite, found)
        for cite, found in resolved
        if start <= cite.start < end and not (cite.start < span[1] and span[0] < cite.end)
    ]
    place, found = min(
        near, key=lambda pair: _distance(pair[0].start, pair[0].end, span), default=(None, None)
    )
    return Attribution(
        documents=chosen.documents if chosen else (),
        exact=bool(chosen and chosen.exact),
        naming=tuple(sorted(set(naming))),
        place=place,
        speaker=_speaker(reply, start, span),
        problem=found.problem if found else "",
    )


def _outside(cites: Sequence[RecordCite], titles: Sequence[Named]) -> list[RecordCite]:
    """Cites that are not part of a document's own title ("order (Dkt. 40)")."""
    return [
        cite
        for cite in cites
        if not any(title.start <= cite.start and cite.end <= title.end for title in titles)
    ]


def _as_names(resolved: Sequence[tuple[RecordCite, Resolved]]) -> list[Named]:
    return [
        Named(start=cite.start, end=cite.end, documents=found.documents, exact=found.exact)
        for cite, found in resolved
        if found.documents and cite.kind is not CiteKind.PAGE
    ]


def _sentence(reply: str, span: tuple[int, int], titles: Sequence[Named]) -> tuple[int, int]:
    """The sentence of the item; the full stops of titles and of the item do not end it."""
    text = reply
    for title in titles:
        text = _blank(text, (title.start, title.end))
    text = _blank(text, span)
    start = sentence_start(text, span[0], max(0, span[0] - 2_000))
    end = sentence_end(text, span[1], min(len(text), span[1] + 1_000))
    if text[end:].lstrip()[:1] == "(":
        end = sentence_end(text, min(len(text), end + 2), min(len(text), end + 400))
    return start, end


def _blank(text: str, span: tuple[int, int]) -> str:
    return text[: span[0]] + " " * (span[1] - span[0]) + text[span[1] :]


def _distance(start: int, end: int, span: tuple[int, int]) -> int:
    return max(0, start - span[1], span[0] - end)


def _nearest(names: Sequence[Named], span: tuple[int, int], start: int, end: int) -> Named | None:
    inside = [
        n for n in names if start <= n.start < end and (n.end <= span[0] or n.start >= span[1])
    ]
    return min(inside, key=lambda n: (not n.exact, _distance(n.start, n.end, span)), default=None)


def _introducing(names: Sequence[Named], span: tuple[int, int], reply: str) -> Named | None:
    """A title that introduces the paragraph of the item with a colon: "Lease Agreement says: ..."."""
    before = [named for named in names if named.exact and named.end <= span[0]]
    if not before or "\n\n" in reply[before[-1].end : span[0]]:
        return None
    introduction = re.match(r"[)\]]?[^.\n:]{0,60}:(?=\s)", reply[before[-1].end : span[0]])
    return before[-1] if introduction else None


def _earlier(names: Sequence[Named], span: tuple[int, int], reply: str) -> Named | None:
    before = [named for named in names if named.end <= span[0]]
    paragraph = [named for named in before if "\n\n" not in reply[named.end : span[0]]]
    if paragraph:
        return paragraph[-1]
    every = {named.documents for named in names}
    return names[0] if len(every) == 1 else None


def _speaker(reply: str, start: int, span: tuple[int, int]) -> str:
    found = [match["who"] for match in _SPEAKER.finditer(reply, start, span[0])]
    return found[-1] if found else ""


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
    first = [info for info in infos if info.id in named.documents]
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
    verdict = Verdict.NOT_FOUND if named.documents else Verdict.CHECK
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
    spans = {found.span() for found in get_citations(text) if isinstance(found, kinds)}
    for start, end in ((cite.start, cite.end) for cite in find_reporter_cites(text)):
        if _known_form(text[start:end]) and not any(a < end and start < b for a, b in spans):
            spans.add((start, end))
    return tuple(sorted(spans))
