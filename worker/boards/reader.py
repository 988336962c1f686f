"""The program that reads the cards, in a process of its own: one JSON line for each question.

``python -m worker.boards.reader FD`` answers each line on standard input (``survey`` or ``sample``)
and ends when its input ends. It writes the UUID of the card it is about to touch to the file FD, so
that when a call never returns, the parent can say at which card. Between questions it reads the
power of every card, since a peak of a fraction of a second matters there.

A card that is lost raises at its own calls only; the others are still read.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from worker.boards import Lost, LostGpu, Sample, Samples, Survey, Trouble
from worker.boards import nvml as driver
from worker.boards.nvml import DriverError, Handle

_TICK_S: Final = 0.15
"""Time between power readings: Volta reports the power of the moment, so peaks must be caught."""
_MOST_READINGS: Final = 600
_PLACE_CHARS: Final = 96
_AT_DRIVER: Final = "driver"


class Reader:
    """Reads all cards; knows those it has seen, so that a lost one can be named."""

    def __init__(self, mark: Callable[[str], None], clock: Callable[[], float]) -> None:
        """Asks nothing yet.

        Args:
            mark: Is told the card, or ``driver``, that is touched next.
            clock: Seconds that never go back.
        """
        self._mark = mark
        self._clock = clock
        self._uuids: dict[int, str] = {}
        self._events = driver.Events()
        self._power: dict[str, list[int]] = {}

    def start(self) -> None:
        """Opens the driver.

        Raises:
            DriverError: It cannot be opened.
        """
        self._mark(_AT_DRIVER)
        driver.open_driver()

    def survey(self) -> Survey:
        """Every card with what does not change, and how cards stand to each other."""
        handles, lost = self._cards()
        gpus = []
        order = {uuid: index for index, uuid in self._uuids.items()}
        for uuid, handle in handles.items():
            self._mark(uuid)
            try:
                gpus.append(driver.read_gpu(handle, uuid, order[uuid]))
            except DriverError as error:
                lost.append(LostGpu(index=order[uuid], uuid=uuid, code=error.code))
        self._mark(_AT_DRIVER)
        return Survey(
            driver=driver.driver_version(),
            branch=driver.branch(),
            gpus=tuple(gpus),
            lost=tuple(lost),
            near=tuple(self._near(handles)),
        )

    def tick(self) -> None:
        """Reads the power of every card once."""
        for uuid, handle in self._cards()[0].items():
            self._mark(uuid)
            power = driver.read_power(handle)
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
            self._events.watch(handle, uuid)
            samples.append(driver.read_sample(handle, uuid, now, tuple(self._power.pop(uuid, ()))))
        samples += [_gone(gpu, now) for gpu in lost]
        self._mark(_AT_DRIVER)
        return Samples(
            samples=tuple(samples), xids=self._events.take(), driver=driver.driver_version()
        )

    # --- inside ----------------------------------------------------------------------------------

    def _cards(self) -> tuple[dict[str, Handle], list[LostGpu]]:
        """Handles by UUID, and the cards that could not be reached."""
        self._mark(_AT_DRIVER)
        handles: dict[str, Handle] = {}
        lost = []
        for index in range(driver.card_count()):
            self._mark(self._uuids.get(index, _AT_DRIVER))
            try:
                handle, uuid = driver.find_card(index)
            except DriverError as error:
                seen = self._uuids.get(index, "")
                lost.append(LostGpu(index=index, uuid=seen, code=error.code))
                continue
            self._uuids[index] = uuid
            handles[uuid] = handle
        return handles, lost

    def _near(self, handles: dict[str, Handle]) -> Iterator[tuple[str, str, int]]:
        uuids = list(handles)
        for at, one in enumerate(uuids):
            self._mark(one)
            for other in uuids[at + 1 :]:
                level = driver.nearest_common_point(handles[one], handles[other])
                if isinstance(level, int):
                    yield one, other, level


def _gone(gpu: LostGpu, now: float) -> Sample:
    """A sample of nothing but losses."""
    readings: dict[str, Any] = {name: Lost(gpu.code) for name in Sample.__struct_fields__[3:]}
    return Sample(at_s=now, uuid=gpu.uuid, power_mw=(), **readings)


# --- the program ---------------------------------------------------------------------------------


def _answer(reader: Reader, question: str) -> Survey | Samples | Trouble:
    try:
        return reader.survey() if question == "survey" else reader.sample()
    except DriverError as error:
        return driver.trouble(error.code)


def main(arguments: Sequence[str]) -> int:
    """Answers lines until the input ends."""
    place = int(arguments[0])

    def mark(uuid: str) -> None:
        os.pwrite(place, uuid.encode("ascii").ljust(_PLACE_CHARS), 0)

    reader = Reader(mark, time.monotonic)
    broken: Trouble | None = None
    try:
        reader.start()
    except DriverError as error:
        broken = driver.trouble(error.code)
    waiting = b""
    watching = False
    while True:
        readable, _, _ = select.select([0], [], [], _TICK_S if watching else None)
        if not readable:
            try:
                reader.tick()
            except DriverError:
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
