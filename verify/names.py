"""People and parties a reply names, and whether the record knows them.

A name is found by its form (title, initials, capitals, company suffix, Korean forms) and looked up
as whole words in either order. A surname alone is never green when the record holds two people
who bear it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from protocol.answers import Verdict
from protocol.record import DocumentInfo
from verify.judged import Judged, Stretch
from verify.namelists import (
    COMMON_CAPITALS,
    COMPANY_SUFFIXES,
    KOREAN_SURNAMES,
    KOREAN_TITLES,
    PARTICLES,
    TITLES,
)
from verify.places import doubt_about_fact, in_scope, supports_facts
from verify.source import Source
from verify.tables import Tables


class NameKind(StrEnum):
    """What sort of name it is."""

    PERSON = "person"
    COMPANY = "company"


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name at ``[start, end)``; ``words`` are its folded parts without title and suffix."""

    start: int
    end: int
    words: tuple[str, ...]
    kind: NameKind
    title: str = ""
    suffix: str = ""


_UPPER = r"[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĪĮİŁŃŇŌŐŒŘŚŠŞŢŤŪŮŰŲŹŻŽ]"
_PART = rf"(?:{_UPPER}[\w\u0300-\u036f]*(?:['’-]{_UPPER}?[\w\u0300-\u036f]+)*)"
_INITIAL = rf"(?:{_UPPER}\.)"
_PARTICLE = "(?:" + "|".join(sorted(PARTICLES, key=len, reverse=True)) + ")"
_TITLE = "(?:" + "|".join(map(re.escape, sorted(TITLES, key=len, reverse=True))) + ")"
_SUFFIX = "(?:" + "|".join(map(re.escape, sorted(COMPANY_SUFFIXES, key=len, reverse=True))) + ")"
_JOIN = r"[ \t\u00a0]{1,2}"
_NAME = re.compile(
    rf"(?<![\w'’@.-])(?:(?P<title>{_TITLE})\.?{_JOIN}(?:\n[ \t]*)?)?"
    rf"(?P<words>(?:{_INITIAL}{_JOIN}?){{0,3}}(?:{_PARTICLE}{_JOIN}){{0,3}}{_PART}(?:{_JOIN}(?:{_INITIAL}"
    rf"|{_PARTICLE}|&|{_PART})){{0,6}})"
    rf"(?P<suffix>,?{_JOIN}{_SUFFIX}(?![\w]))?"
)
_SPEAKS = re.compile(
    r"\s+(?:wrote|writes|testified|testifies|said|says|stated|states|told|asked|answered|replied"
    r"|signed|admitted|emailed|met|agreed|denied)\b"
)
_SURNAMES, _KOREAN_TITLE = "|".join(KOREAN_SURNAMES), "|".join(KOREAN_TITLES)
_KOREAN = re.compile(
    rf"(?<![가-힣])(?P<name>(?:{_SURNAMES})[가-힣]{{2}})"
    rf"(?=\s?(?:{_KOREAN_TITLE})|(?:은|는|이|가|을|를|의|에게|와|과)(?![가-힣])|[\s,.)]|$)"
)
_KOREAN_COMPANY = re.compile(
    r"(?:주식회사|㈜|\(주\))\s?(?P<before>[가-힣A-Za-z0-9]{2,20})"
    r"|(?P<after>[가-힣A-Za-z0-9]{2,20})\s?(?:주식회사|㈜|\(주\))(?!\s(?!대표"
    r"|이사)[가-힣A-Za-z]{2,})"
)
_KOREAN_PARTICLE = re.compile(r"(?:은|는|이|가|을|를|의|에게|와|과|에|로|으로)$")
_LETTER = r"(?:[^\W_]|[\u0300-\u036f])"
_WORD = re.compile(rf"{_LETTER}+(?:['’-]{_LETTER}+)*")


def fold_name(word: str) -> str:
    """One form for NFC and NFD, cases, apostrophes and a possessive s."""
    word = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    return re.sub(r"'s?$", "", word).strip(".'")


def find_names(text: str, skip: Sequence[tuple[int, int]] = ()) -> tuple[Name, ...]:
    """The names of people and companies in a reply, in order.

    A single capitalised word counts with a title, as a speaker ("Osei wrote"), or in the middle of
    a sentence when it is no common word; a heading in capitals holds no names.

    Args:
        text: The reply.
        skip: Stretches that hold no names of their own: document titles, cites, quotations.
    """
    found = [*_latin(text), *_korean(text)]
    found = [n for n in found if not any(a < n.end and n.start < b for a, b in skip)]
    return tuple(sorted(found, key=lambda name: name.start))


