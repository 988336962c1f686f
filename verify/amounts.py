"""Finds amounts, percents and numbers in a text and reads their value and unit.

``$1.2 million``, ``USD 1,200,000`` and ``1.2m dollars`` are one value; ``ninety (90) days`` is one
figure written twice. Values are exact decimals: nothing is rounded here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from verify.currencies import (
    CJK_NAMES,
    CODES,
    NAMES,
    PER_NAMES,
    PREFIXES,
    SCALES,
    SYMBOLS,
)
from verify.number_words import cjk_value, english_value, number_runs
from verify.word_forms import CJK


class Bound(StrEnum):
    """How the words before a figure bind it."""

    NONE = ""
    ABOUT = "about"
    OVER = "more than"
    LEAST = "at least"
    UNDER = "less than"
    MOST = "at most"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure at ``[start, end)``, in code points."""

    start: int
    end: int
    value: Decimal
    unit: str
    """A currency ("USD", "$" for a dollar of no stated country), "percent", or the folded word that
    follows ("day"); empty when none follows."""
    money: bool = False
    bound: Bound = Bound.NONE
    per: str = ""
    """The period or thing it is counted by: "month", "year", "share"."""
    twin: Decimal | None = None
    """The value written a second time in words or figures, when it differs from ``value``."""

    @property
    def group(self) -> str:
        """Figures of one group compete for the same words: money, percent or number."""
        return "money" if self.money else "percent" if self.unit == "percent" else "number"


_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d{1,6})?|\d+(?:\.\d{1,6})?|(?<=[$\s])\.\d{1,4})"
_EURO_DIGITS = r"(?:\d{1,3}(?:[.\u00a0\u202f ]\d{3})+(?:,\d{1,4})?|\d+,\d{1,2}(?!\d))"
_SCALE = r"(?:thousand|million|billion|trillion|mill?\.|mio\.?|mrd\.?|bn|mn|mm|[kmb])(?![\w])"
_NAME = (
    r"(?:(?:U\.?\s?S\.?|United\s+States|American|Canadian|Australian)\s+)?"
    rf"(?:dollars?|euros?|pounds?(?:\s+sterling)?|won|yen|francs|cents?|€|{CODES})(?!\w)"
)

