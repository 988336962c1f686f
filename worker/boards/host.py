"""What the box itself says: memory, PCI and error counters under ``/sys``, the kernel's log.

Every function takes the root of the tree it reads, so that a copy of one can be read too.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from worker.boards import Gpu, HostMemory, Survey, known

_SYS: Final = Path("/sys")
_PROC: Final = Path("/proc")
_NVIDIA: Final = "0x10de"
_DISPLAY_CLASS: Final = 0x03
_VOLTA_IDS: Final = range(0x1DB0, 0x1DC0)
"""PCI device ids of the V100 family (GV100)."""


def read_memory(proc: Path = _PROC) -> HostMemory:
    """The box's memory; zeros where ``/proc/meminfo`` cannot be read."""
    kib: dict[str, int] = {}
    try:
        for line in (proc / "meminfo").read_text("ascii").splitlines():
            name, _, rest = line.partition(":")
            number = rest.split()
            if number and number[0].isdigit():
                kib[name] = int(number[0])
    except OSError:
        pass
    return HostMemory(
        total_bytes=kib.get("MemTotal", 0) * 1024,
        available_bytes=kib.get("MemAvailable", 0) * 1024,
        free_bytes=kib.get("MemFree", 0) * 1024,
        cached_bytes=kib.get("Cached", 0) * 1024,
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text("ascii").split()[0], 0)
    except (OSError, ValueError, IndexError):
        return None


def with_host_facts(survey: Survey, memory: HostMemory, sys: Path = _SYS) -> Survey:
    """Adds each card's NUMA node, and the box's memory to a card that shares it.

    Only a part known to be integrated (GB10) takes the box's memory: a discrete card whose call
    failed stays without.
    """
    gpus = []
    for gpu in survey.gpus:
        node = _number(sys / "bus/pci/devices" / gpu.pci / "numa_node")
        changed = msgspec.structs.replace(
            gpu, numa_node=node if node is not None and node >= 0 else None
        )
        if shares_memory(gpu):
            changed = msgspec.structs.replace(
                changed,
                unified=True,
                memory_bytes=memory.total_bytes,
                memory_free_bytes=memory.available_bytes,
            )
        gpus.append(changed)
    return msgspec.structs.replace(survey, gpus=tuple(gpus))


def shares_memory(gpu: Gpu) -> bool:
    """Whether the part is known to have no memory of its own."""
    return "GB10" in gpu.name or (gpu.compute == "12.1" and known(gpu.memory_bytes) is None)


def volta_on_bus(sys: Path = _SYS) -> int:
    """Volta cards that PCI lists, whether or not the driver takes them."""
    count = 0
    for device in sorted((sys / "bus/pci/devices").glob("*")):
        try:
            vendor = (device / "vendor").read_text("ascii").strip()
        except OSError:
            continue
        identity = _number(device / "device")
        count += vendor == _NVIDIA and identity in _VOLTA_IDS
    return count


def nvidia_on_bus(sys: Path = _SYS) -> int:
    """NVIDIA display and compute devices that PCI lists."""
    count = 0
    for device in sorted((sys / "bus/pci/devices").glob("*")):
        try:
            vendor = (device / "vendor").read_text("ascii").strip()
        except OSError:
            continue
        count += vendor == _NVIDIA and (_number(device / "class") or 0) >> 16 == _DISPLAY_CLASS
    return count


class HostCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Error counters of the box since it started."""

    aer_corrected: dict[str, int] = {}
    """PCI address to corrected bus errors."""
    aer_fatal: dict[str, int] = {}
    memory_corrected: int = 0
    """Corrected errors of the box's own memory."""
    memory_uncorrected: int = 0


def read_counts(addresses: Iterable[str], sys: Path = _SYS) -> HostCounts:
    """The counters for these PCI addresses and the memory controllers; absent files count as 0."""
    corrected, fatal = {}, {}
    for address in addresses:
        folder = sys / "bus/pci/devices" / address
        corrected[address] = _total(folder / "aer_dev_correctable")
        fatal[address] = _total(folder / "aer_dev_fatal")
    controllers = list((sys / "devices/system/edac/mc").glob("mc[0-9]*"))
    return HostCounts(
        aer_corrected=corrected,
        aer_fatal=fatal,
        memory_corrected=sum(_number(mc / "ce_count") or 0 for mc in controllers),
        memory_uncorrected=sum(_number(mc / "ue_count") or 0 for mc in controllers),
    )


def _total(path: Path) -> int:
    """The ``TOTAL_...`` line of an AER file, else the sum of its lines."""
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError:
        return 0
    rows = [line.split() for line in lines]
    numbers = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    totals = [count for name, count in numbers.items() if name.startswith("TOTAL")]
    return totals[0] if totals else sum(numbers.values())


class KernelSign(msgspec.Struct, frozen=True, kw_only=True):
    """Something the kernel said about a card."""

    pci: str
    xid: int
    """0 for a card that fell off the bus without a number."""


class KernelLog:
    """New lines of the kernel's log, without waiting; none where this user may not read it."""

    def __init__(self, path: Path = Path("/dev/kmsg")) -> None:
        """Opens the log at its end."""
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self._fd, 0, os.SEEK_END)

    @property
    def readable(self) -> bool:
        """Whether this user may read it."""
        return self._fd >= 0

    def lines(self) -> list[str]:
        """What came since the last call."""
        found: list[str] = []
        while self._fd >= 0:
            try:
                record = os.read(self._fd, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:  # records were overwritten before they were read
                continue
            except OSError:
                break
            if not record:
                break
            found += record.decode("utf-8", "replace").splitlines()
        return found

    def close(self) -> None:
        """Closes it; twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


_XID: Final = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)")
_OFF_BUS: Final = re.compile(
    r"NVRM: GPU (?:at PCI:)?([0-9a-fA-F:.]+).*(?:fallen off the bus|is lost)", re.IGNORECASE
)


def read_signs(lines: Iterable[str]) -> Iterator[KernelSign]:
    """Xid messages and cards that left the bus, from lines of the kernel's log."""
    for line in lines:
        if found := _XID.search(line):
            yield KernelSign(pci=_address(found[1]), xid=int(found[2]))
        elif found := _OFF_BUS.search(line):
            yield KernelSign(pci=_address(found[1]), xid=0)


def _address(said: str) -> str:
    """``0000:41:00`` and ``0000:41:00.0`` as sysfs writes them."""
    address = said.lower().rstrip(".:")
    domain, _, rest = address.partition(":")
    whole = f"{domain[-4:]}:{rest}"
    return whole if "." in whole else f"{whole}.0"
