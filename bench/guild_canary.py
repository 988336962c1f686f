"""The canary of a strict Discord server: is any word of the matter in any byte Discord received?

Canaries are the words of every page of the record, of its file names and titles, and of the
questions asked: single words of four characters and more, and pairs of neighbours. Left out is only
what the bot says before it knows anything of the matter: its own sentences, its commands, the
library's heads; those are taken from the catalogue and from what was received before the first job.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from bench.guild_house import CHANNEL, YOU, GuildHouse
from bench.house import CODE
from bot.guild import sentences
from bot.guild.menu import CHECK
from protocol.jobs import Documents, ListDocuments, OpenSource, SourcePage

QUESTIONS: Final = (
    "When did Northgate first know of the leak?",
    "What did Ms. Reeves report to facilities, and when?",
)
_JOBS: Final = 2
"""Of the plain commands, those that become jobs."""
_PLAIN: Final = (
    "summarize", "chronology",
    "find", "citecheck", "open", "forget", "sources", "jobs", "matter", "mode", "help", "health",
    "cancel", "history", "audit",
)  # fmt: skip
_WORD: Final = re.compile(r"[^\W_]+")
_LONG: Final = 4
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=_-]{16,}")


def _tokens(text: str) -> set[str]:
    words = _WORD.findall(text.casefold())
    pairs = {
        f"{one} {next_}"
        for one, next_ in itertools.pairwise(words)
        if not (one.isdigit() or next_.isdigit())  # "4 in line" is ours; numbers count alone
    }
    return {word for word in words if len(word) >= _LONG} | pairs


def readings(received: Iterable[bytes]) -> Iterable[str]:
    """What was received, as it is and with escapes, percent signs and base64 undone."""
    for data in received:
        text = data.decode("utf-8", "replace")
        yield text
        yield _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text).replace("\\n", "\n")
        yield unquote_plus(text)
        for found in _BASE64.findall(text):
            padded = found + "=" * (-len(found) % 4)
            try:
                yield base64.urlsafe_b64decode(padded.replace("+", "-").replace("/", "_")).decode()
            except ValueError:
                continue


@dataclass
class Canary:
    """The words to look for."""

    tokens: set[str]
    left_out: int
    """Words of the matter that the bot itself uses."""

    @property
    def words(self) -> int:
        """How many are looked for."""
        return len(self.tokens)

    @classmethod
    async def of(cls, guild: GuildHouse) -> Canary:
        """The canary of a house's matter; before any job, so that what came so far is ours."""
        listed = await guild.link.call(ListDocuments(matter=CODE), acting_for=YOU)
        assert isinstance(listed, Documents)
        texts = list(QUESTIONS)
        for document in listed.documents:
            texts += [document.title, document.name, document.custodian or ""]
            for page in range(1, document.pages + 1):
                request = OpenSource(matter=CODE, document=document.id, page=page)
                shown = await guild.link.call(request, acting_for=YOU)
                assert isinstance(shown, SourcePage)
                texts.append(shown.text)
        tokens = set().union(*map(_tokens, texts))
        words = sentences.load("en")
        ours = {"get", "post", "put", "patch", "delete"}  # HTTP's own words
        ours = ours.union(*(_tokens(words.raw(key)) for key in words.keys))
        for said in readings(guild.double.received):
            ours |= _tokens(said)
        return cls(tokens=tokens - ours, left_out=len(tokens & ours))

    async def campaign(self, guild: GuildHouse) -> None:
        """Every command and button of a strict server, with jobs that succeed and fail."""
        you = guild.you
        for question in QUESTIONS:
            await (await you.slash(CHANNEL, "ask")).said()
            await guild.ask_in_terminal(question)
            await guild.finals(len(guild._finals()) + 1)
        for name in _PLAIN:
            await (await you.slash(CHANNEL, name)).said()
        for what in ("dates", "parties"):
            await (await you.slash(CHANNEL, "extract", what=what)).said()
        for form in ("facts", "demand"):
            await (await you.slash(CHANNEL, "draft", form=form)).said()
        finals = await guild.finals(2 + _JOBS + 2 + 2)
        written = await you.types(CHANNEL, QUESTIONS[0], files=(("note.txt", b"x"),))
        for message in (finals[0], written):
            await (await you.menu(message, CHECK)).said()
        again = await (await you.slash(CHANNEL, "retry")).message()
        await (await you.click(again, _first_label(again))).said()
        finals = await guild.finals(len(finals) + 1)
        for button in ("Open", "Retry"):
            await (await you.click(finals[0], button)).said()
        await guild.finals(len(finals) + 1)
        for form in ("md", "json"):
            offered = await you.slash(CHANNEL, "export", form=form)
            listed = await offered.message()
            await (await you.click(listed, _first_label(listed))).said()
        await guild.idle()

    def hits(self, received: Iterable[bytes]) -> set[str]:
        """The canaries that were received."""
        found: set[str] = set()
        for said in readings(received):
            found |= _tokens(said) & self.tokens
        return found


def _first_label(message: dict[str, list[dict[str, list[dict[str, str]]]]]) -> str:
    return message["components"][0]["components"][0]["custom_id"]
