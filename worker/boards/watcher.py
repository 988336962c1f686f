"""Watches the boards while the worker runs: asks the probe, tells what changed, pauses boards.

The watcher decides nothing itself: `health` does. It never sets anything on a card. What it calls
(`pausing`) joins it to the queue: a paused board's queue takes no new job, and with severity
``pause`` the running one should be stopped, so that it goes on elsewhere or later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import AppError
from worker.boards import Box, Gpu, HostMemory, Sample, Samples, Severity, Trouble
from worker.boards.declared import Declared
from worker.boards.health import Change, Health, resumed
from worker.boards.host import (
    HostCounts,
    KernelLog,
    read_counts,
    read_memory,
    read_signs,
    volta_on_bus,
    with_host_facts,
)
from worker.boards.probe import Probe
from worker.boards.topology import make_box
from worker.boards.verdicts import Expected, Thresholds, Verdict, expected_of

_AER_A_MINUTE: Final = 10
_CORRECTED_AN_HOUR: Final = 10
_JUDGED_BY_RULES: Final = frozenset({"link_width", "power_limit"})
"""Notices of the first look that the readings bring by themselves."""
_SYS: Final = Path("/sys")

OnChange = Callable[[Change], Awaitable[None]]


class Watcher:
    """One a worker. `run` goes on until it is cancelled."""

    def __init__(
        self,
        probe: Probe,
        declared: Declared,
        on_change: OnChange,
        *,
        poll_s: float = 1.0,
        fresh_s: float = 300.0,
        counts_s: float = 60.0,
        thresholds: Thresholds | None = None,
        clean_s: float = 600.0,
        sys: Path = _SYS,
        kernel_lines: Callable[[], Iterable[str]] | None = None,
        unclean_start: bool = False,
        before: Sequence[Verdict] = (),
    ) -> None:
        """Asks nothing yet.

        Args:
            poll_s: Seconds between readings.
            fresh_s: Seconds after which the probe's child is replaced: only a new one notices that
                the driver's files were exchanged under a running box.
            counts_s: Seconds between looks at the bus and memory counters.
            thresholds: For every card, in place of what the boards file says.
            kernel_lines: New lines of the kernel's log; ``/dev/kmsg`` where None.
            unclean_start: The box came up after a reset without a clean stop: every board starts
                paused until an operator confirms.
            before: What held boards when the worker ended and only an operator may end.
        """
        self._probe = probe
        self._declared = declared
        self._on_change = on_change
        self._poll_s = poll_s
        self._fresh_s = fresh_s
        self._counts_s = counts_s
        self._fresh_at = time.monotonic() + fresh_s
        self._thresholds = thresholds
        self._clean_s = clean_s
        self._sys = sys
        self._log = KernelLog() if kernel_lines is None else None
        self._kernel_lines = kernel_lines or (self._log.lines if self._log else list)
        self._unclean_start = unclean_start
        self._before = tuple(before)
        self._by_pci: dict[str, str] = {}
        self._counts: tuple[float, HostCounts] | None = None
        self._memory: tuple[float, HostCounts] | None = None
        self._untold: list[Change] = []
        self._held: tuple[str, ...] = ()
        """Boards paused because the driver could not be asked at all."""
        self.box: Box | None = None
        """The box as it was at the last survey."""
        self.health: Health | None = None
        """None until a survey came through."""
        self.latest: tuple[Sample, ...] = ()
        """What every card read last."""

    async def run(self) -> None:
        """Surveys, then reads again and again."""
        while True:
            if self.health is None:
                await self.survey()
            else:
                await self.step()
            await asyncio.sleep(self._poll_s)

    async def survey(self) -> Box:
        """Looks at the box anew and starts to judge from there.

        With a driver that cannot be asked, the declared boards are paused and the next call tries
        again.
        """
        memory = read_memory()
        found = await self._probe.survey()
        if not isinstance(found, Trouble):
            found = with_host_facts(found, memory, self._sys)
        self.box = make_box(found, self._declared, memory, volta_on_bus=volta_on_bus(self._sys))
        if isinstance(found, Trouble):
            await self._hold(found)
            return self.box
        self._by_pci = {gpu.pci: gpu.uuid for gpu in found.gpus}
        self._counts = self._memory = (time.monotonic(), read_counts(self._by_pci, self._sys))
        self.health = Health(
            self._homes(self.box),
            {gpu.uuid: self._expected(gpu) for gpu in found.gpus},
            clean_s=self._clean_s,
        )
        now = time.monotonic()
        await self._tell(self.health.say([*self._at_start(self.box), *self._before], now))
        self._before = ()
        await self._let_go(now)
        return self.box

    async def step(self) -> list[Change]:
        """One round of readings; what changed has been told when it returns."""
        assert self.health is not None, "survey comes first"
        if time.monotonic() >= self._fresh_at and self._probe.answers:
            await self._probe.close()
            self._fresh_at = time.monotonic() + self._fresh_s
        read = await self._probe.sample()
        now = time.monotonic()
        changes = self.health.feed(read, now)
        for sign in read_signs(self._kernel_lines()):
            if sign.pci in self._by_pci:
                changes += self.health.xid(self._by_pci[sign.pci], sign.xid, now)
        if isinstance(read, Samples):
            self.latest = read.samples
            changes += self.health.say(self._host_verdicts(now), now)
            changes += self._memory_changes(now)
        await self._tell(changes)
        return changes

    async def resume(self, board: str) -> None:
        """An operator lets a board go on."""
        if self.health is not None:
            await self._tell(self.health.resume(board, time.monotonic()))

    async def close(self) -> None:
        """Lets the probe's child end."""
        if self._log is not None:
            self._log.close()
        await self._probe.close()

    def homes(self) -> dict[str, list[str]]:
        """Boards and their cards as known now: declared ones, then those that were seen."""
        return self._homes(
            self.box or Box(boards=(), memory=HostMemory(total_bytes=0, available_bytes=0))
        )

    @property
    def away(self) -> bool:
        """Whether boards are held because the driver could not be asked at all."""
        return bool(self._held)

    # --- inside ----------------------------------------------------------------------------------

    async def _hold(self, trouble: Trouble) -> None:
        """Pauses the declared boards, once, while the driver cannot be asked."""
        if not self._held:
            self._held = tuple(board.name for board in self._declared.board)
            await self._tell(_whole_board(name, trouble) for name in self._held)

    async def _let_go(self, now: float) -> None:
        """Ends that pause for boards that nothing else holds."""
        assert self.health is not None
        free = [name for name in self._held if name not in self.health.paused]
        self._held = ()
        await self._tell(resumed(name, "the driver answers again", now) for name in free)

    def _expected(self, gpu: Gpu) -> Expected:
        expected = expected_of(gpu, self._declared.of(gpu.uuid))
        return msgspec.structs.replace(
            expected,
            thresholds=self._thresholds or expected.thresholds,
            reset_lately=self._unclean_start,
        )

    def _homes(self, box: Box) -> dict[str, list[str]]:
        """Boards and their cards: as declared where they are, so that a lost card has a home."""
        homes = {board.name: list(board.gpus) for board in self._declared.board}
        homed = {uuid for uuids in homes.values() for uuid in uuids}
        for board in box.boards:
            for uuid in board.uuids:
                if uuid not in homed:
                    homes.setdefault(board.name, []).append(uuid)
        return homes

    def _at_start(self, box: Box) -> list[Verdict]:
        verdicts = []
        for notice in box.notices:
            if notice.kind in _JUDGED_BY_RULES:
                continue
            home = self._declared.of(notice.uuid)
            board = box.board_of(notice.uuid)
            uuid = notice.uuid or next(
                (one.gpus[0] for one in self._declared.board if one.name == notice.board), ""
            )
            if not uuid and (home or board) is None:
                continue
            verdicts.append(
                Verdict(
                    rule=f"host_{notice.kind}",
                    severity=notice.severity,
                    uuid=uuid,
                    reason=notice.reason,
                    next_step=notice.next_step,
                )
            )
        if self._unclean_start:
            verdicts += [
                Verdict(
                    rule="unclean",
                    severity=Severity.PAUSE,
                    uuid=board.gpus[0].uuid,
                    reason="the box went down without a clean stop",
                    next_step="look for what happened (`journalctl -b -1 -k`), then resume",
                )
                for board in box.boards
            ]
        return verdicts

    def _host_verdicts(self, now: float) -> list[Verdict]:
        """Bus errors of the cards, by the minute."""
        before = self._counts
        if before is None or now - before[0] < self._counts_s:
            return []
        counts = read_counts(self._by_pci, self._sys)
        self._counts = (now, counts)
        return bus_verdicts(before[1], counts, self._by_pci)

    def _memory_changes(self, now: float) -> list[Change]:
        """Errors of the box's own memory since the start, then hour by hour."""
        if self._counts is None or self._memory is None:
            return []
        found = memory_change(self._memory[1], self._counts[1], now)
        if found or now - self._memory[0] >= 3600.0:
            self._memory = self._counts
        return found

    async def _tell(self, changes: Iterable[Change]) -> None:
        """Tells what changed, in order; what could not be told is told again in the next round."""
        self._untold += changes
        while self._untold:
            try:
                await self._on_change(self._untold[0])
            except AppError:
                return
            del self._untold[0]


