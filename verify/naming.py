"""To which document, and where in it, a reply attributes an item."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from protocol.ids import DocumentId
from verify.judged import Stretch
from verify.locators import CiteKind, RecordCite, find_record_cites
from verify.places import in_scope
from verify.resolve import Resolved, resolve
from verify.source import Source
from verify.titles import Named, exact_titles, loose_titles
from verify.word_forms import sentence_end, sentence_start

_PERSON = (
    r"(?:(?:Chief\s+)?Justice|Judge|Mr\.|Ms\.|Mrs\.|Dr\.|Professor|General)"
    r"\s+[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)?|[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)?"
)
_SAYS = (
    r"(?:said|says|stated|states|testified|testifies|asked|answered|replied|responded|argued|wrote"
    r"|writes|explained|admitted|conceded|acknowledged|told|observed|remarked|agreed|confirmed"
    r"|insisted|claimed|noted|found|concluded|reported|opined|determined|added|recalled|swore|declared|warned|suggested|maintained|put\s+it)"
)
_SPEAKER = re.compile(
    rf"(?P<who>{_PERSON}),?\s+(?:\w+ly\s+)?{_SAYS}\b"
    rf"|\b(?:[Aa]ccording\s+to|[Pp]er|[Ii]n\s+the\s+words\s+of)\s+(?P<whose>{_PERSON})",
)
_SPEAKER_AFTER = re.compile(
    rf"[\s,.”\"'’»“„」』*_\])-]{{0,8}}(?:as\s+)?(?:(?P<who>{_PERSON})\s+(?:\w+ly\s+)?{_SAYS}\b"
    rf"|{_SAYS}\s+(?P<whom>{_PERSON})|according\s+to\s+(?P<whose>{_PERSON}))"
)
"""“...,” Justice Kennedy remarked. “...,” said Mr. Osei."""


_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*•▪]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
"""The start of a list's item: a unit of its own, whatever stands in the items around it."""
_LABEL_OPENS = re.compile(r"[\s>#*_(–—-]*(?:(?:Source|From|See|출처|Quelle)\b:?\s*)?")
_LABEL_CLOSES = re.compile(
    r"[)\]*_]*(?:,?\s*(?:§+|Art\.|Section|p\.|pp\.|at)\s*[\w.()-]+)*[\s:.)*_]*"
)
_BETWEEN = re.compile(r"[\s>*_•\"“”„«»『』「」'‘’.-]*")
_HEADING = re.compile(r"(?m)^[ \t]{0,3}#{1,6}[ \t]+\S.*$")
_SIGNAL = re.compile(r"\s{0,4}(?:(?:See|see|Accord|accord|Cf\.|cf\.)(?:\s+also)?,?\s{1,4})?")


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """To what the reply attributes an item; every part empty or None where it names none."""

    documents: tuple[DocumentId, ...] = ()
    """The document; several where the name fits several, and then none of them is certain."""
    exact: bool = False
    """Named by its whole title, exhibit label, docket number or Bates label."""
    carried: bool = False
    """The item's own sentence names nothing; its paragraph last spoke of this document."""
    labelled: bool = False
    """Named on a line of its own beside the item, or by the heading over it, whatever stands
    between: "— Survey Report", "## Survey Report"."""
    guessed: bool = False
    """The paragraph names nothing either; it is the only document the reply names at all."""
    naming: tuple[tuple[int, int], ...] = ()
    """The stretches of the reply that name documents or places: they are not about the event."""
    place: RecordCite | None = None
    """The page, lines, paragraph or Bates label named beside the document."""
    places: tuple[Stretch, ...] = ()
    """Where that is in the record; empty when no place is named, or it is not certain which."""
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
    end = _with_cite_sentence(reply, end, cites)
    chosen = _nearest(names, span, start, end)
    if chosen is None or (chosen not in titles and chosen.end <= span[0]):
        chosen = _introducing(titles, span, reply) or chosen
    label = _labelling(titles, span, reply)
    chosen = chosen or label
    if chosen is None:
        loose = loose_titles(_blank(reply, span)[start:end], start, infos)
        chosen = loose[0] if loose else None
    carried = None
    if chosen is None:
        heading = _heading(titles, span, reply)
        carried = _in_paragraph(titles, span, reply) or heading
        label = heading if carried is heading else None
    guessed = _only(names) if chosen is None and carried is None else None
    chosen = chosen or carried or guessed
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
    sure = place is not None and _belongs(place, span, chosen, titles, reply)
    return Attribution(
        documents=chosen.documents if chosen else (),
        exact=bool(chosen and chosen.exact and not carried and not guessed),
        carried=bool(carried),
        labelled=bool(label and chosen and label.documents == chosen.documents),
        guessed=bool(guessed),
        naming=tuple(sorted(set(naming))),
        place=place,
        places=found.places if found and found.certain and sure else (),
        speaker=_speaker(reply, start, span, titles),
        problem=found.problem if found and sure else "",
    )


def _outside(cites: Sequence[RecordCite], titles: Sequence[Named]) -> list[RecordCite]:
    """Cites that are not part of a document's own title ("order (Dkt. 40)")."""
    return [
        cite
        for cite in cites
        if not any(title.start <= cite.start and cite.end <= title.end for title in titles)
    ]


