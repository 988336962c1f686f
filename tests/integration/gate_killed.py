"""A process that is killed at a named point of an export; `test_gate_races` runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from bench.house import YOU, open_house, utc_now
from protocol.answers import GREEN, ReviewState
from protocol.jobs import Decide, Export
from worker.audit import Journal
from worker.export import Prepared
from worker.jobs import open_queue
from worker.workfile import WorkFile

PLACES = {
    "before_seal": (Journal, "seal", False),
    "after_seal": (Journal, "seal", True),
    "after_decision": (WorkFile, "put_decision", True),
    "before_publish": (Prepared, "publish", False),
    "after_publish": (Prepared, "publish", True),
}


def die_at(point: str) -> None:
    """From now on, the first call of that function ends this process."""
    owner, name, after = PLACES[point]
    whole = getattr(owner, name)

    def dying(*args, **kwargs):
        if after:
            whole(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)


async def main(root: Path, point: str) -> None:
    queue = open_queue(root / "queue.sqlite", utc_now)
    async with open_house(root, queue=queue) as house:
        answer = await house.answer(house.ask("How much is the base rent per month?"))
        decide = Decide(
            job=answer.job,
            answer_sha256=answer.text_sha256,
            state=ReviewState.APPROVED,
            key="approve",
            acknowledged={one.number: "seen" for one in answer.items if one.verdict not in GREEN},
        )
        await house.gate.decide(decide, YOU)
        sys.stdout.write(f"{answer.job}\n")
        sys.stdout.flush()
        die_at(point)
        await house.gate.export(Export(job=answer.job, format="json", key="export"), YOU)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