_NUMBER = (
    rf"(?:(?P<euro>{_EURO_DIGITS})(?![\d.,]\d)"
    rf"|(?P<digits>{_DIGITS}))(?:[\s-]?(?P<scale>(?i:{_SCALE}))"
    rf"|(?=\s?[-–]\s?[$€£]?\d+(?:\.\d+)?\s?(?P<later>(?i:{_SCALE}))))?"
)
"""A number and its scale; in "$1-2 million" the scale of the end is the start's too."""
_SYMBOL_FIRST = re.compile(rf"(?P<symbol>[$＄€£¥₩￦])\s{{0,3}}{_NUMBER}")
_BEFORE_SYMBOL = re.compile(
    rf"(?:(?P<neg>(?<![\w)%])-)|(?P<code>(?<!\w)(?:US|U\.S\.|CA|AU|HK|NZ|SG|[CAS]|{CODES}))\s?)$"
)
_CODE_FIRST = re.compile(rf"(?<!\w)(?P<code>{CODES})\s{{0,3}}{_NUMBER}")
_CURRENCY_AFTER = re.compile(
    rf"(?<![\w.,$€£¥₩/-])(?:(?P<digits>{_DIGITS})"
    rf"|(?P<euro>{_EURO_DIGITS}))(?:[\s-]{{1,2}}(?P<scale>(?i:{_SCALE}))|(?P<glued>[kKmM](?=\s)))?"
    rf"[\s-]{{0,3}}(?P<name>(?i:{_NAME}))"
)
_NEXT_SUM = re.compile(
    rf"[^\S\t]{{0,3}}(?:(?P<tab>\t)\s{{0,3}})?(?P<digits>{_EURO_DIGITS}|{_DIGITS})(?![\d.,]\d)"
    rf"(?:[\s-]?(?P<scale>(?i:{_SCALE})))?(?:[\s-]{{0,3}}(?P<code>{CODES}|€)(?!\w))?"
)
"""What follows a currency's code: another number, and perhaps the code once more."""
_ENGLISH_SCALE = re.compile(r"(?i)thousand|million|billion|trillion|bn|mn|mm|[kmb]")
_GROUPED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_EUROS = frozenset({"eur", "euro", "euros", "€"})
"""Where "1.850" is one thousand eight hundred and fifty: no sum of euros has three decimals."""
_CJK_MONEY = re.compile(
    r"(?<![\d.,])(?:(?<![가-힣])금\s?)?(?P<number>(?:\d[\d,]*(?:\.\d+)?"
    r"|[일이삼사오육칠팔구])(?:\s?(?:\d[\d,]*(?:\.\d+)?"
    r"|[일이삼사오육칠팔구십백천만억조億万千百]))*)"
    r"\s?(?P<name>원|円|달러|유로|엔)(?!인|고|심|칙|래|본|하)"
)
_PERCENT = re.compile(
    rf"(?<![\w.,/-])(?P<digits>{_DIGITS}|\d+,\d{{1,3}})\s?(?:(?P<sign>[%％]|per\s?cent(?:um)?(?!\w"
    rf"|age)|percent(?!age)|퍼센트|Prozent|pour\s?cent)"
    r"|(?P<points>percentage\s+points?|%p)|(?P<basis>(?i:basis[\s-]+points?|bps?(?!\w))))"
)
_PLAIN = re.compile(
    r"(?<![\w.,/:§¶#$€£¥₩-])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d{1,6})?|\d+(?:\.\d{1,6})?)"
    r"(?:\s(?P<scale>thousand|million|billion|trillion)(?!\w))?(?!\d|[.,]\d|[/:]\d|[%％]|-\d"
    r"|[A-Za-z]*\d|\.?[A-Z]{{2}})"
)
_CJK_COUNT = re.compile(
    r"(?<![\d.,])(?P<number>\d[\d,]*(?:\.\d+)?(?:\s?[십백천만억])*)\s?(?P<unit>명|개월|개|년|대|건|장|평"
    r"|㎡|주|회|일간|개월|시간|톤|킬로|박스|팔레트)"
)
_TWIN = re.compile(rf"\s{{0,4}}[(]\s?(?:[$€£¥₩])?\s?(?P<digits>{_DIGITS})\s?(?:%|percent)?\s?[)]")
_WORD_UNIT = re.compile(
    r"(?:\s|-){1,3}(?P<unit>[A-Za-zÀ-ÿ]{2,20}|[gmltVAWK](?![\w.'’]))(?:['’]s?)?"
)
_PER = re.compile(
    r"(?i)[\s,]{0,3}(?:per|a|each|every|/|pro)\s?(?P<per>month|year|annum|day|hour|week|quarter"
    r"|share|unit|person|acre|square\s+(?:foot|meter))"
    r"|\s?(?P<adverb>monthly|annually|yearly|weekly|daily|hourly|p\.a\.)"
)
_PER_BEFORE = re.compile(
    r"(?:(?P<year>(?<![가-힣])(?:연|매년)|(?<![一-龥\d])年|年額|jährlich|annuellement)"
    r"|(?P<month>(?<![가-힣])(?:월|매월)|(?<![一-龥\d])月|月額|monatlich|mensuellement)"
    r"|(?P<day>(?<![가-힣])(?:일|매일)|(?<![一-龥\d])日|日額|täglich))\s?\Z"
)
"""What a figure is counted by where that stands first: "연 6%", "月額35万円"."""
_BOUND = re.compile(
    r"(?i)(?<!\w)(?:(?P<MOST>up\s+to|at\s+most|(?:no|not)\s+(?:more|greater)\s+than|(?:not"
    r"|never)\s+(?:to\s+)?exceed(?:ing)?|not\s+in\s+excess\s+of"
    r"|maximum(?:\s+of)?|höchstens|최대)"
    r"|(?P<LEAST>at\s+least|(?:no|not)\s+(?:less|fewer)\s+than|minimum(?:\s+of)?|mindestens|최소)"
    r"|(?P<OVER>over|more\s+than|(?:in\s+)?excess\s+of|exceed(?:s|ed|ing)?|greater\s+than|above"
    r"|mehr\s+als)"
    r"|(?P<UNDER>under|less\s+than|fewer\s+than|below|almost|nearly|weniger\s+als)"
    r"|(?P<ABOUT>about|approximately|around|roughly|some|circa|ca\.|est(?:imated|\.)|rund|etwa"
    r"|environ|약))"
    r"\s{0,60}(?:a\s+total\s+of\s+)?(?:US|USD|U\.S\.)?\s?[($]?\s?$"
)
_NOT_UNITS = frozenset(
    "and or the of in to for on at by with from per as is was were are but which that than a an if "
    "be shall will may not".split()
)


