"""The commands that look around: matters, jobs, the record, a page of it, the worker's health."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot import listings
from bot.boards import boards as boards_of
from bot.conversation import Conversation
from bot.documents import listed, page_and_name, pick
from bot.misuse import Misuse
from bot.slash import Name, Typed, needed
from bot.sources import page_blocks
from protocol.answers import Citation
from protocol.errors import BadRequest, NotFound
from protocol.ids import DocumentId, matter_id
from protocol.jobs import (
    BoardsAre,
    Documents,
    Forget,
    GetBoards,
    Health,
    HealthIs,
    Job,
    Jobs,
    JobState,
    ListDocuments,
    ListJobs,
    ListMatters,
    Matters,
    OpenSource,
    SourcePage,
)
from protocol.record import Matter

_ENDED: Final = frozenset({JobState.DONE, JobState.FAILED, JobState.STOPPED})


async def begin(talk: Conversation, wanted: str) -> None:
    """Opens the matter that was asked for, or the only one there is, else lists them."""
    matters = await _matters(talk)
    if wanted:
        await _bind(talk, matters, wanted)
    elif len(matters) == 1:
        await _bind(talk, matters, matters[0].id)
    else:
        talk.front.show(listings.matters(matters, talk.front.look))


async def matter(talk: Conversation, typed: Typed) -> None:
    """Lists the matters of this person, or opens one."""
    matters = await _matters(talk)
    if typed.rest:
        await _bind(talk, matters, typed.rest)
    else:
        talk.front.show(listings.matters(matters, talk.front.look))


async def open_source(talk: Conversation, typed: Typed) -> None:
    """The page on which an item of the last reply stands, or any page of a document."""
    rest = needed(typed, "words")
    if rest.isascii() and rest.isdecimal():
        item = talk.item(int(rest))
        places = item.places or item.nearest
        if not places:
            raise Misuse("no_place", number=item.number)
        await _page(talk, places[0].document, places[0].span.page, places[0])
        return
    name, page = page_and_name(rest)
    document = pick(await listed(talk), name)
    await _page(talk, document.id, page, None)


async def jobs(talk: Conversation, typed: Typed) -> None:
    """The jobs of the matter, newest first."""
    talk.front.show(listings.jobs(await _jobs(talk), talk.front.look))


async def documents(talk: Conversation, typed: Typed) -> None:
    """The record, file by file, and what could not be read."""
    result = await talk.worker.call(ListDocuments(matter=talk.bound()))
    assert isinstance(result, Documents)
    talk.documents = result.documents
    talk.front.show(listings.documents(talk.bound(), result, talk.front.look))


async def forget(talk: Conversation, typed: Typed) -> None:
    """Deletes the turns of this conversation on the worker."""
    request = Forget(matter=talk.bound(), conversation=talk.thread, key=talk.new_key())
    await talk.worker.call(request)
    talk.say("chat.forgotten")


async def health(talk: Conversation, typed: Typed) -> None:
    """The state of the worker's parts, and the boards."""
    result = await talk.worker.call(Health())
    assert isinstance(result, HealthIs)
    look, boards = talk.front.look, await _boards(talk)
    talk.front.show(listings.health(result, look) + boards_of(boards, look))


async def show_help(talk: Conversation, typed: Typed) -> None:
    """Every command with its sentence."""
    talk.front.show(listings.commands(talk.front.look))


async def _bind(talk: Conversation, matters: Sequence[Matter], code: str) -> None:
    try:
        wanted = matter_id(code.strip().removeprefix("#").upper())
    except ValueError:
        raise Misuse("needs", name=Name.MATTER, what="matter_code") from None
    found = [each for each in matters if each.id == wanted]
    if not found:
        raise NotFound("no such matter")
    talk.bind(found[0])
    talk.say("chat.opened", matter=wanted, title=talk.front.look.line(found[0].title))
    missed = set(talk.outbox.unfinished(talk.channel))
    for job in reversed(await _jobs(talk)):
        if job.state not in _ENDED:
            talk.say("chat.running", job=job.id, kind=talk.front.look.line(job.kind))
        elif job.id in missed:  # it ended while nobody looked
            await talk.follow(job.id, talk.outbox.after(talk.channel, job.id), f"/show {job.id}")


async def _page(
    talk: Conversation, document: DocumentId, page: int, place: Citation | None
) -> None:
    request = OpenSource(matter=talk.bound(), document=document, page=page)
    shown = await talk.worker.call(request)
    assert isinstance(shown, SourcePage)
    talk.front.show(page_blocks(shown, place, talk.front.look))


async def _boards(talk: Conversation) -> BoardsAre:
    try:
        result = await talk.worker.call(GetBoards())
    except (BadRequest, NotFound):  # a worker of before
        return BoardsAre(watched=False, boards=())
    assert isinstance(result, BoardsAre)
    return result


async def _matters(talk: Conversation) -> tuple[Matter, ...]:
    result = await talk.worker.call(ListMatters())
    assert isinstance(result, Matters)
    return result.matters


async def _jobs(talk: Conversation) -> tuple[Job, ...]:
    result = await talk.worker.call(ListJobs(matter=talk.bound()))
    assert isinstance(result, Jobs)
    return result.jobs
