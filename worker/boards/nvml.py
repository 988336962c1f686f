"""The driver's one door: a child program that reads every card through NVML and says it as JSON.

``python -m worker.boards.nvml FD`` answers each line on standard input (``survey`` or ``sample``)
with one line, and ends when its input ends. It writes the UUID of the card it is about to touch to
the file FD, so that when a call never returns, the parent can say at which card. Between questions
it reads the power of every card, since a peak of a fraction of a second matters there.

A card that is lost raises at its own calls only; the others are still read. Nothing is ever set.

Source of the calls and their traps: NVIDIA's NVML reference; error numbers as in ``nvml.h``.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import pynvml as nv  # noqa: TID251  (this is the door)

from worker.boards import (
    Absent,
    Gpu,
    IntReading,
    Lost,
    LostGpu,
    NvLink,
    Sample,
    Samples,
    Survey,
    Trouble,
)

_TICK_S: Final = 0.15
"""Time between power readings: Volta reports the power of the moment, so peaks must be caught."""
_MOST_READINGS: Final = 600
_ABSENT: Final = {
    nv.NVML_ERROR_NOT_SUPPORTED: "this part does not report it",
    nv.NVML_ERROR_FUNCTION_NOT_FOUND: "this driver does not know the question",
    nv.NVML_ERROR_NO_DATA: "there is no reading yet",
    nv.NVML_ERROR_NO_PERMISSION: "this user may not read it",
}
_FIELD_MEMORY_TEMPERATURE: Final = 82
_FIELD_POWER_INSTANT: Final = 186
_LINK_COUNTERS: Final = (0, 1, 2, 3)  # replay, recovery, CRC of flits, CRC of data
_AT_DRIVER: Final = "driver"

TROUBLES: Final = {
    nv.NVML_ERROR_LIBRARY_NOT_FOUND: Trouble(
        kind="no_library",
        reason="no NVIDIA driver is installed on this box",
        next_step="install driver branch 580 (nvidia-driver-580-server), then restart",
    ),
    nv.NVML_ERROR_DRIVER_NOT_LOADED: Trouble(
        kind="no_driver",
        reason="the NVIDIA driver is installed but not running",
        next_step="run `modprobe nvidia`, and look at `dmesg` if that fails; no card is usable yet",
    ),
    nv.NVML_ERROR_LIB_RM_VERSION_MISMATCH: Trouble(
        kind="version_mismatch",
        reason="the driver was updated while the box ran: its library and its kernel part differ",
        next_step="restart the box, then hold the driver packages so that no update repeats this",
    ),
    nv.NVML_ERROR_GPU_IS_LOST: Trouble(
        kind="lost_card",
        reason="the driver cannot start because a card is gone from the bus",
        next_step="shut the box down, check that card's seat and power connectors, start again",
    ),
}


def trouble(code: int) -> Trouble:
    """The verdict for an error of the driver as a whole."""
    return TROUBLES.get(
        code,
        Trouble(
            kind="driver_error",
            reason=f"the driver refuses to answer (error {code})",
            next_step="look at `dmesg`; a restart of the box often helps",
        ),
    )


def read(call: Callable[..., Any], *args: object) -> IntReading:
    """One reading; what the part lacks is `Absent`, any other failure `Lost` with its number."""
    try:
        return int(call(*args))
    except nv.NVMLError as error:
        code = int(error.value)
        return Absent(_ABSENT[code]) if code in _ABSENT else Lost(code)


def _text(said: str | bytes) -> str:
    """The binding gives text or bytes, by call and version."""
    return said if isinstance(said, str) else said.decode("ascii", "replace")


def _sysfs(bus_id: str) -> str:
    """A PCI address with the four-digit domain of sysfs instead of the driver's eight."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


