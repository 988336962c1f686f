"""The stable head of a matter's prompts: its whole record, in the record's order, where it fits.

A prompt built on a head begins with the same bytes whatever is asked, so the engine reads the
record once and each question costs only its own tokens. A record that takes more tokens than the
settings allow has no head: its prompts hold the passages found.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from protocol.record import DocumentClass, DocumentInfo
from worker import prompts
from worker.engine import Engine, Prompt
from worker.quoting import Sentence, sentences
from worker.shelf import Held

_KEPT: Final = 8
"""Heads kept in memory: at the default limit about 100 KB of text and some thousand sentences."""
_MOST_CHARS_A_TOKEN: Final = 8
"""Prose has about four; a record of more than this a token is too long without being counted."""
_QUESTION_TOKENS: Final = 512
"""Room for a question and some earlier turns."""
_FEW_WORDS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Head:
    """What stands first in every prompt on a record."""

    key: str
    """Names matter, model and text versions; another of any is another head."""
    prompt: Prompt
    """System text and record, no question."""
    sentences: tuple[Sentence, ...]
    """As numbered in the prompt, from 1."""
    tokens: int


class Heads:
    """Makes heads and keeps the last ones.

    Args:
        most_tokens: Largest head; 0 makes none.
        answer_tokens: What the context must hold besides, with a question.
    """

    def __init__(self, most_tokens: int, answer_tokens: int = 0) -> None:
        self._most_tokens = most_tokens
        self._besides = answer_tokens + _QUESTION_TOKENS
        self._made: OrderedDict[str, Head | None] = OrderedDict()

    async def of(self, engine: Engine, held: Held) -> Head | None:
        """The matter's head for this engine's model; None where its record is too long or empty.

        Raises:
            Unavailable: The engine is away and cannot count.
        """
        if self._most_tokens == 0:
            return None
        infos = [
            info
            for info in held.record.documents()
            if info.document_class is not DocumentClass.MODEL_OUTPUT
        ]
        key = _key(engine, held, infos)
        if key not in self._made:
            self._made[key] = await self._make(engine, held, infos, key)
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]

    async def _make(
        self, engine: Engine, held: Held, infos: list[DocumentInfo], key: str
    ) -> Head | None:
        record = held.record
        most_tokens = self._most_tokens
        if context := engine.capabilities.context_tokens:
            most_tokens = min(most_tokens, context - self._besides)
        most_chars = most_tokens * _MOST_CHARS_A_TOKEN

        def read() -> tuple[Sentence, ...] | None:
            found: list[Sentence] = []
            chars = 0
            for info in sorted(infos, key=lambda one: one.id):
                text = record.text(info.id)
                chars += len(text)
                if chars > most_chars:
                    return None
                found += filter(_worth, sentences(info.id, text, record.pages(info.id)))
            return tuple(found)

        found = await asyncio.to_thread(read)
        if not found:
            return None
        prompt = prompts.head(found)
        tokens = await engine.count_tokens(prompt, held.id)
        if tokens > most_tokens:
            return None
        return Head(key=key, prompt=prompt, sentences=found, tokens=tokens)


async def placed(
    engine: Engine,
    name: str,
    question: str,
    found: Sequence[Sentence],
    *,
    head: Head | None,
    turns: Sequence[tuple[str, str]] = (),
    output_tokens: int,
) -> tuple[Prompt, tuple[Sentence, ...]]:
    """A prompt on the head where there is one and it fits, else on the sentences found.

    Args:
        engine: Counts the tokens.
        name: The standing instruction.
        question: What is asked now.
        found: What the search found, best first; on a head it is named by number.
        head: The whole record.
        turns: Earlier (question, reply) pairs, oldest first.
        output_tokens: What must stay free for the answer.

    Returns:
        The prompt and the sentences in it as they are numbered.

    Raises:
        BadRequest: Not even one sentence and the question fit.
    """
    if head is not None:
        numbers = {(one.document, one.start): n for n, one in enumerate(head.sentences, start=1)}
        named = [numbers.get((one.document, one.start), 0) for one in found]
        prompt = await prompts.on_head(
            engine,
            head.prompt,
            name,
            question,
            found=[number for number in named if number],
            turns=turns,
            output_tokens=output_tokens,
        )
        if prompt is not None:
            return prompt, head.sentences
    return await prompts.fitting(
        engine, name, question, found, turns=turns, output_tokens=output_tokens
    )


def _key(engine: Engine, held: Held, infos: list[DocumentInfo]) -> str:
    provenance = engine.provenance
    whole = [
        held.id,
        provenance.model_sha256 or provenance.model,
        provenance.template_sha256,
        sorted((info.id, info.text_sha256) for info in infos),
    ]
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()


def _worth(sentence: Sentence) -> bool:
    """Whether it can answer anything; the search offers the same ones."""
    words = sentence.words
    return (
        sentence.turn in ("", "answer")
        and not words.isupper()
        and (len(words.split()) >= _FEW_WORDS or sentence.question is not None)
    )
