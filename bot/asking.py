"""The commands that become jobs, and the two that look after jobs: show and cancel."""

from __future__ import annotations

from bot.conversation import Conversation
from bot.documents import chosen, has_filter, named_or_filtered
from bot.misuse import Misuse
from bot.slash import COLUMNS, EXTRACTS, Typed, needed, own_columns
from protocol.errors import NotFound
from protocol.jobs import (
    Accepted,
    Ask,
    Cancel,
    Chronology,
    CiteCheck,
    Extract,
    Find,
    Summarize,
    WorkRequest,
    WriteDraft,
)


async def ask(talk: Conversation, typed: Typed) -> None:
    """A question to the record."""
    request = Ask(
        matter=talk.bound(),
        conversation=talk.thread,
        question=needed(typed, "words"),
        key=talk.new_key(),
    )
    await _work(talk, request, typed)


async def find(talk: Conversation, typed: Typed) -> None:
    """Passages with these words; no model."""
    request = Find(
        matter=talk.bound(),
        text=needed(typed, "words"),
        key=talk.new_key(),
        conversation=talk.thread,
    )
    await _work(talk, request, typed)


async def summarize(talk: Conversation, typed: Typed) -> None:
    """A summary of the documents named, or of all."""
    documents, only = await named_or_filtered(talk, typed.rest)
    request = Summarize(
        matter=talk.bound(),
        key=talk.new_key(),
        documents=documents,
        only=only,
        conversation=talk.thread,
    )
    await _work(talk, request, typed)


async def extract(talk: Conversation, typed: Typed) -> None:
    """A table of dates, amounts, parties or facts, or of columns of one's own."""
    columns: tuple[str, ...] = ()
    if (own := own_columns(typed.rest)) is not None:
        what, (columns, named) = COLUMNS, own
    else:
        what, _, named = typed.rest.partition(" ")
        if has_filter(what):  # "/extract in:Lease.pdf" means everything in it
            what, named = "all", typed.rest
        what = what.casefold() or "all"
    if not (columns if what == COLUMNS else what in EXTRACTS):
        raise Misuse("what_extract")
    documents, only = await named_or_filtered(talk, named)
    request = Extract(
        matter=talk.bound(),
        what=what,
        columns=columns,
        key=talk.new_key(),
        documents=documents,
        only=only,
        conversation=talk.thread,
    )
    await _work(talk, request, typed)


async def chronology(talk: Conversation, typed: Typed) -> None:
    """Everything the record dates, in order."""
    documents, only = await named_or_filtered(talk, typed.rest)
    request = Chronology(
        matter=talk.bound(),
        key=talk.new_key(),
        documents=documents,
        only=only,
        conversation=talk.thread,
    )
    await _work(talk, request, typed)


async def citecheck(talk: Conversation, typed: Typed) -> None:
    """A brief of the matter against the rest of its record."""
    documents = await chosen(talk, needed(typed, "document"))
    if len(documents) != 1:
        raise Misuse("needs", name=typed.name, what="document")
    request = CiteCheck(
        matter=talk.bound(),
        key=talk.new_key(),
        document=documents[0].id,
        conversation=talk.thread,
    )
    await _work(talk, request, typed)


async def draft(talk: Conversation, typed: Typed) -> None:
    """A paper in a form: its facts quoted and cited, its blanks left in brackets.

    After a declaration's form stands whose it is, after any other what it is about.
    """
    form, _, rest = needed(typed, "form").partition(" ")
    form = form.casefold()
    of_witness = form == "declaration"
    request = WriteDraft(
        matter=talk.bound(),
        form=form,
        key=talk.new_key(),
        about="" if of_witness else rest.strip(),
        witness=rest.strip() if of_witness else "",
        conversation=talk.thread,
    )
    await _work(talk, request, typed)


async def show(talk: Conversation, typed: Typed) -> None:
    """A job's reply once more, or its events where it has no reply yet."""
    job = talk.job = talk.job_of(typed)
    try:
        answer = await talk.stored(job)
    except NotFound:  # not ended yet, or ended without a reply: its events say which
        await talk.follow(job, 0, typed.line)
    else:
        talk.reply(answer)


async def cancel(talk: Conversation, typed: Typed) -> None:
    """Stops a job; asking twice is harmless."""
    job = talk.job_of(typed)
    await talk.worker.call(Cancel(job=job))
    talk.say("chat.cancelled", job=job)


async def _work(talk: Conversation, request: WorkRequest, typed: Typed) -> None:
    accepted = await talk.worker.call(request)
    assert isinstance(accepted, Accepted)
    talk.job = accepted.job
    talk.outbox.expect(talk.channel, accepted.job)
    await talk.follow(accepted.job, talk.outbox.after(talk.channel, accepted.job), typed.line)
