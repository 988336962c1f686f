"""`/draft`: a motion's fact section, a declaration, a demand letter; every fact a quotation.

Code chooses the facts (the dated statements of the evidence, or what answers best to a subject),
puts them in the order of their dates and cites each where it stands. Blanks in brackets are left to
the lawyer, the law above all. A pleading proves nothing and is never a source here. Beside the text
stands a proof table: each fact, who can testify to it, and what may be objected.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

import verify
from protocol.answers import Provenance, Timings
from protocol.events import Progress, Stage
from protocol.ids import DocumentId
from protocol.jobs import WriteDraft
from protocol.record import DocumentClass, DocumentInfo
from verify.judged import Stretch
from verify.pins import cite
from worker.deliverables import Desk, Draft, Row
from worker.deliverables.conflicts import conflicts_of, runs
from worker.deliverables.events import Event, Said, events_of, order_of, statements_of
from worker.deliverables.house_forms import blanks, form, poured, slots
from worker.deliverables.relevance import best_sentences
from worker.deliverables.wording import quoted

COLUMNS: Final = ("part", "fact", "who can testify", "objection risk", "attached as")
_MOST_FACTS: Final = 30
_OFFERED: Final = 16
_OF_BEST: Final = 0.55
_STANDS_ALONE: Final = 6
"""An answer of so many words is understood without its question."""
_NONE: Final = "[the record as read holds none: to be filled in or struck]"
_DEPONENT: Final = re.compile(r"\bDEPOSITION OF ([A-Z][A-Z .'-]{2,60}[A-Z])")
_FROM: Final = re.compile(r"(?:From|보낸 ?사람):\s*([^<\n]{2,60})", re.IGNORECASE)
_HEARSAY: Final = re.compile(
    r"\b(?:said|told me|told us|heard|according to|wrote that)\b", re.IGNORECASE
)
_OPINION: Final = re.compile(
    r"\b(?:opinion|guess|think|believe|should|would have|estimate)\b", re.IGNORECASE
)


@dataclass
class _Paper:
    """What the draft cites while it is put together."""

    record: verify.OpenRecord
    attached: dict[DocumentId, str] = field(default_factory=dict)
    authors: dict[DocumentId, str] = field(default_factory=dict)
    cited: list[tuple[str, Said, str]] = field(default_factory=list)
    """Part, statement and the line that was printed for it."""

    def line(self, part: str, said: Said) -> str:
        """One fact: the record's words and where they stand."""
        letter = said.info.exhibit or _letter(len(self.attached))
        self.attached.setdefault(said.info.id, letter)
        words = quoted(said.sentence.words)
        start = said.sentence.start
        if said.asked and len(said.sentence.words.split()) < _STANDS_ALONE:
            words = f"asked {quoted(said.asked)}, the witness said {words}"
            start = said.sentence.question[0] if said.sentence.question else start
        printed = f"- {words} ({self.place(said, start)})."
        if printed not in {one[2] for one in self.cited if one[0] == part}:
            self.cited.append((part, said, printed))
        return printed

    def place(self, said: Said, start: int) -> str:
        """The pin cite as filed from ``start`` on, its Bates label after a comma."""
        stretch = Stretch(document=said.info.id, start=start, end=said.sentence.end)
        found = cite(self.record, [stretch])
        if found.bates is None:
            return found.pin_cite
        return f"{found.pin_cite.removesuffix(f' ({found.bates})')}, {found.bates}"


