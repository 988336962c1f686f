"""The last line of the app: the keys of the pane one is in, as many as the screen has room for."""

from __future__ import annotations

from typing import Final

from textual.content import Content  # noqa: TID251 - the terminal's door

from bot.blocks import cells

_KEY: Final = "bold #d7dce3"
_GAP: Final = "   "


def hints(said: str, width: int) -> Content:
    """The keys that fit, each key before what it does.

    Args:
        said: ``KEY what it does`` several times, two spaces between; the most useful first, the
            last (the way out) is always shown.
        width: Cells there are.
    """
    *some, last = said.split("  ")
    room = width - cells(last)
    shown = []
    for hint in some:
        room -= cells(hint) + len(_GAP)
        if room < 0:
            break
        shown.append(hint)
    parts: list[str | tuple[str, str]] = []
    for number, hint in enumerate((*shown, last)):
        key, _, what = hint.partition(" ")
        parts += [_GAP if number else "", (key, _KEY), f" {what}" if what else ""]
    return Content.assemble(*parts)
