"""One box of the hand-off trial, in a process of its own: gateway, way to the other box, lender,
engine, and the runner of its boards.

    python -m bench.growth_box STATE NAME OTHER CONNINFO PORT

Prints ``port N`` once its gateway listens, reads the other gateway's port from standard input, and
prints ``ready``. A job asks the engine the question that lies in the matter's folder here and
writes the answer beside it. Which calls were handed to the other box stands in ``handed.txt``,
how often an answer was written in ``effects.txt``.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

from protocol.events import Completed, EngineLost, Words
from worker.boxes import LEND, Rules
from worker.boxes.borrowed import Borrowed
from worker.boxes.handing import HandOff
from worker.boxes.lender import Lender
from worker.engine import (
    Engine,
    EngineSettings,
    Limits,
    Prompt,
    Request,
    Text,
)
from worker.engine import EngineLost as Lost
from worker.engine.scripted import Line, Scripted
from worker.gateway import GatewaySettings
from worker.gateway.boxes import BoxWay, OtherBox
from worker.gateway.listener import Gateway
from worker.jobs import JobContext, StepValue, open_shared_queue
from worker.jobs.runner import Runner
from worker.logs import setup

MODEL = "ab" * 32
"""Stands for the hash of the weights, the same on both boxes."""
STAYING = "M-STAY"
"""The matter that never leaves its box."""
TOKENS = 20
TOKEN_S = 0.03
_TRIES = 6


def answer(question: str) -> str:
    """What the scripted engine says: every word of it depends on the question."""
    mark = hashlib.sha256(question.encode()).hexdigest()[:8]
    return " ".join(f"{mark}{number:02d}" for number in range(TOKENS))


class Box:
    """The jobs' side of the box."""

    def __init__(self, state: Path, name: str) -> None:
        self.state = state
        self.name = name
        self.handed = os.open(state / "handed.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.effects = os.open(state / "effects.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.lender: Lender
        self.engines: dict[str, Engine] = {}

    def told(self, request: Request, what: str) -> None:
        """Notes a hand-off at once: a file survives the process."""
        os.write(self.handed, f"{request.id.partition('.')[0]} {what}\n".encode())

    async def work(self, context: JobContext) -> Completed:
        """A call for the other box, or a question of our own."""
        if context.kind == LEND:
            return await self.lender.work(context)
        folder = self.state / "matters" / context.matter
        question = (folder / f"{context.request_sha256}.txt").read_text("utf-8")

        async def ask() -> StepValue:
            said = await self._asked(context, question)
            path = folder / f"{context.job}.answer"
            path.with_suffix(".part").write_text(said, "utf-8")
            path.with_suffix(".part").replace(path)
            os.write(self.effects, f"{context.job}\n".encode())
            return {"sha256": hashlib.sha256(said.encode()).hexdigest()}

        kept = await context.step("answer", ask)
        return Completed(answer_sha256=kept["sha256"], verified=0, to_look_at=1, failing=0)

    async def _asked(self, context: JobContext, question: str) -> str:
        for attempt in range(1, _TRIES + 1):
            request = Request(
                id=f"{context.job}.{context.attempt}.{attempt}",
                matter=context.matter,
                prompt=Prompt(system="Answer.", question=question),
                limits=Limits(max_tokens=200),
            )
            said: list[str] = []
            try:
                async with aclosing(self.engines[context.board].stream(request)) as events:
                    async for event in events:
                        if isinstance(event, Text):
                            said.append(event.delta)
                            if len(said) == 1:
                                await context.say(Words(part=attempt))
                return "".join(said)
            except Lost:
                await context.say(EngineLost())
        raise Lost("the model did not come back")


async def main(state: Path, name: str, other: str, conninfo: str, port: int) -> None:
    """Runs the box until it is killed or its standard input closes."""
    run = state / "run"
    box = Box(state, name)
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(
            Gateway(
                GatewaySettings(
                    host="127.0.0.1",
                    port=port,
                    host_keys=(state / "host",),
                    users=state / "users.toml",
                    worker=run / "worker.sock",
                    lender=run / "lender.sock",
                )
            ).open()
        )
        tell(f"port {gateway.port}")
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
        )
        far = int(await lines.readline())
        kind, blob = (state / "other_host.pub").read_text().split()[:2]
        (state / "known_hosts").write_text(f"[127.0.0.1]:{far} {kind} {blob}\n")
        way = OtherBox(
            host="127.0.0.1",
            port=far,
            key=state / "key",
            known_hosts=state / "known_hosts",
            socket=run / f"{other}.sock",
        )
        await stack.enter_async_context(BoxWay(way).open())
        queue = open_shared_queue(conninfo, box=name)
        stack.push_async_callback(queue.close)
        own = Scripted(lambda request: Line(text=answer(asked(request)), token_s=TOKEN_S))
        await own.start()
        stack.push_async_callback(own.stop)
        rules = Rules(name, leaving=("M-AAAA", "M-BBBB", STAYING), staying=(STAYING,))
        box.lender = await stack.enter_async_context(
            Lender(own, queue, board=f"{name}.a", model_sha256=MODEL, rules=rules).open(
                run / "lender.sock"
            )
        )
        settings = EngineSettings(
            engine="remote",
            endpoint=str(run / f"{other}.sock"),
            model_sha256=MODEL,
            stall_timeout_s=20.0,
        )
        borrowed = Borrowed(settings, rules, weight_s=1.0)
        stack.push_async_callback(borrowed.stop)
        out = HandOff(own, [borrowed], rules, own_first=False, alone_s=0.5, told=box.told)
        box.engines = {f"{name}.a": own, f"{name}.out": out}

        async def idle(board: str) -> None:
            await own.wait_idle(30.0)

        runner = Runner(queue, {f"{name}.a": 1, f"{name}.out": 2}, box.work, idle=idle)
        await runner.start()
        stack.push_async_callback(runner.shut_down)
        tell("ready")
        await lines.read()  # closed: the trial is over


def asked(request: Request) -> str:
    """The question as it came, over SSH or not."""
    return request.prompt.question


def tell(line: str) -> None:
    """Says something to the trial."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    setup()
    given = sys.argv
    asyncio.run(main(Path(given[1]), given[2], given[3], given[4], int(given[5])))
