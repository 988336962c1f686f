"""From a typed line to the command that carries it out; errors take the reply's place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from bot import asking, browsing, deciding, engines, failures, lookback
from bot.blocks import Piece, Tone, paragraph
from bot.conversation import Conversation
from bot.misuse import Misuse
from bot.slash import WITHOUT_MATTER, Name, Typed, parse
from protocol.errors import AppError, NotFound

_DOING: Final[dict[Name, Callable[[Conversation, Typed], Awaitable[None]]]] = {
    Name.ASK: asking.ask,
    Name.FIND: asking.find,
    Name.SUMMARIZE: asking.summarize,
    Name.EXTRACT: asking.extract,
    Name.CHRONOLOGY: asking.chronology,
    Name.CITECHECK: asking.citecheck,
    Name.DRAFT: asking.draft,
    Name.OPEN: browsing.open_source,
    Name.SHOW: asking.show,
    Name.APPROVE: deciding.approve,
    Name.RETURN: deciding.give_back,
    Name.WITHDRAW: deciding.withdraw,
    Name.EDIT: deciding.edit,
    Name.HOLD: deciding.hold,
    Name.LIFT: deciding.lift,
    Name.EXPORT: deciding.export,
    Name.JOBS: browsing.jobs,
    Name.HISTORY: lookback.history,
    Name.AUDIT: lookback.audit,
    Name.CANCEL: asking.cancel,
    Name.MATTER: browsing.matter,
    Name.DOCUMENTS: browsing.documents,
    Name.FORGET: browsing.forget,
    Name.HEALTH: browsing.health,
    Name.HELP: browsing.show_help,
}


async def begin(talk: Conversation, wanted: str = "") -> bool:
    """Opens the matter with code ``wanted``, or the only one; False when that failed."""
    return await _guarded(talk, _begin(talk, wanted))


async def handle(talk: Conversation, line: str) -> bool:
    """Does what a line asks for.

    Returns:
        False when it could not be done; the person has been told why.
    """
    typed = parse(line)
    if typed is None or typed.name is Name.QUIT:
        return True
    return await _guarded(talk, _do(talk, typed))


def leaves(line: str) -> bool:
    """Whether a line ends the chat."""
    typed = parse(line)
    return typed is not None and typed.name is Name.QUIT


async def _begin(talk: Conversation, wanted: str) -> None:
    await browsing.begin(talk, wanted)
    if said := await engines.away(talk.worker, talk.front.look):
        talk.front.show([paragraph(Piece(said, Tone.AMBER), hang=3)])


async def _do(talk: Conversation, typed: Typed) -> None:
    if typed.name is None:
        raise Misuse("unknown", next_step="unknown_next", name=typed.rest)
    if typed.name not in WITHOUT_MATTER:
        talk.bound()
    await _DOING[typed.name](talk, typed)


async def _guarded(talk: Conversation, doing: Awaitable[None]) -> bool:
    before = talk.job
    try:
        await doing
    except Misuse as misuse:
        talk.front.show(failures.misuse(misuse, talk.front.look))
        return False
    except AppError as error:
        words = talk.front.look.words
        sent = talk.job is not None and talk.job != before
        there = sent and not isinstance(error, NotFound)  # "/show" of a job that is none of mine
        kept = words("error.kept_sent", job=talk.job) if there else ""
        value = failures.error_value(error)
        talk.front.show(failures.error_blocks(value, talk.front.look, kept=kept))
        return False
    except asyncio.CancelledError:
        if talk.job is not None and talk.job != before:
            talk.say("error.left_running", job=talk.job)
        raise
    return True
