"""What stands beside a date or a figure and is no word: another date, an hour, a year's name.

A true sum beside a wrong date, a true day beside a wrong hour, "fiscal year 2023" for the calendar
year: each part stands in the record, and the pair does not. Read on both sides in the item's own
sentence; where the record holds no such pair the item is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from verify.amounts import Figure, find_figures
from verify.dates.mention import DateMention, agrees
from verify.dates.scan import find_dates
from verify.word_forms import sentence_end, sentence_start

Span = tuple[int, int]

_REACH: Final = 400
"""Characters on either side of an item that may belong to its sentence."""
_CLOCK: Final = re.compile(
    r"(?<![\d:.,$])(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?\s?"
    r"(?P<half>[ap]\.?\s?m\b\.?|o['’]clock|Uhr)?(?![\d:]|\s?(?:%|percent))"
    r"(?:\s+(?:in\s+the\s+|at\s+)?(?P<part>morning|afternoon|evening|night|noon))?"
    r"(?:\s*\(?(?P<zone>Eastern|Pacific|Central|Mountain|UTC|GMT|[ECMP][SD]T|KST|JST|CET|[+-]\d{4}))?",
    re.IGNORECASE,
)
_KOREAN_CLOCK: Final = re.compile(
    r"(?P<half>오전|오후|새벽|밤|저녁)?\s?(?P<hour>\d{1,2})\s?(?:시|時)(?![간가-힣])(?:\s?(?P<minute>\d{1,2})\s?(?:분|分))?"
)
_ZONES: Final = {
    "est": "eastern", "edt": "eastern", "et": "eastern", "pst": "pacific", "pdt": "pacific",
    "pt": "pacific", "cst": "central", "cdt": "central", "mst": "mountain", "mdt": "mountain",
    "gmt": "utc", "+0000": "utc", "-0000": "utc", "+0900": "kst", "jst": "kst",
}  # fmt: skip
_YEAR: Final = re.compile(
    r"(?i)\b(?P<sort>fiscal|calendar|tax|financial|model|school|contract)\s+"
    r"(?P<word>years?|quarters?|months?|days?|weeks?)?\s*(?P<number>\d{4})?"
    r"|\b(?P<short>FY)\s?['’]?(?P<digits>\d{2,4})\b"
)
_PLAIN_YEAR: Final = re.compile(
    r"(?i)\b(?:(?:in|for|during|of)\s+|(?:the\s+)?year\s+)(?P<number>(?:19|20)\d\d)\b(?!\s*(?:fiscal|tax))"
)
_DESIGNATED: Final = re.compile(
    r"(?i)\b(?P<what>level|floor|phase|stage|grade|class|tier|type|lot|unit|room|suite|building"
    r"|tower|zone|line|group|series|round|step|tranche|parcel|machine|pump|line|day|week|year)\s+"
    r"(?P<which>one|two|three|four|five|six|seven|eight|nine|ten|[A-H]|\d{1,4}(?![\d.,]\d))\b"
)
_NATIVE: Final = re.compile(
    r"(?<![가-힣])(?P<count>한|두|세|네|다섯|여섯|일곱|여덟|아홉|열(?:한|두|세|네)?|스무)\s?"
    r"(?P<unit>명|사람|개|건|차례|번|대|장|곳|가지|달|시간|주|분|필지|동)(?=[가-힣\s,.]|$)"
)
_DIVIDES: Final = re.compile(r"(?i)\b(?:and|but|while|whereas|then|plus)\b|;|고\s|며\s|而")
_OF_LEAD: Final = re.compile(
    r"(?:\A|[,;:.]\s*|\n\s*)(?i:(?:out\s+)?of)\s+(?:the\s+|all\s+|its\s+)?(?P<other>\d[\d,]*)\s+[^.;,]{0,50},\s+\Z"
)


def beside_problem(
    reply: str, span: Span, text: str, place: Span, naming: Sequence[Span] = ()
) -> str:
    """What stands beside an item of the reply and not beside it in the record; empty if nothing.

    Args:
        reply: The reply.
        span: The date or figure in it.
        text: The document.
        place: The same date or figure there.
        naming: Stretches of the reply that name documents; their dates are not the item's.
    """
    for low, high in naming:
        reply = f"{reply[:low]}{' ' * (high - low)}{reply[high:]}"
    said, ours = _sentence(reply, span)
    held, theirs = _sentence(text, place)
    return (
        _of_how_many(said, ours, held)
        or _native_count(said, held)
        or _designated(said, ours, held, theirs)
        or _year_sort(said, held)
        or _pairs(said, ours, held, theirs)
        or _hours(said, ours, held)
    )


def _sentence(text: str, span: Span) -> tuple[str, Span]:
    """The sentence of an item, for a mail header its line, and the item's place in it."""
    low, high = max(0, span[0] - _REACH), min(len(text), span[1] + _REACH)
    start, end = sentence_start(text, span[0], low), sentence_end(text, span[1], high)
    line = text.rfind("\n", 0, span[0]) + 1
    if re.match(r"(?i)[> \t]*(?:date|sent|datum)\s*:", text[line : span[1]]):
        stop = text.find("\n", span[1])
        start, end = line, stop if stop >= 0 else len(text)
    return text[start:end], (span[0] - start, span[1] - start)