def _decimal(digits: str, *, euro: bool = False) -> Decimal | None:
    if euro:
        digits = re.sub(r"[.\s\u00a0\u202f]", "", digits).replace(",", ".")
    try:
        return Decimal(digits.replace(",", ""))
    except InvalidOperation:
        return None


def _scaled(value: Decimal, scale: str | None) -> Decimal:
    return value * SCALES[scale.lower().rstrip(".")] if scale else value


def find_figures(
    text: str, skip: Sequence[tuple[int, int]] = (), *, bare: bool = False
) -> tuple[Figure, ...]:
    """Every figure of a text in order; spans never overlap, fuller forms win.

    Args:
        text: Any text.
        skip: Stretches that hold no figures of their own: dates, cites, titles.
        bare: Leave out what stands beside each figure; `beside` adds it later. For whole documents.
    """
    taken: list[Figure] = []
    for figure in (
        *_symbol_first(text),
        *_cjk(text),
        *_currency_after(text),
        *_percents(text),
        *_words(text),
        *_plain(text),
    ):
        taken.append(figure)
    taken.sort(key=lambda figure: (figure.start, -figure.end, not figure.money))
    kept: list[Figure] = []
    barred, at = _joined(skip), 0
    for figure in taken:
        if kept and figure.start < kept[-1].end:
            continue
        while at < len(barred) and barred[at][1] <= figure.start:
            at += 1
        if at < len(barred) and barred[at][0] < figure.end:
            continue
        kept.append(figure)
    return tuple(kept) if bare else tuple(beside(text, figure) for figure in kept)


