"""A summary of a 300-page folder, its worker killed again and again: done once, nothing twice.

``python -m bench.pipeline_kill ROOT`` is the child: it asks for the summary under one key, works
until it is done, and says each document it makes a part of.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final
from unittest import mock

from bench.house import CODE, House, open_house, read_matter, utc_now
from protocol.jobs import Summarize
from worker.deliverables import summary
from worker.jobs import open_queue
from worker.workfile import WorkFile

_PAGES_EACH: Final = 5
_KEY: Final = "the-one-summary"
_SUBJECTS: Final = ("pump", "ledger", "gate", "survey", "engine", "roof", "wall", "meter", "well")


def kills_of_a_summary(root: Path, pages: int, kills: int, seed: int) -> dict[str, Any]:
    """Kills the worker ``kills`` times while it summarizes, then lets it finish.

    Returns:
        ``kills`` that hit a worker at work, ``covered`` pages, ``pages_twice`` of the reply,
        ``made_again`` (documents whose part was begun more than once, at most one a kill) and
        whether the job is ``done_once``.
    """
    _write_folder(root / "files", pages // _PAGES_EACH)
    read_matter(root, root / "files", "A folder")
    chance = random.Random(seed)
    made: Counter[str] = Counter()
    hits = 0
    for _ in range(kills):
        child = _start(root)
        assert child.stdout is not None
        for _ in range(chance.randrange(3, 15)):
            line = child.stdout.readline().split()
            made.update(line[1:2] if line[:1] == ["made"] else [])
        time.sleep(chance.random() * 0.02)
        child.kill()
        made.update(line.split()[1] for line in child.stdout.read().splitlines() if "made" in line)
        child.stdout.close()
        hits += child.wait() == -9
    child = _start(root)
    out, _ = child.communicate(timeout=600)
    made.update(line.split()[1] for line in out.splitlines() if line.startswith("made"))
    told = next(line.split() for line in out.splitlines() if line.startswith("done"))
    work = WorkFile(root / "matters" / CODE / "work.sqlite")
    try:
        answer = work.answer(told[1])  # type: ignore[arg-type]
    finally:
        work.close()
    named = re.findall(r"\bof part (\d+)\b", answer.text)  # as every sentence of the folder says
    heads = Counter(number for number, _ in itertools.groupby(named))  # a part is a run of them
    return {
        "kills": hits,
        "covered": answer.coverage.pages_read,
        "documents_in_reply": len(heads),
        "pages_twice": _PAGES_EACH * sum(count - 1 for count in heads.values()),
        "made_again": sum(count > 1 for count in made.values()),
        "done_once": told[2] == "1",
    }


def _write_folder(folder: Path, documents: int) -> None:
    folder.mkdir(parents=True)
    for number in range(documents):
        pages = [
            "\n\n".join(
                f"On page {page} of part {number} the {subject} was looked at by the surveyor,"
                f" who wrote that it was {chance} years old."
                for chance, subject in enumerate(_SUBJECTS[page : page + 4], start=number + page)
            )
            for page in range(1, _PAGES_EACH + 1)
        ]
        (folder / f"part {number:03d}.txt").write_text("\f".join(pages), "utf-8")


def _start(root: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.pipeline_kill", str(root)],
        stdout=subprocess.PIPE,
        text=True,
    )


async def _child(root: Path) -> None:
    real = summary._one

    async def told(desk: Any, info: Any, most: int) -> tuple[str, str]:
        print("made", info.id, flush=True)
        return await real(desk, info, most)

    queue = open_queue(root / "queue.sqlite", utc_now)
    try:
        with mock.patch.object(summary, "_one", told):
            async with open_house(root, queue=queue) as house:
                await _summarize(house)
    finally:
        await queue.close()


async def _summarize(house: House) -> None:
    answer = await house.answer(Summarize(matter=CODE, key=_KEY))
    jobs = await house.queue.jobs(CODE, 50)
    print("done", answer.job, len(jobs), flush=True)


if __name__ == "__main__":
    asyncio.run(_child(Path(sys.argv[1])))
