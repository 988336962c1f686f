"""Approve and Return: the two buttons that open a form. Decisions count in full servers only.

A form opens at once, so the box is given under a second to say whether the button is still good;
what the form sends is acknowledged first and checked again. The decision names the hash of exactly
the text that stood above the button.
"""

from __future__ import annotations

import re
from typing import Any, Final

import discord  # noqa: TID251

from bot.annotate import marked
from bot.guild import editing, shape
from bot.guild.buttons import FORM, Act, Press, parse
from bot.guild.counter import Answering, Counter, asker_of
from bot.guild.gate import Fixed, Prose, Said
from bot.guild.rights import Grant
from bot.words import Words
from protocol.answers import GREEN, Answer, ReviewState
from protocol.errors import AppError, Conflict
from protocol.jobs import Decide

_QUICK_S: Final = 0.8
"""A form is its own acknowledgement, and that is due within a second."""
_CHECKS: Final = ("check_read", "check_citations", "check_facts")
_REASON: Final = re.compile(r"^\s*(\d{1,6})\s*[:：.)]\s*(\S.*?)\s*$", re.MULTILINE)
_NOTE_CHARS: Final = 4000
_DECIDABLE: Final = frozenset({ReviewState.AWAITING, ReviewState.RETURNED})


async def open_form(counter: Counter, interaction: discord.Interaction[Any], press: Press) -> None:
    """Opens the form of a button, or says privately why not."""
    try:
        grant = await counter.let_in(asker_of(interaction), _QUICK_S)
        if not counter.desk.full(grant.bound):
            said = Fixed(said=Said.DECIDE_THERE, matter=grant.bound.matter, job=press.job)
            await counter.post.answer_at_once(interaction, said)
            return
        counter.delivery(grant, press.job)
        answer = await counter.current(grant, press, _QUICK_S)
        if answer.review not in _DECIDABLE:
            raise Conflict("it is decided already")
    except AppError as error:
        await counter.post.answer_at_once(interaction, counter.told(error))
        return
    if press.act is Act.APPROVE:
        form = _approve_form(press, _unproven(answer), counter.words)
    else:
        form = _return_form(press, counter.words)
    await counter.post.form(interaction, form)


def pressed(custom_id: str) -> Press | None:
    """The button that opened a form; None when the form is none of ours."""
    return parse(custom_id.removeprefix(FORM)) if custom_id.startswith(FORM) else None


async def submitted(counter: Counter, interaction: discord.Interaction[Any], press: Press) -> None:
    """A form came back."""
    fields = _fields(interaction)

    async def decide(grant: Grant) -> Answering:
        answer = await counter.current(grant, press)
        if press.act is Act.APPROVE:
            return await _approve(counter, grant, answer, fields, str(interaction.id))
        if press.act is Act.EDIT:
            return await editing.put(counter, grant, answer, fields, str(interaction.id))
        note = str(fields.get("note", "")).strip()[:_NOTE_CHARS]
        return await _decide(
            counter, grant, answer, ReviewState.RETURNED, str(interaction.id), note=note
        )

    await counter.serve(interaction, decide)


async def _approve(
    counter: Counter,
    grant: Grant,
    answer: Answer,
    fields: dict[str, str | list[str]],
    key: str,
) -> Answering:
    if set(fields.get("checks", ())) != set(_CHECKS):
        return Answering(template=Prose(text=counter.words("checklist_missing")))
    given = {
        int(number): reason for number, reason in _REASON.findall(str(fields.get("reasons", "")))
    }
    missing = [number for number in _unproven(answer) if number not in given]
    if missing:
        numbers = ", ".join(map(str, missing[:50]))
        said = counter.words("reasons_missing", numbers=numbers)
        return Answering(template=Prose(text=said))
    reasons = {number: given[number] for number in _unproven(answer)}
    return await _decide(counter, grant, answer, ReviewState.APPROVED, key, reasons=reasons)


async def _decide(
    counter: Counter,
    grant: Grant,
    answer: Answer,
    state: ReviewState,
    key: str,
    *,
    note: str = "",
    reasons: dict[int, str] | None = None,
) -> Answering:
    request = Decide(
        job=answer.job,
        answer_sha256=answer.text_sha256,
        state=state,
        key=f"discord-{key}",
        note=note,
        acknowledged=reasons or {},
    )
    await counter.line.call(request, acting_for=grant.account)
    now = await counter.desk.answer(answer.job, grant.account)
    said = counter.words(
        "decided_full",
        matter=answer.matter,
        job=answer.job,
        state=shape.escaped(counter.look.words(f"state.{now.review.value}")),
    )
    await counter.post.say(grant.bound.channel, Prose(text=said), key=f"d{key}"[:25])
    return Answering(template=Prose(text=said))


def _unproven(answer: Answer) -> list[int]:
    """The numbers of the items that are not green; each needs a reason to be accepted."""
    return [item.number for item in marked(answer) if item.verdict not in GREEN]


def _approve_form(press: Press, unproven: list[int], words: Words) -> discord.ui.Modal:
    form = discord.ui.Modal(
        title=words("form_approve"), custom_id=FORM + press.custom_id, timeout=None
    )
    options = [discord.CheckboxGroupOption(label=words(key), value=key) for key in _CHECKS]
    checks = discord.ui.CheckboxGroup[Any](
        custom_id="checks", options=options, min_values=len(_CHECKS), max_values=len(_CHECKS)
    )
    form.add_item(discord.ui.Label(text=words("field_checks"), component=checks))
    if unproven:
        lines = "".join(f"{number}: \n" for number in unproven)[:_NOTE_CHARS]
        reasons = discord.ui.TextInput[Any](
            custom_id="reasons",
            style=discord.TextStyle.paragraph,
            default=lines,
            max_length=_NOTE_CHARS,
        )
        form.add_item(discord.ui.Label(text=words("field_reasons"), component=reasons))
    return form


def _return_form(press: Press, words: Words) -> discord.ui.Modal:
    form = discord.ui.Modal(
        title=words("form_return"), custom_id=FORM + press.custom_id, timeout=None
    )
    note = discord.ui.TextInput[Any](
        custom_id="note", style=discord.TextStyle.paragraph, max_length=_NOTE_CHARS
    )
    form.add_item(discord.ui.Label(text=words("field_note"), component=note))
    return form


def _fields(interaction: discord.Interaction[Any]) -> dict[str, str | list[str]]:
    """What was filled in, by the fields' ids; read from the event, so a restart does not matter."""
    data: Any = interaction.data or {}
    fields: dict[str, str | list[str]] = {}
    for label in data.get("components", ()):
        field = label.get("component") or {}
        key = field.get("custom_id")
        if isinstance(key, str):
            value = field.get("values", field.get("value", ""))
            fields[key] = [str(v) for v in value] if isinstance(value, list) else str(value)
    return fields
