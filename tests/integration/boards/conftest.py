"""The stand-in for the NVIDIA library, built once, and simulated boxes on it."""

import asyncio

import msgspec
import pytest

from bench.nvml_double import FakeBox, build_library, why_not
from worker.boards.declared import Declared
from worker.boards.probe import Probe


@pytest.fixture(scope="session")
def library():
    if reason := why_not():
        pytest.skip(reason)
    return build_library()


@pytest.fixture
def simulate(tmp_path):
    """Makes a simulated box by the name of its state file."""

    def make(name="build_a"):
        return FakeBox(name, tmp_path / f"{name}.state")

    return make


@pytest.fixture
async def open_probe(library):
    """Opens probes that are closed at the end."""
    opened = []

    def make(box, **more):
        given = {"deadline_s": 10.0, "first_deadline_s": 60.0, **more}
        probe = Probe(environment=box.environment(library), **given)
        opened.append(probe)
        return probe

    yield make
    await asyncio.gather(*(probe.close() for probe in opened))


@pytest.fixture
def declared_of():
    """The boards file of a simulated box."""
    return lambda box: msgspec.convert(box.declared(), Declared)
