"""`/ask`: a question answered from the passages found.

With a small model the reply is extractive: code picks the record's own sentences, the model only
puts them in order, and a wrong order is the worst it can do. With a larger model the reply is the
model's prose, but quotations stand in it by reference (``[[3]]``) and code puts in the words. When
the model is away the passages themselves are the reply, and one sentence says so.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from protocol.answers import Provenance, Timings
from protocol.errors import Unavailable
from protocol.events import Stage
from protocol.jobs import Ask
from protocol.record import Hit
from worker import prompts
from worker.deliverables import Desk, Draft
from worker.deliverables.looking import look_further
from worker.deliverables.prose import without_repeats
from worker.deliverables.quotations import put_in_quotations
from worker.deliverables.relevance import Scored, best_sentences
from worker.deliverables.second_look import repaired, second_reading
from worker.deliverables.wording import line
from worker.deliverables.writing import Written, write
from worker.engine import AnswerMalformed, FinishReason, Usage, prompt_sha256
from worker.heads import placed
from worker.quoting import Sentence

MODEL_AWAY: Final = (
    "The model is away: these are the record's passages as found, in no one's words."
)
"""What a reply says that was made without its model."""

_NOTHING: Final = "The record as read does not say."
_NOTHING_INSIDE: Final = "The documents searched do not say; the others were not searched."

_OFFERED: Final = 16
"""Sentences a small model may order."""
_SHOWN: Final = 5
"""Sentences an extractive reply shows at most: more is a search result, and `/find` gives that."""
_OF_BEST: Final = 0.55
"""A sentence that scores below this share of the best one is not shown."""
_ORDER_TOKENS: Final = 48
"""``{"order": [1, 2, 3, 4, 5]}`` takes about 20."""


class _Order(msgspec.Struct, forbid_unknown_fields=True):
    order: list[int]


async def make(desk: Desk, request: Ask) -> Draft:
    """The draft of an answer.

    Raises:
        BadRequest: The question alone is too long for the model.
    """
    await desk.stage(Stage.RETRIEVING)
    started = time.perf_counter()
    desk, question = await desk.within(request.question)
    line_asked, request = request.question, msgspec.structs.replace(request, question=question)
    hits = await desk.retrieve(request.question, desk.settings.passages)
    await desk.found(hits)
    scored = await best_sentences(desk, request.question, hits, most=_OFFERED)
    retrieving_ms = (time.perf_counter() - started) * 1000
    if not scored:
        made = Composed(text=_nothing(desk), how="code")
    else:
        try:
            if desk.extractive:
                made = await _ordered(desk, request, scored)
            else:
                made = await _composed(desk, request, scored)
        except Unavailable:
            made = Composed(text=await _lines(desk, _best(scored)), how="code", degraded=MODEL_AWAY)
    return Draft(
        question=line_asked,
        text=made.text,
        coverage=await desk.covered(_searched(hits)),
        timings=made.timings(retrieving_ms),
        provenance=made.provenance(desk, hits),
        notes=(*desk.scope_notes, *((made.degraded,) if made.degraded else ()), *made.notes),
    )


def _nothing(desk: Desk) -> str:
    return _NOTHING if desk.scope.filters is None else _NOTHING_INSIDE


def _searched(hits: Sequence[Hit]) -> str:
    documents = len({hit.passage.span.document for hit in hits})
    return f"{len(hits)} passages of {documents} documents"


def _best(scored: Sequence[Scored]) -> list[Sentence]:
    floor = scored[0].score * _OF_BEST
    return [one.sentence for one in scored[:_SHOWN] if one.score >= floor]


async def _lines(desk: Desk, chosen: Sequence[Sentence]) -> str:
    titles = {info.id: info.title for info in desk.matter.record.documents()}
    out = []
    for sentence in chosen:
        question = None
        if sentence.question is not None:
            every = await desk.sentences(sentence.document)
            question = next((one.words for one in every if one.start == sentence.question[0]), None)
        out.append(line(titles[sentence.document], sentence, question))
    return "\n".join(out)


# --- a small model: the record's words, in the model's order --------------------------------------


async def _ordered(desk: Desk, request: Ask, scored: Sequence[Scored]) -> Composed:
    chosen = _best(scored)
    prompt, held = await prompts.fitting(
        desk.engine, "order", request.question, chosen, output_tokens=_ORDER_TOKENS
    )
    try:
        written = await write(
            desk,
            prompt,
            max_tokens=_ORDER_TOKENS,
            json_schema=prompts.order_schema(len(held), len(held)),
        )
    except AnswerMalformed:  # its words are of no use; the record's stand all the same
        written = Written(text="", usage=Usage())
    order, note = _read_order(written.text, len(held))
    # What the model left out stands behind what it chose: it orders, it does not withhold.
    wanted = [held[number - 1] for number in order]
    rest = [sentence for sentence in chosen if sentence not in wanted]
    return Composed(
        text=await _lines(desk, [*wanted, *rest]),
        how="extractive",
        written=written,
        prompt_sha256=prompt_sha256(prompt),
        notes=(note,) if note else (),
    )


def _read_order(text: str, count: int) -> tuple[list[int], str]:
    try:
        order = msgspec.json.decode(text, type=_Order).order
    except (msgspec.DecodeError, msgspec.ValidationError):
        return [], "The model gave no usable order; the sentences stand in the order of the search."
    valid = list(dict.fromkeys(number for number in order if 1 <= number <= count))
    if len(valid) < len(set(order)):
        return valid, "The model named sentences that do not exist; they were left out."
    return valid, ""


# --- a larger model: its prose, with quotations by reference --------------------------------------


async def _composed(desk: Desk, request: Ask, scored: Sequence[Scored]) -> Composed:
    turns = desk.matter.work.turns(request.conversation, desk.settings.turns)
    best = [one.sentence for one in scored]
    # The head is the whole record: under a filter the model may not be shown it.
    filtered = desk.scope.filters is not None
    head = await desk.ahead.head(desk.matter) if desk.ahead and not filtered else None
    question = request.question
    looked: tuple[str, ...] = ()
    if "draft" in desk.settings.tools:
        widened = await look_further(desk, question, best, head)
        best, looked = list(widened.sentences), widened.notes
        if widened.computed:
            question = f"{question}\n\nComputed: {' '.join(widened.computed)}"
    prompt, held = await placed(
        desk.engine,
        "compose",
        question,
        best,
        head=head,
        turns=turns,
        output_tokens=desk.settings.answer_tokens,
    )
    written = await write(desk, prompt, max_tokens=desk.settings.answer_tokens, live=True)
    if desk.ahead:
        on = head if head is not None and held is head.sentences else None
        await desk.ahead.asked(desk.context.job, desk.matter.id, on, written.usage.reused_tokens)
    prose, repeated = without_repeats(written.text)
    text, unknown, taken = put_in_quotations(prose, held)
    notes = list(looked)
    if repeated:
        notes.append(f"The model repeated {repeated} sentences; each is shown once.")
    if unknown:
        notes.append(
            f"The model pointed at {unknown} sources that do not exist; they were left out."
        )
    if taken:
        notes.append("The model wrote links or marks of its own; they were left out.")
    if written.usage.finish_reason is not FinishReason.STOP:
        notes.append("The reply was cut off before the model had ended.")
    if text.strip():
        text, mended = await repaired(desk, request.question, text, best, head)
        notes += mended
        if desk.settings.second_reading:
            notes += await second_reading(desk, request.question, text, best, head)
    return Composed(
        text=text.strip() or _nothing(desk),
        how="model",
        written=written,
        prompt_sha256=prompt_sha256(prompt),
        notes=tuple(notes),
    )


# --- what was made --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Composed:
    """A reply's text, how it came to be, and what the engine took for it."""

    text: str
    how: str
    written: Written | None = None
    prompt_sha256: str = ""
    notes: tuple[str, ...] = ()
    degraded: str = ""

    def timings(self, retrieving_ms: float) -> Timings:
        """Where the time went, as far as this room knows."""
        if self.written is None:
            return Timings(retrieving_ms=retrieving_ms)
        usage = self.written.usage
        return Timings(
            retrieving_ms=retrieving_ms,
            reading_ms=usage.prefill_ms,
            writing_ms=usage.decode_ms,
            prompt_tokens=usage.prompt_tokens,
            reused_tokens=usage.reused_tokens,
            output_tokens=usage.output_tokens,
            tokens_per_s=usage.tokens_per_s,
        )

    def provenance(self, desk: Desk, hits: Sequence[Hit]) -> Provenance:
        """Who made it, from what."""
        passages = tuple(hit.passage.id for hit in hits)
        if self.written is None:
            return Provenance(composition=self.how, passages=passages, degraded=self.degraded)
        engine, usage = desk.engine.provenance, self.written.usage
        return Provenance(
            engine=engine.engine,
            model=engine.model,
            model_sha256=engine.model_sha256,
            binary_sha256=engine.binary_sha256,
            flags=engine.flags,
            seed=1,
            prompt_sha256=self.prompt_sha256,
            finish_reason=usage.finish_reason,
            template_sha256=engine.template_sha256,
            prompt_tokens=usage.prompt_tokens,
            reused_tokens=usage.reused_tokens,
            drafted_tokens=usage.drafted_tokens,
            accepted_tokens=usage.accepted_tokens,
            composition=self.how,
            passages=passages,
        )
