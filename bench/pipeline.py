"""Pipeline: planted items found, attacks withstood, gate and journal, our share of the time.

The model is scripted, so that what is measured is ours; at the end every deliverable is asked for
once more through SSH, with the real small model, and held against the same key.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench import attacks, gate, gate_races, pipeline_size, pipeline_ssh, planted
from bench.harness import Arguments, Result
from bench.house import SAMPLE, House, open_house, read_matter
from bench.pipeline_kill import kills_of_a_summary
from bench.pipeline_ten import run_ten_pages
from protocol.answers import Answer
from protocol.errors import AppError
from rag.embedding import ModelEmbedder, default_model_folder
from worker.engine import bundled_model
from worker.engine.scripted import Line

_QUESTIONS: Final = (
    "When did Northgate first know of the leak?",
    "How much is the base rent per month?",
    "What did Mr. Osei say on January 9?",
    "What caused the leak?",
    "When did repairs begin?",
    "Is an e-mail notice in writing?",
    "How many rooms had water?",
    "What did the second patch cost?",
)
_ROUNDS: Final = 5
_OURS: Final = ("retrieving_ms", "checking_ms")


PARTS: Final = (
    "planted",
    "gate",
    "audit",
    "attacks",
    "kills",
    "size",
    "embedder",
    "ssh",
    "ten_pages",
)


def run(args: Arguments) -> Result:
    """Runs every part; what must hold and does not makes the bench fail."""
    result = Result(figures={})
    with tempfile.TemporaryDirectory(prefix="pipeline-") as folder:
        asyncio.run(_run(args, Path(folder), result))
    figures = result.figures
    result.failed = bool(
        figures.get("false_green")
        or figures.get("gate_escapes")
        or figures.get("attack_successes")
        or not figures.get("attack_successes_defences_off", 1)
        or figures.get("audit_changes") != figures.get("audit_changes_found")
        or figures.get("planted") != figures.get("planted_found")
        or figures.get("pages_twice")
        or figures.get("ssh_false_green")
        or figures.get("ssh_planted") != figures.get("ssh_planted_found")
        or figures.get("ten_pages") != figures.get("ten_pages_read")
        or figures.get("ten_false_green")
    )
    return result


async def _run(args: Arguments, folder: Path, result: Result) -> None:
    if args.wants("planted"):
        await _planted(folder / "sample", result)
    if args.wants("gate"):
        await _gate(args, folder / "gate", result)
    if args.wants("audit"):
        made, seen = gate.changed_bytes(folder / "audit", 12, 16 if args.full else 2, args.seed)
        result.figures |= {"audit_changes": made, "audit_changes_found": seen}
    if args.wants("attacks"):
        await _attacked(folder / "hostile", result)
    if args.wants("kills"):
        await _killed(args, folder / "kills", result)
    if args.wants("size"):
        await _at_size(args, folder / "large", result)
    if args.wants("embedder"):
        await _with_embedder(folder / "embedded", result)
    if args.wants("ssh"):
        await _over_ssh(result)
    if args.wants("ten_pages"):
        await _ten_pages(result)


async def _planted(sample: Path, result: Result) -> None:
    read_matter(sample, SAMPLE)
    async with open_house(sample) as house:
        rows, false_green, false_supported = await planted.against_key(house)
        result.rows += rows
        result.figures |= {
            "planted": len(rows),
            "planted_found": sum(row["found"] for row in rows),
            "false_green": false_green,
            "false_supported": false_supported,
        }
        result.figures |= await _ours(house, result)


async def _gate(args: Arguments, folder: Path, result: Result) -> None:
    read_matter(folder, SAMPLE)
    async with open_house(folder) as house:
        sequences = 10_000 if args.full else 1_000
        escaped, found = await gate.escapes(house, sequences, args.seed)
        result.rows += found
        raced, more = await gate_races.escapes(house, sequences // 10, args.seed)
        result.rows += more
        result.figures |= {"gate_sequences": sequences, "gate_escapes": escaped + raced}
        result.figures["gate_races"] = sequences // 10


async def _killed(args: Arguments, folder: Path, result: Result) -> None:
    pages = 300
    told = await asyncio.to_thread(kills_of_a_summary, folder, pages, 3, args.seed)
    result.rows.append({"part": "kills", **told})
    result.figures |= {"kills": told["kills"], "pages_twice": told["pages_twice"]}
    result.figures |= {"kill_pages_covered": told["covered"], "kill_pages": pages}


async def _at_size(args: Arguments, folder: Path, result: Result) -> None:
    result.figures["ours_ms_p50_100k"] = None
    if not args.full:
        result.notes.append("ours_ms_p50_100k: with --full, which makes such a matter first")
        return
    told = await pipeline_size.measured(folder, 100_000, args.seed)
    result.rows.append({"part": "size", **told})
    result.figures["ours_ms_p50_100k"] = told["ours_ms_p50"]


async def _with_embedder(folder: Path, result: Result) -> None:
    """The same questions with real vectors, where an embedder is at hand."""
    model = default_model_folder()
    if model is None:
        result.figures["ours_ms_p50_embedder"] = None
        result.notes.append("ours_ms_p50_embedder: no embedding model here")
        return
    embedder = ModelEmbedder(model)
    read_matter(folder, SAMPLE, embedder=embedder)
    async with open_house(folder, embedder=embedder) as house:
        told = await _ours(house, result, part="waterfall, real embedder")
    result.figures["ours_ms_p50_embedder"] = told["ours_ms_p50"]


async def _over_ssh(result: Result) -> None:
    """Every deliverable with the small model, through SSH; only where there is one."""
    try:
        bundled_model()
    except AppError:
        result.notes.append("ssh_*: no small model here")
        return
    rows, wrong = await pipeline_ssh.run_over_ssh()
    result.rows += [*rows, *wrong]
    result.figures |= pipeline_ssh.figures(rows, wrong)
    print(pipeline_ssh.table(rows), file=sys.stderr)


async def _ten_pages(result: Result) -> None:
    """A summary in the small model's own words; only where there is one."""
    try:
        bundled_model()
    except AppError:
        result.notes.append("ten_*: no small model here")
        return
    told = await run_ten_pages()
    result.rows.append({"part": "ten pages", **told})
    result.figures |= told


