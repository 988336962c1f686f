"""Asks the driver through a child with a deadline: a dying card can make every call wait for ever.

A child that stays silent is itself a verdict. It cannot be killed while it waits inside the kernel,
so it is left where it is, nobody waits for it at shut-down, and no second one is started while it
lives; should it come back, it is used again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from worker.boards import Samples, Survey, Trouble
from worker.threads import whole

_FIRST_DEADLINE_S: Final = 15.0
"""The first answer may include loading the driver's library and waking the cards."""
_DEADLINE_S: Final = 5.0
_MOST_BYTES: Final = 4 * 1024**2


class Silent(Trouble, frozen=True, kw_only=True, tag="silent"):
    """The driver did not answer in time."""

    uuid: str = ""
    """The card at which it fell silent; empty when it was the driver as a whole."""


_Answer = Survey | Samples | Trouble


class Probe:
    """One child that reads the cards. Close it at the end; questions are asked one at a time."""

    def __init__(
        self,
        *,
        deadline_s: float = _DEADLINE_S,
        first_deadline_s: float = _FIRST_DEADLINE_S,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            deadline_s: How long one question may take.
            first_deadline_s: The same for the first question to a new child.
            environment: Added to the child's environment (`LD_LIBRARY_PATH` in tests).
        """
        self._deadline_s = deadline_s
        self._first_deadline_s = first_deadline_s
        self._environment = dict(environment or {})
        self._child: asyncio.subprocess.Process | None = None
        self._place = -1
        self._asked = 0
        self._owed = 0
        """Answers a silent child still owes; its lines are dropped if they come after all."""
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The child's process id, where there is one."""
        return self._child.pid if self._child else None

    @property
    def answers(self) -> bool:
        """Whether no answer is owed: a silent child may not be replaced."""
        return not self._owed

    async def survey(self) -> Survey | Trouble:
        """All cards; `Silent` or another `Trouble` where the driver cannot be asked."""
        answer = await self._ask("survey")
        assert not isinstance(answer, Samples)
        return answer

    async def sample(self) -> Samples | Trouble:
        """What all cards read now; `Silent` or another `Trouble` likewise."""
        answer = await self._ask("sample")
        assert not isinstance(answer, Survey)
        return answer

    async def close(self) -> None:
        """Lets the child end; one that does not within a moment is left alone.

        Cancelled meanwhile, it is done with the child before it says so.
        """
        child, self._child = self._child, None
        if self._place >= 0:
            os.close(self._place)
            self._place = -1
        if child is not None:
            await whole(_end(child, 0.1 if self._owed else 2.0))

    # --- inside ----------------------------------------------------------------------------------

    async def _ask(self, question: str) -> _Answer:
        async with self._turn:
            child = await self._living()
            assert child.stdin is not None
            assert child.stdout is not None
            wait_s = self._deadline_s if self._asked else self._first_deadline_s
            self._asked += 1
            try:
                if not self._owed:
                    child.stdin.write(question.encode("ascii") + b"\n")
                    await child.stdin.drain()
                    self._owed = 1
                    self._question = question
                async with asyncio.timeout(wait_s):
                    line = await child.stdout.readline()
            except TimeoutError:
                return self._silence(wait_s)
            except ConnectionError:
                line = b""
            self._owed = 0
            if not line:
                return await self._ended()
            answer = msgspec.json.decode(line, type=_Answer)
            if isinstance(answer, Trouble):
                await self.close()  # the next question gets a fresh start
                return answer
            if self._question != question:  # what a silent child owed came late
                return await self._again(child, question)
            return answer

    async def _again(self, child: asyncio.subprocess.Process, question: str) -> _Answer:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(question.encode("ascii") + b"\n")
        self._owed, self._question = 1, question
        try:
            async with asyncio.timeout(self._deadline_s):
                line = await child.stdout.readline()
        except TimeoutError:
            return self._silence(self._deadline_s)
        self._owed = 0
        return msgspec.json.decode(line, type=_Answer) if line else await self._ended()

    async def _living(self) -> asyncio.subprocess.Process:
        if self._child is not None and self._child.returncode is None:
            return self._child
        if self._place >= 0:
            os.close(self._place)
        self._place = os.memfd_create("secondchair-boards")
        self._asked = self._owed = 0
        await whole(self._start())
        assert self._child is not None
        return self._child

    async def _start(self) -> None:
        self._child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "worker.boards.reader",
            str(self._place),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=(self._place,),
            limit=_MOST_BYTES,
            env=os.environ | self._environment,
            start_new_session=True,
        )

    def _silence(self, waited_s: float) -> Silent:
        at = os.pread(self._place, 96, 0).decode("ascii", "replace").strip(" \0")
        card = "" if at in ("", "driver") else at
        where = "while it read one card" if card else "as a whole"
        return Silent(
            kind="silent",
            uuid=card,
            reason=f"the driver has not answered for {waited_s:.0f} seconds, {where}",
            next_step="look for Xid lines in `dmesg`; a restart of the box is usually needed",
        )

    async def _ended(self) -> Trouble:
        """The reader itself went away, or never started."""
        await self.close()
        return Trouble(
            kind="driver_error",
            reason="the program that reads the cards ended without an answer",
            next_step="run `python -m worker.boards.reader 1` by hand to see why",
        )


async def _end(child: asyncio.subprocess.Process, within_s: float) -> None:
    """Closes its questions, then kills it; one that waits inside the kernel is left."""
    if child.stdin is not None:
        child.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await child.wait()
        return
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            await child.wait()
