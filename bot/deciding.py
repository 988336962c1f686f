"""The commands of a reviewer: approve, return, withdraw, edit, export the last reply; legal holds.

A decision names the hash of exactly the text that was shown, so a reply that changed since then is
a conflict and nothing is approved.
"""

from __future__ import annotations

import re
from typing import Final

from bot import render
from bot.annotate import marked
from bot.conversation import Conversation
from bot.findings import reason_question
from bot.misuse import Misuse
from bot.slash import FORMATS, Name, Typed, needed
from bot.visible import visible
from protocol.answers import GREEN, Answer, ReviewState
from protocol.ids import JobId, job_id
from protocol.jobs import Decide, Edit, Export, Exported, HoldMatter, LiftHold

_KEPT: Final = re.compile(r"([\t\n])")


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


def edit_line(answer: Answer) -> str:
    """The line that puts a reply's own words in its place: where an edit begins.

    It names the job, so that the words never go to a reply that came in meanwhile. What a terminal
    would obey is made visible first.
    """
    return f"/{Name.EDIT} {answer.job}\n{words_to_edit(answer)}"


def words_to_edit(answer: Answer) -> str:
    """A reply's own words, with what a terminal would obey, or what would hide, made visible."""
    return "".join(
        part if part in ("\t", "\n") else visible(part) for part in _KEPT.split(answer.text)
    )


def edited_job(typed: Typed) -> tuple[JobId | None, str]:
    """The job that an edit names in its first line, and the words after it."""
    first, _, rest = typed.rest.partition("\n")
    try:
        return job_id(first.strip().upper()), rest
    except ValueError:
        return None, typed.rest


async def edit(talk: Conversation, typed: Typed) -> None:
    """Puts a reviewer's words in the last reply's place; the worker checks them anew."""
    answer = talk.last()
    job, text = edited_job(typed)
    if not text.strip():
        raise Misuse("needs", name=typed.name, what="new_text")
    if job is not None and job != answer.job:
        raise Misuse("edit_other", job=job, next_step="edit_other_next")
    await talk.worker.call(
        Edit(job=answer.job, answer_sha256=answer.text_sha256, text=text, key=talk.new_key())
    )
    talk.say("chat.edited", job=answer.job)
    talk.reply(await talk.stored(answer.job))


async def hold(talk: Conversation, typed: Typed) -> None:
    """Puts the matter on legal hold, for a reason."""
    reason = needed(typed, "hold_reason")
    await talk.worker.call(HoldMatter(matter=talk.bound(), reason=reason, key=talk.new_key()))
    talk.say("chat.held", matter=talk.bound())


async def lift(talk: Conversation, typed: Typed) -> None:
    """Lifts the matter's legal hold."""
    await talk.worker.call(LiftHold(matter=talk.bound(), key=talk.new_key()))
    talk.say("chat.lifted", matter=talk.bound())


async def export(talk: Conversation, typed: Typed) -> None:
    """Writes the approved reply to the matter's out folder; the worker refuses any other."""
    form = typed.rest.casefold() or FORMATS[0]
    if form not in FORMATS:
        raise Misuse("what_export")
    request = Export(job=talk.last().job, format=form, key=talk.new_key())
    done = await talk.worker.call(request)
    assert isinstance(done, Exported)
    name = talk.front.look.line(done.name)
    talk.say(
        "chat.exported",
        name=name,
        size=f"{done.size_bytes:,}",
        sha256=done.sha256,
        matter=talk.bound(),
    )


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
