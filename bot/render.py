"""A reply as blocks, in the one anatomy that every face shows.

Header with the state in the corner, the text with its marks, the list of marks, the counts line
with the coverage, the timing line. Errors take the reply's place in the same form. Faces lay the
blocks out (`bot.blocks`); nothing here knows a terminal or Discord.
"""

from __future__ import annotations

from typing import Final

from bot.annotate import annotated
from bot.blocks import Block, Piece, Tone, blank, cells, paragraph
from bot.findings import findings
from bot.look import Look
from bot.tables import table_blocks
from bot.told import verdicts
from bot.words import Words
from protocol.answers import AMBER, GREEN, Answer, ReviewState, Timings
from protocol.record import Coverage, Unread

_GAP: Final = "        "
_MOST_UNREAD: Final = 8
"""Unread things named in the coverage line; the rest is counted, and /documents lists all."""


def reply(answer: Answer, look: Look, *, title: str = "", asked: str = "") -> list[Block]:
    """A whole reply.

    Args:
        answer: What the worker sent.
        look: Language, signs, width and zone.
        title: The matter's title, for the header.
        asked: The command line it answers; the stored question when empty.
    """
    blocks = [header(answer, look, title), asked_line(answer, look, asked)]
    if answer.decision is not None and answer.decision.note:
        said = look.words("state.note", note=look.line(answer.decision.note))
        blocks.append(paragraph(Piece(said), hang=3))
    blocks.append(blank())
    blocks += [note_line(note, look) for note in answer.notes]
    body = annotated(answer, signs=look.signs, words=look.words)
    if answer.table is not None:
        body = [*_without_blank_edges(body), *table_blocks(answer.table, answer.items, look)]
    blocks += [*_without_blank_edges(body), blank()]
    listed = findings(answer, look)
    if listed:
        blocks += [*listed, blank()]
    blocks += [counts_line(answer, look), timing_line(answer.timings, look)]
    if answer.provenance.degraded:
        text = look.words("line.degraded", what=look.line(answer.provenance.degraded))
        blocks.append(paragraph(Piece(text, Tone.AMBER)))
    blocks.append(keys_line(answer.review, look))
    return blocks


def header(answer: Answer, look: Look, title: str) -> Block:
    """``#M-7F3K title`` and, in the right corner, the state of the reply."""
    left = f"#{answer.matter} {look.line(title)}".rstrip()
    right = state(answer, look)
    # The corner is the last cell but one; on a narrow screen the state takes its own line.
    gap = look.width - 2 - cells(left) - cells(right)
    colour = _STATE_TONE.get(answer.review, Tone.AMBER)
    space = " " * gap if gap >= 2 else "\n"
    return paragraph(Piece(left + space, Tone.STRONG), Piece(right, colour, whole=True))


def state(answer: Answer, look: Look) -> str:
    """The review state in words, with who decided and when."""
    said = look.words(f"state.{answer.review.value}")
    decision = answer.decision
    if decision is None or answer.review is ReviewState.AWAITING:
        return said
    return look.words("state.by", state=said, name=decision.by, time=look.time(decision.at))


def asked_line(answer: Answer, look: Look, asked: str) -> Block:
    """The command that this reply answers."""
    said = asked or line_of(answer)
    return paragraph(Piece(look.line(said), Tone.FAINT), hang=3)


def line_of(answer: Answer) -> str:
    """The command line that an answer answers; some kinds keep it whole as their question."""
    said = answer.question
    return said if said.startswith("/") else f"/{answer.kind} {said}".rstrip()


def note_line(note: str, look: Look) -> Block:
    """Something said beside the reply, loudly."""
    return paragraph(Piece(look.words("line.note", note=look.line(note)), Tone.AMBER), hang=3)


# --- what was counted, read and timed -------------------------------------------------------------


def counts(answer: Answer) -> tuple[int, int, int]:
    """How many marks are verified, to look at, and failing."""
    found = verdicts(answer)
    green = sum(verdict in GREEN for verdict in found)
    amber = sum(verdict in AMBER for verdict in found)
    return green, amber, len(found) - green - amber


