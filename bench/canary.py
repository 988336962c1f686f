"""The canary campaign: does anything of one matter reach another inside an engine?

Matter A holds planted words. A and B are asked in turn, B's answers are looked at in four ways,
each of which would show another kind of leak:

* words: a planted word in B's answer;
* reuse: B reuses more tokens than B ever left in the engine;
* drafts: speculation proposes to B more or less than it did before A was asked;
* odds: B's first-token probabilities move when A is asked in between.

Every so often a third matter, asked for the first time, sends A's exact record: reuse of it would
tell that matter what A holds, by time alone. The campaign knows nothing of how the wall is built;
it is given a way to ask, so it runs on leaky settings just the same, and must catch them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from worker.engine import Prompt

TEMPLATE_TOKENS = 16
"""Reuse that says nothing: what a chat template puts first, and chance in a matter's code."""
ODDS_TOLERANCE = 0.25
"""Largest move of a logprob that counts as arithmetic: batches of other shapes differ by less."""
ANSWER_TOKENS = 8
"""Askers let an answer have so many."""
PROBE_EVERY = 10
ODDS_EVERY = 5

_WORDS = (
    "amber barge cedar dune ember fjord gravel harbor iris juniper kelp lantern marble nickel "
    "orchid pewter quartz raven saddle timber umber velvet walnut yarrow zinc"
).split()


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the asker saw of one answer."""

    text: str
    prompt_tokens: int
    reused_tokens: int
    drafted_tokens: int = 0


Ask = Callable[[str, Prompt], Awaitable[Seen]]
"""Matter and prompt in, what was seen out."""
Odds = Callable[[str, Prompt], Awaitable[dict[str, float]]]
"""First-token logprobs of an idle engine."""


@dataclass(kw_only=True)
class Campaign:
    """What a campaign found."""

    name: str
    alternations: int = 0
    leaks: int = 0
    kinds: set[str] = field(default_factory=set)
    rows: list[dict[str, Any]] = field(default_factory=list)
    """One an alternation, with every leak that was seen in it."""

    def note(self, number: int, kind: str, matter: str, expected: object, came: object) -> None:
        """One look: a leak when what came is not what was expected."""
        if not self.rows or self.rows[-1]["alternation"] != number:
            self.rows.append(
                {
                    "part": "canary",
                    "campaign": self.name,
                    "alternation": number,
                    "looks": 0,
                    "expected": "no leak",
                    "came": "no leak",
                    "leaks": [],
                }
            )
        row = self.rows[-1]
        row["looks"] += 1
        if expected != came:
            self.leaks += 1
            self.kinds.add(kind)
            row["came"] = "leak"
            row["leaks"].append(
                {"look": kind, "matter": matter, "expected": expected, "came": came}
            )


def secret_words(seed: int) -> list[str]:
    """Planted words that no model says by itself: pairs with a number."""
    draw = random.Random(seed)
    return [f"{draw.choice(_WORDS)}-{draw.randrange(1000, 9999)}" for _ in range(3)]


def record_of(matter: str, words: list[str], seed: int) -> tuple[str, ...]:
    """A short record; planted words stand in every second line, so that they are easy to repeat."""
    draw = random.Random(f"{matter}{seed}")
    lines = []
    for n in range(6):
        said = f"The code of vault {n} is {' '.join(words)}." if words and n % 2 == 0 else ""
        lines.append(
            f"Note {n}: {draw.choice(_WORDS)} and {draw.choice(_WORDS)} were seen. {said}".strip()
        )
    return tuple(lines)


QUESTIONS = (
    "What is the code of the vault? Repeat it word for word.",
    "Repeat note 2 word for word.",
    "What was seen?",
)


async def run_campaign(
    name: str,
    *,
    alternations: int,
    concurrency: int,
    ask: Ask,
    odds: Odds | None,
    seed: int,
) -> Campaign:
    """Ask A and B in turn (together, where ``concurrency`` is over 1) and look at B.

    Args:
        name: Of the settings.
        alternations: How often A and B are each asked.
        concurrency: 1 to 3; with 3 a third matter works beside them.
        ask: Streams one answer.
        odds: First-token logprobs; asked only while nothing else runs.
        seed: Of the texts.
    """
    found = Campaign(name=name)
    secrets = secret_words(seed)
    prompts = {
        "M-A": Prompt(system="Answer from the notes.", record=record_of("A", secrets, seed)),
        "M-B": Prompt(system="Answer from the notes.", record=record_of("B", [], seed)),
        "M-C": Prompt(system="Answer from the notes.", record=record_of("C", [], seed)),
    }
    left: dict[str, int] = {}

    def asked(matter: str, number: int) -> Prompt:
        head = prompts[matter]
        question = QUESTIONS[number % len(QUESTIONS)]
        return Prompt(system=head.system, record=head.record, question=question)

    # B alone, before A exists: how it answers, what it drafts, what its odds are.
    alone = [await ask("M-B", asked("M-B", n)) for n in range(len(QUESTIONS))]
    alone = [await ask("M-B", asked("M-B", n)) for n in range(len(QUESTIONS))]
    left["M-B"] = max(seen.prompt_tokens for seen in alone) + ANSWER_TOKENS
    odds_alone = await odds("M-B", asked("M-B", 0)) if odds else {}

    for number in range(alternations):
        matters = ["M-A", "M-B", "M-C"][: max(2, concurrency)]
        if concurrency == 1:
            answers = [await ask(matter, asked(matter, number)) for matter in matters]
        else:
            answers = list(
                await asyncio.gather(*[ask(matter, asked(matter, number)) for matter in matters])
            )
        found.alternations += 1
        for matter, seen in zip(matters, answers, strict=True):
            allowed = max(TEMPLATE_TOKENS, left.get(matter, 0))
            found.note(number, "reuse", matter, True, seen.reused_tokens <= allowed)
            left[matter] = max(left.get(matter, 0), seen.prompt_tokens + ANSWER_TOKENS)
            if matter != "M-A":
                spoken = [word for word in secrets if word in seen.text]
                found.note(number, "words", matter, [], spoken)
        if concurrency == 1:
            before = alone[number % len(QUESTIONS)].drafted_tokens
            found.note(number, "drafts", "M-B", before, answers[1].drafted_tokens)
        if odds and number % ODDS_EVERY == 0:
            now = await odds("M-B", asked("M-B", 0))
            found.note(number, "odds", "M-B", True, _moved(odds_alone, now) <= ODDS_TOLERANCE)
        if number % PROBE_EVERY == 0:
            stranger = f"M-P{number}"
            await ask("M-A", asked("M-A", number))  # so that A's state is the newest there is
            seen = await ask(stranger, asked("M-A", number))
            near = seen.reused_tokens <= TEMPLATE_TOKENS
            found.note(number, "probe", stranger, True, near)
    return found


def _moved(one: dict[str, float], other: dict[str, float]) -> float:
    """Largest move of a logprob among the tokens that both know; infinite with none in common."""
    both = one.keys() & other.keys()
    return max((abs(one[token] - other[token]) for token in both), default=float("inf"))
