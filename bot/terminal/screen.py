"""Blocks on a terminal or into a pipe: colours where they are wanted, progress in one place."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bot.blocks import Block, Tone, lay_out, wrapped
from bot.config import Settings
from bot.look import ASCII, UNICODE, Look, Signs, zone
from bot.progress import Watch
from bot.words import Words

_STYLES: Final = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.FAINT: "dim",
    Tone.GREEN: "green",
    Tone.AMBER: "yellow",
    Tone.RED: "red",
    Tone.LIT: "reverse",
    Tone.LIVE: "dim italic",
}
_NO_TERMINAL_CELLS: Final = 100
_LIVE_LINES: Final = 6
"""Lines of unverified text shown under the progress; the reply itself comes checked."""


class Screen:
    """One output: what is shown stays, the progress line is replaced until something is shown.

    Not a terminal: progress says each new stage once, on a line of its own.
    """

    def __init__(self, words: Words, settings: Settings, out: TextIO) -> None:
        """Wraps an output; characters that its encoding lacks are printed as a stand-in."""
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="backslashreplace")
        self._out = out
        self._width = settings.width
        self._words = words
        self._signs = _signs(settings, out)
        self._zone = zone(settings.zone)
        self._console = Console(file=out, highlight=False, markup=False, emoji=False)
        self._in_place = self._console.is_terminal and not self._console.is_dumb_terminal
        self._live: Live | None = None
        self._stage = ""

    @property
    def look(self) -> Look:
        """The look for the width of now."""
        width = self._width
        if not width:
            width = self._console.width if self._console.is_terminal else _NO_TERMINAL_CELLS
        return Look(words=self._words, signs=self._signs, width=width, zone=self._zone)

    def show(self, blocks: Sequence[Block]) -> None:
        """Prints blocks in the place of the progress."""
        self.settle()
        for line in lay_out(blocks, self.look.width):
            text = Text()
            for piece in line:
                text.append(piece.text, _STYLES[piece.tone])
            text.rstrip()
            self._console.print(text, soft_wrap=True)
        self._out.flush()

    def progress(self, watch: Watch) -> None:
        """Shows where a job is, in the place of the progress before."""
        if not self._in_place:
            if watch.stage != self._stage and watch.line:
                self._stage = watch.stage
                self._console.print(Text(f" .. {watch.line}"), soft_wrap=True)
                self._out.flush()
            return
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(self._progress_text(watch), refresh=True)

    def settle(self) -> None:
        """Takes the progress away."""
        self._stage = ""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _progress_text(self, watch: Watch) -> Text:
        look = self.look
        text = Text(f" {watch.line}", style="cyan", no_wrap=True, overflow="ellipsis")
        live = look.line(watch.live)
        if live:
            text.append(f"\n {look.words('progress.unverified')}", style=_STYLES[Tone.AMBER])
            for line in wrapped(live, look.width - 4)[-_LIVE_LINES:]:
                text.append(f"\n   {line}", style=_STYLES[Tone.LIVE])
        return text


def _signs(settings: Settings, out: TextIO) -> Signs:
    if settings.signs != "auto":
        return ASCII if settings.signs == "ascii" else UNICODE
    try:
        "✔≈✘·“”⟨⟩▌…".encode(out.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
