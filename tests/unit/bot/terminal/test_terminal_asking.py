"""Asking, writing and reading in the app of the terminal, by its keys."""

from __future__ import annotations

import pytest
from textual.events import Paste  # noqa: TID251 - what a terminal sends

from bot.terminal.testing import JOB, MATTER, NOW, say, seen, settle
from protocol import jobs as ask
from protocol.record import Matter

SIZES = [(60, 24), (80, 24), (120, 40), (200, 50)]


async def ask_and_wait(desk, pilot, question: str = "When?") -> None:
    await say(desk, pilot, question)
    await settle(pilot, lambda: "[1 ✔]" in seen(pilot))


# --- asking and reading ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_question_becomes_an_annotated_reply_at_every_width(desk_of, worker, size):
    desk = desk_of(worker)
    async with desk.run_test(size=size) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        shown = seen(pilot)
        assert all(len(line) <= size[0] for line in shown.splitlines())
        assert worker.all(ask.Ask)[0].question == "When?"


async def test_progress_fills_one_place_and_other_jobs_go_on_beside_it(desk_of, worker):
    worker.gate.clear()
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await say(desk, pilot, "When?")
        await settle(pilot, lambda: "reading (62 %)" in seen(pilot))
        assert "queued" not in seen(pilot)
        await say(desk, pilot, "/cancel")
        await settle(pilot, lambda: worker.all(ask.Cancel))
        assert worker.all(ask.Cancel)[0].job == JOB
        assert "reading (62 %)" in seen(pilot)
        worker.gate.set()
        await settle(pilot, lambda: "[1 ✔]" in seen(pilot))
        assert "62 %" not in seen(pilot)


async def test_a_resize_wraps_anew(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 40)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await ask_and_wait(desk, pilot)
        assert "It shall pay $640. [2 ✘] [3 ≈]" in seen(pilot)
        for width in (60, 200, 61, 80):
            await pilot.resize_terminal(width, 40)
            await settle(pilot, lambda width=width: desk.messages._width <= width)
            shown = seen(pilot)
            assert all(mark in shown for mark in ("[1 ✔]", "[2 ✘]", "[3 ≈]"))
            assert "Draft · awaiting review" in shown


async def test_what_a_terminal_would_obey_is_shown(desk_of, worker):
    title = "x\x1b[2J\u202eevil"
    worker.results[ask.ListMatters] = ask.Matters(
        matters=(Matter(id=MATTER, title=title, opened_at=NOW),)
    )
    desk = desk_of(worker)
    async with desk.run_test(size=(120, 30)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        shown = seen(pilot)
        assert "x⟨U+001B⟩[2J⟨U+202E⟩evil" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


# --- writing --------------------------------------------------------------------------------------


async def test_five_hundred_pasted_lines_are_one_question(desk_of, worker):
    pasted = "\n".join(f"줄 {n}\t한글 漢字 🧑‍⚖️" for n in range(500))
    desk = desk_of(worker)
    async with desk.run_test(size=(80, 24)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        desk.composer.post_message(Paste(pasted))
        await settle(pilot, lambda: desk.composer.text == pasted)
        await pilot.press("enter")
        await settle(pilot, lambda: worker.all(ask.Ask))
        assert worker.all(ask.Ask)[0].question == pasted
        await settle(pilot, lambda: "[1 ✔]" in seen(pilot))
        await pilot.press("up")
        assert desk.composer.text == pasted


async def test_a_paste_that_a_terminal_would_obey_is_made_visible(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(80, 24)) as pilot:
        desk.composer.post_message(Paste("a\r\nb\x1b[31m \u202ec"))
        await settle(pilot, lambda: desk.composer.text != "")
        assert desk.composer.text == "a\nb⟨U+001B⟩[31m ⟨U+202E⟩c"


async def test_lines_completion_and_history(desk_of, worker):
    desk = desk_of(worker)
    async with desk.run_test(size=(100, 30)) as pilot:
        await settle(pilot, lambda: desk.channel is not None)
        await pilot.press(*"/ex")
        await settle(pilot, lambda: "/extract" in seen(pilot))
        assert "/export" in seen(pilot)
        await pilot.press("t", "tab", *"da", "tab")
        assert desk.composer.text == "/extract dates "
        await pilot.press("ctrl+c")
        assert desk.composer.text == ""
        await pilot.press(*"first", "ctrl+j", *"second", "enter")
        await settle(pilot, lambda: worker.all(ask.Ask))
        assert worker.all(ask.Ask)[0].question == "first\nsecond"
        await pilot.press("up")
        assert desk.composer.text == "first\nsecond"
        await pilot.press("down")
        assert desk.composer.text == ""
