"""The screen of `top` at fixed widths, its rates, and the line to a worker that is away."""

import datetime as dt
import io
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from protocol.answers import Provenance, Timings
from protocol.boards import BoardNotice, BoardState, CardState
from protocol.errors import Refused, Unavailable
from protocol.jobs import BoardsAre
from worker.door import Door, operator
from worker.registry import Key, Registry, Role, User
from worker.watching.screen import screen
from worker.watching.view import Rates

AT = dt.datetime(2026, 11, 30, 9, 5, tzinfo=dt.UTC)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43


def shown(now, width=120):
    console = Console(file=io.StringIO(), width=width)
    console.print(screen(now, at=AT, zone=ZoneInfo("Asia/Seoul")))
    return console.file.getvalue()


def card(number, **more):
    usual = {
        "uuid": f"GPU-{number}", "label": f"GPU {number}", "board": "left",
        "temperature_c": 60, "memory_temperature_c": 58, "power_w": 140.0, "power_limit_w": 150.0,
        "utilisation": 50, "sm_clock_mhz": 1522, "link_width": 8,
    }  # fmt: skip
    return CardState(**(usual | more))


def test_a_held_board_says_why_and_times_are_the_office_s():
    board = BoardState(
        name="left", paused=True, why=("GPU 1 is gone from the bus",), running=0, waiting=3,
        engine="ready", tokens_per_s=82.04, tokens_per_s_median=81.0, replies=7,
    )  # fmt: skip
    notice = BoardNotice(
        at=AT, kind="pause", board="left", severity="pause", rule="lost_card",
        reason="GPU 1 is gone from the bus", next_step="shut down and reseat it",
    )  # fmt: skip
    text = shown(
        BoardsAre(
            watched=True,
            boards=(board,),
            cards=(card(0), card(1, reachable=False)),
            notices=(notice,),
        )
    )
    assert "18:05:00 KST" in text
    assert "1 held" in text
    assert "GPU 1 is gone from the bus" in text
    assert "82.0" in text
    assert "140 of 150 W" in text
    assert "60 °C, memory 58 °C" in text
    assert "→ shut down and reseat it" in text
    assert "30 Nov 18:05" in text


def test_what_a_card_does_not_report_is_never_a_zero():
    spark = card(0, power_limit_w=None, power_w=None, utilisation=None, memory_temperature_c=None,
                 temperature_c=None, sm_clock_mhz=None, link_width=None)  # fmt: skip
    text = shown(BoardsAre(watched=True, boards=(), cards=(spark,)))
    assert "not reported" in text
    assert "0 °C" not in text
    assert "0 W" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_it_fits_any_terminal(width):
    board = BoardState(name="left", paused=True, why=("a long reason " * 10,), engine="down")
    text = shown(BoardsAre(watched=False, boards=(board,), cards=(card(0),)), width)
    assert max(map(len, text.splitlines())) <= width


def test_a_box_without_cards_says_so():
    assert "no card is watched" in shown(BoardsAre(watched=False, boards=()))


def test_rates_are_the_last_one_and_the_median_of_twenty():
    rates = Rates()
    assert rates.of("A") == (None, None, 0)
    for number in range(1, 31):
        drafted = Provenance(drafted_tokens=10, accepted_tokens=number % 2)
        rates.add(Timings(board="A", tokens_per_s=float(number)), drafted)
    rates.add(Timings(board="A"), Provenance())  # computed from the record: no model, no rate
    assert rates.of("A") == (30.0, 20.5, 30)
    assert rates.drafts("A") == (200, 10)
    assert rates.drafts("B") == (0, 0)


def test_drafts_that_were_taken_and_what_an_engine_leaves_off_are_shown():
    plain = BoardState(name="plain", paused=False, engine="ready")
    assert "drafts" not in shown(BoardsAre(watched=False, boards=(plain,)))
    drafting = BoardState(
        name="drafting", paused=False, engine="ready", drafted_tokens=200, accepted_tokens=130,
        notes=("slot files off: the model keeps a recurrent state",),
    )  # fmt: skip
    text = shown(BoardsAre(watched=False, boards=(plain, drafting)), width=160)
    assert "drafts" in text
    assert "65%" in text
    assert "slot files off: the model keeps a recurrent state" in text


def test_a_worker_that_is_away_is_said_in_words(tmp_path):
    users = (User(name="op", role=Role.OPERATOR, keys=(Key(public=KEY),)),)
    who = operator(Registry(users=users), None, AT)
    with pytest.raises(Unavailable, match="not running"):
        Door(tmp_path / "worker.sock", who)


def test_only_a_key_that_works_from_the_box_speaks_for_an_operator():
    gone = User(name="gone", role=Role.OPERATOR, keys=(Key(public=KEY, revoked=True),))
    with pytest.raises(Refused):
        operator(Registry(users=(gone,)), None, AT)
    far = User(name="far", role=Role.OPERATOR, keys=(Key(public=KEY, networks=("10.0.0.0/8",)),))
    with pytest.raises(Refused):
        operator(Registry(users=(far,)), None, AT)
    lawyer = User(name="kim", role=Role.LAWYER, keys=(Key(public=KEY),))
    with pytest.raises(Refused):
        operator(Registry(users=(lawyer,)), None, AT)
    assert operator(Registry(users=(lawyer,)), None, AT, any_role=True).user == "kim"
    other = KEY[:-4] + "BBBB"
    both = (Key(public=KEY, revoked=True), Key(public=other))
    renewed = User(name="op", role=Role.OPERATOR, keys=both)
    who = operator(Registry(users=(renewed,)), None, AT)
    assert (who.user, who.fingerprint) == ("op", Key(public=other).fingerprint)
    assert operator(Registry(users=(lawyer,)), "kim", AT).role == "lawyer"
