"""Where the record does not fit together: statements side by side, chosen by rules, not by a model.

A rule names a pair that a reader should look at; it does not say who is right. What differs because
time went by is told apart from what cannot both be so: figures of two known days are a change over
time. Rules are plain and few, so that each finding can say why it is one.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from verify.amounts import find_figures
from verify.dates import DateMention, find_dates
from verify.number_words import english_value
from worker.deliverables.events import Said

MOST_SIDES: Final = 6
"""Statements shown for one finding; how many there are is said in its reason."""


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Statements that do not fit together, or that differ because time went by."""

    kind: str
    """conflict, change or sum."""
    why: str
    """One line: what does not fit, as figures or dates of the record."""
    sides: tuple[Said, ...]


_FIRST: Final = re.compile(
    r"\bfirst (?:heard|knew|learn\w+|became aware|notified|saw|noticed|told)\b"
    r"|\bno (?:prior |earlier )?(?:notice|knowledge)\b|처음 (?:알|들)",
    re.IGNORECASE,
)
_TOLD: Final = re.compile(
    r"\b(?:reported|told|notified|informed|warned|alerted|gave notice|had notice|"
    r"received (?:written )?notice|wrote to|e-?mailed)\b|통지|알렸|보고",
    re.IGNORECASE,
)
_LONGEST_BEFORE: Final = dt.timedelta(days=730)
_TOTAL: Final = re.compile(
    r"\b(?:totals?|damages of|in the sum of|cost of (?:full )?repair|sum claimed)\b|합계|총액",
    re.IGNORECASE,
)
_NEAR_TOTALS: Final = Decimal("1.10")
"""Totals within 10 % of one another are likely totals of the same thing."""
_NOT: Final = re.compile(
    r"\b(?:not|never|neither|nor|without)\b|\bno\b(?!\.)|n't\b|않|없", re.IGNORECASE
)
_NORM: Final = re.compile(
    r"\b(?:shall|must|may|if|unless|provides?|would|will|should)\b", re.IGNORECASE
)
_WORD: Final = re.compile(r"[^\W\d_]{3,}", re.UNICODE)
_HOW_MANY: Final = re.compile(r"\bhow many ([a-z]+)", re.IGNORECASE)
_TIME_UNITS: Final = frozenset("day week month year hour minute second".split())
_COMMON: Final = frozenset(
    "the and that this with from for was were are had has have been its his her their our your you"
    " she they them not who what when where which will would could there then than into about after"
    " before did does any all one two three per out said asked witness".split()
)
_MOST_COUNTED: Final = 300
"""A thing counted more often is counted of many subjects: comparing all would tell nothing."""
_RARE: Final = 4
"""A pair of words in more sentences than this is the matter's common talk, not one subject."""


def conflicts_of(every: Sequence[Said]) -> list[Conflict]:
    """What does not fit together in the statements of a record.

    Args:
        every: All statements, document by document, in order; questions left out.
    """
    return [
        *_knowledge(every),
        *_totals(every),
        *_wrong_sums(every),
        *_polarity(every),
        *_same_event(every),
        *_counts(every),
    ]


def _knowledge(every: Sequence[Said]) -> Iterator[Conflict]:
    """One says he first heard on a day; others say he was told before it."""
    told = [
        (day, said)
        for said in every
        if _TOLD.search(said.sentence.words)
        and not _FIRST.search(said.sentence.words)
        and not _NORM.search(said.sentence.words)
        for day in _days(said.sentence.words)[:1]
    ]
    for said in every:
        if not _FIRST.search(said.sentence.words):
            continue
        for first in _days(said.sentence.words)[:1]:
            others = [
                (day, other)
                for day, other in told
                if other.info.id != said.info.id and first - _LONGEST_BEFORE <= day < first
            ]
            if others:
                earliest = min(day for day, _ in others)
                yield _made(
                    "conflict",
                    f"first knowledge on {_shown(first)} against a report on {_shown(earliest)}",
                    [said, *(other for _, other in others)],
                )