def bus_verdicts(before: HostCounts, now: HostCounts, by_pci: dict[str, str]) -> list[Verdict]:
    """What a minute's bus errors mean: corrected ones warn above ten, a fatal one pauses."""
    verdicts = []
    for pci, uuid in by_pci.items():
        fatal = now.aer_fatal.get(pci, 0) - before.aer_fatal.get(pci, 0)
        corrected = now.aer_corrected.get(pci, 0) - before.aer_corrected.get(pci, 0)
        if fatal > 0:
            verdicts.append(
                Verdict(
                    rule="aer_fatal",
                    severity=Severity.PAUSE,
                    uuid=uuid,
                    reason=f"the bus to the card at {pci} failed",
                    next_step="shut down and reseat the card and its riser",
                )
            )
        elif corrected > _AER_A_MINUTE:
            verdicts.append(
                Verdict(
                    rule="aer_corrected",
                    severity=Severity.WARN,
                    uuid=uuid,
                    reason=f"{corrected} transfers to the card at {pci} were repeated in a minute",
                    next_step="reseat the card or its riser at the next chance",
                )
            )
    return verdicts


def memory_change(before: HostCounts, now: HostCounts, at_s: float) -> list[Change]:
    """What errors of the box's own memory mean; they belong to no board."""
    lost = now.memory_uncorrected - before.memory_uncorrected
    mended = now.memory_corrected - before.memory_corrected
    if lost <= 0 and mended <= _CORRECTED_AN_HOUR:
        return []
    said = f"{lost} that could not be corrected" if lost > 0 else f"{mended} corrected in an hour"
    return [
        Change(
            kind="verdict",
            board="",
            severity=Severity.WARN,
            rule="host_memory",
            reason=f"the box's own memory had errors: {said}",
            next_step="run its memory at DDR4-2666, reseat the modules, then change the bad one",
            at_s=at_s,
        )
    ]


def _whole_board(name: str, trouble: Trouble) -> Change:
    return Change(
        kind="pause",
        board=name,
        severity=Severity.PAUSE,
        rule=trouble.kind,
        reason=trouble.reason,
        next_step=trouble.next_step,
        at_s=time.monotonic(),
    )
