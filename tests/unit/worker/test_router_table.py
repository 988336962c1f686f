"""The router's table says of each kind of work who does it; no model where none is asked."""

from __future__ import annotations

import json

from click.testing import CliRunner

from worker.cli import cli
from worker.config import Settings
from worker.engine import EngineSettings
from worker.router import CODE_KINDS, KINDS, Router


def table(**settings):
    return {row.work: row for row in Router(Settings(**settings)).table()}


def test_every_kind_has_a_line_and_so_have_the_second_reading_and_the_approval():
    rows = table()
    assert set(rows) == {*KINDS, "second reading", "approval"}
    assert all(row.why for row in rows.values())


def test_what_code_does_and_what_a_person_does_is_not_called_a_models():
    rows = table()
    assert {work for work, row in rows.items() if row.done_by == "code"} == CODE_KINDS
    assert all("no model is asked" in rows[kind].why for kind in CODE_KINDS)
    assert (rows["approval"].done_by, rows["approval"].boards) == ("a person", ())
    assert rows["second reading"].done_by == "the writer's own model"


def test_boards_are_named_as_jobs_will_go():
    boards = tuple(EngineSettings(name=name, engine="scripted") for name in "AB")
    rows = table(boards=boards, roles={"summarize": "B"})
    assert rows["summarize"].boards == ("B",)
    assert "settings" in rows["summarize"].why
    assert rows["ask"].boards == ("A",)
    assert rows["second reading"].boards == ("B",)
    assert rows["second reading"].done_by == "another model"


def test_the_command_prints_it_for_people_and_for_scripts(tmp_path):
    def said(*words):
        done = CliRunner().invoke(cli, ["--state", str(tmp_path), "boards", "roles", *words])
        assert done.exit_code == 0, done.output
        return done.output

    rows = json.loads(said("--json"))
    assert {row["work"] for row in rows} >= set(KINDS)
    assert "a person" in said()
