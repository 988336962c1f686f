"""What is known of engine builds: the answer each gave when it was good, and which are set aside.

A build is weights, binary and flags together. Greedy answers of one build on one box are equal
from start to start; another answer means that something under it changed or is failing.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import msgspec

from protocol.errors import Unavailable
from worker.engine import EngineProvenance, EngineSettings
from worker.engine.self_test import Passed

MAX_FAILURES = 3
"""So many failed tests or early ends in a row, and a build is set aside."""


class SetAside(Unavailable):
    """The build failed its tests too often: an operator must say that it may try again."""

    def __init__(self) -> None:
        super().__init__(
            "this build of the engine is set aside: it failed its tests",
            next_step="secondchair-worker models again BOARD, once it is mended",
        )


class BuildNote(msgspec.Struct, frozen=True, kw_only=True):
    """One build."""

    answer_sha256: str = ""
    """Hash of its answer to the test prompt when it first passed."""
    long_answer_sha256: str = ""
    """The same of the long test prompt, where there is one."""
    tokens_per_s: float = 0.0
    """Decode rate when it first passed."""
    failures: int = 0
    """In a row; a pass sets it to zero."""

    @property
    def set_aside(self) -> bool:
        return self.failures >= MAX_FAILURES


def build_key(provenance: EngineProvenance) -> str:
    """Short hash that names a build."""
    whole = msgspec.json.encode(
        [provenance.model_sha256, provenance.binary_sha256, provenance.flags]
    )
    return hashlib.sha256(whole).hexdigest()[:16]


def build_notes(state: Path, settings: EngineSettings) -> Path:
    """The file that keeps the notes on a board's builds.

    Args:
        state: The state folder of the box.
        settings: Of the board.
    """
    return settings.state_file or state / "engines" / f"{settings.name}.json"


class Builds:
    """The notes, in a small JSON file or in memory only."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._notes: dict[str, BuildNote] = {}
        if file is not None and file.is_file():
            try:
                self._notes = msgspec.json.decode(file.read_bytes(), type=dict[str, BuildNote])
            except (OSError, msgspec.DecodeError):
                self._notes = {}  # lost notes cost a comparison, nothing else

    def note(self, key: str) -> BuildNote:
        return self._notes.get(key, BuildNote())

    def passed(self, key: str, passed: Passed) -> None:
        """The build passed its tests; its first pass is what later ones are compared with."""
        known = self.note(key)
        note = BuildNote(
            answer_sha256=known.answer_sha256 or passed.answer_sha256,
            long_answer_sha256=known.long_answer_sha256 or passed.long_answer_sha256,
            tokens_per_s=known.tokens_per_s or passed.usage.tokens_per_s,
        )
        self._put(key, note)

    def failed(self, key: str) -> BuildNote:
        """The build failed its tests or ended early."""
        known = self.note(key)
        note = msgspec.structs.replace(known, failures=known.failures + 1)
        self._put(key, note)
        return note

    def set_aside(self, key: str) -> None:
        """The build keeps ending: it is not tried again until an operator says so."""
        self._put(key, msgspec.structs.replace(self.note(key), failures=MAX_FAILURES))

    def pardon(self) -> None:
        """An operator lets every build try again."""
        for key, known in tuple(self._notes.items()):
            if known.failures:
                self._put(key, msgspec.structs.replace(known, failures=0))

    def _put(self, key: str, note: BuildNote) -> None:
        self._notes[key] = note
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # a full disk must not keep an engine down
            self._file.parent.mkdir(parents=True, exist_ok=True)
            part = self._file.with_suffix(".part")
            part.write_bytes(msgspec.json.encode(self._notes))
            part.replace(self._file)
