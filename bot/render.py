"""A reply as blocks, in the one anatomy that every face shows.

Header with the state in the corner, the text with its marks, the list of marks, the counts line
with the coverage, the timing line. Errors take the reply's place in the same form. Faces lay the
blocks out (`bot.blocks`); nothing here knows a terminal or Discord.
"""

from __future__ import annotations

from typing import Final

from bot.annotate import annotated, marked
from bot.blocks import Block, Piece, Tone, blank, cells, paragraph
from bot.look import Look, tone
from bot.misuse import Misuse
from bot.tables import table_blocks
from bot.words import Words
from protocol.answers import AMBER, GREEN, Answer, Citation, Finding, ReviewState, Timings, Verdict
from protocol.errors import AppError, ErrorValue
from protocol.ids import JobId
from protocol.record import Coverage, Unread

_VERDICT_CELLS: Final = 15
_GAP: Final = "        "
_MOST_PLACES: Final = 3
"""Places named in one line of the list; the rest is counted."""
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
    said = asked or f"/{answer.kind} {answer.question}"
    return paragraph(Piece(look.line(said), Tone.FAINT), hang=3)


def note_line(note: str, look: Look) -> Block:
    """Something said beside the reply, loudly."""
    return paragraph(Piece(look.words("line.note", note=look.line(note)), Tone.AMBER), hang=3)


# --- the list of marks ----------------------------------------------------------------------------


def findings(answer: Answer, look: Look) -> list[Block]:
    """The list of marks: number, sign, verdict in words, then reason and place."""
    items = marked(answer)
    tabled = set(answer.table.items) if answer.table is not None else set()
    shown = [i for i in items if not (i.number in tabled and i.verdict in GREEN)]
    if not shown:
        return []
    digits = max(len(str(item.number)) for item in shown)
    signs = max(cells(look.signs.of(item.verdict)) for item in shown)
    words = {item.verdict: look.words(f"verdict.{item.verdict.value}") for item in shown}
    column = max([_VERDICT_CELLS, *(cells(word) + 1 for word in words.values())])
    blocks = []
    for item in shown:
        sign = look.signs.of(item.verdict)
        sign += " " * (signs - cells(sign))
        word = words[item.verdict]
        pad = " " * (column - cells(word))
        head = Piece(f"{item.number:>{digits}} {sign} {word}{pad}", tone(item.verdict), whole=True)
        hang = 1 + digits + 1 + signs + 1 + column
        blocks.append(paragraph(head, Piece(finding_line(item, look)), hang=hang))
        if item.diff:
            diff = Piece(look.line(item.diff), Tone.STRONG)
            blocks.append(paragraph(diff, indent=hang, hang=hang))
    return blocks


def finding_line(item: Finding, look: Look) -> str:
    """Reason and place in one line: the place first where it is green, the reason first if not."""
    words = look.words
    reason = look.line(item.reason)
    places = _places(item.places, look, unless_in=reason)
    parts = [places, reason] if item.verdict in GREEN else [reason, places]
    if item.verdict is Verdict.VERIFIED_MARKED:
        steps = "; ".join(look.line(step) for step in item.steps)
        parts.append(words("reason.disclosed") + (f": {steps}" if steps else ""))
    if item.verdict is Verdict.COMPUTED and item.steps:
        steps = "; ".join(look.line(step) for step in item.steps)
        parts.append(words("reason.steps", steps=steps))
    nearest = _places(item.nearest, look, unless_in=reason)
    if nearest:
        parts.append(words("reason.nearest", place=nearest))
    also = _places(item.also_in, look)
    if also:
        parts.append(words("reason.also", places=also))
    line = ""
    for part in filter(None, parts):
        join = "" if not line else " " if line.endswith(".") else " · "
        line += join + part
    return line or words("reason.none")


def _places(places: tuple[Citation, ...], look: Look, *, unless_in: str = "") -> str:
    cites = [look.line(place.pin_cite) for place in places]
    cites = [cite for cite in dict.fromkeys(cites) if cite and cite not in unless_in]
    named = "; ".join(cites[:_MOST_PLACES])
    more = len(cites) - _MOST_PLACES
    return f"{named} {look.words('reason.more', count=more)}" if more > 0 else named


# --- what was counted, read and timed -------------------------------------------------------------


def counts(answer: Answer) -> tuple[int, int, int]:
    """How many marks are verified, to look at, and failing."""
    items = marked(answer)
    green = sum(item.verdict in GREEN for item in items)
    amber = sum(item.verdict in AMBER for item in items)
    return green, amber, len(items) - green - amber


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


def error_blocks(value: ErrorValue, look: Look, *, kept: str = "") -> list[Block]:
    """What stands in a reply's place when there is none: what, what was kept, what next, an id.

    Args:
        value: The error as it travelled.
        look: Language, signs, width and zone.
        kept: A sentence that says what is not lost.
    """
    words = look.words
    head = Piece(f"{look.signs.red} {words('error.failed')}  ", Tone.RED, whole=True)
    blocks = [paragraph(head, Piece(look.line(value.message)), hang=3)]
    rest = [kept]
    step = look.line(value.next_step)
    if value.retry:
        step = f"{step}; {words('error.retry')}" if step else words("error.retry")
    rest.append(words("error.next", step=step) if step else "")
    reference = look.line(value.reference)
    rest.append(words("error.reference", reference=reference) if reference else "")
    return blocks + [paragraph(Piece(text), indent=3, hang=3) for text in rest if text]


def error_value(error: AppError) -> ErrorValue:
    """An error of this side, or one that came over the line, as a value to show."""
    return ErrorValue(
        code=error.code,
        message=error.message,
        next_step=error.next_step,
        retry=error.retry,
        reference=error.reference,
    )


def misuse(mistake: Misuse, look: Look) -> list[Block]:
    """A line that could not be carried out as it was typed, and what would help."""
    words = look.words
    blanks = {name: look.line(str(value)) for name, value in mistake.blanks.items()}
    if "what" in blanks:
        blanks["what"] = words(f"usage.{mistake.blanks['what']}")
    blocks = [paragraph(Piece(words(f"usage.{mistake.key}", **blanks), Tone.AMBER), hang=3)]
    if mistake.next_step:
        step = words("error.next", step=words(f"usage.{mistake.next_step}"))
        blocks.append(paragraph(Piece(step), indent=3, hang=3))
    return blocks


def stopped(job: JobId, look: Look) -> list[Block]:
    """What stands in the place of the reply of a job that somebody stopped."""
    head = Piece(f"{look.signs.amber} {look.words('error.stopped')}  ", Tone.AMBER, whole=True)
    return [paragraph(head, Piece(look.words("error.stopped_text", job=job)), hang=3)]


def reason_question(item: Finding, look: Look) -> str:
    """Asks a reviewer for the reason to accept an item that is not green."""
    return look.words(
        "chat.ask_reason",
        mark=f"{item.number} {look.signs.of(item.verdict)}",
        verdict=look.words(f"verdict.{item.verdict.value}"),
        reason=finding_line(item, look),
    )


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