async def make(desk: Desk, request: WriteDraft) -> Draft:
    """The draft of a paper.

    Raises:
        NotFound: There is no such form.
        BadRequest: The firm's form cannot be used.
    """
    started = time.perf_counter()
    text, firms = form(request.form, desk.settings.state / "templates")
    await desk.stage(Stage.RETRIEVING)
    asked = request
    desk, about = await desk.within(request.about)
    inside, witness = await desk.within(request.witness)
    desk = inside if inside.scope.filters is not None else desk
    request = msgspec.structs.replace(request, about=about, witness=witness)
    events, every = await _read(desk, request)
    facts = await _facts(desk, request, events, every)
    left_out = len(facts[_MOST_FACTS:])
    facts = facts[:_MOST_FACTS]
    paper = _Paper(record=desk.matter.opened())
    paper.authors = _authors(every)
    values = await asyncio.to_thread(_filled, paper, facts, every, request, text)
    values["matter"] = desk.matter.record.matter.title
    draft = poured(text, values)
    chosen = [info.id for info in _sources(desk, request)] if request.documents else None
    return Draft(
        question=f"/draft {asked.form} {asked.about or asked.witness}".strip(),
        text=draft,
        coverage=await desk.covered("all pages", chosen),
        timings=Timings(retrieving_ms=(time.perf_counter() - started) * 1000),
        provenance=Provenance(composition="code"),
        columns=COLUMNS,
        rows=_rows(paper, draft),
        notes=(
            *desk.scope_notes,
            "The firm's own form." if firms else "The built-in form.",
            f"To be filled in by a human: {len(blanks(text))} kinds of blanks, in brackets.",
            *_computed(every, "amounts" in slots(text)),
            *(("No fact was found: the draft is a form only.",) if not facts else ()),
            *((f"{left_out} later facts are not in it; name a subject.",) if left_out else ()),
        ),
    )


def _sources(desk: Desk, request: WriteDraft) -> list[DocumentInfo]:
    """The documents that may prove a fact: evidence, nothing that a party only pleads."""
    return [
        info
        for info in desk.chosen(request.documents)
        if info.document_class is DocumentClass.EVIDENCE
    ]


async def _read(desk: Desk, request: WriteDraft) -> tuple[list[Event], list[Said]]:
    events: list[Event] = []
    every: list[Said] = []
    documents = _sources(desk, request)
    for at, info in enumerate(documents):
        await desk.context.say(Progress(stage=Stage.RETRIEVING, done=at, total=len(documents)))
        found = await desk.sentences(info.id)
        events.extend(events_of(info, found, desk.matter.record.date_order))
        every.extend(statements_of(info, found))
        await desk.context.breathe()
    return events, every


async def _facts(
    desk: Desk, request: WriteDraft, events: Sequence[Event], every: Sequence[Said]
) -> list[Said]:
    """The facts, each once, in the order of their dates; undated ones last."""
    dated = sorted(
        (one for one in events if one.day is not None and _tells(one)),
        key=lambda one: order_of(one.day) if one.day else (0, 0, 0),
    )
    chosen = list({_key(one.said): one.said for one in dated}.values())
    if request.about:
        at = {
            _key(said): said
            for said in every
            if said.sentence.turn == "answer" or not said.transcript
        }
        place = {_key(said): number for number, said in enumerate(chosen)}
        hits = await desk.retrieve(request.about, desk.settings.passages)
        scored = await best_sentences(desk, request.about, hits, most=_OFFERED)
        usable = [
            (one.score, at[key])
            for one in scored
            if (key := (one.sentence.document, one.sentence.start)) in at
        ]
        floor = usable[0][0] * _OF_BEST if usable else 0.0
        found = [said for score, said in usable if score >= floor]
        chosen = sorted(found, key=lambda said: place.get(_key(said), len(place)))
    if request.witness:
        authors = _authors(every)
        chosen = [said for said in chosen if _is_by(request.witness, said, authors)]
    return chosen


def _tells(event: Event) -> bool:
    """Whether a dated statement tells a fact; heads, captions and "Statement date:" do not."""
    sentence = event.said.sentence
    if sentence.turn == "header" or event.role == "dated":
        return False
    return sentence.turn == "answer" or not event.said.transcript


def _filled(
    paper: _Paper, facts: Sequence[Said], every: Sequence[Said], request: WriteDraft, text: str
) -> dict[str, str]:
    told = []
    asked_for = slots(text)
    for said in facts:
        printed = paper.line("facts", said)
        if request.witness and _HEARSAY.search(said.sentence.words):
            printed += " [hearsay? confirm or strike]"
        told.append(printed)
    against = [
        paper.line("against", said)
        for one in (conflicts_of(every) if "against" in asked_for else ())
        if one.kind == "conflict" and {_key(said) for said in one.sides} & {_key(f) for f in facts}
        for said in one.sides
        if said not in facts
    ]
    return {
        "facts": "\n\n".join(told) or _NONE,
        "against": "\n\n".join(dict.fromkeys(against)) or _NONE,
        "amounts": "\n\n".join(_amounts(paper, every) if "amounts" in asked_for else ()) or _NONE,
        "witness": request.witness or "name",
        "exhibits": "\n".join(_exhibits(paper)) or _NONE,
    }


