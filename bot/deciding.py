"""The commands of a reviewer: approve, return, withdraw, export the reply that was shown last.

A decision names the hash of exactly the text that was shown, so a reply that changed since then is
a conflict and nothing is approved.
"""

from __future__ import annotations

from bot import render
from bot.annotate import marked
from bot.conversation import Conversation
from bot.findings import reason_question
from bot.misuse import Misuse
from bot.slash import FORMATS, Typed, needed
from protocol.answers import GREEN, ReviewState
from protocol.jobs import Decide, Export, Exported


async def approve(talk: Conversation, typed: Typed) -> None:
    """Approves the last reply, after a reason for every item that is not green."""
    answer = talk.last()
    reasons: dict[int, str] = {}
    for item in marked(answer):
        if item.verdict in GREEN:
            continue
        said = await talk.front.ask(reason_question(item, talk.front.look))
        if said is None or not said.strip():
            talk.say("chat.approve_stopped")
            return
        reasons[item.number] = said.strip()
    await _decide(talk, ReviewState.APPROVED, acknowledged=reasons)


async def give_back(talk: Conversation, typed: Typed) -> None:
    """Returns the last reply with a note."""
    await _decide(talk, ReviewState.RETURNED, note=needed(typed, "words"))


async def withdraw(talk: Conversation, typed: Typed) -> None:
    """Takes the last reply back."""
    await _decide(talk, ReviewState.WITHDRAWN, note=typed.rest)


async def export(talk: Conversation, typed: Typed) -> None:
    """Writes the approved reply to the matter's out folder; the worker refuses any other."""
    form = typed.rest.casefold() or FORMATS[0]
    if form not in FORMATS:
        raise Misuse("what_export")
    request = Export(job=talk.last().job, format=form, key=talk.new_key())
    done = await talk.worker.call(request)
    assert isinstance(done, Exported)
    name = talk.front.look.line(done.name)
    talk.say("chat.exported", name=name, size=f"{done.size_bytes:,}", sha256=done.sha256)


async def _decide(
    talk: Conversation,
    state: ReviewState,
    *,
    note: str = "",
    acknowledged: dict[int, str] | None = None,
) -> None:
    answer = talk.last()
    await talk.worker.call(
        Decide(
            job=answer.job,
            answer_sha256=answer.text_sha256,
            state=state,
            key=talk.new_key(),
            note=note,
            acknowledged=acknowledged or {},
        )
    )
    talk.answer = await talk.stored(answer.job)
    said = render.state(talk.answer, talk.front.look)
    talk.say("chat.decided", job=answer.job, state=said)
