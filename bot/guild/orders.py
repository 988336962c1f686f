"""The commands that become jobs. In a strict server they take choices only, never words.

Each builds a request of the protocol; the counter sends it and sees to it that its reply arrives.
"""

from __future__ import annotations

from typing import Final

from bot.guild import shape
from bot.guild.buttons import Press
from bot.guild.counter import Answering, Counter
from bot.guild.deliveries import Delivery
from bot.guild.desk import again as kept
from bot.guild.gate import Prose, Said
from bot.guild.rights import Grant
from bot.slash import COLUMNS, listed_columns
from bot.sources import page_blocks
from protocol.errors import BadRequest, NotFound
from protocol.ids import DocumentId, JobId
from protocol.jobs import (
    Ask,
    Chronology,
    CiteCheck,
    Extract,
    Find,
    Forget,
    OpenSource,
    SourcePage,
    Summarize,
    WorkRequest,
    WriteDraft,
)

_TEXT_CHARS: Final = 4000
"""Of a message whose citations are checked; Discord's own limit of one with a subscription."""


async def ask(counter: Counter, grant: Grant, question: str, key: str) -> Answering:
    """A question; words, so for full channels only."""
    counter.words_may_pass(grant)
    request = Ask(matter=grant.bound.matter, conversation=_talk(grant), question=question, key=key)
    return await counter.taken(request, grant)


async def find(counter: Counter, grant: Grant, words: str, key: str) -> Answering:
    """Passages with these words; for full channels only."""
    counter.words_may_pass(grant)
    return await counter.taken(Find(matter=grant.bound.matter, text=words, key=key), grant)


async def summarize(
    counter: Counter, grant: Grant, key: str, document: str = "", only: str = ""
) -> Answering:
    """A summary of a document, or of all; filters are words, so for full channels only."""
    _filters_may_pass(counter, grant, only)
    request = Summarize(
        matter=grant.bound.matter, key=key, documents=_named(document), only=only.strip()
    )
    return await counter.taken(request, grant)


async def extract(
    counter: Counter,
    grant: Grant,
    key: str,
    what: str,
    document: str = "",
    columns: str = "",
    only: str = "",
) -> Answering:
    """A table of dates, amounts, parties or facts; in full channels of columns of one's own."""
    if columns:
        counter.words_may_pass(grant)
    _filters_may_pass(counter, grant, only)
    named = listed_columns(columns)
    request = Extract(
        matter=grant.bound.matter,
        what=COLUMNS if named else what,
        columns=named,
        key=key,
        documents=_named(document),
        only=only.strip(),
    )
    return await counter.taken(request, grant)


async def chronology(
    counter: Counter, grant: Grant, key: str, document: str = "", only: str = ""
) -> Answering:
    """Everything the record dates, in order."""
    _filters_may_pass(counter, grant, only)
    request = Chronology(
        matter=grant.bound.matter, key=key, documents=_named(document), only=only.strip()
    )
    return await counter.taken(request, grant)


async def draft(counter: Counter, grant: Grant, key: str, form: str, about: str = "") -> Answering:
    """A paper in a form; what it is about, or whose declaration it is, in full channels only."""
    if about:
        counter.words_may_pass(grant)
    of_witness = form == "declaration"
    request = WriteDraft(
        matter=grant.bound.matter,
        form=form,
        key=key,
        about="" if of_witness else about,
        witness=about if of_witness else "",
    )
    return await counter.taken(request, grant)


async def citecheck(counter: Counter, grant: Grant, key: str, document: str) -> Answering:
    """A brief of the matter against the rest of its record; for full channels only."""
    counter.words_may_pass(grant)
    request = CiteCheck(matter=grant.bound.matter, key=key, document=DocumentId(document))
    return await counter.taken(request, grant)


async def check_message(
    counter: Counter, grant: Grant, key: str, *, job: JobId | None, text: str
) -> Answering:
    """The message menu: the findings of a reply of ours, or a check of what somebody wrote.

    In a strict channel the message's words are not looked at, though Discord sends them.
    """
    if job is not None:
        return await counter.sources(grant, job, None)
    if not counter.desk.full(grant.bound):
        return await counter.announce(grant, Said.CITE_THERE)
    if not text.strip():
        return Answering(template=Prose(text=counter.words("no_cites")))
    request = CiteCheck(matter=grant.bound.matter, key=key, text=text[:_TEXT_CHARS])
    return await counter.taken(request, grant)


async def open_page(counter: Counter, grant: Grant, document: str, page: int) -> Answering:
    """A page of a document that may be shown in a full channel."""
    counter.words_may_pass(grant)
    listed = (await counter.documents_of(grant)).documents
    found = next((each for each in listed if each.id == document), None)
    if found is None or found.designation or found.privileged:
        raise NotFound("nothing that may be shown here")
    request = OpenSource(matter=grant.bound.matter, document=found.id, page=page)
    shown = await counter.line.call(request, acting_for=grant.account)
    assert isinstance(shown, SourcePage)
    return Answering(template=shape.private(page_blocks(shown, None, counter.look)))


async def forget(counter: Counter, grant: Grant, key: str) -> Answering:
    """Deletes what was said in the channel from the box; Discord keeps what it has."""
    counter.words_may_pass(grant)
    request = Forget(matter=grant.bound.matter, conversation=_talk(grant), key=key)
    await counter.line.call(request, acting_for=grant.account)
    return counter.fixed(Said.FORGOTTEN, grant)


async def retry(counter: Counter, grant: Grant, job: str, key: str) -> Answering:
    """Makes a request once more; without a job, those that ended are offered as buttons."""
    if not job:
        return await counter.offer_again(grant)
    wanted = await counter.job(grant, job)
    return await again(counter, grant, counter.delivery(grant, wanted), wanted, key)


async def press_again(counter: Counter, grant: Grant, press: Press, key: str) -> Answering:
    """The button Retry."""
    return await again(counter, grant, counter.delivery(grant, press.job), press.job, key)


async def again(
    counter: Counter, grant: Grant, delivery: Delivery | None, job: JobId, key: str
) -> Answering:
    """The same request once more; words are fetched from the box, where they are kept.

    Raises:
        BadRequest: It was made of words that the box does not give back.
    """
    request = kept(delivery, key) if delivery is not None else None
    if request is None:
        request = await _again_with_words(counter, grant, job, key)
    return await counter.taken(request, grant)


async def _again_with_words(counter: Counter, grant: Grant, job: JobId, key: str) -> WorkRequest:
    answer = await counter.desk.answer(job, grant.account)
    matter, words = grant.bound.matter, answer.question
    if answer.matter != matter or answer.kind not in ("ask", "find") or not words:
        raise BadRequest("this cannot be made again here")
    if answer.kind == "find":
        return Find(matter=matter, text=words, key=key)
    return Ask(matter=matter, conversation=_talk(grant), question=words, key=key)


def _talk(grant: Grant) -> str:
    return f"discord-{grant.bound.channel}"


def _filters_may_pass(counter: Counter, grant: Grant, only: str) -> None:
    if only.strip():
        counter.words_may_pass(grant)


def _named(document: str) -> tuple[DocumentId, ...]:
    return (DocumentId(document),) if document else ()
