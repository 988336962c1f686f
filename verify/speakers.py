"""Who is speaking at a place of the record: turns, examinations, authors of mail, opinions.

Only what the document prints is known. "QUESTION:" and "Q." name nobody; a page that prints no
speaker has none.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

from verify.layout import Layout, Region

_LABEL: Final = re.compile(
    r"[ \t\u00a0]*(?P<who>(?:[A-Z][A-Z.'’\-]*[A-Z.](?:[ \u00a0]+|$)?){1,5}|THE WITNESS|THE "
    r"COURT)\s?:(?=\s|$|\u00a0)"
)
_EXAMINER: Final = re.compile(
    r"[ \t\u00a0]*BY[ \u00a0]+(?P<who>(?:MR|MS|MRS|DR)\.?[ \u00a0]+[A-Z'’\-]+)\s?:"
)
_EXAMINED: Final = re.compile(r"[ \t\u00a0]*(?P<who>[QA])[.:]?[ \t\u00a0]+(?=\S)")
_WITNESS: Final = re.compile(
    r"(?i:deposition|examination|testimony|transcript)\s+(?i:of):?\s+"
    r"(?P<who>[A-Z][\w.'’-]+(?:[ \u00a0]+[A-Z][\w.'’-]+){0,3})"
)
_FROM: Final = re.compile(
    r"(?m)^[ \t]*(?:From|Von|De|보낸\s?사람|발신|差出人)\s*:\s*(?P<who>[^\n<(]{2,60})"
)
_WROTE: Final = re.compile(
    r"(?:^|,|\s)(?P<who>[^\s,\d<>:][^,<>:\n]{1,50}?)\s*(?:<[^>\n]*>)?\s+(?:wrote|schrieb|a "
    r"écrit)\s*:"
)
_OPINION: Final = re.compile(
    r"(?P<who>[A-Z][A-Z'’\-]+)(?:, [A-Z'’.\-]+)*,? (?:C\. )?JJ?\., (?P<kind>dissenting|concurring)",
    re.IGNORECASE,
)
_MIN_TURNS: Final = 4
"""A document with fewer labelled turns is no transcript."""
_NAME_WORD: Final = re.compile(r"[^\W\d_][\w'’-]*")
_TITLES: Final = frozenset(
    "mr ms mrs dr prof professor justice chief judge hon general gen solicitor counsel the "
    "attorney".split()
)
_HONORIFIC: Final = re.compile(
    r"(?:MR|MS|MRS|DR|PROF|GEN|HON)\b|(?:CHIEF )?JUSTICE\b|JUDGE\b|GENERAL [A-Z'’-]+$|THE (?:COURT|"
    r"WITNESS)\b|QUESTION$"
)
UNNAMED: Final = frozenset(
    {"question", "the court", "q", "the witness", "a", "unidentified justice"}
)
"""Labels that name nobody."""


class Voice(IntEnum):
    """In what capacity the words stand in the document."""

    PLAIN = 0
    SYLLABUS = 1
    SEPARATE = 2
    """A dissent or a concurrence."""
    QUOTED_MAIL = 3
    QUESTION = 4
    """Counsel's question in an examination."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Who speaks from a character on."""

    start: int
    who: str
    """As printed; empty where the document does not say."""
    voice: Voice


class Speakers:
    """The turns of one document, in order."""

    def __init__(self, layout: Layout, title: str) -> None:
        self.turns = _turns(layout, title)
        self._starts = [turn.start for turn in self.turns]

    def at(self, offset: int) -> Turn | None:
        """The turn that holds a character; None where nobody is named before it."""
        number = bisect.bisect_right(self._starts, offset) - 1
        return self.turns[number] if number >= 0 else None

    @cached_property
    def names(self) -> frozenset[str]:
        """Surnames of everybody who speaks, folded."""
        return frozenset(surname(turn.who) for turn in self.turns if turn.who)

    @cached_property
    def telling(self) -> frozenset[str]:
        """Surnames of those who tell or write, folded. In an examination that is the witness: what
        counsel asks or objects under a label of their own is no telling."""
        examined = any(turn.voice is Voice.QUESTION for turn in self.turns)
        return frozenset(
            surname(turn.who)
            for turn in self.turns
            if turn.who
            and turn.voice is not Voice.QUESTION
            and not (examined and _HONORIFIC.match(turn.who))
        )


