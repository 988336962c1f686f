"""Finds the dates written in a text.

Nothing is guessed from today: a missing year stays missing, an open order of day and month gives
two readings. Words that are also months or weekdays ("may", "march", "sat") are no dates without
digits, and digits after a label (docket, exhibit, section, "No.") are none either.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace

from verify.dates import grammar as g
from verify.dates.mention import DateMention, Modifier, PartialDate
from verify.dates.vocabulary import DAY_WORDS, ERAS, MONTHS, UNITS_AFTER_A_DAY, WEEKDAYS

_LOOK_BACK_CHARS = 90
"""Longest start of a date before its month: "Wednesday, the twenty-first\\n day of "."""
_CENTURIES = (1900, 2000)


def find_dates(text: str) -> tuple[DateMention, ...]:
    """Every date of a text in order; spans never overlap.

    A pure function of the text. Runs in time linear in its length.
    """
    found = [*_by_month_name(text), *_numeric(text), *_cjk(text), *_years(text)]
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[DateMention] = []
    for mention in found:
        if kept and mention.start < kept[-1].end:
            if mention.end - mention.start <= kept[-1].end - kept[-1].start:
                continue
            kept.pop()
        kept.append(mention)
    return tuple(_years_from_lists(text, kept))


def _valid(year: int | None, month: int | None, day: int | None) -> PartialDate | None:
    try:
        dt.date(year if year is not None else 2000, month or 1, day or 1)
    except ValueError:
        return None
    return PartialDate(year, month, day)


def _one(*values: PartialDate | None) -> tuple[PartialDate, ...]:
    return tuple(dict.fromkeys(value for value in values if value is not None))


def _modifier(text: str, start: int, end: int) -> Modifier:
    found = g.MODIFIER_BEFORE.search(text, max(0, start - 60), start)
    if found is None and end < len(text) and text[end : end + 3].strip() > "\u2fff":
        found = g.MODIFIER_AFTER.match(text, end)
    return Modifier[found.lastgroup] if found and found.lastgroup else Modifier.NONE


def _weekday(found: re.Match[str] | None) -> int | None:
    if not found:
        return None
    words = found.groupdict()
    word = words.get("weekday") or words.get("word") or words.get("plain") or ""
    folded = word.lower()
    return WEEKDAYS.get(folded, WEEKDAYS.get(folded[:1]))


def _finished(text: str, mention: DateMention) -> DateMention:
    """Adds what stands beside the date: weekday, time of day, modifier."""
    start, end, weekday = mention.start, mention.end, mention.weekday
    zone = clock = ""
    if weekday is None and mention.readings[0].day is not None:
        before = g.WEEKDAY_BEFORE.search(text, max(0, start - 40), start)
        after = None if before else g.WEEKDAY_AFTER.match(text, end)
        weekday = _weekday(before or after)
        if weekday is not None:
            start = before.start() if before else start
            end = after.end() if after else end
    readings = mention.readings
    if weekday is not None and len(readings) > 1:
        fitting = tuple(value for value in readings if _falls_on(value, weekday))
        readings = fitting or readings
    tail = g.TIMESTAMP_TAIL.match(text, mention.end)
    if tail:
        zone, clock = tail["zone"] or "", tail["clock"]
    modifier = _modifier(text, start, end)
    return replace(
        mention,
        start=start,
        end=end,
        readings=readings,
        weekday=weekday,
        zone=zone,
        clock=clock,
        modifier=modifier,
    )


def _falls_on(value: PartialDate, weekday: int) -> bool:
    day = value.first_day()
    return day is not None and day.weekday() == weekday


def _short_year(two_digits: str) -> tuple[int, ...]:
    """A two-digit year reads in two centuries; the record or the reader settles which."""
    return tuple(century + int(two_digits) for century in _CENTURIES)


# --- with a month name ---


def _by_month_name(text: str) -> Iterator[DateMention]:
    for found in g.MONTH.finditer(text):
        month, language = MONTHS[found.group().lower()]
        following = _month_first(text, found, month, language)
        mention = following
        if following is None or following.readings[0].year is None or not following.readings[0].day:
            mention = _day_first(text, found, month, language) or following
        if mention is not None:
            yield _finished(text, mention)


def _year_after(text: str, end: int) -> tuple[tuple[int, ...], int]:
    full = g.YEAR_NEXT.match(text, end)
    if full:
        return (int(full["year"]),), full.end()
    short = g.SHORT_YEAR_NEXT.match(text, end)
    if short:
        return _short_year(short["joined"] or short["marked"]), short.end()
    furniture = g.YEAR_AFTER_FURNITURE.match(text, end)
    if furniture and furniture.end() - end < 400:
        return (int(furniture["year"]),), furniture.end()
    return (), end


def _day_first(text: str, found: re.Match[str], month: int, language: str) -> DateMention | None:
    """ "5 May 2010", "the 5th day of May, 2010", "5.-7. Mai 2010", "30-Sep-1999"."""
    back = g.DAY_BEFORE_MONTH.search(text, max(0, found.start() - _LOOK_BACK_CHARS), found.start())
    if not back:
        return None
    day = int(back["day"]) if back["day"] else DAY_WORDS[back["word"].lower()]
    years, end = _year_after(text, found.end())
    if not years and (found.group().islower() or _is_label(text, back.start("day"))):
        return None
    first, start = int(back["first"]) if back["first"] else None, back.start()
    if first and g.MONTH_JUST_BEFORE.search(
        text, max(0, back.start("first") - 14), back.start("first")
    ):
        first, start = None, back.start("day")  # "August 7 to 23 September 2006"
    readings = _one(*(_valid(year, month, first or day) for year in years or (None,)))
    last = _valid(years[-1] if years else None, month, day) if first else None
    if not readings or (first and last is None):
        return None
    return DateMention(
        start=start,
        end=end if years else found.end(),
        readings=readings,
        weekday=_weekday(back),
        language=language,
        until=last,
    )


def _month_first(text: str, found: re.Match[str], month: int, language: str) -> DateMention | None:
    """ "May 5, 2010", "May 5-7, 2010", "May 2010", "May 5"."""
    with_day = g.DAY_AFTER_MONTH.match(text, found.end())
    if with_day and _valid(None, month, int(with_day["day"])):
        last, day_end = with_day["last"], with_day.end()
        if last and g.MONTH.match(
            text,
            day_end
            + len(text[day_end : day_end + 9])
            - len(text[day_end : day_end + 9].lstrip(" .\n\u00a0")),
        ):
            last, day_end = None, with_day.end("day")  # "August 7 to 23 September 2006"
        years, end = _year_after(text, day_end)
        day = int(with_day["day"])
        if not years and not _bare_day_stands(text, found, with_day):
            return None
        readings = _one(*(_valid(year, month, day) for year in years or (None,)))
        until = _valid(years[-1] if years else None, month, int(last)) if last else None
        if not readings:
            return None
        return DateMention(
            start=found.start(), end=end, readings=readings, language=language, until=until
        )
    years, end = _year_after(text, found.end())
    if len(years) != 1 or (found.group().islower() and language == "en"):
        return None
    return DateMention(
        start=found.start(),
        end=end,
        readings=(PartialDate(years[0], month, None),),
        language=language,
    )


def _bare_day_stands(text: str, month: re.Match[str], day: re.Match[str]) -> bool:
    """Whether "May 30" without a year is a day: not "may 30", not "May 30 days"."""
    if month.group().islower():
        return False
    following = re.match(r"[\s-]{0,3}(?:\(\d+\)\s)?([A-Za-z%]+)", text[day.end() : day.end() + 30])
    return following is None or following[1].lower() not in UNITS_AFTER_A_DAY


def _years_from_lists(text: str, mentions: list[DateMention]) -> Iterator[DateMention]:
    """Lends a year to a date that stands in a list or range with a later, dated one."""
    lent: list[DateMention] = []
    following: DateMention | None = None
    for mention in reversed(mentions):
        first = mention.readings[0]
        if following is not None and first.year is None and first.day is not None:
            year = following.readings[0].year
            gap = text[mention.end : following.start]
            if year is not None and len(gap) < 60 and g.LIST_GAP.fullmatch(gap):
                value = _valid(year, first.month, first.day)
                if value is not None:
                    mention = replace(mention, readings=(value,), year_from_list=True)
        lent.append(mention)
        following = mention
    return reversed(lent)


# --- in digits ---


def _is_label(text: str, start: int) -> bool:
    return bool(g.NUMBER_LABEL.search(text, max(0, start - 20), start))


def _numeric(text: str) -> Iterator[DateMention]:
    for found in g.NUMERIC.finditer(text):
        if _is_label(text, found.start()):
            continue
        readings = _numeric_readings(found)
        if readings:
            yield _finished(
                text,
                DateMention(start=found.start(), end=found.end(), readings=readings, numeric=True),
            )
    if "'" in text or "’" in text or "‘" in text:
        for found in g.SHORT_KOREAN.finditer(text):
            month, day = int(found["m"]), int(found["d"])
            readings = _one(*(_valid(year, month, day) for year in _short_year(found["y"])))
            if readings:
                yield _finished(
                    text,
                    DateMention(
                        start=found.start(), end=found.end(), readings=readings, language="ko"
                    ),
                )
    for found in g.MONTH_YEAR.finditer(text):
        if not _is_label(text, found.start()):
            value = PartialDate(int(found["y"]), int(found["m"]), None)
            yield _finished(
                text, DateMention(start=found.start(), end=found.end(), readings=(value,))
            )


def _numeric_readings(found: re.Match[str]) -> tuple[PartialDate, ...]:
    if found["y"]:
        return _one(_valid(int(found["y"]), int(found["m"]), int(found["d"])))
    first, second, separator = int(found["a"]), int(found["b"]), found["s2"]
    short = len(found["c"]) == 2
    if short and (separator == "." or found["as"]):
        return ()  # "5.3.24" is a section more often than a date
    if short and separator == "-" and not (len(found["a"]) == len(found["b"]) == 2):
        return ()
    if separator == "." and found["as"] and not found["as"].strip() and short:
        return ()
    years = _short_year(found["c"]) if short else (int(found["c"]),)
    if not all(1400 <= year <= 2199 for year in years):
        return ()
    orders = [(first, second), (second, first)]
    return _one(*(_valid(year, month, day) for month, day in orders for year in years))


# --- Korean, Japanese, Chinese ---


def _cjk_year(found: re.Match[str]) -> tuple[int | None, ...]:
    if found["era"]:
        return (ERAS[found["era"]] + (1 if found["ey"] == "元" else int(found["ey"])) - 1,)
    if not found["y"]:
        return (None,)
    return (int(found["y"]),) if len(found["y"]) == 4 else _short_year(found["y"])


def _cjk(text: str) -> Iterator[DateMention]:
    if not any(sign in text for sign in ("월", "月", "년", "年")):
        return
    for found in g.CJK.finditer(text):
        day = int(found["d"]) if found["d"] else None
        years = _cjk_year(found)
        if years == (None,) and day is None:
            continue
        language = "ko" if "월" in found.group() else "ja"
        readings = _one(*(_valid(year, int(found["m"]), day) for year in years))
        if readings:
            yield _finished(
                text,
                DateMention(
                    start=found.start(), end=found.end(), readings=readings, language=language
                ),
            )
    for found in g.CJK_YEAR.finditer(text):
        (year,) = _cjk_year(found)
        value = _valid(year, None, None)
        if value is not None:
            language = "ko" if "년" in found.group() else "ja"
            yield _finished(
                text,
                DateMention(
                    start=found.start(), end=found.end(), readings=(value,), language=language
                ),
            )


# --- years alone ---


def _years(text: str) -> Iterator[DateMention]:
    """ "in 2009", "fiscal year 2010", "early 2011": a bare year needs a word that makes it one."""
    for found in g.YEAR.finditer(text):
        cue = g.YEAR_CUE.search(text, max(0, found.start() - 40), found.start())
        if cue is None:
            continue
        part = cue["part"] or cue["season"]
        start = cue.start() if part else found.start()
        modifier = Modifier.PART if part else _modifier(text, found.start(), found.end())
        yield DateMention(
            start=start,
            end=found.end(),
            readings=(PartialDate(int(found["year"]), None, None),),
            modifier=modifier,
        )