class Reader:
    """Reads all cards; knows those it has seen, so that a lost one can be named."""

    def __init__(self, mark: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._mark = mark
        self._clock = clock
        self._uuids: dict[int, str] = {}
        self._pointers: dict[int, str] = {}
        self._events: Any = None
        self._watched: set[str] = set()
        self._power: dict[str, list[int]] = {}

    def start(self) -> None:
        """Opens the driver without waking cards it has not attached.

        Raises:
            nv.NVMLError: It cannot be opened.
        """
        self._mark(_AT_DRIVER)
        nv.nvmlInitWithFlags(nv.NVML_INIT_FLAG_NO_ATTACH)

    # --- listing ---------------------------------------------------------------------------------

    def _cards(self) -> tuple[dict[str, Any], tuple[LostGpu, ...]]:
        """Handles by UUID, and the cards that could not be reached."""
        self._mark(_AT_DRIVER)
        handles: dict[str, Any] = {}
        lost = []
        for index in range(int(nv.nvmlDeviceGetCount())):
            self._mark(self._uuids.get(index, _AT_DRIVER))
            try:
                handle = nv.nvmlDeviceGetHandleByIndex(index)
                uuid = str(nv.nvmlDeviceGetUUID(handle))
            except nv.NVMLError as error:
                seen = self._uuids.get(index, "")
                lost.append(LostGpu(index=index, uuid=seen, code=int(error.value)))
                continue
            self._uuids[index] = uuid
            self._pointers[ctypes.cast(handle, ctypes.c_void_p).value or 0] = uuid
            handles[uuid] = handle
        return handles, tuple(lost)

    def survey(self) -> Survey:
        """Every card with what does not change, and how cards stand to each other."""
        handles, lost = self._cards()
        gpus = []
        order = {uuid: index for index, uuid in self._uuids.items()}
        gone = list(lost)
        for uuid, handle in handles.items():
            self._mark(uuid)
            try:
                gpus.append(_gpu(handle, uuid, order[uuid]))
            except nv.NVMLError as error:
                gone.append(LostGpu(index=order[uuid], uuid=uuid, code=int(error.value)))
        self._mark(_AT_DRIVER)
        return Survey(
            driver=str(nv.nvmlSystemGetDriverVersion()),
            branch=_branch(),
            gpus=tuple(gpus),
            lost=tuple(gone),
            near=self._near(handles),
        )

    def _near(self, handles: dict[str, Any]) -> tuple[tuple[str, str, int], ...]:
        uuids = list(handles)
        near = []
        for at, first in enumerate(uuids):
            self._mark(first)
            for second in uuids[at + 1 :]:
                level = read(
                    nv.nvmlDeviceGetTopologyCommonAncestor, handles[first], handles[second]
                )
                if isinstance(level, int):
                    near.append((first, second, level))
        return tuple(near)

    # --- watching --------------------------------------------------------------------------------

    def tick(self) -> None:
        """Reads the power of every card once."""
        for uuid, handle in self._cards()[0].items():
            self._mark(uuid)
            power = _power(handle)
            if isinstance(power, int):
                kept = self._power.setdefault(uuid, [])
                kept.append(power)
                del kept[:-_MOST_READINGS]

    def sample(self) -> Samples:
        """What every card reads now, with the power readings and driver messages since last."""
        self.tick()
        now = self._clock()
        handles, lost = self._cards()
        samples = []
        for uuid, handle in handles.items():
            self._mark(uuid)
            samples.append(_sample(handle, uuid, now, tuple(self._power.pop(uuid, ()))))
        samples += [_gone(gpu, now) for gpu in lost]
        self._mark(_AT_DRIVER)
        return Samples(
            samples=tuple(samples),
            xids=self._xids(handles),
            driver=str(nv.nvmlSystemGetDriverVersion()),
        )

    def _xids(self, handles: dict[str, Any]) -> tuple[tuple[str, int], ...]:
        try:
            if self._events is None:
                self._events = nv.nvmlEventSetCreate()
        except nv.NVMLError:
            return ()  # the kernel log is read as well
        for uuid in handles.keys() - self._watched:
            self._watched.add(uuid)
            mask = read(nv.nvmlDeviceGetSupportedEventTypes, handles[uuid])
            wanted = nv.nvmlEventTypeXidCriticalError & (mask if isinstance(mask, int) else 0)
            if wanted:
                read(_register, handles[uuid], wanted, self._events)
        seen: list[tuple[str, int]] = []
        while True:
            try:
                event = nv.nvmlEventSetWait_v2(self._events, 0)
            except nv.NVMLError:  # a time-out is the usual answer
                return tuple(seen)
            if event.eventType == nv.nvmlEventTypeXidCriticalError:
                pointer = ctypes.cast(event.device, ctypes.c_void_p).value or 0
                seen.append((self._pointers.get(pointer, ""), int(event.eventData)))


def _register(handle: Any, mask: int, events: Any) -> int:
    nv.nvmlDeviceRegisterEvents(handle, mask, events)
    return 0


# --- one card ------------------------------------------------------------------------------------


def _branch() -> str:
    try:
        return _text(nv.nvmlSystemGetDriverBranch().branch)
    except nv.NVMLError:
        return ""


def _gpu(handle: Any, uuid: str, index: int) -> Gpu:
    major, minor = nv.nvmlDeviceGetCudaComputeCapability(handle)
    return Gpu(
        uuid=uuid,
        index=index,
        name=str(nv.nvmlDeviceGetName(handle)),
        pci=_sysfs(_text(nv.nvmlDeviceGetPciInfo(handle).busId)),
        compute=f"{major}.{minor}",
        minor=read(nv.nvmlDeviceGetMinorNumber, handle),
        memory_bytes=read(lambda: nv.nvmlDeviceGetMemoryInfo(handle).total),
        memory_free_bytes=read(lambda: nv.nvmlDeviceGetMemoryInfo(handle).free),
        foreign_processes=read(lambda: len(nv.nvmlDeviceGetComputeRunningProcesses(handle))),
        links=_links(handle),
        link_width=read(nv.nvmlDeviceGetCurrPcieLinkWidth, handle),
        link_width_most=read(nv.nvmlDeviceGetMaxPcieLinkWidth, handle),
        power_limit_mw=read(nv.nvmlDeviceGetEnforcedPowerLimit, handle),
        power_least_mw=read(lambda: nv.nvmlDeviceGetPowerManagementLimitConstraints(handle)[0]),
        power_most_mw=read(lambda: nv.nvmlDeviceGetPowerManagementLimitConstraints(handle)[1]),
        clock_most_mhz=read(nv.nvmlDeviceGetMaxClockInfo, handle, nv.NVML_CLOCK_SM),
        slowdown_c=read(nv.nvmlDeviceGetTemperatureThreshold, handle, 1),
        operating_most_c=read(nv.nvmlDeviceGetTemperatureThreshold, handle, 3),
        memory_most_c=read(nv.nvmlDeviceGetTemperatureThreshold, handle, 2),
        ecc_on=read(lambda: nv.nvmlDeviceGetEccMode(handle)[0]),
        mig_on=read(lambda: nv.nvmlDeviceGetMigMode(handle)[0]),
    )


def _links(handle: Any) -> tuple[NvLink, ...]:
    """Its NVLinks; the loop ends at the first number the card does not have."""
    links = []
    for number in range(nv.NVML_NVLINK_MAX_LINKS):
        try:
            active = bool(nv.nvmlDeviceGetNvLinkState(handle, number))
        except nv.NVMLError as error:
            if int(error.value) in (*_ABSENT, nv.NVML_ERROR_INVALID_ARGUMENT):
                break
            raise
        links.append(_link(handle, number) if active else NvLink(number=number, active=False))
    return tuple(links)


def _link(handle: Any, number: int) -> NvLink:
    kind = read(nv.nvmlDeviceGetNvLinkRemoteDeviceType, handle, number)
    if kind == nv.NVML_NVLINK_DEVICE_TYPE_SWITCH:
        return NvLink(number=number, active=True, to_switch=True)
    try:
        bus_id = nv.nvmlDeviceGetNvLinkRemotePciInfo(handle, number).busId
    except nv.NVMLError:
        return NvLink(number=number, active=True)
    return NvLink(number=number, active=True, remote_pci=_sysfs(_text(bus_id)))


def _field(handle: Any, field: int) -> IntReading:
    """A field value; an unsigned one of any width."""
    try:
        value = nv.nvmlDeviceGetFieldValues(handle, [field])[0]
    except nv.NVMLError as error:
        code = int(error.value)
        return Absent(_ABSENT[code]) if code in _ABSENT else Lost(code)
    code = int(value.nvmlReturn)
    if code != nv.NVML_SUCCESS:
        return Lost(code) if code == nv.NVML_ERROR_GPU_IS_LOST else Absent("no such field")
    wide = value.valueType in (nv.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, 2)
    return int(value.value.ullVal if wide else value.value.uiVal)


def _power(handle: Any) -> IntReading:
    """Milliwatts of this moment: the field all architectures share, else the plain reading."""
    instant = _field(handle, _FIELD_POWER_INSTANT)
    if isinstance(instant, int) and instant > 0:
        return instant
    return read(nv.nvmlDeviceGetPowerUsage, handle)


def _reasons(handle: Any) -> IntReading:
    """The newer name first, since older drivers know only the other."""
    reasons = read(nv.nvmlDeviceGetCurrentClocksEventReasons, handle)
    if isinstance(reasons, Absent):
        return read(nv.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
    return reasons


def _links_active(handle: Any) -> IntReading:
    active = 0
    for number in range(nv.NVML_NVLINK_MAX_LINKS):
        state = read(nv.nvmlDeviceGetNvLinkState, handle, number)
        if isinstance(state, Absent) or state == Lost(nv.NVML_ERROR_INVALID_ARGUMENT):
            return active if number else Absent("the card has no NVLink")
        if isinstance(state, Lost):
            return state
        active += state
    return active


def _link_errors(handle: Any) -> IntReading:
    total = 0
    for number in range(nv.NVML_NVLINK_MAX_LINKS):
        for counter in _LINK_COUNTERS:
            count = read(nv.nvmlDeviceGetNvLinkErrorCounter, handle, number, counter)
            if not isinstance(count, int):
                return total if number else Absent("the card has no NVLink")
            total += count
    return total


def _ecc(handle: Any, kind: int) -> IntReading:
    return read(nv.nvmlDeviceGetTotalEccErrors, handle, kind, nv.NVML_VOLATILE_ECC)


def _pages(handle: Any, cause: int) -> IntReading:
    return read(lambda: len(nv.nvmlDeviceGetRetiredPages(handle, cause)))


def _sample(handle: Any, uuid: str, now: float, power: tuple[int, ...]) -> Sample:
    limit = read(nv.nvmlDeviceGetEnforcedPowerLimit, handle)
    return Sample(
        at_s=now,
        uuid=uuid,
        power_mw=power,
        power_limit_mw=limit,
        utilisation=read(lambda: nv.nvmlDeviceGetUtilizationRates(handle).gpu),
        sm_clock_mhz=read(nv.nvmlDeviceGetClockInfo, handle, nv.NVML_CLOCK_SM),
        link_width=read(nv.nvmlDeviceGetCurrPcieLinkWidth, handle),
        link_width_most=read(nv.nvmlDeviceGetMaxPcieLinkWidth, handle),
        reasons=_reasons(handle),
        temperature_c=read(nv.nvmlDeviceGetTemperature, handle, nv.NVML_TEMPERATURE_GPU),
        memory_temperature_c=_field(handle, _FIELD_MEMORY_TEMPERATURE),
        ecc_corrected=_ecc(handle, nv.NVML_MEMORY_ERROR_TYPE_CORRECTED),
        ecc_uncorrected=_ecc(handle, nv.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        pages_single=_pages(handle, 0),
        pages_double=_pages(handle, 1),
        pages_pending=read(nv.nvmlDeviceGetRetiredPagesPendingStatus, handle),
        links_active=_links_active(handle),
        link_errors=_link_errors(handle),
        replays=read(nv.nvmlDeviceGetPcieReplayCounter, handle),
    )


def _gone(gpu: LostGpu, now: float) -> Sample:
    lost = Lost(gpu.code)
    readings: dict[str, Any] = {
        name: lost for name in Sample.__struct_fields__ if name not in ("at_s", "uuid", "power_mw")
    }
    return Sample(at_s=now, uuid=gpu.uuid, power_mw=(), **readings)


# --- the program ---------------------------------------------------------------------------------


def _answer(reader: Reader, question: str) -> Survey | Samples | Trouble:
    try:
        return reader.survey() if question == "survey" else reader.sample()
    except nv.NVMLError as error:
        return trouble(int(error.value))


def main(arguments: Sequence[str]) -> int:
    """Answers lines until the input ends."""
    place = int(arguments[0])

    def mark(uuid: str) -> None:
        os.pwrite(place, uuid.encode("ascii").ljust(96), 0)

    reader = Reader(mark, time.monotonic)
    broken: Trouble | None = None
    try:
        reader.start()
    except nv.NVMLError as error:
        broken = trouble(int(error.value))
    waiting = b""
    watching = False
    while True:
        readable, _, _ = select.select([0], [], [], _TICK_S if watching else None)
        if not readable:
            try:
                reader.tick()
            except nv.NVMLError:
                watching = False  # the next question says what is wrong
            continue
        more = os.read(0, 4096)
        if not more:
            return 0
        waiting += more
        while b"\n" in waiting:
            line, _, waiting = waiting.partition(b"\n")
            question = line.decode("ascii", "replace")
            watching = broken is None and question == "sample"
            said = broken or _answer(reader, question)
            os.write(1, msgspec.json.encode(said) + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
