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
    room = engine.capabilities.context_tokens - output_tokens
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


def _prompt(
    name: str, question: str, sentences: Sequence[Sentence], turns: Sequence[tuple[str, str]]
) -> Prompt:
    return Prompt(
        system=template(name),
        record=tuple(block(number, one) for number, one in enumerate(sentences, start=1)),
        turns=tuple(Turn(question=asked, answer=said) for asked, said in turns),
        question=f"Question: {' '.join(question.split())}",
    )
