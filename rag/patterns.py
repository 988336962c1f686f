"""Exact look-ups as patterns over canonical text: phrases, names, dates, amounts.

A pattern forgives what a printer or a reader of files does (line breaks, printed line numbers,
curly quotes, dash kinds, soft hyphens, composed or decomposed Hangul) and nothing of the words. For
finding only: what a quotation proves is decided elsewhere, by other code.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from decimal import Decimal, InvalidOperation
from typing import Final

from protocol.record import DateOrder

_HEAD: Final = (
    r"(?-i:[^\S\n]*(?:[A-Z][A-Z0-9&.,:'’()/ -]{0,80}|[Pp]age \d{1,4}(?: of \d{1,4})?"
    r"|[-–— ]{0,4}\d{1,4}[-–— ]{0,4})[^\S\n]*)"
)
"""A line that is no sentence: a stamp, a running head in capitals, a page number."""
_NUMBER: Final = r"(?:\d{1,2}[^\S\n]+)?"
"""A printed line number, as transcripts and pleadings have."""
_GAP: Final = (
    rf"(?:(?=[^\f]{{0,260}}\f)\s*(?:{_HEAD}\n?){{0,3}}\s*\f\s*(?:{_HEAD}\n\s*){{0,3}}{_NUMBER}"
    rf"|[^\S\n]*\n\s*{_NUMBER}|\s+)"
)
"""White space between two words; also a page's end with the stamps and heads around it."""
_SOFT: Final = r"(?:\u00ad\s*|-[^\S\n]*\n\s*)?"
"""A word broken at a line end."""
_ALIKE: Final[dict[str, str]] = {
    **dict.fromkeys("'’‘‚′`", "['’‘‚′`]"),
    **dict.fromkeys('"“”„«»″「」『』', '["“”„«»″「」『』]'),
    **dict.fromkeys("-‐‑‒–—−", "[-‐‑‒–—−]"),
}
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_SHORT: Final = tuple("sept?" if name == "September" else name[:3] for name in MONTHS)
_MONTH: Final = "|".join(rf"{name}|{short}\.?" for name, short in zip(MONTHS, _SHORT, strict=True))
_SIGNS: Final = {"$": "USD", "€": "EUR", "£": "GBP", "₩": "KRW"}
_SCALES: Final = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "만": 10**4,
    "억": 10**8,
}


def phrase(text: str, *, broken: bool = False) -> re.Pattern[str]:
    """The words of ``text`` in this order, whatever their case.

    Args:
        text: At least one character that is not white space.
        broken: Whether words broken at a line end count; slower.

    Raises:
        ValueError: There is nothing to look for.
    """
    parts = text.split()
    if not parts:
        raise ValueError("nothing to look for")
    glue = _SOFT if broken else ""
    body = _GAP.join(
        glue.join(_ALIKE.get(char, re.escape(char)) for char in part) for part in parts
    )
    before = r"(?<!\w)" if _latin(parts[0][0]) else ""
    after = r"(?!\w)" if _latin(parts[-1][-1]) else ""
    return re.compile(before + body + after, re.IGNORECASE)


def _latin(char: str) -> bool:
    """Whether a character's word has a boundary; a Hangul word goes on into its particle."""
    return char.isalnum() and not "\u1100" <= char <= "\ud7ff"


def name(text: str) -> re.Pattern[str]:
    """A person's name as given, as "Last, First", and with a middle initial.

    Raises:
        ValueError: There is nothing to look for.
    """
    parts = text.split()
    forms = [phrase(text).pattern]
    if len(parts) == 2 and all(part[0].isupper() for part in parts):
        first, last = (re.escape(part) for part in parts)
        forms.append(rf"(?<!\w){last},{_GAP}{first}(?!\w)")
        forms.append(rf"(?<!\w){first}{_GAP}[A-Z]\.?{_GAP}{last}(?!\w)")
    return re.compile("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)


# --- dates ---


def parse_date(text: str, order: DateOrder) -> tuple[dt.date, ...]:
    """The days a text may name as a whole: none, one, or two where digits read both ways."""
    folded = unicodedata.normalize("NFKC", text).strip().rstrip(".")
    if found := re.fullmatch(
        rf"(?i)({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})", folded
    ):
        return _days((found[3], _month(found[1]), found[2]))
    if found := re.fullmatch(
        rf"(?i)(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+day)?(?:\s+of)?\s+({_MONTH}),?\s+(\d{{4}})", folded
    ):
        return _days((found[3], _month(found[2]), found[1]))
    if found := re.fullmatch(r"(\d{4})[-./]\s?(\d{1,2})[-./]\s?(\d{1,2})", folded):
        return _days((found[1], found[2], found[3]))
    if found := re.fullmatch(r"(\d{4})년\s*(\d{1,2})월\s*(\d{1,2})일", folded):
        return _days((found[1], found[2], found[3]))
    if found := re.fullmatch(r"(\d{1,2})[-./](\d{1,2})[-./](\d{4})", folded):
        month_first = (found[3], found[1], found[2])
        day_first = (found[3], found[2], found[1])
        readings = {
            DateOrder.MONTH_FIRST: (month_first,),
            DateOrder.DAY_FIRST: (day_first,),
            DateOrder.UNSET: (month_first, day_first),
        }
        return _days(*readings[order])
    return ()


def _month(word: str) -> str:
    return str([month[:3].casefold() for month in MONTHS].index(word[:3].casefold()) + 1)


def _days(*readings: tuple[str, str, str]) -> tuple[dt.date, ...]:
    out = []
    for year, month, day in readings:
        try:
            out.append(dt.date(int(year), int(month), int(day)))
        except ValueError:
            continue  # no such day: not a reading
    return tuple(dict.fromkeys(out))


def date(day: dt.date, order: DateOrder) -> re.Pattern[str]:
    """Every usual way of writing a day, in English and Korean; digits in the matter's order."""
    y, m, d = day.year, f"0?{day.month}", f"0?{day.day}"
    word = rf"(?:{MONTHS[day.month - 1]}|{_SHORT[day.month - 1]}\.?)"
    short = rf"(?:{y}|'?{y % 100:02d})"
    forms = [
        rf"{word}{_GAP}{d}(?:st|nd|rd|th)?,?{_GAP}{y}",
        rf"{d}(?:st|nd|rd|th)?(?:{_GAP}day)?(?:{_GAP}of)?{_GAP}{word},?{_GAP}{y}",
        rf"{y}[-./]\s?{m}[-./]\s?{d}",
        rf"{y}년\s*{m}월\s*{d}일",
        rf"'{y % 100:02d}\.\s?{m}\.\s?{d}",
    ]
    if order is not DateOrder.DAY_FIRST:
        forms.append(rf"{m}[-./]{d}[-./]{short}")
    if order is not DateOrder.MONTH_FIRST:
        forms.append(rf"{d}[-./]{m}[-./]{short}")
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(forms)})(?!\d)", re.IGNORECASE)


