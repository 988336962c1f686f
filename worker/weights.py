"""How long a kind of work takes on a board: learned from the jobs that ended there.

Of each kind the last jobs are kept with the pages they were about. A new job should take the
median of those of its size; where none was of its size, the median time a page; before there are
enough, a fixed first guess. Turn and ETA hang on it, nothing else. It holds numbers only, no words.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

_MOST: Final = 21
"""Jobs kept of a kind on a board; an odd number, so that the median is one of them."""
_FEW: Final = 3
"""With fewer nothing is learned: one long job says little."""
_NEAR: Final = 4.0
"""Jobs are of one size when their pages differ by no more than this factor."""
_ANY_SIZE: Final = frozenset({"ask", "find"})
"""Kinds that look at passages, not at every page."""
_LEAST_S: Final = 0.1

Sample = tuple[int, float]
"""Pages a job was about, and the seconds it took."""


class Weight(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds a job should take."""

    seconds: float
    learned: bool
    """False where it is the first guess."""


class Weights:
    """What is known, kept in a file."""

    def __init__(self, file: Path | None = None) -> None:
        """Reads the file; one that is not there or cannot be read is begun anew.

        Args:
            file: None keeps it in memory only.
        """
        self._file = file
        self._kept: dict[str, list[Sample]] = {}
        if file is not None:
            try:
                self._kept = msgspec.json.decode(file.read_bytes(), type=dict[str, list[Sample]])
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                self._kept = {}

    def took(self, board: str, kind: str, pages: int, seconds: float) -> None:
        """Takes note of a job that ended with a reply; a file that cannot be written is let be."""
        kept = self._kept.setdefault(f"{board} {kind}", [])
        kept.append((pages, round(seconds, 3)))
        del kept[:-_MOST]
        if self._file is None:
            return
        part = self._file.with_name(f".{self._file.name}.part")
        try:
            part.write_bytes(msgspec.json.encode(self._kept))
            part.chmod(0o600)
            part.replace(self._file)
        except OSError:
            part.unlink(missing_ok=True)

    def of(self, board: str, kind: str, pages: int, first_guess_s: float) -> Weight:
        """How long a new job should take.

        Args:
            board: Where it will run.
            kind: Of the job.
            pages: It is about so many; 0 when that is not known.
            first_guess_s: For a kind of which too little is known.
        """
        kept = self._kept.get(f"{board} {kind}", [])
        like = kept if kind in _ANY_SIZE or not pages else _of_size(kept, pages)
        if len(like) >= _FEW:
            return _learned(statistics.median(seconds for _, seconds in like))
        if len(kept) >= _FEW:
            a_page = statistics.median(seconds / max(1, read) for read, seconds in kept)
            return _learned(a_page * pages)
        return Weight(seconds=first_guess_s, learned=False)

    def said(self, kinds: Iterable[str]) -> str:
        """From what the estimates come, in one sentence."""
        known = {key.partition(" ")[2] for key, kept in self._kept.items() if len(kept) >= _FEW}
        learned = [kind for kind in kinds if kind in known]
        guessed = [kind for kind in kinds if kind not in known]
        parts = (
            f"learned from this box's own jobs: {', '.join(learned)}" if learned else "",
            f"from defaults: {', '.join(guessed)}" if guessed else "",
        )
        return "; ".join(filter(None, parts))


def _of_size(kept: Iterable[Sample], pages: int) -> list[Sample]:
    return [one for one in kept if max(1, one[0]) / _NEAR <= pages <= max(1, one[0]) * _NEAR]


def _learned(seconds: float) -> Weight:
    return Weight(seconds=max(_LEAST_S, seconds), learned=True)