def _of_how_many(said: str, ours: Span, held: str) -> str:
    """ "Of 19 employees, 12 ..." where the record counts 12 of 31."""
    lead = _OF_LEAD.search(said, 0, ours[0])
    of = (
        rf"(?i)\bof\s+(?:the\s+|all\s+|its\s+)?{re.escape(lead['other'])}(?![\d]|[.,]\d)"
        if lead
        else ""
    )
    if lead is None or re.search(of, held):
        return ""
    return f"the record does not count it of {lead['other']}"


def _native_count(said: str, held: str) -> str:
    """네 명 where the record has 세 명: Korean numerals that are written as words."""
    known = {(m["count"], m["unit"]) for m in _NATIVE.finditer(held)}
    for match in _NATIVE.finditer(said):
        if (match["count"], match["unit"]) not in known:
            return f"the record does not say {match.group()} there"
    return ""


def _designated(said: str, ours: Span, held: str, theirs: Span) -> str:
    """ "Eight spaces on level one" where the record has eight on level two."""
    spoken = _designators(said, ours)
    if not spoken:
        return ""
    known = _designators(held, theirs)
    strange = spoken - known
    if known and strange:
        return f'the record does not say "{" ".join(min(strange))}" of it'
    return ""


def _designators(text: str, item: Span) -> set[tuple[str, str]]:
    """The numbered things named between an item and the figures on either side of it."""
    spans = [(f.start, f.end) for f in find_figures(text, bare=True)]
    named = [match.span() for match in _DESIGNATED.finditer(text)]
    others = [s for s in spans if not _meets(s, item) and not any(_meets(s, n) for n in named)]
    low = max((b for _, b in others if b <= item[0]), default=0)
    high = min((a for a, _ in others if a >= item[1]), default=len(text))
    return {
        (match["what"].lower(), match["which"].lower())
        for match in _DESIGNATED.finditer(text)
        if low <= match.start() and match.end() <= high and not _meets(match.span(), item)
    }


# --- years ---


def _year_sort(said: str, held: str) -> str:
    """ "Calendar year 2023" for "fiscal year 2023"."""
    ours, theirs = _sorts(said), _sorts(held)
    for sort, number in ours:
        if not any(sort == other and number in ("", year) for other, year in theirs):
            return f'the record does not say "{sort} year{f" {number}" if number else ""}" there'
    if not ours:
        numbered = {number: sort for sort, number in theirs if number}
        plain = {found["number"] for found in _PLAIN_YEAR.finditer(said)}
        in_held = {found["number"] for found in _PLAIN_YEAR.finditer(_YEAR.sub(" ", held))}
        for number in sorted(plain - in_held):
            if number in numbered:
                return f"the record speaks of {numbered[number]} year {number}"
    return ""


def _sorts(text: str) -> list[tuple[str, str]]:
    found = []
    for match in _YEAR.finditer(text):
        if match["short"]:
            found.append(("fiscal", f"20{match['digits'][-2:]}"))
        elif (match["word"] or match["number"]) and (match["word"] or "").lower() not in (
            "day", "days", "month", "months", "week", "weeks",
        ):  # fmt: skip
            found.append((match["sort"].lower(), match["number"] or ""))
    return found


# --- a date and a sum ---


def _pairs(said: str, ours: Span, held: str, theirs: Span) -> str:
    """A sum with its date: some pair of the reply must be one of the record."""
    figures, dates = _figures(said), _days(said)
    known, days = _figures(held), _days(held)
    own_date = any(_meets(ours, (d.start, d.end)) for d in dates)
    own_figure = any(_meets(ours, (f.start, f.end)) for f in figures if f.money)
    if own_figure:
        near = _near(said, ours, dates, figures)
        there = _near(held, theirs, days, known, loosely=True)
        if near and there and not any(_same_day(a, b) for a in near for b in there):
            return "the record gives another date beside this figure"
    elif own_date:
        sums = _near(said, ours, [f for f in figures if f.money], dates)
        there_sums = _near(held, theirs, [f for f in known if f.money], days, loosely=True)
        if sums and there_sums and not any(_same_sum(a, b) for a in sums for b in there_sums):
            return "the record gives another sum beside this date"
    return ""