def _joined(stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same stretches in order, those that touch made one."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def beside(text: str, figure: Figure) -> Figure:
    """The figure with what stands beside it: its bound and what it is counted by."""
    bound = _BOUND.search(text, max(0, figure.start - 50), figure.start)
    per = _PER.match(text, figure.end)
    counted = re.sub(r"\s+", " ", (per["per"] or per["adverb"]).lower()) if per else ""
    if not per:
        early = _PER_BEFORE.search(text, max(0, figure.start - 16), figure.start)
        counted = early.lastgroup or "" if early else ""
    return replace(
        figure,
        bound=Bound[bound.lastgroup] if bound and bound.lastgroup else Bound.NONE,
        per=PER_NAMES.get(counted, counted),
    )


def _symbol_first(text: str) -> Iterator[Figure]:
    for found in _SYMBOL_FIRST.finditer(text):
        value = _number(found, found["symbol"])
        if value is None:
            continue
        before = _BEFORE_SYMBOL.search(text, max(0, found.start() - 5), found.start())
        code = (before["code"] or "") if before else ""
        currency = SYMBOLS[found["symbol"]]
        if currency == "$" and code:
            currency = PREFIXES.get(code.lower(), code)
        yield Figure(
            start=before.start() if before else found.start(),
            end=found.end(),
            value=-value if before and before["neg"] else value,
            unit=currency,
            money=True,
        )
    for found in _CODE_FIRST.finditer(text):
        value = _number(found, "€")
        if value is not None:
            yield Figure(
                start=found.start(), end=found.end(), value=value, unit=found["code"], money=True
            )


def _number(found: re.Match[str], symbol: str) -> Decimal | None:
    """The value of a match of `_NUMBER`, scaled."""
    written = found["euro"] or found["digits"]
    euro = found["euro"] is not None and _is_euro(written, symbol)
    if (
        euro
        and _GROUPED.fullmatch(written)
        and _ENGLISH_SCALE.fullmatch(found["scale"] or found["later"] or "")
    ):
        euro = False  # "EUR 1.234 million"
    value = _decimal(written, euro=euro)
    return None if value is None else _scaled(value, found["scale"] or found["later"])


def _is_euro(written: str, symbol: str | None) -> bool:
    """Whether points group thousands: "1.234,56", "1.234.567"; "$1.234" alone does not."""
    return symbol == "€" or ("," in written and "." in written) or written.count(".") > 1


def _is_next_ones(text: str, found: re.Match[str]) -> bool:
    """Whether the code after a number belongs to the number after it: "2022 EUR 360,000".

    A row of a table, "Seals 600 EUR 12", says nothing of where a currency stands, so a number in
    the next cell owns the code; in prose, "500 EUR 3 days later", only one written as a sum does.
    """
    own = found["name"]
    if not (own.isupper() or own == "€"):
        return False
    following = _NEXT_SUM.match(text, found.end())
    if following is None:
        return False
    if following["code"]:
        again = _NEXT_SUM.match(text, following.end())
        if again is None:
            return False  # "100 EUR 200 EUR": each code stands behind its number
        following = again
    digits = following["digits"]
    if "," in found.group() and "," not in digits:
        return False
    apart = "\t" in text[found.start() : found.end()]
    return apart or bool(following["scale"]) or len(re.sub(r"\D", "", digits)) >= 4


def _currency_after(text: str) -> Iterator[Figure]:
    for found in _CURRENCY_AFTER.finditer(text):
        if _is_next_ones(text, found):
            continue
        words = found["name"].lower().split()
        written = found["digits"] or found["euro"]
        grouped = _GROUPED.fullmatch(written) and not found["scale"] and words[-1] in _EUROS
        value = _decimal(written, euro=found["euro"] is not None or bool(grouped))
        if value is None:
            continue
        currency = NAMES.get(words[-1], "") or NAMES.get(words[0], "") or words[-1].upper()
        if currency == "$" and len(words) > 1:
            first = words[0]
            currency = {"canadian": "CAD", "australian": "AUD"}.get(first, "USD")
        value = _scaled(value, found["scale"] or found["glued"])
        if currency == "cent":
            value, currency = value / 100, "$"
        yield Figure(start=found.start(), end=found.end(), value=value, unit=currency, money=True)


def _cjk(text: str) -> Iterator[Figure]:
    if not CJK.search(text):
        return
    for found in _CJK_MONEY.finditer(text):
        value = cjk_value(found["number"])
        if value is not None:
            unit = CJK_NAMES[found["name"]]
            yield Figure(start=found.start(), end=found.end(), value=value, unit=unit, money=True)
    for found in _CJK_COUNT.finditer(text):
        value = cjk_value(found["number"])
        if value is not None:
            yield Figure(start=found.start(), end=found.end(), value=value, unit=found["unit"])


def _percents(text: str) -> Iterator[Figure]:
    for found in _PERCENT.finditer(text):
        euro = "," in found["digits"] and len(found["digits"].rsplit(",", 1)[1]) != 3
        value = _decimal(found["digits"], euro=euro)
        if value is None:
            continue
        unit = "percentage point" if found["points"] else "percent"
        yield Figure(
            start=found.start(),
            end=found.end(),
            value=value / 100 if found["basis"] else value,
            unit=unit,
        )


def _words(text: str) -> Iterator[Figure]:
    """ "ninety (90) days", "Five Million Dollars ($5,000,000)", "five percent (5%)"."""
    for found in number_runs(text):
        value = english_value(found.group())
        if value is None:
            continue
        end, unit, money = found.end(), "", False
        twin = _TWIN.match(text, end)
        name = re.compile(rf"[\s-]{{1,3}}(?P<name>(?i:{_NAME}))").match(
            text, twin.end() if twin else end
        )
        percent = re.compile(r"\s{1,3}(?i:per\s?cent|percent)(?!\w)").match(
            text, twin.end() if twin else end
        )
        if name:
            words = name["name"].lower().split()
            unit, money, end = NAMES.get(words[-1], words[-1].upper()), True, name.end()
            unit, value = ("$", value / 100) if unit == "cent" else (unit, value)
        elif percent:
            unit, end = "percent", percent.end()
        elif twin:
            end = twin.end()
        elif value < 10 and not _WORD_UNIT.match(text, end):
            continue
        late = _TWIN.match(text, end) if twin is None else twin
        second = _decimal(late["digits"]) if late else None
        figure = Figure(start=found.start(), end=end, value=value, unit=unit, money=money)
        if not unit:
            figure = replace(figure, unit=_unit_after(text, end))
        yield replace(figure, twin=second if second is not None and second != value else None)


def _unit_after(text: str, end: int) -> str:
    found = _WORD_UNIT.match(text, end)
    if not found:
        return ""
    word = found["unit"].lower()
    if word in ("calendar", "business", "full", "square", "metric", "additional", "separate"):
        following = _WORD_UNIT.match(text, found.end())
        if following:
            return f"{word} {following['unit'].lower().rstrip('s')}"
    return "" if word in _NOT_UNITS else word.rstrip("s") if len(word) > 3 else word


def _plain(text: str) -> Iterator[Figure]:
    for found in _PLAIN.finditer(text):
        value = _decimal(found["digits"])
        if value is not None:
            value = _scaled(value, found["scale"])
            unit = _unit_after(text, found.end())
            yield Figure(start=found.start(), end=found.end(), value=value, unit=unit)
