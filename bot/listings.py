"""Lists that commands show: matters, jobs, the record with its ledger, health, the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bot.blocks import Block, Piece, Tone, paragraph
from bot.look import Look
from bot.render import coverage
from bot.slash import Name
from protocol.ids import MatterId
from protocol.jobs import Documents, HealthIs, Job
from protocol.record import LedgerState, Matter

_HEALTH_TONE = {"ok": Tone.GREEN, "degraded": Tone.AMBER}


def matters(found: Sequence[Matter], look: Look) -> list[Block]:
    """The matters of this person."""
    if not found:
        return [paragraph(Piece(look.words("chat.no_matters")))]
    rows = [
        paragraph(
            Piece(f"#{matter.id}", Tone.STRONG), Piece(f"  {look.line(matter.title)}"), hang=12
        )
        for matter in found
    ]
    return [_title("chat.matters", look), *rows, _faint("chat.no_matter", look)]


def jobs(found: Sequence[Job], look: Look) -> list[Block]:
    """Jobs with their state, place and time."""
    if not found:
        return [paragraph(Piece(look.words("chat.no_jobs")))]
    words = look.words
    blocks = [_title("chat.jobs", look)]
    for job in found:
        more = ""
        if job.place is not None:
            more += words("chat.job_place", place=words.ordinal(job.place))
        if job.eta_s is not None:
            more += words("chat.job_eta", eta=words.duration(round(job.eta_s)))
        if job.review is not None:
            more += f" · {words(f'state.{job.review.value}')}"
        if job.reason:
            more += f" · {look.line(job.reason)}"
        row = words(
            "chat.job_row",
            job=job.id,
            kind=look.line(job.kind),
            state=words(f"job_state.{job.state.value}"),
            more=more,
        )
        blocks.append(paragraph(Piece(row), hang=3))
    return blocks


def documents(matter: MatterId, result: Documents, look: Look) -> list[Block]:
    """The record: every document, the ledger's sums, every file that did not come in, coverage."""
    words = look.words
    blocks = [paragraph(Piece(words("chat.documents", matter=matter), Tone.STRONG))]
    for document in result.documents:
        row = words(
            "chat.document_row",
            title=look.line(document.title or document.name),
            kind=look.line(document.kind),
            pages=document.pages,
        )
        bates = [look.line(label) for label in (document.bates_begin, document.bates_end) if label]
        bates = list(dict.fromkeys(bates))
        row += f" · {' – '.join(bates)}" if bates else ""
        blocks.append(paragraph(Piece(row), hang=3))
    states = Counter(row.state for row in result.ledger.rows)
    sums = words(
        "chat.ledger",
        total=len(result.ledger.rows),
        indexed=states[LedgerState.INDEXED],
        duplicate=states[LedgerState.DUPLICATE],
        failed=states[LedgerState.FAILED],
        skipped=states[LedgerState.SKIPPED],
    )
    blocks.append(paragraph(Piece(sums)))
    for entry in result.ledger.rows:
        if entry.state in (LedgerState.FAILED, LedgerState.SKIPPED):
            text = f"{look.signs.amber} {look.line(entry.name)}: {look.line(entry.reason)}"
            blocks.append(paragraph(Piece(text, Tone.AMBER), indent=3, hang=5))
    blocks.append(paragraph(Piece(coverage(result.coverage, look))))
    blocks += [
        paragraph(Piece(f"Bates {look.line(line)}", Tone.FAINT), indent=3, hang=5)
        for line in result.productions
    ]
    return blocks


def health(found: HealthIs, look: Look) -> list[Block]:
    """Every part of the worker with its state and one sentence."""
    blocks = [_title("chat.health", look)]
    for part, (state, sentence) in sorted(found.parts.items()):
        colour = _HEALTH_TONE.get(state, Tone.RED)
        head = Piece(f"{look.line(state):<9}", colour, whole=True)
        text = f"{look.line(part)}: {look.line(sentence)}"
        blocks.append(paragraph(head, Piece(text), indent=3, hang=12))
    return blocks


def commands(look: Look) -> list[Block]:
    """Every command with its sentence."""
    blocks = [_title("help.title", look)]
    for name in Name:
        head = Piece(f"/{name:<11}", Tone.STRONG, whole=True)
        blocks.append(paragraph(head, Piece(look.words(f"help.{name}")), indent=3, hang=15))
    return [*blocks, _faint("help.filters", look), _faint("help.plain", look)]


def _title(key: str, look: Look) -> Block:
    return paragraph(Piece(look.words(key), Tone.STRONG))


def _faint(key: str, look: Look) -> Block:
    return paragraph(Piece(look.words(key), Tone.FAINT))