def _totals(every: Sequence[Said]) -> Iterator[Conflict]:
    """Sums that are said to be the whole of something and are near one another, yet differ."""
    sums: list[tuple[Decimal, str, Said]] = []
    for said in every:
        match = _TOTAL.search(said.sentence.words)
        if match is None:
            continue
        money = [one for one in find_figures(said.sentence.words) if one.money]
        after = [one for one in money if one.start >= match.start()]
        if after:
            sums.append((after[0].value, after[0].unit, said))
    sums.sort(key=lambda one: (one[1], one[0]))
    group: list[tuple[Decimal, str, Said]] = []
    for one in [*sums, None]:
        fits = (
            one is not None
            and group
            and one[1] == group[0][1]
            and one[0] <= group[0][0] * _NEAR_TOTALS
        )
        if group and not fits:
            values = sorted({value for value, _, _ in group})
            if len(values) > 1 and len({said.info.id for _, _, said in group}) > 1:
                shown = " against ".join(f"{group[0][1]} {value:,.2f}" for value in values)
                yield _made(
                    "conflict",
                    f"sums said to be the whole: {shown}".replace("$ ", "$"),
                    [said for _, _, said in group],
                )
            group = []
        if one is not None:
            group.append(one)


def _wrong_sums(every: Sequence[Said]) -> Iterator[Conflict]:
    """Rows that end in amounts, followed by a total that is not their sum."""
    for rows, total in runs(every):
        added, stated = sum(row[1] for row in rows), total[1]
        if added != stated:
            yield Conflict(
                kind="sum",
                why=f"the rows add up to {added:,}, the record states {stated:,}",
                sides=(*(row[0] for row in rows[-(MOST_SIDES - 1) :]), total[0]),
            )


def runs(
    every: Sequence[Said],
) -> Iterator[tuple[list[tuple[Said, Decimal]], tuple[Said, Decimal]]]:
    """Runs of two or more rows that end in an amount, each with the total that follows it."""
    rows: list[tuple[Said, Decimal]] = []
    for said in every:
        words = said.sentence.words
        money = [one for one in find_figures(words) if one.money]
        last = money[-1] if money and not words[money[-1].end :].strip(" .)") else None
        if rows and rows[-1][0].info.id != said.info.id:
            rows = []
        if last is None:
            rows = []
        elif _TOTAL.search(words):
            if len(rows) > 1:
                yield rows, (said, last.value)
            rows = []
        else:
            rows.append((said, last.value))


def _polarity(every: Sequence[Said]) -> Iterator[Conflict]:
    """Two documents speak of one rare pair of words; one of them denies something of it."""
    pairs: defaultdict[tuple[str, str], list[Said]] = defaultdict(list)
    for said in every:
        words = said.sentence.words
        if said.sentence.turn in ("", "answer") and not _NORM.search(words) and not words.isupper():
            for pair in dict.fromkeys(itertools.pairwise(_stems(words))):
                pairs[pair].append(said)
    shown: set[tuple[str, ...]] = set()
    for pair, sides in pairs.items():
        if not 2 <= len(sides) <= _RARE:
            continue
        denying = {_NOT.search(said.sentence.words) is not None for said in sides}
        documents = {said.info.id for said in sides}
        names = tuple(f"{said.info.id}.{said.sentence.start}" for said in sides)
        if len(denying) == 2 and len(documents) > 1 and names not in shown and _content(pair):
            shown.add(names)
            yield _made("conflict", f"“{' '.join(pair)}” is affirmed and denied", sides)


def _same_event(every: Sequence[Said]) -> Iterator[Conflict]:
    """Two documents tell the same in nearly the same words and give different days.

    Other figures than the day must be the same: "two rooms" and later "five rooms" is no conflict.
    """
    dated: list[tuple[dt.date, frozenset[str], Said]] = []
    for said in every:
        days = _days(said.sentence.words)
        stems = frozenset(_stems(_without_dates(said.sentence.words)))
        if len(set(days)) == 1 and len(stems) >= 3 and said.sentence.turn in ("", "answer"):
            dated.append((days[0], stems, said))
    by_stem: defaultdict[str, list[int]] = defaultdict(list)
    for at, (_, stems, _) in enumerate(dated):
        for stem in stems:
            by_stem[stem].append(at)
    near = {
        (a, b)
        for places in by_stem.values()
        if len(places) <= 40
        for a, b in itertools.combinations(places, 2)
    }
    for a, b in sorted(near):
        (day, stems, said), (other_day, other_stems, other) = dated[a], dated[b]
        alike = len(stems & other_stems) / len(stems | other_stems)
        if _values(said) != _values(other):
            continue
        if day != other_day and said.info.id != other.info.id and alike >= 0.6:
            yield _made(
                "conflict",
                f"the same is put on {_shown(day)} and on {_shown(other_day)}",
                [said, other],
            )


def _values(said: Said) -> list[tuple[Decimal, str]]:
    words = _without_dates(said.sentence.words)
    return sorted((one.value, one.unit) for one in find_figures(words))