def _figures(text: str) -> list[Figure]:
    barred = [(mention.start, mention.end) for mention in find_dates(text)]
    return [figure for figure in find_figures(text, barred, bare=True) if figure.money]


def _days(text: str) -> list[DateMention]:
    return [m for m in find_dates(text) if m.readings[0].month is not None or m.value is not None]


def _near(
    text: str,
    item: Span,
    wanted: Sequence[DateMention | Figure],
    between: Iterable[DateMention | Figure],
    *,
    loosely: bool = False,
) -> list[DateMention | Figure]:
    """The dates (or sums) of a sentence with no other sum (or date) between them and the item;
    of those in the item's own part of the sentence, or else, ``loosely``, all of them."""
    others = [(one.start, one.end) for one in between if not _meets(item, (one.start, one.end))]
    found: list[DateMention | Figure] = []
    for one in wanted:
        low, high = min(item[1], one.end), max(item[0], one.start)
        if not _meets(item, (one.start, one.end)) and not any(
            low <= a and b <= high for a, b in others
        ):
            found.append(one)
    joined = [
        one
        for one in found
        if not _DIVIDES.search(text, min(item[1], one.end), max(item[0], one.start))
    ]
    return joined or (found if loosely else [])


def _same_day(a: DateMention | Figure, b: DateMention | Figure) -> bool:
    if not isinstance(a, DateMention) or not isinstance(b, DateMention):
        return False
    ends = (b.until,) if b.until else ()
    return any(agrees(x, y) or agrees(y, x) for x in a.readings for y in (*b.readings, *ends))


def _same_sum(a: DateMention | Figure, b: DateMention | Figure) -> bool:
    return isinstance(a, Figure) and isinstance(b, Figure) and a.value == b.value


def _meets(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]


# --- hours ---


def _hours(said: str, ours: Span, held: str) -> str:
    """The hours of the reply's sentence must stand in the record's."""
    spoken = [c for c in _clocks(said) if not _meets(ours, (c[0], c[1]))]
    if not spoken:
        return ""
    known = _clocks(held)
    if not known:
        return "the record gives no hour there"
    for _, _, minutes, zone in spoken:
        fitting = [c for c in known if c[2] & minutes]
        if not fitting:
            return "the record gives another hour"
        if zone and not any(_zone(c[3]) == _zone(zone) for c in fitting):
            return f"the record does not give the hour in {zone} time"
    return ""


def _zone(name: str) -> str:
    return _ZONES.get(name.lower(), name.lower())


def _clocks(text: str) -> list[tuple[int, int, frozenset[int], str]]:
    """Hours with their span, the minutes of the day they may mean, and their zone."""
    found = []
    for match in _CLOCK.finditer(text):
        half, part = (match["half"] or "").lower(), (match["part"] or "").lower()
        if not (match["minute"] or half) or int(match["hour"]) > 24:
            continue
        if not half and match["minute"] and not _hour_like(text, match):
            continue
        late = half.startswith("p") or part in ("afternoon", "evening", "night", "noon")
        early = half.startswith("a") or part == "morning"
        minutes = _minutes(int(match["hour"]), int(match["minute"] or 0), early=early, late=late)
        found.append((match.start(), match.end(), minutes, match["zone"] or ""))
    for match in _KOREAN_CLOCK.finditer(text):
        half = match["half"] or ""
        minutes = _minutes(
            int(match["hour"]),
            int(match["minute"] or 0),
            early=half in ("오전", "새벽"),
            late=half in ("오후", "밤", "저녁"),
        )
        found.append((match.start(), match.end(), minutes, ""))
    return found


def _hour_like(text: str, match: re.Match[str]) -> bool:
    """Whether "9:12" is an hour and no page and line: a word of time or a date stands beside it."""
    before = text[max(0, match.start() - 30) : match.start()]
    return bool(
        match["part"]
        or match["zone"]
        or re.search(
            r"(?i)(?:\b(?:at|from|to|until|by|before|after|about|and)|\d{4},?)\s*\Z", before
        )
    )


def _minutes(hour: int, minute: int, *, early: bool, late: bool) -> frozenset[int]:
    """The minutes of the day: both halves where nothing says which and the hour allows both."""
    if late:
        hour = hour % 12 + 12 if hour <= 12 else hour
        return frozenset({hour * 60 + minute})
    if early:
        return frozenset({hour % 12 * 60 + minute})
    return frozenset({hour % 24 * 60 + minute})
