"""Sentences of the record and a question become a prompt that fits.

The stable part stands first: the standing instruction, then the record in the record's own order,
then earlier turns, the question last. Two questions that use the same sentences share a
byte-identical head, which the engine need not read again. Record text is fenced: one line a
sentence, numbered, with the control marks of chat templates broken up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

from protocol.errors import BadRequest
from worker.engine import Engine, Prompt, Turn
from worker.quoting import Sentence

# Chat templates open and close a turn with marks such as <|..|>, <s> or [INST]. In record text they
# are only characters: a zero-width space after the first one breaks them up.
_CONTROL: Final = re.compile(r"<(?=\S)|\[(?=/?(?:INST|SYS))", re.IGNORECASE)

_CODE_TOKENS: Final = 12
"""The engine puts the matter's code of 12 digits in front: one code may take so many tokens more
than another, and the counts here are made with another."""


def template(name: str) -> str:
    """A standing instruction, without its last line end."""
    return resources.files("worker").joinpath("templates", f"{name}.md").read_text("utf-8").strip()


def fenced(text: str) -> str:
    """Record text as one line in which no template mark is left whole."""
    return _CONTROL.sub(lambda match: f"{match.group()}\u200b", " ".join(text.split()))


def block(number: int, sentence: Sentence) -> str:
    """One sentence as the model sees it."""
    return f"[{number}] ({fenced(sentence.place)}) {fenced(sentence.words)}"


def order_schema(count: int, most: int) -> dict[str, Any]:
    """The only answer a small model may give: numbers of sentences."""
    number = {"type": "integer", "minimum": 1, "maximum": count}
    return {
        "type": "object",
        "properties": {
            "order": {"type": "array", "items": number, "minItems": 1, "maxItems": most}
        },
        "required": ["order"],
        "additionalProperties": False,
    }


async def fitting(
    engine: Engine,
    name: str,
    question: str,
    sentences: Sequence[Sentence],
    *,
    turns: Sequence[tuple[str, str]] = (),
    output_tokens: int,
) -> tuple[Prompt, tuple[Sentence, ...]]:
    """The prompt with as many of the sentences as fit, best ones kept.

    Args:
        engine: Counts the tokens.
        name: The standing instruction.
        question: What is asked now.
        sentences: Best first.
        turns: Earlier (question, reply) pairs, oldest first; dropped oldest first when too long.
        output_tokens: What must stay free for the answer.

    Returns:
        The prompt and the sentences in it, numbered from 1 in the record's order; the caller says
        so where some were left out.

    Raises:
        BadRequest: Not even one sentence and the question fit.
    """
    room = engine.capabilities.context_tokens - output_tokens - _CODE_TOKENS
    kept, past = len(sentences), list(turns)
    while True:
        held = tuple(sorted(sentences[:kept], key=lambda one: (one.document, one.start)))
        prompt = _prompt(name, question, held, past)
        if engine.capabilities.context_tokens == 0 or await engine.count_tokens(prompt) <= room:
            return prompt, held
        if past:
            past.pop(0)
        elif kept > 1:
            kept -= max(1, kept // 8)
        else:
            raise BadRequest(
                "the question is too long for this model", next_step="ask it in fewer words"
            )


_COMPOSE: Final = "compose"
"""The standing instruction of every prompt on a head: one system text, one head."""


def head(sentences: Sequence[Sentence]) -> Prompt:
    """The part of a prompt that is the same for every question on these sentences."""
    return Prompt(system=template(_COMPOSE), record=_blocks(sentences))


async def on_head(
    engine: Engine,
    stable: Prompt,
    name: str,
    question: str,
    *,
    found: Sequence[int] = (),
    turns: Sequence[tuple[str, str]] = (),
    output_tokens: int,
) -> Prompt | None:
    """A prompt on a whole record: everything that differs stands behind it.

    Args:
        engine: Counts the tokens.
        stable: Of `head`.
        name: The standing instruction; another than the head's own is put before the question.
        question: What is asked now.
        found: Numbers of the sentences that the search found, best first.
        turns: Earlier (question, reply) pairs, oldest first; dropped oldest first when too long.
        output_tokens: What must stay free for the answer.

    Returns:
        None where head and question do not fit together.
    """
    asked = _question(question)
    if found:
        asked = f"Found by the search: {' '.join(f'[{n}]' for n in found)}\n{asked}"
    if name != _COMPOSE:
        asked = f"{template(name)}\nThe numbered sentences stand above.\n\n{asked}"
    past = [Turn(question=one, answer=said) for one, said in turns]
    room = engine.capabilities.context_tokens - output_tokens - _CODE_TOKENS
    while True:
        prompt = Prompt(
            system=stable.system, record=stable.record, turns=tuple(past), question=asked
        )
        if engine.capabilities.context_tokens == 0 or await engine.count_tokens(prompt) <= room:
            return prompt
        if not past:
            return None
        past.pop(0)


def _blocks(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    return tuple(block(number, one) for number, one in enumerate(sentences, start=1))


def _question(question: str) -> str:
    return f"Question: {' '.join(question.split())}"


def _prompt(
    name: str, question: str, sentences: Sequence[Sentence], turns: Sequence[tuple[str, str]]
) -> Prompt:
    return Prompt(
        system=template(name),
        record=_blocks(sentences),
        turns=tuple(Turn(question=asked, answer=said) for asked, said in turns),
        question=_question(question),
    )
