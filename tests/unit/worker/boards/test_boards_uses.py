"""Which hardware boards an engine uses, who stands in for it, a drain that becomes a stop."""

from pathlib import Path

import pytest

from worker.boards import Severity
from worker.boards.health import Health
from worker.boards.verdicts import Verdict
from worker.engine import EngineSettings
from worker.router import stands_in
from worker.watching.uses import cards_named, hardware_of

BOARDS = {"north": ("GPU-1", "GPU-2"), "south": ("GPU-3", "GPU-4")}
SERVER = Path("/opt/llama.cpp/bin/llama-server")


def engine(name="A", visible=None, **more):
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    return EngineSettings(name=name, environment=environment, **more)


@pytest.mark.parametrize(
    ("settings", "used"),
    [
        (engine("north"), {"north"}),  # by name
        (engine("A", "GPU-3,GPU-4"), {"south"}),  # by cards
        (engine("north", "GPU-3"), {"south"}),  # cards count for more than a name
        (engine("north+south", "GPU-1, GPU-2,GPU-3"), {"north", "south"}),
        (engine("A"), set()),  # the bundled build knows no card
        (engine("A", binary=SERVER), {"north", "south"}),  # it takes every card it finds
        (engine("A", "0,1", binary=SERVER), {"north", "south"}),  # numbers are no names
        (engine("A", "", binary=SERVER), set()),
        (engine("A", "-1", binary=SERVER), set()),
        (engine("A", "GPU-9", binary=SERVER), set()),  # not of this box
        (engine("A", engine="remote", binary=SERVER), set()),
        (engine("south", engine="scripted"), {"south"}),
    ],
)
def test_what_an_engine_uses(settings, used):
    assert hardware_of(settings, BOARDS) == used


def test_cards_are_named_by_uuid_or_not_at_all():
    assert cards_named(engine(visible="GPU-1, GPU-2")) == ("GPU-1", "GPU-2")
    assert cards_named(engine(visible="1")) is None
    assert cards_named(engine()) is None
    assert cards_named(engine(visible="")) == ()


def test_only_the_same_model_with_as_much_context_stands_in():
    one = engine("A", model=Path("a.gguf"), context_tokens=8192)
    assert stands_in(engine("B", model=Path("a.gguf"), context_tokens=8192), one)
    assert stands_in(engine("B", model=Path("a.gguf"), context_tokens=16384), one)
    assert not stands_in(engine("B", model=Path("a.gguf"), context_tokens=4096), one)
    assert not stands_in(engine("B", model=Path("b.gguf"), context_tokens=8192), one)
    assert not stands_in(one, one)


def test_a_board_that_was_to_finish_its_job_and_then_fails_lets_go_of_it():
    health = Health({"north": ["GPU-1"]}, {})

    def say(rule, severity):
        verdict = Verdict(rule=rule, severity=severity, uuid="GPU-1", reason="", next_step="")
        return [one.severity for one in health.say([verdict], 0.0) if one.kind == "pause"]

    assert say("xid_63", Severity.DRAIN) == [Severity.DRAIN]
    assert say("xid_92", Severity.DRAIN) == []
    assert say("xid_79", Severity.PAUSE) == [Severity.PAUSE]
    assert say("xid_48", Severity.PAUSE) == []
