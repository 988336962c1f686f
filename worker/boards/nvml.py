"""The driver's one door: every call of NVML that the product makes, through nvidia-ml-py.

Used by `reader` in a child process, never in the worker's own: a dying card can make any of these
calls wait for ever. Nothing is ever set.

Source of the calls and their traps: NVIDIA's NVML reference; error numbers as in ``nvml.h``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import pynvml as nv  # noqa: TID251  (this is the door)

from worker.boards import Absent, Gpu, IntReading, Lost, NvLink, Sample, Trouble

Handle = Any
"""The binding's pointer to a card; good until the driver is reloaded."""

_ABSENT: Final = {
    nv.NVML_ERROR_NOT_SUPPORTED: "this part does not report it",
    nv.NVML_ERROR_FUNCTION_NOT_FOUND: "this driver does not know the question",
    nv.NVML_ERROR_NO_DATA: "there is no reading yet",
    nv.NVML_ERROR_NO_PERMISSION: "this user may not read it",
}
_FIELD_MEMORY_TEMPERATURE: Final = 82
_FIELD_POWER_INSTANT: Final = 186
_LINK_COUNTERS: Final = (0, 1, 2, 3)  # replay, recovery, CRC of flits, CRC of data

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


class DriverError(Exception):
    """The driver refused a call."""

    def __init__(self, code: int) -> None:
        super().__init__(f"driver error {code}")
        self.code = code


def _ask(call: Callable[..., Any], *args: object) -> Any:
    try:
        return call(*args)
    except nv.NVMLError as error:
        raise DriverError(int(error.value)) from error


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


# --- the driver ----------------------------------------------------------------------------------


def open_driver() -> None:
    """Opens the driver without waking cards it has not attached.

    Raises:
        DriverError: It cannot be opened.
    """
    _ask(nv.nvmlInitWithFlags, nv.NVML_INIT_FLAG_NO_ATTACH)


def card_count() -> int:
    """How many cards the driver counts, lost ones included.

    Raises:
        DriverError: It does not say.
    """
    return int(_ask(nv.nvmlDeviceGetCount))


def find_card(index: int) -> tuple[Handle, str]:
    """A card by the driver's number today, with its UUID.

    Raises:
        DriverError: The card cannot be reached.
    """
    handle = _ask(nv.nvmlDeviceGetHandleByIndex, index)
    return handle, _text(_ask(nv.nvmlDeviceGetUUID, handle))


def driver_version() -> str:
    """Such as ``580.126.09``.

    Raises:
        DriverError: It does not say.
    """
    return _text(_ask(nv.nvmlSystemGetDriverVersion))


def branch() -> str:
    try:
        return _text(nv.nvmlSystemGetDriverBranch().branch)
    except nv.NVMLError:
        return ""


def nearest_common_point(one: Handle, other: Handle) -> IntReading:
    """How far apart two cards are on PCIe; the levels are those of `Survey.near`."""
    return read(nv.nvmlDeviceGetTopologyCommonAncestor, one, other)


class Events:
    """The driver's Xid messages, taken without waiting."""

    def __init__(self) -> None:
        """Opens nothing yet."""
        self._set: Any = None
        self._names: dict[int, str] = {}

    def watch(self, handle: Handle, uuid: str) -> None:
        """Asks for a card's messages, once; a card that has none is left out.

        The kernel's log is read as well, so a driver without messages is no fault.
        """
        pointer = ctypes.cast(handle, ctypes.c_void_p).value or 0
        if pointer in self._names:
            return
        self._names[pointer] = uuid
        try:
            if self._set is None:
                self._set = nv.nvmlEventSetCreate()
            wanted = nv.nvmlDeviceGetSupportedEventTypes(handle) & nv.nvmlEventTypeXidCriticalError
            if wanted:
                nv.nvmlDeviceRegisterEvents(handle, wanted, self._set)
        except nv.NVMLError:
            return

    def take(self) -> tuple[tuple[str, int], ...]:
        """UUID and number of each message since the last call."""
        seen: list[tuple[str, int]] = []
        while self._set is not None:
            try:
                event = nv.nvmlEventSetWait_v2(self._set, 0)
            except nv.NVMLError:  # a time-out is the usual answer
                break
            if event.eventType == nv.nvmlEventTypeXidCriticalError:
                pointer = ctypes.cast(event.device, ctypes.c_void_p).value or 0
                seen.append((self._names.get(pointer, ""), int(event.eventData)))
        return tuple(seen)


