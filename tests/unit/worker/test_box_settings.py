"""The parts of the settings on boxes: what does not fit together is refused before a job runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.errors import BadRequest
from worker.box_settings import BoxSettings, OtherBoxSettings, check_boxes
from worker.checks_boxes import box_checks, rules_in_words
from worker.config import Settings
from worker.engine import EngineSettings

BOARD = EngineSettings(name="one.a", engine="scripted", model_sha256="ab" * 32)


def box(**changes: Any) -> BoxSettings:
    return BoxSettings(**({"name": "one", "lends": "one.a", "leaving": ("M-7F3K",)} | changes))


def other(**changes: Any) -> OtherBoxSettings:
    values = {"name": "two", "host": "10.0.0.2", "key": Path("/k"), "known_hosts": Path("/h")}
    return OtherBoxSettings(**(values | changes))


def test_what_fits_is_taken() -> None:
    check_boxes(None, (), (BOARD,))
    check_boxes(box(), (other(),), (BOARD,))
    check_boxes(box(queue_file=Path("/q")), (other(board="one.a"),), (BOARD,))


@pytest.mark.parametrize(
    ("here", "there", "board", "said"),
    [
        (None, other(), BOARD, "part \\[box\\]"),
        (box(name="Box One"), other(), BOARD, "box"),
        (box(leaving=("Zebrastein v. Z",)), other(), BOARD, "matter code"),
        (box(staying=("Zebrastein v. Z",)), other(), BOARD, "matter code"),
        (box(), other(name="one"), BOARD, "one name"),
        (box(lends="one.b"), other(), BOARD, "not there"),
        (box(), other(board="one.b"), BOARD, "not there"),
        (box(), other(calls=0), BOARD, "at least one"),
        (box(), other(), EngineSettings(name="one.a"), "no model_sha256"),
        (
            box(lends="A", queue_file=Path("/q")),
            other(),
            EngineSettings(name="A", model_sha256="ab" * 32),
            "called by their box",
        ),
    ],
)
def test_what_does_not_is_refused_without_its_value(
    here: BoxSettings | None, there: OtherBoxSettings, board: EngineSettings, said: str
) -> None:
    with pytest.raises(BadRequest, match=said) as caught:
        check_boxes(here, (there,), (board,))
    assert "Zebrastein" not in caught.value.message


def test_the_rules_in_words_count_what_may_really_leave() -> None:
    assert rules_in_words(box()) == "prompts of 1 matter may leave it"
    assert rules_in_words(box(leaving=())) == "nothing leaves it"
    both = box(leaving=("M-7F3K", "M-8G4K"), staying=("M-8G4K",))
    assert rules_in_words(both).startswith("prompts of 1 matter may leave it; 1 matter ")


def test_doctor_says_in_words_what_is_missing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    key, known = tmp_path / "key", tmp_path / "known"

    def said(**changes: Any) -> dict[str, str]:
        values = {"state": tmp_path, "run_folder": run, "boards": (BOARD,), "box": box()}
        settings = Settings(
            **(values | {"other_box": (other(key=key, known_hosts=known),)} | changes)
        )
        return {check.name: check.reason for check in box_checks(settings)}

    assert said(box=None, other_box=()) == {}
    assert "there is no file" in said()["box two"]
    key.touch()
    known.touch()
    assert "gateway here is not running" in said()["box two"]
    (run / "box-two.sock").touch()
    assert "its jobs are worded here" in said()["box two"]
    assert "worker is not running" in said()["lends board one.a"]
    assert "no model_sha256" in said(boards=(EngineSettings(name="one.a"),))["box"]
    missing = said(box=box(queue_file=tmp_path / "none"))["shared queue"]
    assert "cannot be read" in missing or "psycopg" in missing