def _amounts(paper: _Paper, every: Sequence[Said]) -> list[str]:
    """The rows of every account whose rows and total stand in the record."""
    lines = []
    for rows, total in runs(every):
        lines += [paper.line("amounts", said) for said, _ in rows]
        lines.append(paper.line("amounts", total[0]))
    return list(dict.fromkeys(lines))


def _computed(every: Sequence[Said], wanted: bool) -> list[str]:
    """The arithmetic with its steps, for the notes: it is ours and not the record's."""
    notes = []
    for rows, (said, stated) in runs(every) if wanted else ():
        added = sum(value for _, value in rows)
        steps = " + ".join(f"{value:,.2f}" for _, value in rows)
        notes.append(f"Computed from {said.info.title}: {steps} = {added:,.2f}.")
        if added != stated:
            notes.append(
                f"{said.info.title} states {stated:,.2f}, which is not that sum:"
                " settle it before the letter names an amount."
            )
    return notes


def _exhibits(paper: _Paper) -> list[str]:
    infos = paper.record.by_id
    return [
        f"- {letter}. {infos[document].title}{_range(infos[document])}"
        for document, letter in paper.attached.items()
    ]


def _range(info: DocumentInfo) -> str:
    if not info.bates_begin:
        return ""
    begin, end = info.bates_begin, info.bates_end
    if end in (None, begin):
        return f" ({begin})"
    if _serial(end) - _serial(begin) + 1 == info.pages:
        return f" ({begin} to {end})"
    return f" ({begin} and later, with gaps in the numbers)"


def _serial(bates: str) -> int:
    digits = re.search(r"\d+$", bates)
    return int(digits[0]) if digits else 0


def _rows(paper: _Paper, text: str) -> tuple[Row, ...]:
    """The proof table; a row's proof is the quotation as it stands in the draft."""
    rows = []
    for part, said, printed in paper.cited:
        start = text.find(printed)
        if start < 0:  # the firm's form has no slot for this part
            continue
        opening = start + printed.rfind("“")
        cells = (
            part,
            said.sentence.words,
            paper.authors.get(said.info.id, "[author or custodian]"),
            _risk(said),
            paper.attached[said.info.id],
        )
        rows.append(Row(cells=cells, start=opening, end=start + len(printed)))
    return tuple(rows)


def _risk(said: Said) -> str:
    words = said.sentence.words
    risks = []
    if said.sentence.turn != "answer":
        risks.append("out of court: hearsay unless an exception fits")
    elif _HEARSAY.search(words):
        risks.append("repeats what another said")
    if _OPINION.search(words):
        risks.append("opinion")
    return "; ".join(risks) or "none seen"


def _authors(every: Sequence[Said]) -> dict[DocumentId, str]:
    """Who speaks in a document: its deponent, or the sender of a message."""
    found: dict[DocumentId, str] = {}
    for said in every:
        words = said.sentence.words
        match = _DEPONENT.search(words) or (
            _FROM.match(words) if said.sentence.turn == "header" else None
        )
        if match:
            name = " ".join(match[1].split())
            found.setdefault(said.info.id, name.title() if name.isupper() else name)
    return found


def _is_by(witness: str, said: Said, authors: dict[DocumentId, str]) -> bool:
    """Whether the witness speaks here: an answer in his deposition, a line of his message."""
    surname = witness.split()[-1].casefold()
    author = authors.get(said.info.id, "").casefold()
    return surname in author.split() and said.sentence.turn in ("", "answer")


def _key(said: Said) -> tuple[DocumentId, int]:
    return (said.info.id, said.sentence.start)


def _letter(number: int) -> str:
    """A to Z, then AA and so on."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
