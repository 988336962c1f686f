"""Month and weekday names, eras and the words around dates, as data.

English, German, French, Korean and Japanese. A name is matched in three cases only: as listed,
capitalised, and in capitals. "may", "mar" or "sat" alone is never a date: the grammar wants digits.
"""

from __future__ import annotations

MONTHS: dict[str, tuple[int, str]] = {}
"""Folded month name to its number and language."""
for _number, _names in enumerate(
    (
        ("january jan", "januar jänner", "janvier janv"),
        ("february feb", "februar feber", "février fevrier févr fevr"),
        ("march mar", "märz maerz mrz", "mars"),
        ("april apr", "", "avril avr"),
        ("may", "mai", "mai"),
        ("june jun", "juni", "juin"),
        ("july jul", "juli", "juillet juil"),
        ("august aug", "", "août aout"),
        ("september sept sep", "", "septembre"),
        ("october oct", "oktober okt", "octobre"),
        ("november nov", "", "novembre"),
        ("december dec", "dezember dez", "décembre decembre déc"),
    ),
    start=1,
):
    for _language, _listed in zip(("en", "de", "fr"), _names, strict=True):
        for _name in _listed.split():
            MONTHS.setdefault(_name, (_number, _language))

WEEKDAYS: dict[str, int] = {}
"""Folded weekday name to its number, 0 is Monday."""
for _number, _listed in enumerate(
    (
        "monday mon montag lundi 월 月",
        "tuesday tues tue dienstag mardi 화 火",
        "wednesday wed mittwoch mercredi 수 水",
        "thursday thurs thur thu donnerstag jeudi 목 木",
        "friday fri freitag vendredi 금 金",
        "saturday sat samstag sonnabend samedi 토 土",
        "sunday sun sonntag dimanche 일 日",
    )
):
    for _name in _listed.split():
        WEEKDAYS[_name] = _number

ERAS = {"明治": 1868, "大正": 1912, "昭和": 1926, "平成": 1989, "令和": 2019}
"""Japanese era to its first year."""

ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
DAY_WORDS: dict[str, int] = {word: number for number, word in enumerate(ORDINALS, start=1)}
"""An ordinal in words to the day it means, "twenty-first" and "thirtieth" included."""
for _number, _word in enumerate(ORDINALS[:9], start=21):
    DAY_WORDS[f"twenty-{_word}"] = _number
DAY_WORDS["thirtieth"] = 30
DAY_WORDS["thirty-first"] = 31

NUMBERED_THINGS = (
    "no",
    "nos",
    "number",
    "docket",
    "dkt",
    "ecf",
    "doc",
    "document",
    "exhibit",
    "ex",
    "exh",
    "section",
    "sec",
    "rule",
    "part",
    "item",
    "art",
    "article",
    "para",
    "paragraph",
    "clause",
    "version",
    "v",
    "release",
    "schedule",
    "appendix",
    "annex",
    "chapter",
    "case",
    "tel",
    "fax",
    "phone",
)
"""Words before which a run of digits is a label, not a date."""

UNITS_AFTER_A_DAY = (
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "hour",
    "hours",
    "minutes",
    "percent",
    "per",
    "miles",
    "people",
    "times",
    "shares",
    "dollars",
    "million",
    "of",
)
"""A "May 30" followed by one of these is not a day of May."""
