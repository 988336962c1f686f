"""`/edit`: a reviewer's words in a reply's place, by a form that holds the reply's own.

Full servers only. The form's id names the job and the text that it began with, so that words never
go onto another text. A form takes 4,000 characters; a longer reply is edited in the terminal.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import discord  # noqa: TID251

from bot.deciding import words_to_edit
from bot.guild import shape
from bot.guild.buttons import FORM, VERSION_CHARS, Act, Press
from bot.guild.counter import Answering, Counter, asker_of
from bot.guild.gate import Fixed, Prose, Said
from bot.guild.rights import Grant
from bot.render import counts
from bot.words import Words
from protocol.answers import Answer, ReviewState
from protocol.errors import AppError, Conflict
from protocol.jobs import Edit

_QUICK_S: Final = 2.0
"""A form is its own acknowledgement, and Discord waits three seconds for it."""
_MOST_CHARS: Final = 4000
_EDITABLE: Final = frozenset({ReviewState.AWAITING, ReviewState.RETURNED, ReviewState.APPROVED})


async def open_form(counter: Counter, interaction: discord.Interaction[Any], code: str) -> None:
    """Opens the form with the words of a reply, or says privately why not.

    Args:
        counter: Where it is asked.
        interaction: The command.
        code: The job; empty for the newest one.
    """
    try:
        async with asyncio.timeout(_QUICK_S):
            grant = await counter.let_in(asker_of(interaction), _QUICK_S)
            job = await counter.job(grant, code)
            if not counter.desk.full(grant.bound):
                said = Fixed(said=Said.DECIDE_THERE, matter=grant.bound.matter, job=job)
                await counter.post.answer_at_once(interaction, said)
                return
            answer = await counter.open_answer(grant, job)
        if answer.review not in _EDITABLE:
            raise Conflict("it is decided already")
    except TimeoutError:
        await counter.post.answer_at_once(interaction, Fixed(said=Said.UNAVAILABLE))
        return
    except AppError as error:
        await counter.post.answer_at_once(interaction, counter.told(error))
        return
    text = words_to_edit(answer)
    if len(text) > _MOST_CHARS:
        told = counter.words("edit_long", job=job, many=f"{len(text):,}", most=f"{_MOST_CHARS:,}")
        await counter.post.answer_at_once(interaction, Prose(text=told))
        return
    await counter.post.form(interaction, _form(_press(Act.EDIT, answer), text, counter.words))


async def put(
    counter: Counter,
    grant: Grant,
    answer: Answer,
    fields: dict[str, str | list[str]],
    key: str,
) -> Answering:
    """Puts the words of the form in the reply's place and shows the reply as it was checked anew.

    Raises:
        AppError: The box refuses: no right, another text by now, or the checker could not run.
    """
    text = str(fields.get("text", ""))
    if not text.strip():
        return Answering(template=Prose(text=counter.words("edit_empty")))
    request = Edit(
        job=answer.job, answer_sha256=answer.text_sha256, text=text, key=f"discord-{key}"
    )
    await counter.line.call(request, acting_for=grant.account)
    now = await counter.open_answer(grant, answer.job)
    green, amber, red = counts(now)
    said = counter.words(
        "edited", matter=now.matter, job=now.job, verified=green, look=amber, failing=red
    )
    parts = shape.reply(now, counter.look, counter.words, "").parts
    for number, template in enumerate((Prose(text=said), *parts)):
        await counter.post.say(grant.bound.channel, template, key=f"e{number}.{key}"[:25])
    acts = (Act.APPROVE, Act.RETURN, Act.OPEN)
    presses = tuple(_press(act, now) for act in acts)
    return Answering(template=Prose(text=said), presses=presses)


def _press(act: Act, answer: Answer) -> Press:
    return Press(act=act, job=answer.job, version=answer.text_sha256[:VERSION_CHARS])


def _form(press: Press, text: str, words: Words) -> discord.ui.Modal:
    form = discord.ui.Modal(
        title=words("form_edit"), custom_id=FORM + press.custom_id, timeout=None
    )
    field = discord.ui.TextInput[Any](
        custom_id="text",
        style=discord.TextStyle.paragraph,
        default=text,
        max_length=_MOST_CHARS,
    )
    form.add_item(discord.ui.Label(text=words("field_text"), component=field))
    return form
