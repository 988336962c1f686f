"""Do these marks quote the record? Decided from the reply's own words around them (`cues.toml`).

Defined terms, scare quotes, titles, search terms, field values, sample clauses and the user's own
words are not quotations. When the words around say neither, the answer is UNSURE and the record
decides: found means shown; not found and attributed to nobody means silence.
"""

from __future__ import annotations

import re
import tomllib
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final


class Cue(StrEnum):
    """What the words around a pair of marks say of it."""

    QUOTES = "quotes"
    """They present it as somebody's words."""
    NOT = "not"
    """They present it as something else."""
    UNSURE = "unsure"


_GAP: Final = '[^.;“"]{0,60}'
_LONG: Final = '[^.;!?“"]{0,100}'
_WIDE: Final = '[^;!?“"]{0,140}'  # a title may hold full stops
_SHORTHAND: Final = {"GAP": _GAP, "LONG": _LONG, "WIDE": _WIDE, "ART": "(?:an?|the)"}
_ENDS: Final = {"not_before": r"[\s*_(]*\Z", "quotes_before": r"[\s,:*_(]*\Z"}
_EXAMPLE: Final = re.compile(
    r"\b(?:for example|for instance|e\.g\.|such as|say|like)\b[\s,:*_]*\Z", re.IGNORECASE
)
_BARE_BRACKET: Final = re.compile(r"(?<![\d.¶§])\s*\((?:the|an?|and|or)?[\s*_]*\Z", re.IGNORECASE)
_DETERMINER: Final = re.compile(
    r"\b(?:the|an?|this|that|these|those|its|their|his|her|our|such|any|some|every|no|\w+['’]s?)"
    r"[\s*_]*\Z",
    re.IGNORECASE,
)
_NOUN_FOLLOWS: Final = re.compile(
    r"[*_]*[”\"»」』’']?[*_]*\s+[a-z]{2,}(?<!\bis)(?<!\bwas)(?<!\bare)(?<!\bin)(?<!\bof)"
)
_EARLIER_MARKS: Final = re.compile(r"[“\"„«「『][^”\"“»」』]{0,80}[”\"“»」』]")
_WORD: Final = re.compile(r"[^\W_]+")
_LINKS: Final = frozenset("a an and for in of or the to".split())
_CALLED: Final = re.compile(r"\s*이?라(?:고)? (?:한다|합니다|함|부른다|칭한다)")
"""“매수인”이라 한다 names a party; “임대인은 ... 있다”라고 한다 says what a document says."""
_SHORT: Final = 5
"""Words up to which marks may be scare quotes."""
_LOOK: Final = 220
"""Characters before and after that are looked at."""


@cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    raw = tomllib.loads(resources.files("verify").joinpath("cues.toml").read_text("utf-8"))
    made = []
    for entry in raw[name]:
        whole = entry
        for word, stands_for in _SHORTHAND.items():
            whole = whole.replace(word, stands_for)
        if name.endswith("before"):
            whole = f"(?:{whole}){_ENDS[name]}"
        made.append(re.compile(whole, re.IGNORECASE))
    return tuple(made)


def cue_of(reply: str, start: int, end: int, *, block: bool = False) -> Cue:
    """What the words around ``[start, end)`` say of the marks there.

    Args:
        reply: The reply.
        start: First character inside the marks.
        end: One past the last.
        block: It is a block quotation.
    """
    before, after = _around(reply, start, end)
    words = len(_WORD.findall(reply[start:end]))
    if any(pattern.match(after) for pattern in _patterns("not_after")):
        return Cue.NOT
    if _CALLED.match(after) and (words < _SHORT - 2 or "이하" in before[-40:]):
        return Cue.NOT
    cited = any(pattern.match(after) for pattern in _patterns("quotes_after"))
    if not cited:
        if any(pattern.search(before) for pattern in _patterns("not_before")):
            return Cue.NOT
        if _BARE_BRACKET.search(before) and words < _SHORT and _is_term(reply[start:end]):
            return Cue.NOT
        if _EXAMPLE.search(before) and words < _SHORT - 2:
            return Cue.NOT
    if block or cited or any(p.search(before) for p in _patterns("quotes_before")):
        return Cue.QUOTES
    if words <= _SHORT and _DETERMINER.search(before) and _NOUN_FOLLOWS.match(after):
        return Cue.NOT
    return Cue.UNSURE


def _is_term(words: str) -> bool:
    """Whether words in brackets may be a defined term: one or two, or capitals throughout."""
    found = _WORD.findall(words)
    return len(found) < 3 or all(word[0].isupper() or word in _LINKS for word in found)


def _around(reply: str, start: int, end: int) -> tuple[str, str]:
    """The reply's own words before and after: the marks cut off, earlier quotations masked."""
    before = reply[max(0, start - _LOOK) : start]
    before = re.sub(r"[\s*_>]*(?:[“„‟«‹「『〝＂\"‘‚'»”]|``)?[*_\s]*\Z", "", before) + " "
    before = _EARLIER_MARKS.sub("Q", before)
    paragraphs = [part for part in re.split(r"\n\s*\n", before) if part.strip()]
    after = reply[end : end + _LOOK]
    after = re.sub(r"^[.,;!?…]?[*_]*(?:[”“»›」』〟＂\"’'«]|'')?", "", after, count=1)
    return (paragraphs[-1] if paragraphs else ""), re.split(r"\n\s*\n", after)[0]
