"""`documents mark`: what is said of papers by hand reaches them, files to come, and the filters."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from bench.house import CODE
from protocol.ids import UserName
from protocol.record import DocumentClass
from rag.embedding import HashEmbedder
from rag.ingest import ingest
from rag.matters import OpenMatter
from rag.reading import DirectReader
from rag.scope import parse
from worker import registry
from worker.audit import read
from worker.cli import cli
from worker.registry import Registry, Role, User


@pytest.fixture
def state(sample_root, tmp_path):
    """A copy of the sample matter with a reviewer and a lawyer."""
    root = tmp_path / "state"
    shutil.copytree(sample_root / "matters", root / "matters")
    people = (("kim", Role.REVIEWER), ("lee", Role.LAWYER))
    users = tuple(User(name=UserName(name), role=role, matters=(CODE,)) for name, role in people)
    (root / "registry").mkdir()
    registry.write(root / "registry" / "users.toml", Registry(users=users))
    return root


def typed(state, *words):
    given = ["--state", str(state), "documents", "mark", CODE, *words]
    return CliRunner().invoke(cli, given)


def opened(state):
    return OpenMatter(state / "matters" / CODE)


def test_a_mark_reaches_the_papers_and_the_filters(state):
    done = typed(state, "Lease*", "--custodian", "Records", "--exhibit", "Ex. A", "--by", "kim")
    assert done.exit_code == 0, done.output
    assert done.stdout == "1 document carries it\n"
    done = typed(state, "Lease.pdf", "--class", "work_product", "--by", "kim", "--json")
    assert json.loads(done.stdout) == {"matter": CODE, "documents": 1}
    with opened(state) as held:
        (lease,) = (one for one in held.documents() if one.name == "Lease.pdf")
        assert (lease.custodian, lease.exhibit) == ("Records", "Ex. A")
        assert lease.document_class is DocumentClass.WORK_PRODUCT
        assert parse("rent custodian:records", held).documents == (lease.id,)
    whats = [entry.what for entry in read(state / "audit" / f"{CODE}.jsonl")]
    assert whats.count("document.marked") == 2
    assert "Records" not in (state / "audit" / f"{CODE}.jsonl").read_text("utf-8")


def test_empty_words_take_a_mark_away(state):
    typed(state, "Lease.pdf", "--custodian", "Records", "--by", "kim")
    typed(state, "Lease.pdf", "--custodian", "", "--by", "kim")
    with opened(state) as held:
        assert not [one for one in held.documents() if one.custodian]


def test_a_file_that_comes_later_carries_it(state, tmp_path):
    done = typed(state, "late/*", "--custodian", "Kim", "--privileged", "--by", "kim")
    assert done.stdout == "0 documents carry it\n"
    assert "when they come in" in done.stderr
    (tmp_path / "given" / "late").mkdir(parents=True)
    (tmp_path / "given" / "late" / "note.txt").write_text("The boiler.", "utf-8")
    with opened(state) as held:
        folder = tmp_path / "given"
        ingest(held, embedder=HashEmbedder(), folder=folder, reader=DirectReader())
        (late,) = (one for one in held.documents() if one.name == "late/note.txt")
    assert late.custodian == "Kim"
    assert late.privileged


@pytest.mark.parametrize(
    "words",
    [
        ("Lease.pdf", "--by", "kim"),
        ("Lease.pdf", "--class", "proof", "--by", "kim"),
        ("Lease.pdf", "--custodian", "Records", "--by", "lee"),
        ("Lease.pdf", "--custodian", "Records", "--by", "nobody"),
    ],
)
def test_what_may_not_be_said_changes_nothing(state, words):
    before = (state / "matters" / CODE / "matter.json").read_bytes()
    assert typed(state, *words).exit_code != 0
    assert (state / "matters" / CODE / "matter.json").read_bytes() == before
