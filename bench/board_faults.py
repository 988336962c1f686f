"""The faults of the reference builds, injected into simulated boxes; tests and bench share them.

Each fault names the box, what changes, which board must be paused (none, one, or every one) and
what an operator must read. Hold times are shortened, since the rules themselves are tested at their
real length elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench.nvml_double import FakeBox
from worker.boards import Severity
from worker.boards.declared import Declared
from worker.boards.health import Change
from worker.boards.probe import Probe
from worker.boards.verdicts import Thresholds
from worker.boards.watcher import Watcher

SHORT = Thresholds(clock_hold_s=1.0, throttle_hold_s=1.0, soft_heat_hold_s=1.0)
POLL_S = 0.1
DEADLINE_S = 2.0
"""For faults that are silence; the others get `PATIENT_S`: a busy machine is no fault."""
PATIENT_S = 20.0
SETTLE_S = 0.6
"""How long to look on after a fault was found, for boards that should not be touched."""
GIVE_UP_S = 40.0

EVERY = "every board"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault and what must come of it."""

    name: str
    box: str
    inject: Callable[[FakeBox], None]
    pauses: str
    """The board that must be paused, ``EVERY``, or empty for a warning only."""
    rules: frozenset[str]
    words: str
    """Must stand in what the operator reads."""
    kernel: tuple[str, ...] = ()
    """Lines that the kernel's log then shows."""


@dataclass(kw_only=True)
class Outcome:
    """What happened."""

    fault: Fault
    seconds: float | None = None
    """From injection to the first word of it; None when it was not found."""
    pause_seconds: float | None = None
    """From injection to the pause of its board; None when none was paused."""
    message: str = ""
    next_step: str = ""
    paused: set[str] = field(default_factory=set)
    boards: set[str] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    before: list[Change] = field(default_factory=list)
    """Said before anything was wrong; must be empty."""

    @property
    def wanted(self) -> set[str]:
        """The boards that must be paused."""
        if self.fault.pauses == EVERY:
            return self.boards
        return {self.fault.pauses} if self.fault.pauses else set()

    @property
    def detected(self) -> bool:
        """Whether it was named in plain words and its boards, if any, were paused."""
        return (
            self.seconds is not None
            and self.fault.words in self.message
            and bool(self.next_step)
            and self.wanted <= self.paused
        )

    @property
    def wrong(self) -> set[str]:
        """Boards that were paused and should not have been."""
        return self.paused - self.wanted


def _set(card: int, **values: object) -> Callable[[FakeBox], None]:
    return lambda box: box.set(card, **values)


def _fault(
    name: str, box: str, card: int, pauses: str, rule: str, words: str, **values: object
) -> Fault:
    return Fault(
        name=name,
        box=box,
        inject=_set(card, **values),
        pauses=pauses,
        rules=frozenset({rule}),
        words=words,
    )


def _of_build(box: str, card: int, peer: int, board: str, limit_w: int) -> list[Fault]:
    """The faults both reference builds have had, on one card of one board."""
    load: dict[str, Any] = {"util": 95}
    return [
        _fault("link at x4", box, card, "", "link_width", "has 4 PCIe lanes instead of 8", width=4),
        _fault("port split to x4", box, card, "", "link_width", "4 PCIe lanes instead of 8",
               width=4, width_most=4),
        _fault("link at x1", box, card, board, "link_width", "has 1 PCIe lane instead", width=1),
        _fault(f"192 W over {limit_w} W", box, card, board if limit_w == 150 else "", "power_peak",
               f"draws up to 192 W over a limit of {limit_w} W", power=192_000, **load),
        _fault(f"214 W over {limit_w} W", box, card, board, "power_peak",
               f"draws up to 214 W over a limit of {limit_w} W", power=214_000, **load),
        _fault(f"232 W over {limit_w} W", box, card, board, "power_peak",
               f"draws up to 232 W over a limit of {limit_w} W", power=232_000, **load),
        _fault("power limit lost", box, card, "", "power_limit", "may draw 300 W", limit=300_000),
        _fault("clock not capped", box, card, board, "clock_cap", "it should be capped at 1522 MHz",
               clock=1590, **load),
        _fault("hardware slow-down", box, card, board, "throttle", "hardware slow-down", reasons=8),
        _fault("power brake", box, card, board, "throttle", "the power brake", reasons=0x80),
        _fault("too hot", box, card, board, "heat", "is at 88 °C", temp=88),
        _fault("memory of the card too hot", box, card, board, "heat", "its memory 86 °C",
               temp_memory=86),
        _fault("lost card", box, card, board, "lost_card", "is gone from the bus", lost=1),
        _fault("Xid 79", box, card, board, "xid_79", "fell off the bus (Xid 79)", xid=79),
        _fault("Xid 48", box, card, board, "xid_48", "could not be corrected (Xid 48)", xid=48),
        _fault("Xid 63", box, card, board, "xid_63", "a memory page was retired", xid=63),
        _fault("ECC error", box, card, board, "ecc", "1 memory error that could not be corrected",
               ecc_uncorrected=1),
        _fault("retired page pending", box, card, board, "ecc", "wait to be left out",
               pages_pending=1),
        _fault("two more retired pages", box, card, board, "ecc", "lost 2 more memory pages",
               pages_double=2),
        _fault("card hangs", box, card, board, "silent", "has not answered",
               delay__GetTemperature=-1),
        Fault(
            name="NVLink cut", box=box, inject=lambda fake: fake.cut_link(card, peer),
            pauses=board, rules=frozenset({"nvlink_cut"}), words="NVLinks up",
        ),
        Fault(
            name="off the bus without a code", box=box, inject=lambda fake: None, pauses=board,
            rules=frozenset({"xid_0"}), words="fell off the bus", kernel=(f"<pci {card}>",),
        ),
        Fault(
            name="driver files exchanged", box=box, inject=lambda fake: fake.set(None, init=18),
            pauses=EVERY, rules=frozenset({"version_mismatch"}), words="updated while the box ran",
        ),
        Fault(
            name="driver hangs", box=box, inject=lambda fake: fake.set(None, delay__GetCount=-1),
            pauses=EVERY, rules=frozenset({"silent"}), words="has not answered",
        ),
        Fault(
            name="driver unloaded", box=box, inject=lambda fake: fake.set(None, init=9),
            pauses=EVERY, rules=frozenset({"no_driver"}), words="not running",
        ),
    ]  # fmt: skip


