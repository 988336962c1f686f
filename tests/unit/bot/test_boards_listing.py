"""Boards and cards as they are listed: what is held, hot or gone is said in words."""

from __future__ import annotations

import datetime as dt

from bot.blocks import plain
from bot.boards import boards
from protocol.boards import BoardNotice, BoardState, CardState
from protocol.jobs import BoardsAre

NOW = dt.datetime(2026, 11, 30, 9, 30, tzinfo=dt.UTC)


def test_boards_with_their_cards_and_what_was_said(look):
    found = BoardsAre(
        watched=True,
        boards=(
            BoardState(
                name="A",
                paused=True,
                why=("82 °C for a minute",),
                places=2,
                running=1,
                waiting=3,
                engine="ready",
                hardware=("0",),
                tokens_per_s=41.26,
            ),
            BoardState(name="B", paused=False, engine="down", detail="exit 1"),
        ),
        cards=(
            CardState(
                uuid="GPU-1", label="0 (0000:01:00)", board="0", temperature_c=82,
                power_w=260.4, power_limit_w=300.0, utilisation=97,
            ),
            CardState(uuid="GPU-2", label="1", board="9", reachable=False),
        ),
        notices=(
            BoardNotice(at=NOW, kind="pause", board="0", severity="hold", rule="heat",
                        reason="too \x1b[31mhot", next_step="look at the fan"),
        ),
    )  # fmt: skip
    said = plain(boards(found, look), 100)
    assert "A: ready · 1 of 2 at work · 3 waiting · 41.3 tokens/s" in said
    assert "held: 82 °C for a minute" in said
    assert "card 0 (0000:01:00): 82 °C · 260 of 300 W · 97 % busy" in said
    assert "B: down" in said
    assert "card 1: not reachable" in said
    assert "look at the fan" in said
    assert "\x1b" not in said
    assert said.index("A: ready") < said.index("card 0") < said.index("B: down")


def test_no_boards_is_no_list(look):
    assert boards(BoardsAre(watched=False, boards=()), look) == []
