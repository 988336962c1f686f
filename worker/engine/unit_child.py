"""A server that an engine's unit lends: to the keeper what `worker.engine.child.Child` is.

The unit is a program of another user; it is reached by its control socket alone. Closing that line
ends the server, so a hung or condemned engine is got rid of without a right over its unit.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import msgspec

from protocol.errors import Unavailable
from worker.engine import EngineSettings
from worker.engine.server_flags import server_binary, server_program, setting_flags
from worker.engine.unit_words import Ended, InUse, Said, Serves, mark_of

_POLL_S = 0.2
_IN_USE_S = 10.0
"""As long as the line of a worker that was just killed may take to close."""
_ENDED = "the unit of the engine ended"


class UnitChild:
    """A lent server, ours until `stop`."""

    def __init__(
        self, serves: Serves, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.serves = serves
        self._writer = writer
        self._reason = ""
        self._watch = asyncio.create_task(self._until_gone(reader), name="engine-unit-line")

    @classmethod
    async def attach(cls, control: Path, timeout_s: float) -> UnitChild:
        """The server of the unit that listens there, once it has one that is proven.

        Args:
            control: The unit's control socket.
            timeout_s: How long to wait for it: loading weights may take minutes.

        Raises:
            Unavailable: The unit is not there in time, or another program uses its engine.
        """
        loop = asyncio.get_running_loop()
        end, busy_end = loop.time() + timeout_s, loop.time() + min(timeout_s, _IN_USE_S)
        while True:
            said, line = await _first_words(control, end - loop.time())
            if isinstance(said, Serves) and line is not None:
                return cls(said, *line)
            if isinstance(said, InUse) and loop.time() > busy_end:
                raise Unavailable("another program uses this engine's unit")
            if loop.time() > end:
                raise Unavailable(
                    "the engine's unit does not answer",
                    next_step="systemctl status 'secondchair-engine-*'",
                )
            await asyncio.sleep(_POLL_S)

    def refuse_other(self, settings: EngineSettings, model: Path) -> None:
        """Nothing when the server is the one that our settings mean.

        Raises:
            Unavailable: Flags, program, environment or weights are not those of the settings.
        """
        serves = self.serves
        same = (
            serves.flags == tuple(setting_flags(settings, model=model))
            and serves.program == tuple(server_program(settings))
            and serves.environment == settings.environment
        )
        if not same:
            raise Unavailable(
                "the engine's unit runs with other settings than the worker's",
                next_step="secondchair-worker init --service, then restart the unit",
            )
        if (mark_of(model), mark_of(server_binary(settings))) != (serves.model, serves.binary):
            raise Unavailable(
                "the engine's unit loaded another file than is there now",
                next_step="restart the unit",
            )

    @property
    def pid(self) -> int:
        return self.serves.pid

    @property
    def alive(self) -> bool:
        return not self._watch.done()

    def reason(self) -> str:
        """Why it ended, in one of our sentences."""
        return self._reason or "the engine does not answer"

    async def wait(self) -> int:
        """Returns once the server is ours no more."""
        await asyncio.wait({self._watch})
        return 0

    async def stop(self) -> None:
        """Let go of it; the unit ends it. Twice is harmless."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        await asyncio.wait({self._watch})

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        try:
            line = await reader.readline()
            said = msgspec.json.decode(line, type=Said) if line else None
            self._reason = said.reason if isinstance(said, Ended) else _ENDED
        except (OSError, ValueError, msgspec.DecodeError):
            self._reason = _ENDED


_Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _first_words(control: Path, timeout_s: float) -> tuple[Said | None, _Line | None]:
    """What the unit says first, and the line when it lends; None while it has nothing to say."""
    writer = None
    try:
        async with asyncio.timeout(max(timeout_s, 0.01)):
            reader, writer = await asyncio.open_unix_connection(control)
            said: Said = msgspec.json.decode(await reader.readline(), type=Said)
            if isinstance(said, Serves):
                line = (reader, writer)
                writer = None
                return said, line
            return said, None
    except (OSError, ValueError, TimeoutError, msgspec.DecodeError):
        return None, None
    finally:
        if writer is not None:
            writer.close()
