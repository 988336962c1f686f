"""The rows of the side panes: findings, jobs, and the difference between record and reply."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from bot.annotate import marked
from bot.blocks import Block, Line, Piece, Tone, cells, lay_out, paragraph
from bot.findings import finding_line
from bot.look import Look, tone
from bot.terminal.listing import Row
from protocol.answers import GREEN, Answer, Finding, ReviewState
from protocol.jobs import Job, JobState

_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")
_LETTER: Final = re.compile(r"\w")
_BETWEEN: Final = 3
_NARROW: Final = 44
"""Under this many cells the two sides of a difference stand one below the other."""


class FindingRow:
    """One mark of a reply: number, sign, verdict in words, then reason and place."""

    def __init__(self, item: Finding, look: Callable[[], Look]) -> None:
        self.item = item
        self._look = look

    def lines(self, width: int) -> list[Line]:
        """The mark on a line of its own, reason and place under it."""
        look, item = self._look(), self.item
        word = look.words(f"verdict.{item.verdict.value}")
        head = Piece(f"{item.number} {look.signs.of(item.verdict)} {word}", tone(item.verdict))
        blocks = [
            paragraph(head, hang=3),
            paragraph(Piece(finding_line(item, look)), indent=3, hang=3),
        ]
        if item.diff:
            blocks.append(paragraph(Piece(look.line(item.diff), Tone.STRONG), indent=3, hang=3))
        return lay_out(blocks, width)


def finding_rows(answer: Answer, look: Callable[[], Look]) -> list[Row]:
    """The marks of a reply, the failing first, then those to look at, then the verified."""
    items = sorted(marked(answer), key=lambda item: _rank(item, look()))
    return [FindingRow(item, look) for item in items]


def to_acknowledge(answer: Answer) -> list[Finding]:
    """The items for which an approval needs a reason."""
    return [item for item in marked(answer) if item.verdict not in GREEN]


def _rank(item: Finding, look: Look) -> tuple[int, int]:
    signs = look.signs
    return (signs.red, signs.amber, signs.green).index(signs.of(item.verdict)), item.number


class JobRow:
    """One job of the queue."""

    def __init__(self, job: Job, look: Callable[[], Look]) -> None:
        self.job = job
        self._look = look

    def lines(self, width: int) -> list[Line]:
        """Kind and state, then the code, who asked, place and time."""
        look, job = self._look(), self.job
        words = look.words
        state = words(f"job_state.{job.state.value}")
        colour = _JOB_TONE.get(job.state, Tone.PLAIN)
        head = [Piece(f"{look.line(job.kind)}  ", Tone.STRONG), Piece(state, colour)]
        if job.review is not None:
            colour = Tone.GREEN if job.review in _SETTLED else Tone.AMBER
            head += [Piece(" · "), Piece(words(f"state.{job.review.value}"), colour, whole=True)]
        more = [job.id, look.line(job.user), look.time(job.created_at)]
        if job.place is not None:
            more.append(words("app.place", place=words.ordinal(job.place)))
        if job.eta_s is not None:
            more.append(words("app.eta", eta=words.duration(round(job.eta_s))))
        if job.board and job.state is JobState.RUNNING:
            more.append(words("line.board", board=look.line(job.board)))
        if job.reason:
            more.append(look.line(job.reason))
        said = [Piece(more[0], Tone.FAINT, whole=True)]
        for part in more[1:]:
            said += [Piece(" · ", Tone.FAINT), Piece(part, Tone.FAINT, whole=True)]
        blocks = [paragraph(*head, hang=3), paragraph(*said, indent=3, hang=3)]
        return lay_out(blocks, width)


_SETTLED: Final = frozenset({ReviewState.APPROVED, ReviewState.FINAL, ReviewState.FILED})
_JOB_TONE: Final = {
    JobState.WAITING: Tone.AMBER,
    JobState.RUNNING: Tone.AMBER,
    JobState.FAILED: Tone.RED,
    JobState.STOPPED: Tone.FAINT,
}


class DiffRow:
    """The record's words and the reply's words side by side, what differs lit."""

    def __init__(self, record: str, reply: str, look: Callable[[], Look]) -> None:
        self._record, self._reply = record, reply
        self._look = look

    def lines(self, width: int) -> list[Line]:
        """Two columns, or one below the other where the pane is narrow."""
        look = self._look()
        ours, theirs = _compared(look.line(self._record), look.line(self._reply))
        heads = [Piece(look.words(key), Tone.STRONG) for key in ("app.record", "app.reply")]
        if width < _NARROW:
            blocks = [paragraph(heads[0]), paragraph(*ours, indent=3, hang=3)]
            blocks += [paragraph(heads[1]), paragraph(*theirs, indent=3, hang=3)]
            return lay_out(blocks, width)
        room = (width - _BETWEEN) // 2
        left = lay_out([paragraph(heads[0]), paragraph(*ours)], room)
        right = lay_out([paragraph(heads[1]), paragraph(*theirs)], room)
        bar = Piece(" | " if look.signs.ascii_only else " │ ", Tone.FAINT)
        lines: list[Line] = []
        for one, other in zip_longest(left, right, fillvalue=()):
            used = sum(cells(piece.text) for piece in one)
            lines.append((*one, Piece(" " * (room - used)), bar, *other))
        return lines


def diff_row(item: Finding, answer: Answer, look: Callable[[], Look]) -> DiffRow | None:
    """The difference of an item; None where the record has no words to compare with."""
    record = next((place.words for place in (*item.places, *item.nearest) if place.words), "")
    reply = answer.text[item.start : item.end]
    return DiffRow(record, reply, look) if record and reply else None


def lit_row(blocks: Sequence[Block]) -> int:
    """The number of the first block that holds lit text; 0 where none does."""
    for number, block in enumerate(blocks):
        pieces = (piece for sentence in block.sentences for piece in sentence)
        if any(piece.tone is Tone.LIT and piece.text.strip() for piece in pieces):
            return number
    return 0


def _compared(record: str, reply: str) -> tuple[list[Piece], list[Piece]]:
    ours, theirs = _WORD.findall(record), _WORD.findall(reply)
    match = difflib.SequenceMatcher(
        a=[word.casefold() for word in ours], b=[word.casefold() for word in theirs], autojunk=False
    )
    left: list[Piece] = []
    right: list[Piece] = []
    for kind, a_from, a_to, b_from, b_to in match.get_opcodes():
        ends = a_to == len(ours) and b_to == len(theirs)
        words = "".join(ours[a_from:a_to] + theirs[b_from:b_to])
        same = kind == "equal" or (ends and not _LETTER.search(words))
        left += _piece(ours[a_from:a_to], Tone.PLAIN if same else Tone.GREEN, same=same)
        right += _piece(theirs[b_from:b_to], Tone.PLAIN if same else Tone.RED, same=same)
        if kind == "delete" and not same:
            right += _missing(ours[a_from:a_to], Tone.RED)
        elif kind == "insert" and not same:
            left += _missing(theirs[b_from:b_to], Tone.GREEN)
    return left, right


def _missing(words: Sequence[str], colour: Tone) -> Iterator[Piece]:
    """The place at which the other side has words more."""
    text = "".join(words)
    if text.strip():
        lead, tail = text[:1].isspace(), text[-1:].isspace()
        yield Piece(f"{' ' * lead}[-]{' ' * tail}", colour)


def _piece(words: Sequence[str], colour: Tone, *, same: bool) -> Iterator[Piece]:
    """The same words as they are; others in brackets, so that colour is not needed."""
    text = "".join(words)
    if not text:
        return
    if same or not text.strip():
        yield Piece(text, colour)
        return
    body = text.strip()
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    yield Piece(lead)
    yield Piece(f"[{body}]", colour)
    yield Piece(tail)
