"""Depositions and hearings: page, line, speaker, question and answer.

Works on the pages of any loader: the words stay as they are, printed line numbers included; what
this file adds is the table of lines and of who speaks.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from rag.loaders.lines import NUMBERED, NumberedLine, lines_of, numbered
from rag.loaders.parts import PageDraft
from rag.paged import PlaceKind

_SPEAKER = re.compile(
    r"[ \t\u00a0]*(?:"
    r"(?P<qa>[QA])(?:[.:]|(?=[ \t\u00a0]{2,}))[ \t\u00a0]*(?=\S)"
    r"|(?P<tight>[QA])[ \t\u00a0](?=\S)"
    r"|(?P<by>BY[ \u00a0]+(?:MR|MS|MRS|DR|GENERAL)\.?[ \u00a0]+[A-Z][A-Z'\u2019.\- \u00a0]*):"
    r"|(?P<name>(?:THE[ \u00a0]+)?[A-Z][A-Z'\u2019.\-]*(?:[ \u00a0]+[A-Z][A-Z'\u2019.\-]*){0,4}):"
    r"(?=[ \t\u00a0]|$)"
    r"|(?P<korean>(?:재판장|판사|검사|변호인|증인|피고인|(?:원고|피고) 대리인|문|답)[ ]?[:：]?)[ ]"
    r")"
)
_NOT_NAMES = frozenset(
    {"RE", "CASE", "NO", "DATE", "TIME", "PAGE", "BEFORE", "INDEX", "NOTE", "TO"}
)
CONDENSED = (
    "several printed pages on one: a condensed transcript, its lines cannot be cited from here"
)
_SPOKEN = re.compile(r"(?m)^[ \t\u00a0]*\d{1,2}[ \t\u00a0]+[QA](?:[.:]|[ \t\u00a0])")
"""A numbered line with which a question or an answer begins."""
_PAGE = re.compile(r"\bPage\s+(\d{1,4})\b")
FULL = 20
"""Printed numbers that make one page believed without others beside it."""
RESTART = 20
"""Lines a page must have numbered, one after the other, before a new "1" begins another page."""
TURNS = 3
"""Fewer turns of speech than this in a document do not make a transcript."""


def mark(pages: list[PageDraft]) -> bool:
    """Add line and speaker places to ``pages``; True when the document is a transcript.

    It is one when at least half of its pages with words print line numbers and somebody speaks.
    Numbered pages that are no transcript (pleading paper) get their lines and no speakers.
    """
    for page in pages:
        if _is_condensed(page.text):
            page.reason = CONDENSED
    tables = [numbered(page.text) for page in pages]
    full = [table for page, table in zip(pages, tables, strict=True) if page.text.strip()]
    most = bool(full) and sum(table is not None for table in full) * 2 >= len(full)
    if most:  # the last page may hold few lines
        tables = [
            numbered(page.text, short=True) if table is None else table
            for page, table in zip(pages, tables, strict=True)
        ]
    else:  # a page of pleading paper before exhibits that have none
        tables = [table if _is_full(table) else None for table in tables]
    for page, table in zip(pages, tables, strict=True):
        for line in table or ():
            if line.number is not None:
                page.place(PlaceKind.LINE, line.start, line.end, str(line.number))
    if not most:
        return False
    turns = [_turns(page.text, table or []) for page, table in zip(pages, tables, strict=True)]
    if sum(map(len, turns)) < TURNS:
        return False
    going = ""
    for page, table, here in zip(pages, tables, turns, strict=True):
        going = _place(page, table or [], here, going)
    return True


def _is_condensed(text: str) -> bool:
    """Whether several small printed pages stand on this one: neighbours by number, lines twice."""
    named = {int(number) for number in _PAGE.findall(text)}
    if not any(number + 1 in named for number in named):
        return False
    seen = Counter(re.findall(r"(?m)(?:^|[ \t]{2})(\d{1,2})(?=[ \t])", text))
    return sum(count >= 2 for number, count in seen.items() if int(number) <= 25) >= 15


def split(text: str) -> list[str]:
    """Pages of a transcript saved as text without form feeds.

    A page ends where the printed line numbers begin anew; what stands between the last numbered
    line and the next "1" (a page number, a running head) belongs to the new page when it is no more
    than a few lines. The line end there becomes the page's end, so nothing else moves.
    """
    spans = lines_of(text)
    numbers = {
        at: int(match.group(1))
        for at, (start, end) in enumerate(spans)
        if (match := NUMBERED.match(text, start, end))
    }
    cuts: list[int] = []
    last = before = 0
    for at, number in sorted(numbers.items()):
        if number == 1 and before >= RESTART and at - last <= 6:
            cuts.append(spans[last + 1][0])
            before = 0
        if number == before + 1:
            before, last = number, at
    if not cuts or (len(cuts) == 1 and len(_SPOKEN.findall(text)) < TURNS):
        return [text]
    edges = [0, *cuts, len(text) + 1]
    return [text[start : end - 1] for start, end in pairwise(edges)]


def _is_full(table: list[NumberedLine] | None) -> bool:
    """Whether a page prints so many numbers that it is believed without others beside it."""
    return table is not None and sum(line.number is not None for line in table) >= FULL


def _turns(text: str, table: list[NumberedLine]) -> list[tuple[int, str]]:
    """Where on a page somebody begins to speak, and who."""
    out: list[tuple[int, str]] = []
    for line in table:
        if line.number is None:
            continue
        match = _SPEAKER.match(text, line.words, line.end)
        if match is None:
            continue
        tight = match.group("tight")
        if tight == "A" and (not out or out[-1][1] != "Q"):
            continue  # "A man came" is prose; an answer follows a question
        who = match.group("qa") or tight or match.group("name") or match.group("korean") or ""
        if match.group("by"):
            who = "Q"
        who = " ".join(who.replace("\u00a0", " ").rstrip(" :：").split())
        if who and who.rstrip(".") not in _NOT_NAMES:
            out.append((match.start(match.lastgroup or 0), who))
    return out


def _place(
    page: PageDraft, table: list[NumberedLine], turns: list[tuple[int, str]], going: str
) -> str:
    """Add the speaker places of one page; gives who is still speaking at its end."""
    first = next((line.start for line in table if line.number is not None), None)
    last = max((line.end for line in table if line.number is not None), default=None)
    if first is None or last is None:
        return going
    starts = [*turns]
    if going and (not starts or starts[0][0] > first):
        starts.insert(0, (first, going))
    if not starts:
        return going
    for (start, who), (end, _) in zip(starts, [*starts[1:], (last, "")], strict=True):
        page.place(PlaceKind.SPEAKER, start, max(start, end), who)
    return starts[-1][1]
