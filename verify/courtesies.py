"""Who is meant where a name alone does not say it: "Mr." for the record's "Ms.", a Korean speaker.

"Mr. Reeves testified" is not proven by words of Ms. Reeves, nor "Dr. Almeida" by those of somebody
whom the record calls Mr. alone. In Korean the speaker stands before a particle: 김서윤은 “...”라고.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from verify.namelists import KOREAN_SURNAMES, KOREAN_TITLES
from verify.word_forms import sentence_start
from verify.wordlists import PARTIES, TITLES_OF_PEOPLE

_TITLED: Final = re.compile(
    r"(?<!\w)(?P<title>(?i:mr|mrs|ms|miss|dr))\.?[ \u00a0]+(?:[A-Z]\.[ ]*|[A-Z][a-zà-ÿ]+[ ]+)?"
    r"(?P<who>[A-Z][\w'’-]+)"
)
_TITLES: Final = "|".join(map(re.escape, sorted(KOREAN_TITLES, key=len, reverse=True)))
_KOREAN: Final = re.compile(
    rf"(?<![가-힣])(?P<who>(?:{'|'.join(KOREAN_SURNAMES)})[가-힣]{{2}})"
    rf"(?:\s?(?:대표이사|팀장|실장|{_TITLES}|님))*(?:께서는|께서|은|는|이|가)"
    r"\s+[^“”「」\"\n.]{0,20}[“「『\"'‘]?\Z"
)
_REACH: Final = 240


def courtesies(text: str) -> dict[str, frozenset[str]]:
    """The titles that a text gives each surname, folded: {"reeves": {"she"}, "raman": {"dr"}}."""
    found: dict[str, set[str]] = {}
    for match in _TITLED.finditer(text):
        title = match["title"].lower()
        found.setdefault(match["who"].casefold(), set()).add(TITLES_OF_PEOPLE.get(title, title))
    return {who: frozenset(titles) for who, titles in found.items()}


def mistitled(reply: str, at: int, known: Callable[[], Mapping[str, frozenset[str]]]) -> str:
    """A person of the sentence before ``at`` whom the record calls otherwise; empty if none.

    Args:
        reply: The reply.
        at: Where the quotation begins.
        known: Gives what `courtesies` finds in the document that holds it; asked only when needed.
    """
    start = sentence_start(reply, at, max(0, at - _REACH))
    for match in _TITLED.finditer(reply, start, at):
        title = match["title"].lower()
        said = TITLES_OF_PEOPLE.get(title, title)
        held = known().get(match["who"].casefold(), frozenset())
        if held and said not in held and (said == "dr" or held & {"he", "she"}):
            return match.group().strip()
    return ""


def korean_speaker(reply: str, at: int) -> str:
    """The person before the particle that leads to a quotation; empty where none is named."""
    found = _KOREAN.search(reply, max(0, at - 60), at)
    return found["who"] if found and found["who"] not in PARTIES else ""
