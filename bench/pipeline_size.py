"""Our share of one `/ask` on a matter of 100,000 passages.

The words are made up and the vectors hashed: store, indexes, search, choice of sentences and check
do the same work as on real papers, without hours of embedding.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from pathlib import Path
from typing import Final

from bench.house import CODE, House, open_house, utc_now
from bench.rag_growth import made_up_file, made_up_words
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.ingest import embed_waiting
from rag.intake import take_in
from rag.matters import create
from rag.reading import DirectReader, read_waiting
from worker.engine.scripted import Line
from worker.quotation_index import make_missing

_PER_FILE: Final = 100
"""A document of some 25 pages."""
_QUESTIONS: Final = 20
_WARM: Final = 4


def fill(root: Path, passages: int, seed: int) -> int:
    """Makes the one matter of a house with so many passages; gives how many it has."""
    chance = random.Random(seed)
    words = made_up_words(seed)
    matter = Matter(id=CODE, title="Large v. Larger", opened_at=utc_now())
    with tempfile.TemporaryDirectory(dir=root) as given:
        for at in range(max(1, passages // _PER_FILE)):
            path = Path(given) / f"{at:04d}.txt"
            made_up_file(path, min(passages, _PER_FILE), words, chance)
        with create(root / "matters" / CODE, matter) as held:
            take_in(held, Path(given))
            read_waiting(held, reader=DirectReader())
            embed_waiting(held, embedder=HashEmbedder())
            held.fill_index(held.index())
            make_missing(held)
            return held.store.passage_count()


async def ours_ms(root: Path, seed: int) -> list[float]:
    """Milliseconds of ours for each of some questions, the first ones left out."""
    chance = random.Random(seed + 1)
    words = made_up_words(seed)
    took = []
    async with open_house(root, (Line(text="It was so: [[1]] and then [[2]]"),)) as house:
        for number in range(_WARM + _QUESTIONS):
            question = "which " + " ".join(chance.choices(words, k=6))
            ours = await _one(house, question, number)
            if number >= _WARM:
                took.append(ours)
    return took


async def _one(house: House, question: str, number: int) -> float:
    answer = await house.answer(house.ask(question, conversation=f"c{number}"))
    timings = answer.timings
    return timings.total_ms - timings.queue_ms - timings.reading_ms - timings.writing_ms


async def measured(root: Path, passages: int, seed: int) -> dict[str, float | int]:
    """Passages of the matter and the median of ours."""
    root.mkdir(parents=True, exist_ok=True)
    count = fill(root, passages, seed)
    return {
        "passages": count,
        "ours_ms_p50": round(statistics.median(await ours_ms(root, seed)), 1),
    }
