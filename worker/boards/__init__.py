"""What the hardware is and what fits on it: GPUs, boards, model files, placement, health.

The values every file of this room shares. A GPU is named by its UUID: CUDA, the driver and the
system number cards differently and may renumber at a restart, so an index is for display only. A
board is a set of GPUs each of which is joined to every other one by NVLink; a card without NVLink
is a board of its own.

A reading is a value, `Absent` (this part does not have it: nothing is wrong) or `Lost` (the driver
could not reach the card). Absence is never read as zero.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

GIB: Final = 1024**3
MIB: Final = 1024**2


# --- readings ------------------------------------------------------------------------------------


class Absent(msgspec.Struct, frozen=True, tag="absent"):
    """This card or driver does not have the value; that is no fault."""

    reason: str


class Lost(msgspec.Struct, frozen=True, tag="lost"):
    """The driver failed while it read the card."""

    code: int = 15
    """The driver's own number: 15 is a card that is gone from the bus."""


IntReading = int | Absent | Lost


def known(reading: IntReading) -> int | None:
    """The value; None where there is none, for whatever reason."""
    return reading if isinstance(reading, int) else None


class Severity(StrEnum):
    """How much a sign matters, mildest first."""

    OK = "ok"
    WARN = "warn"
    """Work goes on; somebody should look."""
    DRAIN = "drain"
    """The running job may end; then the board is paused."""
    PAUSE = "pause"
    """The board must take no more work."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True, tag="trouble"):
    """The driver as a whole cannot be asked."""

    kind: str
    """no_library, no_driver, version_mismatch, lost_card, silent or driver_error."""
    reason: str
    next_step: str = ""


# --- cards ---------------------------------------------------------------------------------------


class NvLink(msgspec.Struct, frozen=True, kw_only=True):
    """One NVLink of a card."""

    number: int
    active: bool
    remote_pci: str = ""
    """Address of the card at the other end; empty where it is off or ends at a switch."""
    to_switch: bool = False


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One card: what does not change while it runs, and its memory when it was looked at."""

    uuid: str
    index: int
    """The driver's number of it today, for display only."""
    name: str
    pci: str
    """Address as in sysfs: ``0000:41:00.0``."""
    compute: str
    """CUDA compute capability: ``7.0`` is Volta, ``8.6`` an RTX 3090, ``12.1`` a GB10."""
    minor: IntReading
    memory_bytes: IntReading
    memory_free_bytes: IntReading
    foreign_processes: IntReading
    """Programs that hold memory on the card now."""
    links: tuple[NvLink, ...]
    link_width: IntReading
    """PCIe lanes in use."""
    link_width_most: IntReading
    """The smaller of what the card and its slot can do."""
    power_limit_mw: IntReading
    """The limit in force."""
    power_least_mw: IntReading
    power_most_mw: IntReading
    clock_most_mhz: IntReading
    slowdown_c: IntReading
    operating_most_c: IntReading
    memory_most_c: IntReading
    ecc_on: IntReading
    mig_on: IntReading
    numa_node: int | None = None
    unified: bool = False
    """The card shares the box's memory (a DGX Spark)."""

    @property
    def volta(self) -> bool:
        """Whether the last driver branch for it is R580."""
        return self.compute == "7.0"

    @property
    def short(self) -> str:
        """How people call it: its number and address."""
        return f"GPU {self.index} ({self.pci})"


class LostGpu(msgspec.Struct, frozen=True, kw_only=True):
    """A card the driver counts but cannot reach."""

    index: int
    uuid: str = ""
    """Known when the card was seen before, or is the only declared one that is missing."""
    code: int = 15


class Survey(msgspec.Struct, frozen=True, kw_only=True, tag="survey"):
    """What the driver says of all cards."""

    driver: str
    """Version, such as 580.126.09."""
    branch: str
    gpus: tuple[Gpu, ...]
    lost: tuple[LostGpu, ...] = ()
    near: tuple[tuple[str, str, int], ...] = ()
    """Pairs of UUIDs and their nearest common point on PCIe: 10 and 20 switches, 30 a host bridge,
    40 and above another NUMA node or system."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """What one card reads at one moment."""

    at_s: float
    """Seconds of the reader's own clock, which never goes back."""
    uuid: str
    power_mw: tuple[int, ...]
    """Every reading since the sample before, oldest first; empty where the card has none."""
    reachable: IntReading = 0
    """`Lost` when the driver could not reach the card at all."""
    power_limit_mw: IntReading
    utilisation: IntReading
    """Percent of the time in which something ran."""
    sm_clock_mhz: IntReading
    link_width: IntReading
    link_width_most: IntReading
    reasons: IntReading
    """The driver's bits for why clocks are held down."""
    temperature_c: IntReading
    memory_temperature_c: IntReading
    ecc_corrected: IntReading
    """Since the driver was loaded."""
    ecc_uncorrected: IntReading
    pages_single: IntReading
    """Memory pages retired over the card's life after repeated single-bit errors."""
    pages_double: IntReading
    pages_pending: IntReading
    links_active: IntReading
    link_errors: IntReading
    """Sum of NVLink replay, recovery and CRC counts."""
    replays: IntReading
    """PCIe replay count."""


class Samples(msgspec.Struct, frozen=True, kw_only=True, tag="samples"):
    """What all cards read, and the driver's messages since the last time."""

    samples: tuple[Sample, ...]
    xids: tuple[tuple[str, int], ...] = ()
    """UUID and Xid number, in the order in which they came."""
    driver: str = ""


# --- boards --------------------------------------------------------------------------------------


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """A set of GPUs all joined to each other by NVLink; the unit a model is pinned to."""

    name: str
    gpus: tuple[Gpu, ...]
    healthy: bool = True
    reason: str = ""
    """Why it is not, in words."""
    uplinks_healthy: bool = True
    """Whether its PCIe links are as wide as expected; a narrow one may not carry a span."""

    @property
    def uuids(self) -> tuple[str, ...]:
        """Its cards' UUIDs, in the order in which they are listed."""
        return tuple(gpu.uuid for gpu in self.gpus)

    @property
    def memory_bytes(self) -> int:
        """Memory of its cards together; 0 where none is known."""
        return sum(known(gpu.memory_bytes) or 0 for gpu in self.gpus)

    @property
    def numa_nodes(self) -> frozenset[int | None]:
        """The NUMA nodes its cards hang on."""
        return frozenset(gpu.numa_node for gpu in self.gpus)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something to say about the box: what it is, why it matters, what to do."""

    severity: Severity
    kind: str
    reason: str
    next_step: str = ""
    board: str = ""
    uuid: str = ""


class HostMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The box's own memory, from ``/proc/meminfo``."""

    total_bytes: int
    available_bytes: int
    """What programs may still take."""
    free_bytes: int = 0
    cached_bytes: int = 0


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """One machine with its boards."""

    boards: tuple[Board, ...]
    memory: HostMemory
    driver: str = ""
    branch: str = ""
    lost: tuple[LostGpu, ...] = ()
    notices: tuple[Notice, ...] = ()
    near: tuple[tuple[str, str, int], ...] = ()
    trouble: Trouble | None = None
    """Why there are no boards, where the driver cannot be asked."""

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """All cards in the driver's order."""
        return tuple(
            sorted((gpu for board in self.boards for gpu in board.gpus), key=lambda gpu: gpu.index)
        )

    def board_of(self, uuid: str) -> Board | None:
        """The board a card belongs to."""
        return next((board for board in self.boards if uuid in board.uuids), None)