# --- amounts ---


def parse_amount(text: str) -> tuple[Decimal, str] | None:
    """A number and its currency ("" for none) when a text is nothing else: "$1.2 million"."""
    folded = unicodedata.normalize("NFKC", text).strip()
    found = re.fullmatch(
        r"(?i)(?P<code>USD|EUR|GBP|KRW|US\$|[$€£₩])?\s?(?P<n>\d[\d,]*(?:\.\d+)?)\s?"
        r"(?P<scale>thousand|million|billion|만|억)?\s?(?P<unit>dollars|euros|pounds|won|원|%)?",
        folded,
    )
    if not found:
        return None
    try:
        value = Decimal(found["n"].replace(",", "")) * _SCALES.get(
            (found["scale"] or "").lower(), 1
        )
    except InvalidOperation:
        return None
    code = (found["code"] or "").upper().removeprefix("US") or ""
    unit = (found["unit"] or "").lower()
    named = {"dollars": "USD", "euros": "EUR", "pounds": "GBP", "won": "KRW", "원": "KRW", "%": "%"}
    currency = _SIGNS.get(code) or {"D": "USD"}.get(code) or code or named.get(unit, "")
    return value, currency


def amount(value: Decimal) -> re.Pattern[str]:
    """A number however it is written: with or without commas, with a scale word, in words.

    The currency is left open: the reader sees it in the passage.
    """
    whole = value == value.to_integral_value()
    plain = f"{int(value)}" if whole else f"{value.normalize():f}"
    left, _, right = plain.partition(".")
    grouped = f"{int(left):,}".replace(",", ",?")
    forms = [grouped + (rf"\.{right}0*" if right else r"(?:\.0+)?")]
    for word, scale in _SCALES.items():
        scaled = value / scale
        if scaled >= 1 and scaled == round(scaled, 3):
            digits = f"{scaled.normalize():f}"
            head, _, tail = digits.partition(".")
            number = f"{int(head):,}".replace(",", ",?") + (
                rf"\.{tail}0*" if tail else r"(?:\.0+)?"
            )
            forms.append(rf"{number}\s?-?{word}")
    if whole and 0 < value < 10**12:
        forms.append(r"[\s-]+(?:and[\s-]+)?".join(_in_words(int(value)).split()))
    sign = r"(?:(?:US)?[$€£₩]\s?|(?:USD|EUR|GBP|KRW)\s?)?"
    return re.compile(
        rf"(?<![A-Za-z0-9.,]){sign}(?:{'|'.join(forms)})(?![\d])(?![.,]\d)", re.IGNORECASE
    )


_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def _in_words(value: int) -> str:
    """A whole number in English words: 1200 is "one thousand two hundred"."""
    for scale, word in (
        (10**9, "billion"),
        (10**6, "million"),
        (1000, "thousand"),
        (100, "hundred"),
    ):
        if value >= scale:
            rest = value % scale
            head = f"{_in_words(value // scale)} {word}"
            return f"{head} {_in_words(rest)}" if rest else head
    if value < len(_ONES):
        return _ONES[value]
    tens, ones = divmod(value, 10)
    return _TENS[tens] + (f" {_ONES[ones]}" if ones else "")


# --- Bates ---

_LABEL: Final = re.compile(
    r"(?P<prefix>[A-Z][A-Z0-9&]*(?:[-_ ][A-Z][A-Z0-9&]*)*)[-_ ]?(?P<n>\d{3,})"
)


def parse_bates(text: str) -> tuple[str, int, int] | None:
    """Prefix, first and last serial of a label or a range: "NG-000212-14" gives 212 and 214."""
    folded = text.strip().upper()
    found = re.fullmatch(rf"{_LABEL.pattern}(?:\s*[-–—]\s*(?P<last>\S+))?", folded)
    if not found:
        return None
    first = int(found["n"])
    if found["last"] is None:
        return _prefix(found["prefix"]), first, first
    ending = re.search(r"\d+$", found["last"])
    if ending is None:
        return None
    digits = ending.group()
    last = (
        int(found["n"][: -len(digits)] + digits) if len(digits) < len(found["n"]) else int(digits)
    )
    return (_prefix(found["prefix"]), first, last) if last >= first else None


def serial(label: str) -> tuple[str, int] | None:
    """Prefix and serial of a stamp as printed; None when it has not that shape."""
    found = _LABEL.fullmatch(label.strip().upper())
    return (_prefix(found["prefix"]), int(found["n"])) if found else None


def _prefix(text: str) -> str:
    return re.sub(r"[-_ ]", "", text)
