"""What the words around an item say of the paper it stands in: "in the letter of May 2", "both
versions say", "Northgate's answer says", "the court found".

No title is written there, yet each says something that the document found may not bear out. Doubt
is CHECK; only a paper of that kind and date elsewhere in the record makes it red.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Final

from protocol.answers import Verdict
from protocol.ids import DocumentId
from protocol.record import DocumentInfo
from verify.dates.mention import DateMention
from verify.dates.scan import find_dates
from verify.papers import Paper, kind_of, kinds_of
from verify.speakers import same_person
from verify.titles import Named
from verify.word_forms import sentence_end, sentence_start

Span = tuple[int, int]
Against = tuple[Verdict, str]

_REACH: Final = 300
"""Characters on either side of an item that may belong to its sentence."""
_MOST_PAPERS: Final = 50
"""Papers of one kind whose dates are compared."""
_KIND: Final = (
    r"(?:letters?|e-?mails?|mail|messages?|memo(?:randum)?s?|minutes|depositions?|testimony"
    r"|transcripts?|reports?|complaint|petition|pleading|answer|motion|invoices?|statements?"
    r"|notices?|declarations?|affidavits?|orders?|opinions?|judgments?|rulings?|decisions?"
    r"|meetings?|hearings?|contracts?|agreements?|leases?|amendments?|내용증명|회신|서신|편지|보고서|이메일"
    r"|통지서|답변서|소장|계약서|회의록)"
)
_KIND_DATE: Final = re.compile(
    rf"(?P<kind>(?i:{_KIND})|\x00+)(?!\w)"
    r"(?:[ ,(]+(?!and\b|or\b|that\b|on\b|which\b)[\w'’.]+){0,4}?"
    r"[ ,(]{1,3}(?:of|dated(?:\s+as\s+of)?|from|sent(?:\s+on)?|filed(?:\s+on)?|taken(?:\s+on)?"
    r"|held(?:\s+on)?|issued(?:\s+on)?|written(?:\s+on)?|made(?:\s+on)?|,)\s+\x01+"
)
_DATE_KIND: Final = re.compile(
    rf"\x01+(?:자|일자|의|,)?\s*(?:[A-Za-z'’.-]+\s+){{0,2}}?(?P<kind>(?i:{_KIND}))(?!\w*[a-z])"
)
_WHOSE: Final = re.compile(
    rf"(?P<who>[A-Z][\w-]+)['’]s?\s+(?:\w+\s+){{0,2}}?(?P<kind>(?i:{_KIND}))(?!\w)"
)
_BOTH: Final = re.compile(
    rf"\b(?:both|all|each\s+of\s+the|every|neither)\s+(?:of\s+the\s+)?(?:\w+\s+){{0,2}}?"
    rf"(?:versions?|drafts?|copies|copy|texts?|papers?|documents?|{_KIND})(?!\w)"
    r"|\b(?:both|alike|each)\s+(?:of\s+them\s+)?(?:say|state|read|provide|contain|set|show|record"
    r"|confirm|report|use|declare|require)\w*\b|\b(?:both|neither)\s+\x00|둘\s?다|양쪽|모두"
    r"|\x00+(?:,?\s+and\s+|\s*&\s*)(?:the\s+)?\x00+",
    re.IGNORECASE,
)
_DECIDES: Final = re.compile(
    r"(?i)\b(?:court|judge|jury|tribunal|arbitrator|panel)\s+(?:\w+ly\s+)?(?:has\s+|had\s+)?"
    r"(?:found|held|ruled|concluded|decided|ordered|determined|wrote|said|stated|noted|observed)\b"
)
_ADMITS: Final = re.compile(
    r"(?i)\b(?:admit(?:s|ted)?|conced(?:es|ed)|acknowledg(?:es|ed)|stipulat(?:es|ed))\b"
)
_NO_DECISION: Final = frozenset(
    "complaint answer motion letter e-mail deposition report agreement minutes invoice "
    "declaration statement memorandum".split()
)
_PLEADINGS: Final = frozenset("complaint motion".split())
_QUOTED: Final = re.compile(r"“[^“”]{0,1500}”|\"[^\"\n]{0,1500}\"|「[^「」]{0,800}」")


class Frame:
    """The sentence around an item: quotations blanked, titles as NUL, dates as \\x01."""

    def __init__(self, reply: str, span: Span, titles: Sequence[Named]) -> None:
        self.reply, self.span = reply, span
        low = max(0, span[0] - 2 * _REACH)
        high = min(len(reply), span[1] + _REACH)
        chars = list(reply)
        for quoted in _QUOTED.finditer(reply):
            if quoted.start() < span[1] and span[0] < quoted.end():
                chars[quoted.start()] = " "
                continue
            chars[quoted.start() : quoted.end()] = " " * len(quoted.group())
        chars[span[0] : span[1]] = " " * (span[1] - span[0])
        for title in titles:
            if title.end <= span[0] or title.start >= span[1]:
                chars[title.start : title.end] = "\x00" * (title.end - title.start)
        self.dates: list[DateMention] = []
        for mention in find_dates("".join(chars)):
            if mention.end <= span[0] or mention.start >= span[1]:
                chars[mention.start : mention.end] = "\x01" * (mention.end - mention.start)
                self.dates.append(mention)
        text = "".join(chars)
        start = sentence_start(text, span[0], low)
        end = sentence_end(text, span[1], high)
        if text[end:].lstrip()[:1] in ("(", "["):
            end = sentence_end(text, min(len(text), end + 2), high)
        stop = text.find("\n\n", span[1], end)
        end = end if stop < 0 else stop
        self.start, self.end = start, end
        self.text = text[start:end]

    def date_in(self, match: re.Match[str]) -> DateMention | None:
        """The date that a match over ``text`` holds."""
        low, high = self.start + match.start(), self.start + match.end()
        return next((d for d in self.dates if low <= d.start and d.end <= high), None)


@lru_cache(maxsize=8)
def frame_of(reply: str, span: Span, titles: tuple[Named, ...]) -> Frame:
    """The frame of an item; kept, since every place that holds the item is asked about it."""
    return Frame(reply, span, titles)


def paper_objection(
    frame: Frame,
    info: DocumentInfo,
    infos: Sequence[DocumentInfo],
    paper: Callable[[DocumentInfo], Paper],
) -> Against | None:
    """What speaks against the paper that the words around an item describe.

    Args:
        frame: The sentence around the item.
        info: The document that holds the item.
        infos: Every document of the record.
        paper: What a document says of itself.
    """
    return _of_date(frame, info, infos, paper) or _of_kind(frame, info)


def _of_date(
    frame: Frame,
    info: DocumentInfo,
    infos: Sequence[DocumentInfo],
    paper: Callable[[DocumentInfo], Paper],
) -> Against | None:
    for pattern in (_KIND_DATE, _DATE_KIND):
        for match in pattern.finditer(frame.text):
            date = frame.date_in(match)
            if date is None or date.value is None:
                continue
            own = paper(info)
            kind = "" if "\x00" in match["kind"] else kind_of(match["kind"])
            if kind and own.kinds and kind not in own.kinds and match["kind"].lower() != "meeting":
                continue  # another paper is spoken of beside the one quoted
            fits = own.dated(date.value)
            if fits:
                return None
            words = frame.reply[frame.start + match.start() : frame.start + match.end()].strip()
            if fits is None:
                return Verdict.CHECK, f"{info.title} does not print its date: {words!s}"
            alike = [o for o in infos if o.id != info.id and kind in kinds_of(o.title)]
            others = [
                other
                for other in alike[:_MOST_PAPERS]
                if paper(other).labelled and paper(other).dated(date.value)
            ]
            if len(others) == 1 and own.labelled:
                said = date.value.in_words()
                return (
                    Verdict.MISATTRIBUTED,
                    f"It stands in {info.title}; the paper of {said} is {others[0].title}",
                )
            return Verdict.CHECK, f"{info.title}, where it stands, bears another date"
    return None


def _of_kind(frame: Frame, info: DocumentInfo) -> Against | None:
    kinds = kinds_of(info.title)
    if _DECIDES.search(frame.text) and kinds and kinds <= _NO_DECISION:
        return Verdict.CHECK, f"It stands in {info.title}, which is no decision of a court"
    if _ADMITS.search(frame.text) and kinds & _PLEADINGS:
        return Verdict.CHECK, f"It stands in {info.title}, which states it and admits nothing"
    for match in _WHOSE.finditer(frame.text):
        kind = kind_of(match["kind"])
        if kind and kinds and kind not in kinds:
            return Verdict.CHECK, f"It stands in {info.title}; the reply says {match.group()}"
    return None


def whose_objection(frame: Frame, info: DocumentInfo, text: str) -> Against | None:
    """ "Tidewell's report says": whose paper it is said to be must stand in it or in its title."""
    for match in _WHOSE.finditer(frame.text):
        who = match["who"]
        if not re.search(rf"(?i)(?<!\w){re.escape(who)}", f"{info.title}\n{text}"):
            return Verdict.CHECK, f"{info.title}, where it stands, does not name {who}"
    return None


def writer_objection(speaker: str, info: DocumentInfo, own: Paper, text: str) -> Against | None:
    """Words given to somebody who did not write the letter, or whom the paper does not name.

    Asked only where a document prints no turns of speech.
    """
    if own.writers and own.kinds & {"letter", "e-mail", "memorandum"}:
        if not any(same_person(speaker, who) for who in own.writers):
            return Verdict.CHECK, f"{info.title} is signed by {own.writers[0]}, not by {speaker}"
        return None
    last = speaker.split()[-1]
    if not re.search(rf"(?i)(?<!\w){re.escape(last)}(?!\w)", f"{info.title}\n{text}"):
        return Verdict.CHECK, f"{info.title}, where it stands, does not name {speaker}"
    return None


def both_objection(
    frame: Frame,
    titles: Sequence[Named],
    infos: Sequence[DocumentInfo],
    holding: Collection[DocumentId],
) -> Against | None:
    """ "Both versions say": every paper meant must hold the words.

    Args:
        frame: The sentence around the quotation.
        titles: The documents named in the reply.
        infos: Every document of the record.
        holding: The documents that hold the words as they are quoted.
    """
    found = _BOTH.search(frame.text)
    if found is None:
        return None
    named = {
        document
        for title in titles
        if frame.start <= title.start < frame.end and len(title.documents) == 1
        for document in title.documents
    }
    if len(named) >= 2:
        lacking = [info.title for info in infos if info.id in named and info.id not in holding]
        if lacking:
            return Verdict.CHECK, f"{lacking[0]} does not hold these words as quoted"
        return None
    kinds = set(filter(None, map(kind_of, re.findall(r"[\w-]+", found.group()))))
    if not kinds:
        kinds = {kind for info in infos if info.id in holding for kind in kinds_of(info.title)}
    meant = [info for info in infos if kinds & kinds_of(info.title)]
    lacking = [info.title for info in meant if info.id not in holding]
    if len(holding) >= 2 and not lacking and len(meant) >= 2:
        return None
    why = f"{lacking[0]} does not hold these words as quoted" if lacking else "one paper holds them"
    return Verdict.CHECK, f'The reply says "{found.group().replace(chr(0), "").strip()}"; {why}'
