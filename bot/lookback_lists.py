"""The lists of `bot.lookback`: a journal's end as a table, and what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.blocks import Block, Piece, Tone, blank, paragraph
from bot.look import Look
from bot.tables import table_blocks
from protocol.answers import Table
from protocol.audit import AuditEntry
from protocol.ids import MatterId
from protocol.jobs import AuditIs, Job, Jobs, ListJobs

_HASH_CHARS: Final = 12
"""Of a hash in a table; the whole of it is in the JSON form."""
_COLUMNS: Final = ("audit.when", "audit.who", "audit.what", "audit.on", "audit.chain")
_ON: Final = ("document", "file", "original", "answer")
"""Details that name what an act was done on, the most telling first."""


def audit(matter: MatterId, found: AuditIs, look: Look, *, table: bool = True) -> list[Block]:
    """The entries as a table or a line each, whether the chain holds, and the anchor's line."""
    words = look.words
    if not found.total and not found.troubles:
        return [paragraph(Piece(words("audit.none", matter=matter)))]
    shown = len(found.entries)
    title = words("audit.title", matter=matter, shown=shown, total=found.total)
    rows = tuple(_row(entry, look) for entry in found.entries)
    if table and rows:
        columns = tuple(words(key) for key in _COLUMNS)
        listed = [*table_blocks(Table(columns=columns, rows=rows), (), look), blank()]
    else:
        listed = [paragraph(Piece(" · ".join(row))) for row in rows]
    return [paragraph(Piece(title, Tone.STRONG)), *listed, *_state(found, look)]


def _row(entry: AuditEntry, look: Look) -> tuple[str, ...]:
    words = look.words
    chain = words("audit.holds" if entry.holds else "audit.broken")
    if entry.at is None:
        return ("–", "–", words("audit.no_entry", n=entry.n), "–", chain)
    who = look.line(entry.by or "–")
    if entry.through is not None:
        who = words("audit.through", who=who, bot=look.line(entry.through))
    what = look.line(" ".join(part for part in (entry.what, entry.details.get("kind", "")) if part))
    return (look.time(entry.at), who, what, look.line(_on(entry)), chain)


def _on(entry: AuditEntry) -> str:
    """The reply, the document or the file by its id; hashes are cut."""
    if entry.job is not None:
        return entry.job
    named = next((entry.details[name] for name in _ON if name in entry.details), "–")
    return named if len(named) < 2 * _HASH_CHARS else f"{named[:_HASH_CHARS]}…"


def _state(found: AuditIs, look: Look) -> list[Block]:
    words = look.words
    if found.broken_at is not None:
        said = words("audit.breaks", n=found.broken_at, reason=look.line(found.reason))
        blocks = [paragraph(Piece(said, Tone.RED), hang=3)]
    elif not found.total:  # though entries were anchored
        blocks = []
    else:
        tone = Tone.AMBER if found.troubles else Tone.GREEN
        blocks = [paragraph(Piece(words("audit.whole", head=look.line(found.head)), tone), hang=3)]
    blocks += [paragraph(Piece(look.line(said), Tone.RED), hang=3) for said in found.troubles]
    if found.anchor:
        anchor = words("audit.anchor", line=look.line(found.anchor), count=found.anchored)
    else:
        anchor = words("audit.no_anchor")
    return [*blocks, paragraph(Piece(anchor, Tone.FAINT), hang=3)]


def history(request: ListJobs, found: Jobs, look: Look) -> list[Block]:
    """Each request with its state, who asked, and below it the line as it was asked."""
    words = look.words
    if not found.jobs:
        key = "history.none_fit" if request.words or request.before else "chat.no_jobs"
        return [paragraph(Piece(words(key)))]
    title = words("history.title", matter=request.matter)
    if request.words:
        title = words("history.title_words", matter=request.matter, words=look.line(request.words))
    blocks = [paragraph(Piece(title, Tone.STRONG))]
    for job in found.jobs:
        blocks.append(paragraph(Piece(state_line(job, look)), hang=3))
        said = look.line(f"/{job.kind} {found.asked.get(job.id, '')}".rstrip())
        blocks.append(paragraph(Piece(said), indent=5, hang=7))
    if found.more:
        line = " ".join(f"/history before:{found.jobs[-1].id} {request.words}".split())
        more = words("history.more", count=found.more, line=look.line(line))
        blocks.append(paragraph(Piece(more, Tone.FAINT), hang=3))
    return blocks


def codes(matter: MatterId, jobs: Sequence[Job], most: int, look: Look) -> list[Block]:
    """The newest requests in codes and states, and how many of how many are shown."""
    words = look.words
    if not jobs:
        return [paragraph(Piece(words("chat.no_jobs")))]
    blocks = [paragraph(Piece(words("history.title", matter=matter), Tone.STRONG))]
    for job in jobs[:most]:
        said = f"{state_line(job, look)} · {look.line(job.kind)}"
        blocks.append(paragraph(Piece(said)))
    shown = words("history.shown", shown=len(jobs[:most]), newest=len(jobs))
    return [*blocks, paragraph(Piece(shown, Tone.FAINT))]


def state_line(job: Job, look: Look) -> str:
    """Job, time, who asked, state and review; no words of a case."""
    words = look.words
    parts = [job.id, look.time(job.created_at), look.line(job.user)]
    parts.append(words(f"job_state.{job.state.value}"))
    if job.review is not None:
        parts.append(words(f"state.{job.review.value}"))
    return " · ".join(parts)
