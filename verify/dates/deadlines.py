"""Dates a reply computes: "30 days after March 5, 2024 is April 4, 2024".

Recognises the claim and what it counts from; `reckon` does the arithmetic. The checker knows no
rules of court: it says whether the arithmetic is right, never whether the period applies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verify.dates.mention import DateMention, Granularity
from verify.dates.reckon import Period

_COUNT_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty-five": 45, "forty": 40, "sixty": 60, "ninety": 90, "a": 1, "an": 1}
_UNITS = {
    "day": "day",
    "week": "week",
    "month": "month",
    "year": "year",
    "fortnight": "fortnight",
    "일": "day",
    "주": "week",
    "개월": "month",
    "달": "month",
    "년": "year",
}
_DURATION = re.compile(
    r"(?i)(?<![\w.,/])(?:(?P<word>" + "|".join(sorted(_COUNT_WORDS, key=len, reverse=True)) + r")"
    r"(?:\s+\((?P<figure>\d{1,4})\))?|(?P<count>\d{1,4}))"
    r"[\s-]{1,3}(?P<kind>(?:calendar|consecutive|business|working|court)\s+)?"
    r"(?P<unit>day|week|month|year|fortnight)s?(?:['’])?(?!\w)"
    r"|(?<![\d.,])(?P<kcount>\d{1,4})\s?(?P<kunit>영업일|일|주|개월|달|년)(?=\s?(?:간|후|뒤|이내|전|이\s|을\s|째))"
)
_FORWARD = re.compile(
    r"(?i)^\W{0,2}(?:after|following|from|of|since|beginning|counted\s+from|out\s+from)\b"
)
_LATER = re.compile(
    r"(?i)^\W{0,2}(?:later|thereafter|afterwards?|after\s+that|from\s+then|hence)\b"
)
_BACKWARD = re.compile(r"(?i)^\W{0,2}(?:before|prior\s+to|preceding|ahead\s+of|until)\b")
_EARLIER = re.compile(r"(?i)^\W{0,2}(?:earlier|before\s+that|previously|prior)\b")
_KOREAN_LATER = re.compile(r"^\s?(?:간|이\s?지난|후|뒤|이내|째)")
_KOREAN_EARLIER = re.compile(r"^\s?전")
_PLUS = re.compile(r"(?i)(?:\bplus|\+|\badd(?:ing)?)\s*$")
_ASIDE = re.compile(r"^\s*,\s*(?:when|on\s+which|the\s+da(?:y|te))\b[^,;.]{0,60}(?=,)")
_RESULT_GAP = re.compile(
    r"(?i)[\s,;:()–—=-]*(?:(?:is|was|falls?|fell|ends?|ended|expires?|expired|would|will|be|on|to|by|i\.?e\.?|that|which|"
    r"means?|namely|gives?|runs?|ran|makes?|the|due|date|deadline|therefore|thus|or|of|until|at|latest|no|later|than|"
    r"calendar|period|it|=|은|는|이|인|까지|즉|기한은|만료일은)[\s,;:()–—=-]*){0,9}"
)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A date said to follow from another by a period."""

    base: DateMention
    period: Period


def claimed(text: str, item: DateMention, mentions: Sequence[DateMention]) -> Claim | None:
    """The computation by which the reply reaches ``item``; None when it states it as a fact.

    Reads the sentence of the item and the one before it. A period that stands between a base and
    the item, or after the item and before its base, is a claim; anything looser is not.
    """
    if item.granularity is not Granularity.DAY:
        return None
    low, high = max(0, item.start - 400), min(len(text), item.end + 250)
    days = [m for m in mentions if m.granularity is Granularity.DAY and m.value and m != item]
    for found in _DURATION.finditer(text, low, high):
        if found.start() < item.end and found.end() > item.start:
            continue
        period = _period(found)
        claim = period and _joined(text, item, days, found, period)
        if claim:
            return claim
    return None


def _period(found: re.Match[str]) -> Period | None:
    if found["kcount"]:
        if found["kunit"] == "영업일":
            return Period(count=int(found["kcount"]), unit="business_day")
        return Period(count=int(found["kcount"]), unit=_UNITS[found["kunit"]])
    count = int(found["figure"] or found["count"] or _COUNT_WORDS[found["word"].lower()])
    unit = found["unit"].lower()
    if found["kind"] and found["kind"].strip().lower() in ("business", "working", "court"):
        return Period(count=count, unit="business_day") if unit == "day" else None
    if unit == "fortnight":
        return Period(count=2 * count, unit="week")
    return Period(count=count, unit=_UNITS[unit])


def _joined(
    text: str,
    item: DateMention,
    days: Sequence[DateMention],
    found: re.Match[str],
    period: Period,
) -> Claim | None:
    tail = text[found.end() : found.end() + 60]
    before = [m for m in days if m.end <= found.start() and found.start() - m.end < 250]
    after = [m for m in days if m.start >= found.end() and m.start - found.end() < 200]
    result_after = item.start >= found.end()
    backward = bool(_BACKWARD.match(tail) or _EARLIER.match(tail) or _KOREAN_EARLIER.match(tail))
    period = Period(count=period.count, unit=period.unit, backward=backward)
    named = _FORWARD.match(tail) or _BACKWARD.match(tail)
    if named and after and not (_LATER.match(tail) or _EARLIER.match(tail)):
        base = after[0]
        if item.end <= found.start() and _short(text[item.end : found.start()]):
            return Claim(base=base, period=period)  # "April 4, 30 days after March 5"
        if result_after and base.end <= item.start and _reaches(text[base.end : item.start]):
            return Claim(base=base, period=period)  # "30 days after March 5 is April 4"
        return None
    relative = _LATER.match(tail) or _EARLIER.match(tail) or _KOREAN_LATER.match(tail)
    relative = relative or _KOREAN_EARLIER.match(tail) or _PLUS.search(text[: found.start()][-8:])
    if relative and before and result_after:
        skipped = relative.end() if relative.re is not _PLUS else 0
        if _reaches(text[found.end() + skipped : item.start]):
            return Claim(base=before[-1], period=period)  # "March 5. 30 days later is April 4"
    return None


def _short(gap: str) -> bool:
    return len(gap) < 40 and not re.search(r"[.;]\s", gap)


def _reaches(gap: str) -> bool:
    gap = _ASIDE.sub("", gap, count=1)
    return len(gap) < 90 and _RESULT_GAP.fullmatch(gap) is not None
