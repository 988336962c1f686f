"""Prompts of an exact length in two kinds, each run's beginning unlike any other's.

The words are made up by rule and mean nothing. Code repeats itself more than prose, so speculation
gains more on it: both are measured.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from typing import Final

from worker.engine import Engine, Prompt

TOLERANCE: Final = 0.005
"""How far a prompt's length may be from the wanted one."""

_SYSTEM: Final = {
    "code": "You continue source code.",
    "legal": "You restate contract terms.",
}
_QUESTION: Final = {
    "code": "Write the next functions of this module in the same style.",
    "legal": "Restate the sections above, one after another, with their amounts and days.",
}
_MOST_TRIES: Final = 12
_SAMPLE_LINES: Final = 40

_PARTIES: Final = ("the tenant", "the landlord", "the supplier", "the buyer", "either party")
_DUTIES: Final = (
    "shall pay", "may withhold", "shall give written notice of", "waives", "shall refund"
)  # fmt: skip
_THINGS: Final = (
    "the base rent", "the deposit", "any defect in the goods", "late charges", "repair costs"
)  # fmt: skip
_NOUNS: Final = ("ledger", "parcel", "invoice", "meter", "permit", "shift")
_VERBS: Final = ("count", "merge", "close", "check", "post", "split")


async def prompt_of(engine: Engine, kind: str, tokens: int) -> Prompt:
    """A prompt of that many tokens, within `TOLERANCE`; no two share their first 64.

    Raises:
        ValueError: The length cannot be met: it is too short for the frame.
    """
    nonce = secrets.token_hex(48)
    line_of = _LINES[kind]
    rng = random.Random(nonce)  # noqa: S311 - sample text, no secret
    head = f"Reference {nonce}."
    sample = [line_of(rng, n) for n in range(_SAMPLE_LINES)]
    per_line = max(1.0, sum(await engine.count_texts(sample)) / len(sample))
    lines = sample
    count = max(0, int(tokens / per_line))
    for _ in range(_MOST_TRIES):
        while len(lines) < count:
            lines.append(line_of(rng, len(lines)))
        prompt = _prompt(kind, head, lines[:count], "")
        off = tokens - await engine.count_tokens(prompt)
        if abs(off) < per_line or count == 0:
            break
        count = max(0, count + int(off / per_line))
    while off < 0 and count:
        count -= 1
        prompt = _prompt(kind, head, lines[:count], "")
        off = tokens - await engine.count_tokens(prompt)
    filler = 0
    while off > tokens * TOLERANCE and filler < 8 * per_line:
        filler += max(1, off // 2)
        longer = _prompt(kind, head, lines[:count], " and" * filler)
        off = tokens - await engine.count_tokens(longer)
        if off >= -tokens * TOLERANCE:
            prompt = longer
    if abs(tokens - await engine.count_tokens(prompt)) > max(2, tokens * TOLERANCE):
        raise ValueError("no prompt of this length can be made")
    return prompt


def _prompt(kind: str, head: str, lines: list[str], tail: str) -> Prompt:
    return Prompt(
        system=_SYSTEM[kind],
        record=(head, "\n".join(lines) + tail),
        question=_QUESTION[kind],
    )


def _legal(rng: random.Random, number: int) -> str:
    return (
        f"{number // 9 + 1}.{number % 9 + 1} On day {rng.randint(1, 28)} of each month"
        f" {rng.choice(_PARTIES)} {rng.choice(_DUTIES)} {rng.choice(_THINGS)} of"
        f" {rng.randint(100, 99_999)} dollars, unless section {rng.randint(1, 40)} says otherwise."
    )


def _code(rng: random.Random, number: int) -> str:
    noun, verb = rng.choice(_NOUNS), rng.choice(_VERBS)
    return (
        f"def {verb}_{noun}_{number}(rows, limit={rng.randint(1, 999)}):\n"
        f"    return [row.{noun} for row in rows if row.{verb}ed < limit]\n"
    )


_LINES: Final[dict[str, Callable[[random.Random, int], str]]] = {"code": _code, "legal": _legal}