async def _attacked(folder: Path, result: Result) -> None:
    every = attacks.corpus()
    attacks.write_corpus(folder / "files", every)
    read_matter(folder, folder / "files")
    won_on, engine = 0, attacks.Obedient()
    async with open_house(folder, engine) as house:
        for attack in every:
            won, _ = await attacks.judged(house, attack, gate=True)
            won_on += bool(won)
            result.rows.append(attacks.as_row(attack, won, "on"))
    won_off = 0
    with attacks.defences_off():
        async with open_house(folder, attacks.Obedient()) as house:
            for attack in every:
                won, _ = await attacks.judged(house, attack, gate=False)
                won_off += bool(won)
                result.rows.append(attacks.as_row(attack, won, "off"))
    result.figures |= {
        "attack_documents": len(every),
        "attack_obeyed": len(engine.obeyed),
        "attack_successes": won_on,
        "attack_successes_defences_off": won_off,
    }


async def _ours(
    house: House, result: Result, part: str = "waterfall"
) -> dict[str, float | int | None]:
    """Our share of one `/ask`: all of it but queue, reading and writing."""
    house.engine._script = (Line(text="It was so: [[1]] and then [[2]]"),)
    times: list[float] = []
    stages: dict[str, list[float]] = {}
    for number in range(_ROUNDS * len(_QUESTIONS)):
        question = _QUESTIONS[number % len(_QUESTIONS)]
        started = time.perf_counter()
        answer = await house.answer(house.ask(question, conversation=f"c{number}"))
        whole = (time.perf_counter() - started) * 1e3
        if number < len(_QUESTIONS):
            continue  # the first round reads indexes and tables
        timed = _stages(answer, whole)
        times.append(timed["ours_ms"])
        for stage, took in timed.items():
            stages.setdefault(stage, []).append(took)
    result.rows += [
        {"part": part, "stage": stage, "p50_ms": round(statistics.median(took), 2)}
        for stage, took in stages.items()
    ]
    for stage, took in stages.items():
        print(f"{part}: {stage} {statistics.median(took):.1f} ms", file=sys.stderr)
    return {"ours_ms_p50": round(statistics.median(times), 2)}


def _stages(answer: Answer, whole_ms: float) -> dict[str, Any]:
    timings = answer.timings
    engines = timings.reading_ms + timings.writing_ms
    named = {name: getattr(timings, name) for name in _OURS}
    ours = timings.total_ms - timings.queue_ms - engines
    return {
        **named,
        "queue_ms": timings.queue_ms,
        "engine_ms": engines,
        "composing_and_second_look_ms": ours - sum(named.values()),
        "ours_ms": ours,
        "asked_to_answered_ms": whole_ms,
    }
