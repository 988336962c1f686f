"""llama-cpp-python in a child process of its own, for boxes where no ``llama-server`` can be built.

The child (`worker.engine.llama_python_server`) speaks the part of ``llama-server``'s interface that
we use, so this keeper is that one with another program. It can do less: one slot, the last prompt
only, no host-RAM cache, no slot files, no speculation.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from protocol.errors import Unavailable
from worker.engine import Capabilities, EngineSettings
from worker.engine.llama_server import LlamaServer
from worker.engine.supervisor import Supervised


class LlamaPython(LlamaServer):
    """See `worker.engine.Engine`."""

    kind = "llama_python"

    def __init__(self, settings: EngineSettings) -> None:
        super().__init__(
            msgspec.structs.replace(
                settings, slots=1, cache_ram_mib=0, slot_files=False, speculation="none"
            )
        )

        self._left_off = tuple(_left_off(settings))

    @property
    def capabilities(self) -> Capabilities:
        can = super().capabilities
        return msgspec.structs.replace(can, notes=(*can.notes, *self._left_off))

    def _program(self) -> list[str]:
        self._binary()
        return [sys.executable, "-P", str(Path(__file__).with_name("llama_python_server.py"))]

    def _binary(self) -> Path:
        spec = importlib.util.find_spec("llama_cpp")
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for file in sorted((Path(folder) / "lib").glob("libllama.*")):
                return file
        raise Unavailable(
            "llama-cpp-python is not installed",
            next_step='pip install "secondchair[llama-python]", or choose engine = "llama_server"',
        )


def _left_off(settings: EngineSettings) -> Iterator[str]:
    """What the settings ask for and this keeper cannot do."""
    if settings.slots > 1:
        yield "one slot: llama-cpp-python works on one request at a time"
    if settings.slot_files:
        yield "slot files off: not with llama-cpp-python"
    if settings.speculation != "none":
        yield "speculation off: not with llama-cpp-python"


def supervised_llama_python(settings: EngineSettings) -> Supervised:
    """The same under a supervisor."""
    return Supervised([partial(LlamaPython, settings)], settings)