def _latin(text: str) -> list[Name]:
    names = []
    for match in _NAME.finditer(text):
        parts = [(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", match["words"])]
        title, suffix = (match["title"] or "").strip("."), (match["suffix"] or "").strip(" ,")
        offset = match.start("words")
        while parts and not title and (_common(parts[0][0]) or parts[0][0] == "&"):
            parts.pop(0)
        while parts and (
            (_common(parts[-1][0]) and not suffix) or parts[-1][0] in (*PARTICLES, "&")
        ):
            parts.pop()
        if not parts:
            continue
        words = tuple(filter(None, (fold_name(word) for word, _, _ in parts if word != "&")))
        start = match.start() if title else offset + parts[0][1]
        end = match.end() if suffix else offset + parts[-1][2]
        end -= len(text[start:end]) - len(re.sub(r"['’]s$", "", text[start:end]))
        full = [word for word, _, _ in parts if len(word.strip(".")) > 1]
        if not words or not full or not _is_name(text, match, full, title, suffix, start, end):
            continue
        kind = NameKind.COMPANY if suffix else NameKind.PERSON
        names.append(
            Name(
                start=start, end=end, words=words, kind=kind, title=fold_name(title), suffix=suffix
            )
        )
    return names


def _common(word: str) -> bool:
    return re.sub(r"['’]s$", "", word).strip(".").lower() in COMMON_CAPITALS


def _is_name(
    text: str,
    match: re.Match[str],
    full: Sequence[str],
    title: str,
    suffix: str,
    start: int,
    end: int,
) -> bool:
    if title or suffix:
        return True
    if all(word.isupper() and len(word) > 1 for word in full):
        return False
    if len(match["words"].split()) > 1 and len(full) + ("." in match["words"]) > 1:
        return True
    if _SPEAKS.match(text, end):
        return True
    before = text[max(0, start - 2) : start]
    inside = before[-1:] == " " and before[:1] not in '.!?:;\n”"' and start > 1
    return inside and len(full[0]) >= 4


def _korean(text: str) -> list[Name]:
    names = []
    if not re.search(r"[\u1100-\u11ff가-힣]", text):
        return []
    for match in _KOREAN.finditer(text):
        words = (fold_name(match["name"]),)
        names.append(Name(start=match.start(), end=match.end(), words=words, kind=NameKind.PERSON))
    for match in _KOREAN_COMPANY.finditer(text):
        word = match["before"] or match["after"]
        bare = _KOREAN_PARTICLE.sub("", word) if len(word) > 3 and match["before"] else word
        start = match.start("before") if match["before"] else match.start("after")
        words = (fold_name(bare),)
        end = start + len(bare)
        names.append(Name(start=start, end=end, words=words, kind=NameKind.COMPANY))
    return names


# --- the record ---


class NameTable:
    """The words of a text that may belong to a name, with the words beside each."""

    def __init__(self, text: str) -> None:
        self.places: dict[str, list[tuple[int, int, int]]] = {}
        self.words: list[str] = []
        normal = unicodedata.is_normalized("NFC", text)
        for match in _WORD.finditer(text):
            word = match.group()
            if not (word[0].isupper() or word[0] > "\u1000" or not normal):
                continue
            folded = fold_name(word)
            self.places.setdefault(folded, []).append((match.start(), match.end(), len(self.words)))
            self.words.append(folded)


def judge_name(
    reply: str,
    span: tuple[int, int],
    source: Source,
    documents: Sequence[str] | None = None,
    *,
    tables: Tables | None = None,
) -> Judged:
    """Whether the record knows the person or party at ``span`` of a reply.

    Returns:
        VERIFIED when the whole name, or a surname only one person bears, stands in the record;
        CHECK when its words stand there but not together, or several people fit; NOT_FOUND else.
    """
    tables = tables or Tables()
    name = next(
        (n for n in find_names(reply) if n.start < span[1] and span[0] < n.end), None
    ) or _as_given(reply, span)
    if name is None:
        return Judged(verdict=Verdict.CHECK, reason="Not read as a name: look at it")
    infos = [info for info in in_scope(source, documents) if supports_facts(info)]
    places: list[Stretch] = []
    bearers: set[tuple[str, ...]] = set()
    titles: set[str] = set()
    scattered = False
    for info in infos:
        found, everywhere = _in_document(name, info, source, tables)
        scattered = scattered or everywhere
        for stretch, bearer, title in found:
            places.append(stretch)
            bearers.add(bearer)
            titles.add(title)
    if not places:
        words = " ".join(name.words).title()
        if scattered:
            return Judged(
                verdict=Verdict.CHECK,
                reason=f"The words of {words} stand in the record, but not together",
            )
        return Judged(verdict=Verdict.NOT_FOUND, reason="Nobody of this name stands in the record")
    problem = _problem(name, bearers, titles) or doubt_about_fact(source, places[0])
    if problem:
        return Judged(verdict=Verdict.CHECK, reason=problem, places=tuple(places[:3]))
    return Judged(
        verdict=Verdict.VERIFIED, reason="The record knows this name", places=tuple(places[:3])
    )


def _as_given(reply: str, span: tuple[int, int]) -> Name | None:
    words = tuple(fold_name(m.group()) for m in _WORD.finditer(reply[span[0] : span[1]]))
    words = tuple(word for word in words if word and word not in TITLES)
    if not words:
        return None
    return Name(start=span[0], end=span[1], words=words, kind=NameKind.PERSON)


def _in_document(
    name: Name, info: DocumentInfo, source: Source, tables: Tables
) -> tuple[list[tuple[Stretch, tuple[str, ...], str]], bool]:
    """Where the name stands in one document with the first names and titles beside it, and whether
    all its words stand somewhere."""
    table = tables.get("names", source, info, NameTable)
    text = source.text(info.id)
    if any(sign > "\u1000" for sign in name.words[-1][:1]):
        return _korean_in(name, info, text), False
    full = [word for word in name.words if len(word) > 1 and word not in PARTICLES]
    if not full or any(word not in table.places for word in full):
        return [], False
    anchor = full[-1]
    found = []
    for start, end, _ in table.places[anchor]:
        around = (
            re.sub(r"\s+", " ", text[max(0, start - 60) : start]),
            re.sub(r"\s+", " ", text[end : end + 40]),
        )
        bearer, title = _bearer(around[0], around[1])
        if len(full) + sum(len(word) == 1 for word in name.words) == 1 or _compatible(name, bearer):
            found.append((Stretch(document=info.id, start=start, end=end), bearer, title))
    return found, not found


_BEFORE = re.compile(
    rf"(?<![\w'’])(?:(?P<title>(?i:{_TITLE}))\.? )?(?P<firsts>(?:(?:{_PART}|{_INITIAL}"
    rf"|{_PARTICLE}) ?){{0,4}})$"
)
_AFTER = re.compile(rf",? (?P<firsts>(?:(?:{_PART}|{_INITIAL}) ?){{1,2}})")


def _bearer(before: str, after: str) -> tuple[tuple[str, ...], str]:
    """The first names beside a surname, and its title: "Mr. Kofi Osei", "Osei, K."."""
    found = _BEFORE.search(before)
    firsts = found["firsts"] if found else ""
    title = fold_name(found["title"] or "") if found else ""
    words = [word for word in firsts.split() if not _common(word)]
    if words and fold_name(words[0]) in TITLES:
        title, words = fold_name(words[0]), words[1:]
    if not words and after.startswith(","):
        following = _AFTER.match(after)
        words = [w for w in (following["firsts"].split() if following else []) if not _common(w)]
    return tuple(fold_name(word) for word in words), title


def _compatible(name: Name, bearer: tuple[str, ...]) -> bool:
    """Whether the reply's first names and those of the record can be one person's."""
    said = [word for word in name.words[:-1] if word not in PARTICLES]
    kept = [word for word in bearer if word not in PARTICLES]
    if not said or not kept:
        return not said
    return _same_first(said[0], kept[0]) or any(_same_first(said[-1], word) for word in kept)


def _same_first(a: str, b: str) -> bool:
    if len(a) == 1 or len(b) == 1:
        return a[:1] == b[:1]
    return a == b


def _korean_in(
    name: Name, info: DocumentInfo, text: str
) -> list[tuple[Stretch, tuple[str, ...], str]]:
    wanted = unicodedata.normalize("NFC", name.words[-1])
    found: list[tuple[Stretch, tuple[str, ...], str]] = []
    at = text.find(wanted)
    if at < 0 and not unicodedata.is_normalized("NFC", text):
        spelled = unicodedata.normalize("NFD", wanted)
        at, wanted = text.find(spelled), spelled
    while at >= 0 and len(found) < 50:
        before = text[at - 1 : at]
        if not ("가" <= before <= "힣"):
            stretch = Stretch(document=info.id, start=at, end=at + len(wanted))
            found.append((stretch, (), ""))
        at = text.find(wanted, at + 1)
    return found


def _problem(name: Name, bearers: set[tuple[str, ...]], titles: set[str]) -> str:
    if name.kind is NameKind.COMPANY or len(name.words) > 1:
        return ""
    firsts: list[str] = []
    for bearer in bearers:
        if bearer and not any(_same_first(bearer[0], known) for known in firsts):
            firsts.append(bearer[0])
    if len(firsts) > 1:
        people = ", ".join(sorted(first.title() for first in firsts)[:4])
        return f"Several people of the record bear this name: {people}"
    men, women = {"mr", "herr"}, {"ms", "mrs", "miss", "frau", "mme"}
    known = titles - {""}
    opposite = (name.title in men and known & women) or (name.title in women and known & men)
    if opposite and not (known & (men if name.title in men else women)):
        return f"The record calls this person {sorted(known)[0].title()}."
    return ""
