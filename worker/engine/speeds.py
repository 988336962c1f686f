"""How fast a model is on a board, as this box measured it: the table behind every ETA.

Filled by the start-up test, by every answer, and by ``secondchair-worker measure``. Rates depend on
how long a prompt is, so they are kept by size: 512, 1024, 2048 ... tokens. A rate that was never
measured is a guess, and is told as one.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Final

import msgspec

from worker.engine import Engine, FinishReason, PromptProgress, Usage

FILE: Final = "speeds.json"
"""In ``engines/`` of the state folder, for all boards of the box."""

GUESSED_TOKENS_PER_S: Final = 300.0
"""Prefill of a box that was never measured: what used V100 boards do at long prompts."""

_SMALLEST: Final = 512
_NEW_SHARE: Final = 0.3
"""Weight of the newest call in a kept rate: a busy minute must not spoil it, a new driver must
show within some calls."""
_FEW_TOKENS: Final = 64
_FEW_WORDS: Final = 8
_LIVE_SHARE: Final = 0.1
"""So much of a prompt must have been read before its own rate says more than the table."""


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """One model on one board; tokens a second, by the size of the prompt."""

    prefill: dict[int, float] = {}
    decode: dict[int, float] = {}


class Speed:
    """The rates of the model that an engine runs now.

    Args:
        file: The table; None keeps rates in memory only.
        board: The board's name.
        engine: Started when a rate is first asked for.
    """

    def __init__(self, file: Path | None, board: str, engine: Engine) -> None:
        self._file = file
        self._board = board
        self._engine = engine
        self._kept: dict[str, Rates] = {}

    @property
    def rates(self) -> Rates:
        """What is known."""
        return self._table().get(self._key(), Rates())

    def note(self, usage: Usage) -> None:
        """Take the rates of a call that ran to its end; too short a one says nothing."""
        if usage.finish_reason not in (FinishReason.STOP, FinishReason.LENGTH):
            return
        size = size_of(usage.prompt_tokens)
        known = self.rates
        prefill, decode = dict(known.prefill), dict(known.decode)
        read = usage.prompt_tokens - usage.reused_tokens
        if read >= max(_FEW_TOKENS, usage.prompt_tokens / 2) and usage.prefill_ms > 0:
            _mix(prefill, size, read * 1000 / usage.prefill_ms)
        if usage.output_tokens >= _FEW_WORDS and usage.tokens_per_s > 0:
            _mix(decode, size, usage.tokens_per_s)
        now = Rates(prefill=prefill, decode=decode)
        if now != known:
            self._keep(now)

    def prefill(self, tokens: int) -> float | None:
        """Tokens a second for a prompt of this size, of the nearest size measured."""
        return _nearest(self.rates.prefill, tokens)

    def decode(self, tokens: int) -> float | None:
        """The same while an answer is written behind such a prompt."""
        return _nearest(self.rates.decode, tokens)

    def _key(self) -> str:
        provenance = self._engine.provenance
        return f"{self._board} {provenance.model_sha256[:16] or provenance.model}"

    def _table(self) -> dict[str, Rates]:
        if self._file is None:
            return self._kept
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, Rates])
        except (OSError, msgspec.DecodeError):
            return self._kept  # a lost table costs a guess, nothing else

    def _keep(self, rates: Rates) -> None:
        table = {**self._table(), self._key(): rates}
        self._kept = table
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # a full disk must cost no reply
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = self._file.with_suffix(".part")
            part.write_bytes(msgspec.json.encode(table))
            part.replace(self._file)


class Eta:
    """Seconds until a prompt is read: from the box's table, then from the prompt's own pace.

    Args:
        speed: The table; None where there is none.
    """

    def __init__(self, speed: Speed | None) -> None:
        self._speed = speed
        self._first: tuple[float, int] | None = None
        self._rate: float | None = None

    def say(self, progress: PromptProgress, now_s: float) -> tuple[float, bool]:
        """Seconds left, and whether that is a guess because this box was never measured.

        Args:
            progress: How far it is.
            now_s: A monotonic clock.
        """
        if self._first is None:
            self._first = now_s, progress.processed
            self._rate = self._speed.prefill(progress.total) if self._speed else None
        since, before = self._first
        left, done = progress.total - progress.processed, progress.processed - before
        if done >= _LIVE_SHARE * (progress.total - before) and done > 0 and now_s > since:
            return left * (now_s - since) / done, False
        return left / (self._rate or GUESSED_TOKENS_PER_S), self._rate is None


def size_of(tokens: int) -> int:
    """The size under which a prompt's rates are kept: the next power of two, 512 at least."""
    return max(_SMALLEST, 1 << max(0, tokens - 1).bit_length())


def _mix(rates: dict[int, float], size: int, rate: float) -> None:
    known = rates.get(size)
    rates[size] = rate if known is None else known + _NEW_SHARE * (rate - known)


def _nearest(rates: dict[int, float], tokens: int) -> float | None:
    size = size_of(tokens)
    nearest = min(rates, key=lambda one: abs(math.log2(one / size)), default=None)
    return None if nearest is None else rates[nearest]
