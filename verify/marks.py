"""Finds the quotation marks of a reply and pairs them, in every style people use.

A small parser, one pass a paragraph, with the context of each mark: no single regular expression
can tell 5'10" from a closing mark, or ``the parties' lease`` from the end of a quotation. Only the
outermost pair counts: a quotation inside a quotation is part of its words. Whether a pair quotes
the record at all is decided in `cues.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# What may close each opening mark; the first is the proper one.
_PAIRS: Final = {
    "“": "”“\"",
    "„": "“”\"",
    "‟": "”",
    "«": "»",
    "‹": "›",
    "「": "」",
    "『": "』",
    "〝": "〟〞",
    "＂": "＂",
    "\"": "\"”",
    "‘": "’'",
    "‚": "‘’",
    "'": "'’",
    "»": "«",
    "›": "‹",
    "”": "”\"",
    "``": "''",
}  # fmt: skip
_ALWAYS_OPEN: Final = frozenset("“„‟«‹「『〝")
_SINGLE: Final = frozenset("‘‚'")
_CLEAR: Final = "*_"  # Markdown emphasis: looked through
_OPENS_AFTER: Final = frozenset("([{<—–-/:;,=…>|") | frozenset("“„«‹「『〝‘‚\"'")
_CLOSES_BEFORE: Final = frozenset(".,;:!?)]}>—–-/…|") | frozenset("”“»›」』〟’'\"")
_PARAGRAPH: Final = re.compile(r"(?:[^\n]|\n(?![ \t]*\n))+")
_FENCE: Final = re.compile(r"(?ms)^```.*?^```[ \t]*$|`[^`\n]{1,200}`(?!`)")
_QUOTED_LINE: Final = re.compile(r"(?m)^(?P<mark>[ \t]{0,3}(?:>[ \t]?)+)(?P<words>.*)$")
_INDENTED: Final = re.compile(r"(?:^|(?<=\n))(?:(?: {4,}|\t)[^\n]*\S[^\n]*(?:\n|$))+")
_LIST_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\(?\d{1,3}[.)]|\(?[a-z][.)]|#|\||```)\s")
_BYLINE: Final = re.compile(r"(?m)\n[ \t>]*(?:—|–|--|-)\s*[^\n]{1,120}\s*\Z")
_ELISION: Final = re.compile(r"(?:tis|twas|twere|em|til|cause|bout|round|\d\ds?)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Marked:
    """A stretch of the reply between quotation marks, or a block quotation."""

    start: int
    end: int
    """``[start, end)``: the words inside the marks, in code points."""
    outer_start: int
    outer_end: int
    """The same with the marks."""
    block: bool
    closed: bool
    """False where the closing mark is missing and the paragraph ends the quotation."""


def find_marked(text: str) -> list[Marked]:
    """Every outermost quotation of a reply, in order.

    Args:
        text: The reply, as a user sees it.
    """
    masked = _FENCE.sub(lambda found: " " * len(found.group()), text)
    blocks = list(_blocks(masked))
    inline: list[Marked] = []
    for paragraph in _PARAGRAPH.finditer(masked):
        inline.extend(_pair(masked, paragraph.start(), paragraph.end()))
    inline = _joined(masked, inline)
    kept = [block for block in blocks if not _covered(masked, block, inline)]
    inside = [
        mark
        for mark in inline
        if not any(b.start <= mark.outer_start and mark.outer_end <= b.end for b in kept)
    ]
    return sorted((*kept, *inside), key=lambda mark: mark.start)


# --- marks in a line ------------------------------------------------------------------------------


def _pair(text: str, low: int, high: int) -> Iterator[Marked]:
    at = low
    while at < high:
        size = 2 if text.startswith("``", at) else 1
        mark = text[at : at + size]
        if mark not in _PAIRS or not _opens(text, at, size, low, high):
            at += 1
            continue
        end = _close(text, mark, at + size, low, high)
        if end is None:
            if mark in _ALWAYS_OPEN:
                stop = len(text[:high].rstrip())
                if stop > at + size:
                    yield _marked(text, at, size, stop, 0, closed=False)
                at = high
                continue
            at += 1
            continue
        closing = 2 if mark == "``" else 1
        if text[at + size : end].strip():
            yield _marked(text, at, size, end, closing, closed=True)
        at = end + closing


def _marked(text: str, at: int, size: int, end: int, closing: int, *, closed: bool) -> Marked:
    start = at + size
    while start < end and text[start].isspace():
        start += 1
    stop = end
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return Marked(
        start=start, end=stop, outer_start=at, outer_end=end + closing, block=False, closed=closed
    )


def _before(text: str, at: int, low: int) -> str:
    """The character before a mark, emphasis looked through; empty at the start."""
    at -= 1
    while at >= low and text[at] in _CLEAR:
        at -= 1
    return text[at] if at >= low else ""


def _after(text: str, at: int, high: int) -> str:
    while at < high and text[at] in _CLEAR:
        at += 1
    return text[at] if at < high else ""


def _wide(char: str) -> bool:
    """A letter of a script that writes no space before a quotation mark."""
    return "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3"


def _opens(text: str, at: int, size: int, low: int, high: int) -> bool:
    mark = text[at : at + size]
    before, after = _before(text, at, low), _after(text, at + size, high)
    if mark in _ALWAYS_OPEN or mark == "``":
        return True
    if not after or after.isspace():
        return False
    starts = not before or before.isspace() or before in _OPENS_AFTER
    if mark in _SINGLE:
        if _ELISION.match(text, at + 1) or not (after.isalnum() or after in '[(“"….'):
            return False
        return starts
    if mark in "»›":  # the German book style opens with what the French close with
        return starts and after.isalnum()
    if mark == "”":
        return starts
    return starts or (_wide(before) and not before.isspace())


def _close(text: str, mark: str, start: int, low: int, high: int) -> int | None:
    """Where the mark that closes begins; None when nothing closes it in this paragraph."""
    closers = _PAIRS[mark]
    if mark == "``":
        found = text.find("''", start, high)
        return found if found >= 0 else None
    if mark in _SINGLE:
        return _close_single(text, mark, closers, start, low, high)
    depth = 0
    at = start
    while at < high:
        char = text[at]
        if char == mark and mark in "«「『‹":
            depth += 1
        elif char == closers[0] and char != mark:
            if depth == 0:
                return at
            depth -= 1
        elif char == mark == '"' and _starts(text, at, low, high):
            inner = _straight_end(text, at + 1, low, high)
            if inner is not None and _straight_end(text, inner + 1, low, high) is not None:
                at = inner  # a quotation inside a quotation, both in straight marks
        elif char in closers and _closes(text, at, low, high) and not _inches(text, at, high):
            return at
        at += 1
    return None


def _starts(text: str, at: int, low: int, high: int) -> bool:
    """A straight mark that can only open: a space or bracket before it, a letter after it."""
    before, after = _before(text, at, low), _after(text, at + 1, high)
    return (before.isspace() or before in "([—") and before != "" and after.isalnum()


def _straight_end(text: str, start: int, low: int, high: int) -> int | None:
    """The next straight mark that can close; None when an opening one comes first."""
    at = text.find('"', start, high)
    while at >= 0:
        if _starts(text, at, low, high):
            return None
        if _closes(text, at, low, high) and not _inches(text, at, high):
            return at
        at = text.find('"', at + 1, high)
    return None


def _closes(text: str, at: int, low: int, high: int) -> bool:
    before, after = _before(text, at, low), _after(text, at + 1, high)
    if not before or before.isspace():
        return (
            before.isspace() and (not after or after.isspace() or after in ".,;:)")
            if before
            else False
        )
    ends = not after or after.isspace() or after in _CLOSES_BEFORE or _wide(after)
    return ends or not after.isalnum()


def _inches(text: str, at: int, high: int) -> bool:
    """A straight mark after a digit that is a measure: a real closing mark follows later."""
    if text[at] != '"' or not text[at - 1 : at].isdigit():
        return False
    after = text[at + 1 : at + 2]
    if after not in {" ", "x", "×", "-"}:
        return False
    later = text.find('"', at + 1, high)
    while later >= 0:
        before, beyond = text[later - 1], text[later + 1 : later + 2]
        if not before.isspace() and before not in "([" and not beyond.isalnum():
            return not text[later - 1].isdigit()
        if before.isspace() or before in "([":
            return False
        later = text.find('"', later + 1, high)
    return False


def _close_single(
    text: str, mark: str, closers: str, start: int, low: int, high: int
) -> int | None:
    """The end of a quotation in single marks: not an apostrophe, not a plural's possessive."""
    found: list[int] = []
    double = False
    for at in range(start, high):
        char = text[at]
        if char in '“”"':
            double = not double if char == '"' else char == "“"
        if char not in closers or double:
            if char in "‘'" and char not in closers and found:
                break
            continue
        before, after = _before(text, at, low), _after(text, at + 1, high)
        if before.isspace() or (after.isalnum() and not _wide(after)):
            if found and before.isspace() and after.isalnum():
                break  # the next quotation opens
            continue
        found.append(at)
        if before not in "sS" or (after in ".,;:!?)" and after):
            break
    if not found:
        return None
    if text[found[-1] - 1] in "sS" and len(found) > 1 and text[found[0] - 1] not in "sS":
        return found[0]
    return found[-1]