def surname(name: str) -> str:
    """The folded last name of a person; empty when there is none."""
    words = [word for word in _names(name) if word not in _TITLES]
    if "," in name and words:  # "Osei, K."
        return words[0]
    long = [word for word in words if len(word) > 1 and word not in {"jr", "sr", "ii", "iii"}]
    return (long or words or [""])[-1]


def _names(words: str) -> list[str]:
    """The folded words of a name."""
    return [found.group() for found in _NAME_WORD.finditer(words.casefold())]


def same_person(a: str, b: str) -> bool:
    """Whether two names may be one person's: the surname of either stands in the other."""
    first, second = surname(a), surname(b)
    return bool(first and second) and (first in _names(b) or second in _names(a))


def _turns(layout: Layout, title: str) -> tuple[Turn, ...]:
    text = layout.text
    labelled: list[Turn] = []
    examined: list[Turn] = []
    examiner = ""
    found = _WITNESS.search(title) or _WITNESS.search(text[:3000])
    witness = found["who"] if found else ""
    for line in layout.lines:
        if line.region is not Region.BODY:
            continue
        by = _EXAMINER.match(text, line.content, line.end)
        if by:
            examiner = by["who"]
            continue
        match = _EXAMINED.match(text, line.content, line.end)
        if match:
            asks = match["who"] == "Q"
            who = (examiner or "Q") if asks else (witness or "A")
            voice = Voice.QUESTION if asks else Voice.PLAIN
            examined.append(Turn(start=match.end(), who=who, voice=voice))
            continue
        match = _LABEL.match(text, line.content, line.end)
        if match and len(re.sub(r"[^A-Z]", "", match["who"])) >= 2:
            who = re.sub(r"\s+", " ", match["who"]).strip()
            if who == "THE WITNESS" and witness:
                who = witness
            labelled.append(Turn(start=match.end(), who=who, voice=Voice.PLAIN))
    counts = Counter(turn.who for turn in labelled)
    known = {who for who, count in counts.items() if count >= 2 or _HONORIFIC.match(who)}
    labelled = [turn for turn in labelled if turn.who in known]
    asked = sum(turn.voice is Voice.QUESTION for turn in examined)
    if not 2 <= asked < len(examined) - 1:
        examined = []
    if not examined and (len(labelled) < _MIN_TURNS or not any(map(_HONORIFIC.match, known))):
        labelled = []
    turns = examined + labelled or _mail(layout) or _opinions(layout)
    return tuple(sorted(turns, key=lambda turn: turn.start))


def _mail(layout: Layout) -> list[Turn]:
    text = layout.text
    turns = []
    for found in _FROM.finditer(text):
        turns.append(Turn(start=found.start(), who=found["who"].strip(), voice=Voice.PLAIN))
    if not turns:
        return []
    author = turns[0].who
    quoted = False
    for line in layout.lines:
        inside = line.region is Region.EMAIL_QUOTE
        wrote = _WROTE.search(text, line.content, line.end)
        if wrote:
            turns.append(Turn(start=line.start, who=wrote["who"].strip(), voice=Voice.QUOTED_MAIL))
            quoted = True
        elif inside and not quoted:
            turns.append(Turn(start=line.start, who="", voice=Voice.QUOTED_MAIL))
            quoted = True
        elif quoted and not inside and text[line.start : line.end].strip():
            turns.append(Turn(start=line.start, who=author, voice=Voice.PLAIN))
            quoted = False
    return turns


def _opinions(layout: Layout) -> list[Turn]:
    """Running heads that say whose opinion a page belongs to."""
    text = layout.text
    turns: list[Turn] = []
    for line in layout.lines:
        if line.region is not Region.FURNITURE:
            continue
        head = text[line.start : line.end].strip()
        separate = _OPINION.search(head)
        if separate:
            turns.append(Turn(start=line.start, who=separate["who"], voice=Voice.SEPARATE))
        elif head.casefold() == "syllabus":
            turns.append(Turn(start=line.start, who="", voice=Voice.SYLLABUS))
        elif head.casefold() in {"opinion of the court", "per curiam"}:
            turns.append(Turn(start=line.start, who="", voice=Voice.PLAIN))
    return turns
