"""The buttons: their ids, which hold all they mean, so that one from before a restart still works.

``sc:<job>:<action>:<version>``; the version is the head of the hash of the text that was shown, or
0 where no text was.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final, Self

import discord  # noqa: TID251
import msgspec

from bot.guild.gate import Gate, Label
from protocol.ids import JobId, job_id

_ID: Final = re.compile(
    r"sc:(?P<job>J-[0-9A-Z]{9}-[0-9A-Z]{4})"
    r":(?P<act>approve|return|open|retry|cancel|md|json|edit):(?P<version>[0-9a-f]{1,12})"
)
VERSION_CHARS: Final = 12
NO_VERSION: Final = "0"
FORM: Final = "form:"
"""Stands before the id of a button in the id of the form that it opened."""


class Act(StrEnum):
    """What a button does."""

    APPROVE = "approve"
    RETURN = "return"
    OPEN = "open"
    RETRY = "retry"
    CANCEL = "cancel"
    MD = "md"
    JSON = "json"
    EDIT = "edit"
    """Of a form only; no button bears it."""


_LABELS: Final = {
    Act.APPROVE: Label.APPROVE,
    Act.RETURN: Label.RETURN,
    Act.OPEN: Label.OPEN,
    Act.RETRY: Label.RETRY,
    Act.CANCEL: Label.CANCEL,
    Act.MD: Label.MD,
    Act.JSON: Label.JSON,
}
_STYLES: Final = {
    Act.APPROVE: discord.ButtonStyle.success,
    Act.RETURN: discord.ButtonStyle.danger,
}


class Press(msgspec.Struct, frozen=True, kw_only=True):
    """A button, or the form it opened."""

    act: Act
    job: JobId
    version: str = NO_VERSION
    named: bool = False
    """Whether the job's code stands on it."""

    @property
    def custom_id(self) -> str:
        """The id that Discord keeps."""
        return f"sc:{job_id(self.job)}:{self.act}:{self.version}"


def parse(custom_id: str) -> Press | None:
    """The button of an id; None when it is none of ours."""
    found = _ID.fullmatch(custom_id)
    return _press(found) if found else None


def _press(found: re.Match[str]) -> Press:
    return Press(act=Act(found["act"]), job=JobId(found["job"]), version=found["version"])


class PressButton(discord.ui.DynamicItem[discord.ui.Button[Any]], template=_ID):
    """A button made anew from its id whenever somebody clicks."""

    def __init__(self, press: Press, label: str) -> None:
        style = _STYLES.get(press.act, discord.ButtonStyle.secondary)
        button = discord.ui.Button[Any](style=style, label=label, custom_id=press.custom_id)
        super().__init__(button)
        self.press = press

    @classmethod
    async def from_custom_id(
        cls, interaction: discord.Interaction[Any], item: Any, match: re.Match[str], /
    ) -> Self:
        """The button of a click."""
        return cls(_press(match), "·")

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        """Somebody clicked."""
        await interaction.client.pressed(interaction, self.press)


def view(gate: Gate, presses: tuple[Press, ...]) -> discord.ui.View | None:
    """Buttons below a message; None for none."""
    if not presses:
        return None
    made = discord.ui.View(timeout=None)
    for press in presses:
        label = gate.label(_LABELS[press.act], press.job if press.named else None)
        made.add_item(PressButton(press, label))
    return made
