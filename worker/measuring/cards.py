"""Watches the cards of one board while a call runs: power, heat, throttling, health.

Reads through `worker.boards.probe`, in a child with a deadline; a box without cards gives nothing
and that is no fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Final

from worker.boards import Box, Sample, Samples, Severity, known
from worker.boards.declared import Declared
from worker.boards.probe import Probe
from worker.boards.rules import judge
from worker.boards.verdicts import expected_of
from worker.measuring import Cards

_EVERY_S: Final = 0.5
_THROTTLED: Final = {
    3: "the hardware slowed the clocks",
    6: "too hot",
    7: "the power supply braked",
}
"""Bits of the driver's reasons that spoil a figure. A software power cap is normal here."""


class Watched:
    """The readings of one run, growing while it runs."""

    def __init__(self, box: Box, declared: Declared, devices: Sequence[str]) -> None:
        gpus = {gpu.uuid: gpu for gpu in box.gpus}
        self._expected = {
            uuid: expected_of(gpus[uuid], declared.of(uuid)) for uuid in devices if uuid in gpus
        }
        self._series: dict[str, list[Sample]] = {uuid: [] for uuid in self._expected}

    def take(self, samples: Samples) -> None:
        """Adds one reading of every card."""
        for sample in samples.samples:
            if sample.uuid in self._series:
                self._series[sample.uuid].append(sample)

    def cards(self) -> Cards:
        """What they say together."""
        series = [samples for samples in self._series.values() if samples]
        if not series:
            return Cards()
        every = [sample for samples in series for sample in samples]
        peaks = [max(sample.power_mw) for sample in every if sample.power_mw]
        heats = [heat for one in every if (heat := known(one.temperature_c)) is not None]
        bits = [known(sample.reasons) or 0 for sample in every]
        verdicts = [
            verdict
            for uuid, samples in self._series.items()
            for verdict in judge(samples, self._expected[uuid])
        ]
        return Cards(
            energy_j=sum(map(_energy_j, series)) if peaks else None,
            peak_w=max(peaks) / 1000 if peaks else None,
            hottest_c=max(heats, default=None),
            throttled=tuple(
                said for bit, said in _THROTTLED.items() if any(one >> bit & 1 for one in bits)
            ),
            trouble=tuple(dict.fromkeys(verdict.reason for verdict in verdicts)),
            stop=any(verdict.severity is Severity.PAUSE for verdict in verdicts),
        )


@contextlib.asynccontextmanager
async def watching(
    probe: Probe | None, box: Box, declared: Declared, devices: Sequence[str]
) -> AsyncIterator[Watched]:
    """Reads the cards until the block ends; ``probe`` None reads nothing."""
    watched = Watched(box, declared, devices)

    async def read() -> None:
        while probe is not None:
            samples = await probe.sample()
            if isinstance(samples, Samples):
                watched.take(samples)
            await asyncio.sleep(_EVERY_S)

    task = asyncio.create_task(read())
    try:
        yield watched
    finally:
        task.cancel()
        await asyncio.wait({task})


def _energy_j(series: Sequence[Sample]) -> float:
    """Joules of one card: the mean of each sample's readings over the time since the one before."""
    total = 0.0
    for before, sample in itertools.pairwise(series):
        if sample.power_mw:
            mean_w = sum(sample.power_mw) / len(sample.power_mw) / 1000
            total += mean_w * (sample.at_s - before.at_s)
    return total