def _joined(text: str, marks: list[Marked]) -> list[Marked]:
    """Puts together a quotation of several paragraphs: each opened, only the last closed."""
    made: list[Marked] = []
    for mark in marks:
        last = made[-1] if made else None
        if (
            last is not None
            and not last.closed
            and not text[last.outer_end : mark.outer_start].strip()
        ):
            made[-1] = Marked(
                start=last.start, end=mark.end, outer_start=last.outer_start,
                outer_end=mark.outer_end, block=False, closed=mark.closed,
            )  # fmt: skip
        else:
            made.append(mark)
    return made


# --- blocks ---------------------------------------------------------------------------------------


def _blocks(text: str) -> Iterator[Marked]:
    lines = list(_QUOTED_LINE.finditer(text))
    k = 0
    while k < len(lines):
        last = k
        while last + 1 < len(lines) and lines[last + 1].start() == lines[last].end() + 1:
            last += 1
        start, end = lines[k].start("words"), lines[last].end()
        yield from _block(text, lines[k].start(), start, end)
        k = last + 1
    for found in _INDENTED.finditer(text):
        if _is_block(text, found):
            start = found.start() + len(found.group()) - len(found.group().lstrip())
            yield from _block(text, found.start(), start, found.end())


def _block(text: str, outer: int, start: int, end: int) -> Iterator[Marked]:
    byline = _BYLINE.search(text, start, end)
    stop = byline.start() if byline else end
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    if any(c.isalnum() for c in text[start:stop]):
        yield Marked(
            start=start, end=stop, outer_start=outer, outer_end=end, block=True, closed=True
        )


def _is_block(text: str, found: re.Match[str]) -> bool:
    """An indented block is a quotation where a blank line or a colon leads to it."""
    before = text[: found.start()]
    if (
        before.strip()
        and not re.search(r"\n[ \t]*\n\Z", before)
        and not before.rstrip().endswith(":")
    ):
        return False
    if _LIST_ITEM.match(found.group()):
        return False
    lead = before.rstrip().rsplit("\n", 1)[-1]
    return not (_LIST_ITEM.match(lead) and not lead.rstrip().endswith(":"))


def _covered(text: str, block: Marked, inline: list[Marked]) -> bool:
    """Whether a block is nothing but a quotation with marks of its own."""
    inside = [m for m in inline if block.start <= m.outer_start and m.outer_end <= block.outer_end]
    if not inside:
        return False
    held = sum(m.outer_end - m.outer_start for m in inside)
    first_is_mark = inside[0].outer_start - block.start <= 2
    return first_is_mark and held * 10 >= 8 * (block.end - block.start)
