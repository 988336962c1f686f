"""Numbers written in words: English ("two hundred and five thousand") and Sino-Korean ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

_SMALL = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: number
    for number, word in zip(
        range(20, 100, 10),
        "twenty thirty forty fifty sixty seventy eighty ninety".split(),
        strict=True,
    )
}
SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_NUMBER_WORD = "|".join(sorted((*_SMALL, *_TENS, *SCALES), key=len, reverse=True))
_FIRST_WORD = "|".join((*_SMALL, *_TENS))
ENGLISH = re.compile(
    rf"(?i)(?<![\w-])(?:{_FIRST_WORD})"
    rf"(?:[\s-]{{1,6}}(?:and[\s-]{{1,6}})?(?:{_NUMBER_WORD}))*(?![\w])"
)
"""A run of number words; "one" and "a" alone are left to the caller."""

_CJK_DIGITS = {sign: number for number, sign in enumerate("영일이삼사오육칠팔구")} | {
    sign: number for number, sign in enumerate("〇一二三四五六七八九")
}
_CJK_SMALL = {"십": 10, "백": 100, "천": 1000, "十": 10, "百": 100, "千": 1000}
_CJK_LARGE = {
    "만": 10**4, "억": 10**8, "조": 10**12, "万": 10**4, "億": 10**8, "兆": 10**12, "萬": 10**4,
}  # fmt: skip


def number_runs(text: str) -> Iterator[re.Match[str]]:
    """Runs of English number words; "two and three" is no number, and its parts are two."""
    for found in ENGLISH.finditer(text):
        if english_value(found.group()) is not None:
            yield found
            continue
        at = found.start()
        for piece in re.split(r"(\s+and\s+)", found.group()):
            inner = ENGLISH.fullmatch(text, at, at + len(piece))
            if inner is not None:
                yield inner
            at += len(piece)


def english_value(words: str) -> Decimal | None:
    """The value of a run of number words; None when it is no number ("five five")."""
    total = current = 0
    last = 10**18
    for word in re.split(r"[\s-]+", words.lower().strip()):
        if word == "and":
            continue
        if word in _SMALL or word in _TENS:
            value = _SMALL.get(word, _TENS.get(word, 0))
            if last <= 20 or (last < 100 and value >= 10):
                return None
            current += value
            last = 20 if word in _SMALL else 99
        elif word == "hundred":
            current = (current or 1) * 100
            last = 100
        elif word in SCALES:
            total += (current or 1) * SCALES[word]
            current = 0
            last = SCALES[word]
        else:
            return None
    return Decimal(total + current)


def cjk_value(written: str) -> Decimal | None:
    """The value of ``1억 2,000만``, ``5천만`` or ``일억이천만``; None when it is no number."""
    total = current = Decimal(0)
    pending: Decimal | None = None
    seen = False
    for token in re.findall(r"\d[\d,]*(?:\.\d+)?|\S", written):
        if token[0].isdigit():
            pending = Decimal(token.replace(",", ""))
        elif token in _CJK_DIGITS:
            pending = (pending or Decimal(0)) * 10 + _CJK_DIGITS[token]
        elif token in _CJK_SMALL:
            current += (Decimal(1) if pending is None else pending) * _CJK_SMALL[token]
            pending = None
        elif token in _CJK_LARGE:
            section = current + (pending or 0)
            total += (section if section or seen else Decimal(1)) * _CJK_LARGE[token]
            current, pending = Decimal(0), None
        else:
            return None
        seen = True
    return total + current + (pending or 0) if seen else None