FAULTS: tuple[Fault, ...] = (
    *_of_build("build_a", 9, 5, "north", 180),
    *_of_build("build_b", 6, 4, "right", 150),
    _fault("lost card of the mixed pair", "build_a", 3, "mixed", "lost_card", "gone", lost=1),
    _fault("lost RTX 3090", "second_box", 2, "geforce-2", "lost_card", "gone", lost=1),
    _fault("Xid 79 without NVLink", "second_box", 5, "volta-2", "xid_79", "fell off", xid=79),
    _fault("lost GB10", "dgx_spark", 0, "spark", "lost_card", "gone", lost=1),
)


async def try_faults(library: Path, folder: Path, *, at_once: int) -> list[Outcome]:
    """Tries every fault, so many at the same time, each on a box of its own."""
    free = asyncio.Semaphore(at_once)

    async def one(number: int, fault: Fault) -> Outcome:
        async with free:
            return await try_fault(fault, library, folder / f"{number}.state")

    return await asyncio.gather(*(one(number, fault) for number, fault in enumerate(FAULTS)))


async def try_fault(fault: Fault, library: Path, state: Path) -> Outcome:
    """Watches a healthy box, injects the fault, and looks what the watcher makes of it."""
    box = FakeBox(fault.box, state)
    declared = msgspec.convert(box.declared(), Declared)
    outcome = Outcome(fault=fault, boards={board.name for board in declared.board})
    heard: list[Change] = []
    kernel: list[str] = []

    async def hear(change: Change) -> None:
        heard.append(change)

    def kernel_lines() -> list[str]:
        lines, kernel[:] = kernel[:], []
        return lines

    watcher = Watcher(
        Probe(
            environment=box.environment(library),
            deadline_s=DEADLINE_S if "silent" in fault.rules else PATIENT_S,
            first_deadline_s=60.0,
        ),
        declared,
        hear,
        thresholds=SHORT,
        fresh_s=2.0,
        kernel_lines=kernel_lines,
    )
    try:
        await watcher.survey()
        for _ in range(3):
            await watcher.step()
            await asyncio.sleep(POLL_S)
        outcome.before, heard = heard, []
        fault.inject(box)
        kernel += [_kernel_line(line, box) for line in fault.kernel]
        start = time.monotonic()
        settled = None
        while time.monotonic() - start < GIVE_UP_S:
            await watcher.step()
            now = time.monotonic()
            found = [change for change in heard if change.rule in fault.rules]
            if found and outcome.seconds is None:
                outcome.seconds = round(now - start, 2)
                outcome.message, outcome.next_step = found[0].reason, found[0].next_step
            if outcome.pause_seconds is None and any(one.kind == "pause" for one in heard):
                outcome.pause_seconds = round(now - start, 2)
            outcome.paused = {change.board for change in heard if change.kind == "pause"}
            if outcome.seconds is not None and outcome.wanted <= outcome.paused:
                settled = settled or now
                if now - settled >= SETTLE_S:
                    break
            await asyncio.sleep(POLL_S)
        outcome.changes = heard
        outcome.message = next(
            (one.reason for one in heard if fault.words in one.reason), outcome.message
        )
    finally:
        await watcher.close()
    return outcome


def _kernel_line(line: str, box: FakeBox) -> str:
    card = int(line.removeprefix("<pci ").removesuffix(">"))
    address = str(box.described["devices"][card]["pci"]).removesuffix(".0")
    return f"NVRM: GPU at PCI:{address}: GPU has fallen off the bus."


def severity_of(outcome: Outcome) -> str:
    """How grave it was, in a word."""
    order = list(Severity)
    return max((change.severity for change in outcome.changes), key=order.index, default="ok")
