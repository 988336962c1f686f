"""What an operator types for holds and for the ledger."""

from __future__ import annotations

import io
import json

import pytest
from click.testing import CliRunner
from PIL import Image, ImageColor

from protocol.errors import BadRequest, Conflict, Unavailable
from protocol.ids import JobId, MatterId, UserName
from protocol.record import Matter
from rag.matters import create
from worker import holds, registry
from worker.audit import Journal
from worker.cli import cli
from worker.registry import Registry, Role, User
from worker.stats import Tally, tallies
from worker.stats_picture import OUTCOMES, picture

CODE = MatterId("M-7F3K")


@pytest.fixture
def state(tmp_path, noon):
    create(tmp_path / "matters" / CODE, Matter(id=CODE, title="A v. B", opened_at=noon)).close()
    people = (("kim", Role.REVIEWER), ("lee", Role.LAWYER))
    users = tuple(User(name=name, role=role, matters=(CODE,)) for name, role in people)
    (tmp_path / "registry").mkdir()
    registry.write(tmp_path / "registry" / "users.toml", Registry(users=users))
    return tmp_path


def typed(state, *words):
    return CliRunner().invoke(cli, ["--state", str(state), *words], catch_exceptions=False)


def test_a_matter_on_hold_is_not_closed(state):
    done = typed(state, "matters", "hold", CODE, "--by", "kim", "--reason", "suit expected")
    assert done.exit_code == 0
    assert "suit expected" in typed(state, "matters", "show", CODE).output
    with pytest.raises(Conflict, match="legal hold"):
        typed(state, "matters", "close", CODE, "--yes")
    assert (state / "matters" / CODE / "matter.json").exists()
    typed(state, "matters", "unhold", CODE, "--by", "kim")
    assert typed(state, "matters", "close", CODE, "--yes").exit_code == 0
    assert not (state / "matters" / CODE).exists()


@pytest.mark.parametrize("name", ["lee", "nobody"])
def test_only_a_reviewer_of_the_matter_sets_a_hold(state, name):
    with pytest.raises(BadRequest):
        typed(state, "matters", "hold", CODE, "--by", name, "--reason", "x")
    assert holds.held_matters(state / "matters") == frozenset()


def test_a_hold_that_cannot_be_read_is_a_hold(state):
    (state / "matters" / CODE / "hold.json").write_bytes(b"\xff")
    with pytest.raises(Conflict):
        holds.refuse_if_held(state / "matters" / CODE)
    assert holds.held_matters(state / "matters") == {CODE}


def test_the_first_hold_stands(state, noon):
    folder, journal = state / "matters" / CODE, Journal(state / "audit", CODE)
    first = holds.put_on(folder, journal, "one", by=UserName("kim"), now=noon)
    assert holds.put_on(folder, journal, "two", by=UserName("pat"), now=noon) == first
    assert holds.hold_on(folder) == first


def test_the_ledger_as_table_bars_and_json(state, noon):
    journal = Journal(state / "audit", CODE)

    def job(number, kind, *whats):
        name = JobId(f"J-1M7Q5CQG{number}-R43K")
        details = {"kind": kind}
        journal.seal("job.accepted", by=UserName("kim"), now=noon, job=name, details=details)
        for what in whats:
            journal.seal(what, by=UserName("kim"), now=noon, job=name)

    job(0, "ask", "review.approved", "export.written")
    job(1, "ask", "review.returned")
    job(2, "ask", "review.edited", "review.approved")
    job(3, "ask", "review.edited")
    job(4, "chronology", "review.approved", "review.withdrawn")
    job(5, "ingest")
    ask, chronology, every = tallies(state / "audit")
    assert (ask.approved, ask.edited, ask.rejected, ask.undecided) == (1, 1, 1, 1)
    assert (chronology.rejected, every.jobs) == (1, 5)
    assert ask.share == pytest.approx(2 / 3)
    rows = json.loads(typed(state, "stats", "--json").output)
    assert [row["kind"] for row in rows] == ["ask", "chronology", "all"]
    assert "67%" in typed(state, "stats").output
    bars = typed(state, "stats", "--plot").output
    assert "█" in bars
    assert "▒" in bars
    none = json.loads(typed(state, "stats", "--since", "2099-01-01", "--json").output)
    assert none == [
        {"kind": "all", "jobs": 0, "approved": 0, "edited": 0, "rejected": 0, "undecided": 0,
         "share": None}
    ]  # fmt: skip


def test_the_day_s_anchor_is_printed_and_checked(state, noon):
    Journal(state / "audit", CODE).seal("job.accepted", by=UserName("kim"), now=noon)
    line = typed(state, "audit", "anchor").output.strip()
    assert line.startswith("secondchair-anchor ")
    assert typed(state, "audit", "verify", "--anchor", line).exit_code == 0
    wrong = line[:-1] + ("0" if line[-1] != "0" else "1")
    assert typed(state, "audit", "verify", "--anchor", wrong).exit_code == 7


def test_the_ledger_as_a_picture_and_as_a_table(state, noon, tmp_path):
    rows = (
        Tally(kind="ask", approved=6, edited=2, rejected=1, undecided=1),
        Tally(kind="draft", undecided=3),
        Tally(kind="all", approved=6, edited=2, rejected=1, undecided=4),
    )
    image = Image.open(io.BytesIO(picture(rows, "all jobs"))).convert("RGB")
    counts = {colour: count for count, colour in image.getcolors(1 << 16)}

    def area(outcome):
        return counts[ImageColor.getrgb(OUTCOMES[outcome])]

    assert area("approved") > 2 * area("edited") > 2 * area("rejected")
    assert picture(rows, "all jobs") == picture(rows, "all jobs")
    for name in ("use.png", "use.csv", "use.json"):
        done = typed(state, "stats", "--out", str(tmp_path / name))
        assert done.exit_code == 0, done.output
    assert (tmp_path / "use.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "use.csv").read_text().startswith("kind,jobs,approved,edited,rejected")
    assert json.loads((tmp_path / "use.json").read_text())[-1]["kind"] == "all"
    for name, error in (("use.exe", BadRequest), ("absent/use.csv", Unavailable)):
        with pytest.raises(error):
            typed(state, "stats", "--out", str(tmp_path / name))


def test_an_empty_ledger_has_a_picture_too():
    assert picture((Tally(kind="all"),), "all jobs").startswith(b"\x89PNG")
