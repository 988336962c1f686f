"""What stands in a reply's place when there is none: errors, mistakes in a line, a stopped job."""

from __future__ import annotations

from bot.blocks import Block, Piece, Tone, paragraph
from bot.look import Look
from bot.misuse import Misuse
from protocol.errors import AppError, ErrorValue
from protocol.ids import JobId


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