def _belongs(
    cite: RecordCite,
    span: tuple[int, int],
    chosen: Named | None,
    titles: Sequence[Named],
    reply: str,
) -> bool:
    """Whether a place is surely where the reply says the item stands.

    A full cite must follow the item or be what names the document; a bare page must touch a title.
    """
    if cite.kind is not CiteKind.PAGE:
        return cite.start >= span[1] or (chosen is not None and chosen.start == cite.start)
    gaps = [reply[title.end : cite.start] for title in titles if title.end <= cite.start]
    gaps += [reply[cite.end : title.start] for title in titles if title.start >= cite.end]
    return any(len(gap) <= 12 and ":" not in gap and "\n" not in gap for gap in gaps)


def misplaced(named: Attribution, found: Stretch) -> bool:
    """Whether the reply names a place of this document and the item stands elsewhere in it."""
    own = [place for place in named.places if place.document == found.document]
    return bool(own) and not any(p.start < found.end and found.start < p.end for p in own)


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
    first, last = _list_item(reply, span)
    return max(start, first), max(span[1], min(end, last))


def _list_item(reply: str, span: tuple[int, int]) -> tuple[int, int]:
    """The item of a list in which a span stands; the whole reply where it stands in none."""
    starts = [found.start() for found in _LIST_ITEM.finditer(reply)]
    before = [start for start in starts if start <= span[0]]
    after = [start for start in starts if start >= span[1]]
    first = before[-1] if before else 0
    gap = reply.find("\n\n", span[1])
    last = min([*after[:1], gap if before and gap >= 0 else len(reply)])
    return first, last


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
    """A title that introduces the paragraph with a colon: "Lease Agreement says: ..."."""
    before = [named for named in names if named.exact and named.end <= span[0]]
    if not before or "\n\n" in reply[before[-1].end : span[0]]:
        return None
    introduction = re.match(r"[)\]]?[^.\n:]{0,60}:(?=\s)", reply[before[-1].end : span[0]])
    return before[-1] if introduction else None


def _labelling(titles: Sequence[Named], span: tuple[int, int], reply: str) -> Named | None:
    """A title on a line of its own right above or below: "— Survey Report", "Source: Lease"."""
    for title in titles:
        line = reply.rfind("\n", 0, title.start) + 1
        if not _LABEL_OPENS.fullmatch(reply, line, title.start):
            continue
        end = reply.find("\n", title.end)
        rest = reply[title.end : len(reply) if end < 0 else end]
        if not _LABEL_CLOSES.fullmatch(rest):
            continue
        above = title.end <= span[0] and _BETWEEN.fullmatch(reply, title.end + len(rest), span[0])
        below = title.start >= span[1] and _BETWEEN.fullmatch(reply, span[1], line)
        if above or below:
            return title
    return None


def _heading(titles: Sequence[Named], span: tuple[int, int], reply: str) -> Named | None:
    """The title in the nearest heading over the item ("## Survey Report"), if that names one."""
    headings = list(_HEADING.finditer(reply, 0, span[0]))
    if not headings:
        return None
    low, high = headings[-1].span()
    return next((title for title in titles if low <= title.start and title.end <= high), None)


def _with_cite_sentence(reply: str, end: int, cites: Sequence[RecordCite]) -> int:
    """A sentence that is nothing but a cite belongs to the one before it: "In May. Ex. A."."""
    for cite in cites:
        if cite.start >= end and _SIGNAL.fullmatch(reply[end : cite.start]):
            return cite.end
    return end


def _in_paragraph(titles: Sequence[Named], span: tuple[int, int], reply: str) -> Named | None:
    """The title last named before the item in its paragraph."""
    before = [title for title in titles if title.end <= span[0]]
    if before and "\n\n" not in reply[before[-1].end : span[0]]:
        return before[-1]
    return None


def _only(names: Sequence[Named]) -> Named | None:
    """The one document that a reply names anywhere."""
    return names[0] if len({named.documents for named in names}) == 1 else None


def _speaker(reply: str, start: int, span: tuple[int, int], titles: Sequence[Named]) -> str:
    """Who is said to speak: named right after the item, else last before it in its sentence."""
    after = _SPEAKER_AFTER.match(reply, span[1])
    if after and "\n" not in reply[span[1] : after.end()]:
        who = _who(after, titles)
        if who:
            return who
    found = [_who(match, titles) for match in _SPEAKER.finditer(reply, start, span[0])]
    return next((who for who in reversed(found) if who), "")


def speaking(reply: str) -> list[tuple[int, int]]:
    """The stretches of a reply that say who speaks: "Ms. Reeves testified"."""
    return [match.span() for match in _SPEAKER.finditer(reply)]


def _who(match: re.Match[str], titles: Sequence[Named]) -> str:
    """The person a match names; empty where that is a document ("according to the Lease")."""
    group = next(name for name, value in match.groupdict().items() if value)
    low, high = match.span(group)
    said = match[group]
    a_paper = any(title.start < high and low < title.end for title in titles)
    return "" if a_paper or (said.isupper() and " " not in said) else said