# --- one card ------------------------------------------------------------------------------------


def read_gpu(handle: Handle, uuid: str, index: int) -> Gpu:
    """A card's identity, limits and links.

    Raises:
        DriverError: What every card has cannot be read.
    """
    major, minor = _ask(nv.nvmlDeviceGetCudaComputeCapability, handle)
    return Gpu(
        uuid=uuid,
        index=index,
        name=_text(_ask(nv.nvmlDeviceGetName, handle)),
        pci=_sysfs(_text(_ask(nv.nvmlDeviceGetPciInfo, handle).busId)),
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


def _links(handle: Handle) -> tuple[NvLink, ...]:
    """Its NVLinks; the loop ends at the first number the card does not have."""
    links = []
    for number in range(nv.NVML_NVLINK_MAX_LINKS):
        try:
            active = bool(nv.nvmlDeviceGetNvLinkState(handle, number))
        except nv.NVMLError as error:
            code = int(error.value)
            if code in (*_ABSENT, nv.NVML_ERROR_INVALID_ARGUMENT):
                break
            raise DriverError(code) from error
        links.append(_link(handle, number) if active else NvLink(number=number, active=False))
    return tuple(links)


def _link(handle: Handle, number: int) -> NvLink:
    kind = read(nv.nvmlDeviceGetNvLinkRemoteDeviceType, handle, number)
    if kind == nv.NVML_NVLINK_DEVICE_TYPE_SWITCH:
        return NvLink(number=number, active=True, to_switch=True)
    try:
        bus_id = nv.nvmlDeviceGetNvLinkRemotePciInfo(handle, number).busId
    except nv.NVMLError:
        return NvLink(number=number, active=True)
    return NvLink(number=number, active=True, remote_pci=_sysfs(_text(bus_id)))


def _field(handle: Handle, field: int) -> IntReading:
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


def read_power(handle: Handle) -> IntReading:
    """Milliwatts of this moment: the field all architectures share, else the plain reading."""
    instant = _field(handle, _FIELD_POWER_INSTANT)
    if isinstance(instant, int) and instant > 0:
        return instant
    return read(nv.nvmlDeviceGetPowerUsage, handle)


def _reasons(handle: Handle) -> IntReading:
    """The newer name first, since older drivers know only the other."""
    reasons = read(nv.nvmlDeviceGetCurrentClocksEventReasons, handle)
    if isinstance(reasons, Absent):
        return read(nv.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
    return reasons


def _links_active(handle: Handle) -> IntReading:
    active = 0
    for number in range(nv.NVML_NVLINK_MAX_LINKS):
        state = read(nv.nvmlDeviceGetNvLinkState, handle, number)
        if isinstance(state, Absent) or state == Lost(nv.NVML_ERROR_INVALID_ARGUMENT):
            return active if number else Absent("the card has no NVLink")
        if isinstance(state, Lost):
            return state
        active += state
    return active


def _link_errors(handle: Handle) -> IntReading:
    total = 0
    for number in range(nv.NVML_NVLINK_MAX_LINKS):
        for counter in _LINK_COUNTERS:
            count = read(nv.nvmlDeviceGetNvLinkErrorCounter, handle, number, counter)
            if not isinstance(count, int):
                return total if number else Absent("the card has no NVLink")
            total += count
    return total


def _ecc(handle: Handle, kind: int) -> IntReading:
    return read(nv.nvmlDeviceGetTotalEccErrors, handle, kind, nv.NVML_VOLATILE_ECC)


def _pages(handle: Handle, cause: int) -> IntReading:
    return read(lambda: len(nv.nvmlDeviceGetRetiredPages(handle, cause)))


def read_sample(handle: Handle, uuid: str, now: float, power: tuple[int, ...]) -> Sample:
    """Everything that changes while a card runs; each value is absent or lost by itself."""
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