def _counts(every: Sequence[Said]) -> Iterator[Conflict]:
    """How many of one thing: different figures of different days are a change over time."""
    counted: defaultdict[str, list[tuple[Decimal, dt.date | None, frozenset[str], Said]]]
    counted = defaultdict(list)
    answers: defaultdict[tuple[str, tuple[int, int]], str] = defaultdict(str)
    for said in every:
        if said.sentence.question:
            answers[said.info.id, said.sentence.question] += f" {said.sentence.words}"
    for said, as_of in _with_days(every):
        for value, unit in _figures(said):
            question = said.sentence.question
            whole = answers[said.info.id, question] if question else said.sentence.words
            stems = frozenset(_stems(f"{said.asked or ''} {whole}")) - {unit}
            counted[unit].append((value, as_of, stems, said))
    for unit, ones in counted.items():
        if len(ones) > _MOST_COUNTED:
            continue
        used: set[int] = set()
        for at, (_, _, stems, _) in enumerate(ones):
            if at in used:
                continue
            group = [at]
            for other_at in range(at + 1, len(ones)):
                if other_at not in used and len(stems & ones[other_at][2]) >= 2:
                    group.append(other_at)
            values = {ones[one][0] for one in group}
            documents = {ones[one][3].info.id for one in group}
            if len(values) < 2 or len(documents) < 2:
                continue
            used.update(group)
            days = [ones[one][1] for one in group]
            sides = sorted(group, key=lambda one: (ones[one][1] or dt.date.max, one))
            known = all(days) and _one_value_a_day([ones[one][:2] for one in group])
            told = ", ".join(
                f"{ones[one][0]} ({_shown(when)})" if (when := ones[one][1]) else f"{ones[one][0]}"
                for one in sides
            )
            kind = "change" if known else "conflict"
            why = "changes over time" if known else "differs, and the days are not all known"
            yield _made(kind, f"number of {unit}s {why}: {told}", [ones[one][3] for one in sides])


def _one_value_a_day(ones: Sequence[tuple[Decimal, dt.date | None]]) -> bool:
    values: dict[dt.date | None, Decimal] = {}
    return all(values.setdefault(day, value) == value for value, day in ones)


def _figures(said: Said) -> Iterator[tuple[Decimal, str]]:
    if said.sentence.turn not in ("", "answer"):
        return
    dates = [(one.start, one.end) for one in find_dates(said.sentence.words)]
    for figure in find_figures(said.sentence.words, dates):
        unit = _stem(figure.unit.casefold())
        if not figure.money and unit and unit not in _TIME_UNITS and figure.unit != "percent":
            yield figure.value, unit
    match = _HOW_MANY.search(said.asked or "")
    if match:
        word = re.match(r"\w+", said.sentence.words)
        value = english_value(word.group().casefold()) if word else None
        if value is not None:
            yield Decimal(value), _stem(match[1].casefold())


def _with_days(every: Sequence[Said]) -> Iterator[tuple[Said, dt.date | None]]:
    """Each statement with the day of which it speaks, as far as the document tells.

    A message or report speaks of its own day; in a transcript "that day" is the day named last.
    """
    document, own, last = "", None, None
    for said in every:
        words = said.sentence.words
        if said.info.id != document:
            document, own, last = said.info.id, None, None
        days = _days(words)
        if days:
            last = days[-1]
            if own is None and said.sentence.turn in ("", "header"):
                own = days[0]
        if days:
            yield said, days[0]
        elif said.sentence.turn == "answer":
            yield said, last if re.search(r"\bthat day\b", said.asked or "", re.I) else None
        else:
            yield said, own


def _days(words: str) -> list[dt.date]:
    return [day for mention in find_dates(words) if (day := _day(mention)) is not None]


def _day(mention: DateMention) -> dt.date | None:
    value = mention.value
    if value is None or value.year is None or value.month is None or value.day is None:
        return None
    return value.first_day()


def _shown(day: dt.date) -> str:
    return f"{day.day} {day:%B} {day.year}"


def _without_dates(words: str) -> str:
    for mention in reversed(find_dates(words)):
        words = f"{words[: mention.start]} {words[mention.end :]}"
    return words


def _stems(words: str) -> list[str]:
    return [_stem(word) for word in map(str.casefold, _WORD.findall(words)) if word not in _COMMON]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _content(pair: tuple[str, str]) -> bool:
    return all(len(word) >= 4 for word in pair)


def _made(kind: str, why: str, sides: Sequence[Said]) -> Conflict:
    unique = list({(one.info.id, one.sentence.start): one for one in sides}.values())
    more = len(unique) - MOST_SIDES
    if more > 0:
        why = f"{why} ({more} further statements not shown)"
    return Conflict(kind=kind, why=why, sides=tuple(unique[:MOST_SIDES]))
