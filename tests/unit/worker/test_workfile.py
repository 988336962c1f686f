"""The matter's work file: what was written is there after a reopen; keys do things once."""

from __future__ import annotations

import msgspec
import pytest

from protocol.answers import Decision, ReviewState
from protocol.errors import Conflict, Damaged, NotFound
from protocol.jobs import Ask, Decide
from worker.workfile import WorkFile, request_sha256

JOB = "J-1M7Q5CQG0-R43K"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "work.sqlite"


@pytest.fixture
def work(path):
    file = WorkFile(path)
    yield file
    file.close()


def question(**changes):
    values = {"matter": "M-7F3K", "conversation": "c", "question": "Who knew?", "key": "k1"}
    return Ask(**(values | changes))


def test_a_request_is_found_by_its_hash_after_a_reopen(work, path):
    sha256 = work.put_request(question())
    work.close()
    again = WorkFile(path)
    assert again.request(sha256) == question()
    again.close()


def test_the_hash_does_not_depend_on_the_key_and_does_on_the_words():
    assert request_sha256(question(key="other")) == request_sha256(question())
    assert request_sha256(question(question="Who knows?")) != request_sha256(question())


def test_an_absent_request_or_answer_is_not_found(work):
    with pytest.raises(NotFound):
        work.request("0" * 64)
    with pytest.raises(NotFound):
        work.answer(JOB)


def test_a_later_attempt_overwrites_the_answer(work, make_answer):
    work.put_answer(make_answer(text="First."))
    work.put_answer(make_answer(text="Second."))
    assert work.answer(JOB).text == "Second."


def test_a_decision_stands_on_its_own_text_only(work, make_answer, noon):
    answer = make_answer(text="Approved.")
    work.put_answer(answer)
    request = Decide(
        job=JOB, answer_sha256=answer.text_sha256, state=ReviewState.APPROVED, key="d1"
    )
    decision = Decision(
        state=ReviewState.APPROVED, by="kim", at=noon, answer_sha256=answer.text_sha256
    )
    work.put_decision(request, decision)
    assert work.answer(JOB).review is ReviewState.APPROVED
    work.put_answer(make_answer(text="Edited."))  # an edit voids it
    assert work.answer(JOB).review is ReviewState.AWAITING


def test_a_decision_key_used_for_something_else_is_a_conflict(work, make_answer, noon):
    answer = make_answer()
    request = Decide(
        job=JOB, answer_sha256=answer.text_sha256, state=ReviewState.RETURNED, key="d1"
    )
    decision = Decision(
        state=ReviewState.RETURNED, by="kim", at=noon, answer_sha256=answer.text_sha256
    )
    assert work.decision_for(request) is None
    work.put_decision(request, decision)
    assert work.decision_for(request) == decision
    with pytest.raises(Conflict):
        work.decision_for(msgspec.structs.replace(request, note="another"))


def test_turns_come_oldest_first_and_are_forgotten_from_the_disk(work, path):
    for n in range(8):
        work.put_turn(f"J-1M7Q5CQG{n}-AAAA", "c", f"zanzibar {n}", f"reply {n}")
    assert work.turns("c", 3) == [(f"zanzibar {n}", f"reply {n}") for n in (5, 6, 7)]
    work.forget("c")
    assert work.turns("c", 3) == []
    work.close()
    for file in path.parent.iterdir():
        assert b"zanzibar" not in file.read_bytes()


def test_live_text_of_an_older_attempt_is_void(work):
    work.put_part(JOB, 1, 0, "old")
    work.put_part(JOB, 2, 0, "new")
    assert work.part(JOB, 0) == "new"
    work.drop_parts(JOB)
    assert work.part(JOB, 0) == ""


def test_a_file_that_is_no_work_file_is_damaged(path):
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(Damaged):
        WorkFile(path)


def test_the_file_is_for_its_owner_only(work, path):
    assert path.stat().st_mode & 0o077 == 0