def counts_line(answer: Answer, look: Look) -> Block:
    """``2 verified · 2 to look at · 1 failing        read 18 of 18 documents, ...``."""
    green, amber, red = counts(answer)
    said = look.words("line.counts", verified=green, look=amber, failing=red)
    read = coverage(answer.coverage, look)
    one_row = cells(said) + len(_GAP) + cells(read) + 2 <= look.width
    gap = _GAP if one_row else "\n"
    whole = answer.coverage.pages_read == answer.coverage.pages and not answer.coverage.unread
    colour = Tone.PLAIN if whole else Tone.AMBER
    return paragraph(Piece(said + gap, Tone.STRONG), Piece(read, colour), hang=1)


def coverage(read: Coverage, look: Look) -> str:
    """What was read of the matter and what could not be."""
    words = look.words
    said = words(
        "line.coverage",
        documents_read=read.documents_read,
        documents=read.documents,
        pages_read=read.pages_read,
        pages=read.pages,
    )
    if read.unread:
        named = [_unread(gap, look) for gap in read.unread[:_MOST_UNREAD]]
        more = len(read.unread) - _MOST_UNREAD
        if more > 0:
            named.append(words("reason.more", count=more))
        pages = read.pages - read.pages_read
        key = "line.unreadable" if pages > 0 else "line.not_read"
        said += " " + words(key, count=pages, where="; ".join(named))
    elif read.pages_read < read.pages:
        count = read.pages - read.pages_read
        said += " " + words("line.unreadable", count=count, where="?")
    if read.searched:
        said += " · " + words("line.searched", what=look.line(read.searched))
    return said


def _unread(gap: Unread, look: Look) -> str:
    name = look.line(gap.name)
    pages = f" {look.line(gap.pages)}" if gap.pages else ""
    reason = f", {look.line(gap.reason)}" if gap.reason else ""
    return f"{name}{pages}{reason}"


def timing_line(timings: Timings, look: Look) -> Block:
    """Where the time went, stage by stage; a stage that did not happen is left out."""
    words = look.words
    parts = [words("line.queue", time=_ms(timings.queue_ms, words))]
    if timings.retrieving_ms:
        parts.append(words("line.searching", time=_ms(timings.retrieving_ms, words)))
    if timings.prompt_tokens or timings.reading_ms:
        reading = words("line.reading", time=_ms(timings.reading_ms, words))
        if timings.prompt_tokens:
            reading += " " + words(
                "line.reused",
                reused=f"{timings.reused_tokens:,}",
                prompt=f"{timings.prompt_tokens:,}",
            )
        parts.append(reading)
    if timings.output_tokens or timings.writing_ms:
        writing = words("line.writing", time=_ms(timings.writing_ms, words))
        speed = words("line.speed", speed=_speed(timings.tokens_per_s))
        board = words("line.board", board=look.line(timings.board)) if timings.board else ""
        parts.append(f"{writing}, {speed} {board}".rstrip())
    parts.append(words("line.checking", time=_ms(timings.checking_ms, words)))
    pieces = [Piece(parts[0], Tone.FAINT, whole=True)]
    for part in parts[1:]:
        pieces += [Piece(" · ", Tone.FAINT), Piece(part, Tone.FAINT, whole=True)]
    return paragraph(*pieces)


def keys_line(review: ReviewState, look: Look) -> Block:
    """What can be done next with a reply in this state."""
    key = {
        ReviewState.APPROVED: "line.keys_approved",
        ReviewState.FINAL: "line.keys_approved",
        ReviewState.FILED: "line.keys_closed",
        ReviewState.WITHDRAWN: "line.keys_closed",
    }.get(review, "line.keys")
    return paragraph(Piece(look.words(key), Tone.FAINT))


_STATE_TONE: Final = {
    ReviewState.APPROVED: Tone.GREEN,
    ReviewState.FINAL: Tone.GREEN,
    ReviewState.FILED: Tone.GREEN,
    ReviewState.WITHDRAWN: Tone.RED,
}


def _ms(milliseconds: float, words: Words) -> str:
    return words.duration(milliseconds / 1000)


def _speed(tokens_per_s: float) -> str:
    return f"{tokens_per_s:.0f}" if tokens_per_s >= 10 else f"{tokens_per_s:.1f}"


def _without_blank_edges(blocks: list[Block]) -> list[Block]:
    begin, end = 0, len(blocks)
    while begin < end and not blocks[begin].sentences:
        begin += 1
    while end > begin and not blocks[end - 1].sentences:
        end -= 1
    return blocks[begin:end]
