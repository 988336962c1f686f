"""An office's day as arrivals for `growth_line`: who asks what, how long it is, how fast it goes.

Every number that is an assumption stands in `Office`, with its reason; every number that was
measured stands in a `Speeds`, with its source. Drawn from a seed: the same seed, the same day.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from bench.growth_line import Arrival, Step

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Speeds:
    """How fast one board is, between measured points."""

    name: str
    first_token_s: Points
    """(prompt tokens, seconds from sending to the first token), nothing held before."""
    decode_per_s: Points
    """(prompt tokens, tokens a second afterwards)."""

    def step(
        self, prompt: float, output: float, *, held: float = 0.0, head: str = "", sure: bool = False
    ) -> Step:
        """One call of the engine.

        Args:
            prompt: Tokens of the prompt.
            output: Tokens written.
            held: Tokens of it that need no reading where the engine holds the head.
            head: Names the head.
            sure: The call before left the head there.
        """
        write_s = output / between(self.decode_per_s, prompt)
        cold_s = between(self.first_token_s, prompt)
        least_s = self.first_token_s[0][1]
        warm_s = max(least_s, cold_s - between(self.first_token_s, held)) if held else cold_s
        warm_s = min(cold_s, warm_s)
        return Step((warm_s if sure else cold_s) + write_s, warm_s + write_s, head)


# Public figures of a reference build, as docs/growth.md gives them: four V100 joined by NVLink,
# legal text, one stream, drafts on. Not measured by us.
REFERENCE = Speeds(
    name="reference board",
    first_token_s=((1_000, 1.2), (32_000, 17.2), (128_000, 59.2), (256_000, 118.7)),
    decode_per_s=((1_000, 118), (32_000, 117), (128_000, 111), (256_000, 103)),
)


def half(speeds: Speeds) -> Speeds:
    """The same board at half its speed: an older card, a larger model, no drafts."""
    return Speeds(
        name=f"half the {speeds.name}",
        first_token_s=[(tokens, 2 * seconds) for tokens, seconds in speeds.first_token_s],
        decode_per_s=[(tokens, rate / 2) for tokens, rate in speeds.decode_per_s],
    )


@dataclass(frozen=True)
class Office:
    """What is assumed of the people. None of it was measured in an office."""

    lawyers: int
    questions_a_day: float = 15.0
    """Of each lawyer: twice an hour through the day, none in court."""
    summaries_a_day: float = 0.3
    """A folder read page by page; one in three days."""
    drafts_a_day: float = 0.4
    """Chronologies, drafts, citation checks that ask the model: ten calls each."""
    matters_a_lawyer: int = 4
    """Worked on in the same week."""
    lawyers_a_matter: int = 2
    follow_up: float = 0.4
    """Share of questions that go on from the one before, on the same documents."""
    follow_up_within_s: float = 240.0
    """Half of them come sooner than this."""
    prompt_tokens: tuple[float, float] = (6_000, 0.8)
    """Median and spread (of the logarithm): twelve passages and the instructions."""
    whole_document: float = 0.05
    """Share of questions over a whole document of 20,000 to 100,000 tokens."""
    output_tokens: tuple[float, float] = (350, 0.5)
    most_output: float = 768
    """The setting ``answer_tokens``."""
    second_reading: bool = True
    """The reply is read once more as the other side would; the head is then held."""
    held_share: float = 0.6
    """Of a follow-up's prompt, where the engine still holds the conversation's head."""
    pages: tuple[float, float] = (100, 0.7)
    most_pages: float = 300
    page_tokens: float = 700
    page_output: float = 100
    hours: tuple[float, ...] = (0.5, 1.1, 1.4, 1.3, 0.5, 0.9, 1.3, 1.4, 1.1, 0.5)
    """Share of a usual hour, from 8 to 18: mornings and afternoons are full, noon is not."""
    weights_s: tuple[float, float, float] = (20.0, 30.0, 10.0)
    """What the queue is told a question, a summary and a draft take: the fixed guesses of
    `worker.handlers.work`."""
    tells_rest: bool = False


QUESTION, SUMMARY, DRAFT = "question", "summary", "draft"


def day(office: Office, speeds: Speeds, chance: random.Random) -> list[Arrival]:
    """One working day of arrivals, by time in seconds from the morning."""
    made: list[Arrival] = []
    matters = max(1, office.lawyers * office.matters_a_lawyer // office.lawyers_a_matter)
    for lawyer in range(office.lawyers):
        mine = [chance.randrange(matters) for _ in range(office.matters_a_lawyer)]
        first = office.questions_a_day * (1 - office.follow_up)
        for number in range(_poisson(chance, first)):
            at_s, matter = _moment(office, chance), chance.choice(mine)
            made += _conversation(office, speeds, chance, f"q{lawyer}-{number}", at_s, matter)
        for number in range(_poisson(chance, office.summaries_a_day)):
            made.append(
                _summary(office, speeds, chance, f"s{lawyer}-{number}", chance.choice(mine))
            )
        for number in range(_poisson(chance, office.drafts_a_day)):
            made.append(_draft(office, speeds, chance, f"d{lawyer}-{number}", chance.choice(mine)))
    return sorted(made, key=lambda arrival: (arrival.at_s, arrival.job))


def between(points: Points, at: float) -> float:
    """Straight between the points; level before the first and along the last slope after."""
    if at <= points[0][0]:
        return points[0][1]
    upper = min(bisect([x for x, _ in points], at), len(points) - 1)
    (x0, y0), (x1, y1) = points[upper - 1], points[upper]
    return y0 + (y1 - y0) * (at - x0) / (x1 - x0)


def _conversation(
    office: Office, speeds: Speeds, chance: random.Random, name: str, at_s: float, matter: int
) -> list[Arrival]:
    """A question and those that go on from it."""
    made = []
    prompt = min(100_000.0, _spread(chance, office.prompt_tokens))
    if chance.random() < office.whole_document:
        prompt = chance.uniform(20_000, 100_000)
    number = 0
    while True:
        output = min(office.most_output, _spread(chance, office.output_tokens))
        held = office.held_share * prompt if number else 0.0
        steps = [speeds.step(prompt, output, held=held, head=name)]
        if office.second_reading:
            again = prompt + output
            steps.append(speeds.step(again, 120, held=0.9 * prompt, head=name, sure=True))
        made.append(_arrival(f"{name}.{number}", at_s, QUESTION, matter, office, 0, steps))
        if chance.random() >= office.follow_up:
            return made
        number += 1
        at_s += 30 + chance.expovariate(math.log(2) / office.follow_up_within_s)


def _summary(
    office: Office, speeds: Speeds, chance: random.Random, name: str, matter: int
) -> Arrival:
    pages = int(max(5, min(office.most_pages, _spread(chance, office.pages))))
    page = speeds.step(office.page_tokens, office.page_output)
    whole = speeds.step(min(60_000, pages * office.page_output * 1.2 + 1_000), 700)
    at_s = _moment(office, chance)
    return _arrival(name, at_s, SUMMARY, matter, office, 1, [*([page] * pages), whole])


def _draft(
    office: Office, speeds: Speeds, chance: random.Random, name: str, matter: int
) -> Arrival:
    steps = [speeds.step(_spread(chance, (8_000, 0.5)), 400) for _ in range(10)]
    return _arrival(name, _moment(office, chance), DRAFT, matter, office, 2, steps)


def _arrival(
    name: str,
    at_s: float,
    kind: str,
    matter: int,
    office: Office,
    weight: int,
    steps: Sequence[Step],
) -> Arrival:
    code = f"M-{matter:04d}"
    return Arrival(
        name, at_s, kind, code, office.weights_s[weight], tuple(steps), office.tells_rest
    )


def _moment(office: Office, chance: random.Random) -> float:
    hour = chance.choices(range(len(office.hours)), weights=office.hours)[0]
    return (hour + chance.random()) * 3600


def _spread(chance: random.Random, median_and_spread: tuple[float, float]) -> float:
    median, spread = median_and_spread
    return median * math.exp(chance.gauss(0, spread))


def _poisson(chance: random.Random, mean: float) -> int:
    """Knuth's method (The Art of Computer Programming, vol. 2, 3.4.1); the means here are small."""
    limit, number, product = math.exp(-mean), 0, chance.random()
    while product > limit:
        number += 1
        product *= chance.random()
    return number
