"""An engine in a unit of its own: the program that the service manager starts for one board.

It starts the ``llama-server`` that its command line says, has it answer a real completion, and
lends it to whoever connects to its control socket, one program at a time. When that line closes,
for whatever reason, the server is ended and a fresh one is started and proven: nobody meets what
another left in an engine's memory, and a worker that was killed leaves nothing to clear up. It
takes no orders, reads no settings file and knows nothing of matters.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from protocol.errors import AppError, Unavailable
from worker.engine import EngineSettings
from worker.engine.build_help import read_help
from worker.engine.child import Child
from worker.engine.llama_http import LlamaHttp
from worker.engine.loading import until_loaded
from worker.engine.run_folder import RunFolder
from worker.engine.server_flags import placed_flags, server_binary, server_program
from worker.engine.unit_words import CONTROL, Ended, InUse, Mark, Said, Serves, mark_of

_PROOF = {"prompt": "One, two, three,", "n_predict": 4, "temperature": 0, "id_slot": 0}
"""Nobody's text. A health page says "ok" after a fall back to the processor, too."""
_PROOF_S = 120.0

_Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says."""

    folder: Path
    """Where the sockets are made; who may enter it may use the engine."""
    model: Path
    flags: tuple[str, ...]
    """For the server, the model's among them; sockets and folders are added here."""
    binary: Path | None = None
    environment: dict[str, str] = {}
    """Added to the server's scrubbed environment."""
    start_timeout_s: float = 1800.0


class EngineUnit:
    """One board's server after another, each proven and then lent once.

    Args:
        unit: What to run.
        ready: Called whenever a proven server waits to be used.
    """

    def __init__(self, unit: Unit, ready: Callable[[], None] = lambda: None) -> None:
        self._unit = unit
        self._ready = ready
        self._lines: asyncio.Queue[_Line] = asyncio.Queue()
        self._taken = False
        self._child: Child | None = None

    async def run(self) -> None:
        """Works until it is cancelled.

        Raises:
            Unavailable: A server did not start, was not proven, or ended while nobody used it. The
                service manager starts the unit again.
            BadRequest: The build does not know one of the flags.
        """
        folder = self._unit.folder
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        control = folder / CONTROL
        control.unlink(missing_ok=True)
        try:
            serves = await self._come_up()
            async with await asyncio.start_unix_server(self._came, control):
                control.chmod(0o660)
                while True:
                    self._ready()
                    await self._lend(serves)
                    serves = await self._come_up()
        finally:
            control.unlink(missing_ok=True)
            await self._end_child()

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._taken:
            await _say(writer, InUse())
            writer.close()
            return
        self._taken = True
        self._lines.put_nowait((reader, writer))

    async def _lend(self, serves: Serves) -> None:
        """One server's life: until the line of the one who uses it closes, or it ends."""
        assert self._child is not None
        ended = asyncio.create_task(self._child.wait())
        came = asyncio.create_task(self._lines.get())
        let_go: asyncio.Task[None] | None = None
        try:
            await asyncio.wait({ended, came}, return_when=asyncio.FIRST_COMPLETED)
            if not came.done():
                raise Unavailable(self._child.reason())
            reader, writer = came.result()
            try:
                await _say(writer, serves)
                let_go = asyncio.create_task(_closed(reader))
                await asyncio.wait({ended, let_go}, return_when=asyncio.FIRST_COMPLETED)
                if ended.done():
                    await _say(writer, Ended(reason=self._child.reason()))
            finally:
                writer.close()
                self._taken = False
        finally:
            for task in (ended, came, let_go):
                if task is not None:
                    task.cancel()
            await self._end_child()

    async def _come_up(self) -> Serves:
        """A fresh server that loaded its weights and answered."""
        unit = self._unit
        settings = EngineSettings(binary=unit.binary)
        program = server_program(settings)
        run = RunFolder(unit.folder / "own")
        self._sweep()
        socket = unit.folder / run.new_socket().name
        flags = placed_flags(
            unit.flags, socket=socket, slots=run.folder("slots"), build=await read_help(program)
        )
        marks = await asyncio.to_thread(mark_of, unit.model), mark_of(server_binary(settings))
        self._child = await Child.start([*program, *flags], unit.environment)
        api = LlamaHttp(str(socket))
        try:
            await until_loaded(self._child, api, unit.start_timeout_s)
            socket.chmod(0o660)
            await _prove(api)
        finally:
            await api.close()
        return self._serves(socket, program, marks)

    def _serves(self, socket: Path, program: list[str], marks: tuple[Mark, Mark]) -> Serves:
        assert self._child is not None
        return Serves(
            pid=self._child.pid,
            socket=str(socket),
            program=tuple(program),
            flags=self._unit.flags,
            environment=self._unit.environment,
            model=marks[0],
            binary=marks[1],
        )

    async def _end_child(self) -> None:
        if self._child is not None:
            await self._child.stop()
            self._child = None
        self._sweep()

    def _sweep(self) -> None:
        for old in self._unit.folder.glob("e????????.sock"):
            old.unlink(missing_ok=True)


async def _prove(api: LlamaHttp) -> None:
    """A few words, really written; then the slot is emptied.

    Raises:
        Unavailable: It wrote nothing, or did not answer.
    """
    try:
        answer = await api.post("/completion", _PROOF, timeout_s=_PROOF_S)
        written = int(answer["tokens_predicted"])
        await api.erase_slot(0)
    except (AppError, KeyError, TypeError, ValueError) as error:
        raise Unavailable("the engine came up and does not answer a completion") from error
    if written < 1:
        raise Unavailable("the engine came up and writes nothing")


async def _say(writer: asyncio.StreamWriter, said: Said) -> None:
    with contextlib.suppress(OSError):
        writer.write(msgspec.json.encode(said) + b"\n")
        await writer.drain()


async def _closed(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(OSError):
        while await reader.read(4096):
            pass


def variables(names: tuple[str, ...]) -> dict[str, str]:
    """The named variables of this process, for the server.

    Raises:
        Unavailable: One is not set.
    """
    for name in names:
        if name not in os.environ:
            raise Unavailable(f"the variable {name} of the engine's unit is not set")
    return {name: os.environ[name] for name in names}
