"""Words as they are compared around dates, amounts and names: folded, cut to one form, sorted into
those that carry an event and those that do not. Also where a sentence starts and ends.

Shares nothing with the token stream of the quotation checker: a fault here must not bless a fault
there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from verify.wordlists import (
    FUNCTION_WORDS,
    IRREGULAR,
    KOREAN_ENDINGS,
    KOREAN_NEGATIONS,
    NEGATIONS,
    WEEKDAYS,
)

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])(?:[-‐]\s*|\u00ad\s*)(?=[a-zà-ÿ])")
_SUFFIXES = (
    "ations ation itions ition ements ement ments ment ions ion ings ing ied ies ed es s e ly"
).split()
_PAST_ENDINGS = ("습니다", "으며", "다", "고")
_PAST_CLOSING = 20
"""ㅆ among the 27 final consonants of a syllable."""
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""A character of Korean, Japanese or Chinese."""

_ABBREVIATION = re.compile(
    r"\b(?:v|vs|Mr|Mrs|Ms|Dr|Inc|Corp|Co|Ltd|L\.?L\.?C|Cir|Sec|Fed|Ex|Exh|Dec|Jan|Feb|Mar|Apr|Aug"
    r"|Sept?|Oct|Nov|St|Jr|Sr|al|Id|Cal|Dist|App|Supp|Rev|Civ|Crim|Proc|Dep|Tr|Decl|Dkt|art|p|pp|cf"
    r"|e\.g|i\.e|[A-Z])\.$"
)
_HOUR = re.compile(r"\b[ap]\.\s?m\.$")
_ZONE = re.compile(r"\s*(?:Eastern|Pacific|Central|Mountain|UTC|GMT|[ECMP][SD]T|KST|JST)\b")
_NUMBERED = re.compile(r"\b(?:No|Nos)\.$")
_KOREAN_DATE = re.compile(r"(?:\d{4}|['’]\d\d|\d{1,2})\.\s?\d{1,2}\.(?:\s?\d{1,2}\.)?$")
_AFTER_DIGIT = re.compile(r"(?P<list>(?:^|\n)[ \t]*\d{1,3})\.$|\d\.$")
_LINE_NUMBER = re.compile(r"^[^\S\n]*\n[^\S\n]*\d{1,2}[^\S\n]+(?=[A-Z\"“])")
"""The number of a transcript's next line."""
_SENTENCE_END = re.compile(
    r"[.!?。][\"')\]”’]{0,2}\d{0,2}(?=\s)|다\.(?=\s)|。"
    r"|\n[ \t\u00a0]{0,80}\n(?=\s{0,80}(?:\d{1,4}\.|[A-Z]{2,}|[가-힣]\.|>))"
)
_BOUND_NEGATIONS = re.compile(
    r"\b(?:whether or not|not only|(?:no|not) (?:later|less|more|fewer|greater|earlier) than"
    r"|not (?:to )?exceed(?:ing)?|not in excess of|no \d)"
)
"""Phrases whose "not" denies nothing: bounds are compared as bounds."""


def fold(text: str) -> str:
    """Letters as compared here: compatibility forms, lower case, broken words joined."""
    return unicodedata.normalize("NFKC", _BROKEN_WORD.sub("", text)).lower()


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """One form for the inflections of a word; words about people keep their endings.

    "employer" and "employee", "lessor" and "lessee" stay apart; "terminated" and "termination" do
    not.
    """
    word = re.sub(r"['’]s?$", "", word)
    if CJK.search(word):
        return _korean_stem(word)
    return _IRREGULAR.get(word) or _IRREGULAR.get(_stripped(word), _stripped(word))


def _stripped(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            shorter = word[: -len(suffix)]
            if suffix in ("ied", "ies"):
                shorter += "y"
            elif len(shorter) > 3 and shorter[-1] == shorter[-2] and suffix in ("ed", "ing"):
                shorter = shorter[:-1]
            return shorter.removesuffix("e") if len(shorter) > 3 else shorter
    return word


_IRREGULAR = {form: _stripped(base) for form, base in IRREGULAR.items()}


def _korean_stem(word: str) -> str:
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            return word[: -len(ending)]
    for ending in _PAST_ENDINGS:
        past = word[: -len(ending)]
        if word.endswith(ending) and len(past) >= 2 and _ends_in_past(past[-1]):
            return past
    return word


def _ends_in_past(syllable: str) -> bool:
    """Whether a syllable closes with the ㅆ of the past: 알렸 of 알렸다 and 알렸습니다."""
    return "가" <= syllable <= "힣" and (ord(syllable) - ord("가")) % 28 == _PAST_CLOSING


def words_of(text: str) -> list[str]:
    """The words of a folded text."""
    return _WORD.findall(text)


def carries_event(word: str) -> bool:
    """Whether a folded word can say what happened: no function word, negation or weekday."""
    return len(word) > 1 and not (
        word in FUNCTION_WORDS or word in NEGATIONS or word in WEEKDAYS or _denies(word)
    )


def _denies(word: str) -> bool:
    return word.endswith(("n't", "n’t"))


def negations(words: Sequence[str]) -> frozenset[str]:
    """The negations among folded words in order; every "n't" counts as "not"."""
    text = _BOUND_NEGATIONS.sub(" ", " ".join(words))
    found = {word for word in text.split() if word in NEGATIONS or _denies(word)}
    if CJK.search(text):
        found.update(sign for sign in KOREAN_NEGATIONS if sign in text)
    return frozenset("not" if _denies(word) else word for word in found)


def sentence_start(text: str, at: int, limit: int) -> int:
    """Where the sentence around ``at`` starts, not before ``limit``."""
    start = limit
    for end in _SENTENCE_END.finditer(text, limit, at):
        if _ends(text, end, limit):
            start = end.end()
    return start


def sentence_end(text: str, at: int, limit: int) -> int:
    """Where the sentence around ``at`` ends, not after ``limit``."""
    for end in _SENTENCE_END.finditer(text, at, limit):
        if _ends(text, end, at):
            return end.end()
    return limit


def _ends(text: str, found: re.Match[str], low: int) -> bool:
    """Whether a full stop ends a sentence: not after an abbreviation, "No. 5" or "2024. 3. 5."."""
    before, stop = max(low, found.start() - 8), found.start() + 1
    if _ABBREVIATION.search(text, before, stop):
        return False
    rest = _LINE_NUMBER.sub("", text[found.end() : found.end() + 60])
    following = rest.lstrip()[:1]
    if _NUMBERED.search(text, before, stop):
        return not following.isdigit()
    if _HOUR.search(text, before, stop) and (following.islower() or _ZONE.match(rest)):
        return False
    number = _AFTER_DIGIT.search(text, before, stop)
    if number and number["list"]:
        return False
    if number and CJK.match(following):
        return not _KOREAN_DATE.search(text, max(low, found.start() - 14), stop)
    if number and not following.isupper():
        return following in "\"'“‘([" or bool(re.match(r"\s*\n[^\S\n]*\n", rest))
    return True
