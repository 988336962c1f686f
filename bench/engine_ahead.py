"""What reading ahead saves: the first question on a record, cold, read ahead, and after a restart.

The worker's own parts in one process (queue, pipeline, checker) on the real server with the bundled
model; the line is left out, `bench.engine_path` measures it. Times are from asking to the first
word that an event tells, so they hold retrieval too.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.harness import Result
from bench.house import CODE, YOU, House, open_house, read_matter
from protocol.events import Completed, Failed, Progress, Stage
from protocol.jobs import Accepted
from worker.engine import EngineSettings
from worker.engine.llama_server import LlamaServer

_SETTINGS = EngineSettings(
    batch_tokens=64, ubatch_tokens=64, context_tokens=4096, slot_files=True, cache_ram_mib=0
)
_LINES = 60


async def measure_ahead(result: Result) -> None:
    """Three houses around one matter, one after the other."""
    with tempfile.TemporaryDirectory(prefix="sc-ahead-") as scratch:
        root = Path(scratch)
        papers = root / "papers"
        papers.mkdir()
        (papers / "log.txt").write_text(
            "\n".join(
                f"{n}. The boiler on floor {n} was inspected and needed {n * 7 % 19 + 1} hours."
                for n in range(1, _LINES + 1)
            ),
            "utf-8",
        )
        read_matter(root, papers, "Bench")
        async with _house(root) as house:
            cold = await _first_word(house)
            await _until_saved(house)
        async with _house(root) as house:
            restarted = await _first_word(house)
        for file in (root / "matters" / CODE / "slots").iterdir():
            file.unlink()
        async with _house(root) as house:
            assert house.board.ahead is not None
            house.board.ahead.want(CODE)
            await _until_saved(house)
            ahead = await _first_word(house)
    for name, row in (("cold", cold), ("after a restart", restarted), ("read ahead", ahead)):
        result.rows.append({"part": "ahead", "how": name, **row})
    result.figures["ahead_speedup"] = round(cold["first_word_ms"] / ahead["first_word_ms"], 2)
    result.figures["ahead_restart_speedup"] = round(
        cold["first_word_ms"] / restarted["first_word_ms"], 2
    )


@asynccontextmanager
async def _house(root: Path) -> AsyncIterator[House]:
    options = {"second_reading": False, "answer_tokens": 32, "reads_ahead": True}
    async with open_house(root, engine=LlamaServer(_SETTINGS), **options) as house:
        yield house


async def _first_word(house: House) -> dict[str, Any]:
    """One question, from asking to the first word."""
    started = time.perf_counter()
    accepted = await house.work.submit(house.ask("How long did floor 30 take?"), YOU)
    assert isinstance(accepted, Accepted)
    first, after = 0.0, 0
    while events := await house.queue.wait_event(accepted.job, after):
        for event in events:
            after, body = event.seq, event.body
            if isinstance(body, Progress) and body.stage is Stage.WRITING and body.done:
                first = first or time.perf_counter()
            if isinstance(body, Completed | Failed):
                async with house.shelf.use(CODE) as held:
                    provenance = held.work.answer(accepted.job).provenance
                return {
                    "first_word_ms": round(1000 * (first - started), 1),
                    "prompt_tokens": provenance.prompt_tokens,
                    "reused_tokens": provenance.reused_tokens,
                }
    raise RuntimeError("the job ended without a last event")


async def _until_saved(house: House) -> None:
    """Waits until the head lies in a slot file: it was read, then kept."""
    async with asyncio.timeout(600):
        while not list((house.folder / "slots").glob("*.json")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
