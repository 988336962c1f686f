"""The gate: no text leaves without a live approval of exactly that text."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from protocol.answers import Decision, ReviewState, Verdict
from protocol.errors import BadRequest, Conflict
from protocol.jobs import Decide
from worker import review


def ask_for(answer, state=ReviewState.APPROVED, **changes):
    values = {
        "job": answer.job,
        "answer_sha256": answer.text_sha256,
        "state": state,
        "key": "k1",
    }
    return Decide(**(values | changes))


def decided(answer, decision):
    return msgspec.structs.replace(answer, review=decision.state, decision=decision)


def test_a_reviewer_approves_what_was_shown(make_answer, noon):
    answer = make_answer()
    decision = review.decide(answer, ask_for(answer), by="kim", at=noon)
    assert (decision.state, decision.by, decision.at) == (ReviewState.APPROVED, "kim", noon)
    assert decision.answer_sha256 == answer.text_sha256


def test_a_text_that_changed_since_it_was_shown_is_not_approved(make_answer, noon):
    shown, now = make_answer(text="Old."), make_answer(text="New.")
    with pytest.raises(Conflict, match="changed since it was shown"):
        review.decide(now, ask_for(shown), by="kim", at=noon)


def test_a_stored_text_that_does_not_match_its_hash_is_not_approved(make_answer, noon):
    answer = make_answer(text="Forged.", text_sha256=review.text_sha256("Checked."))
    with pytest.raises(Conflict, match="does not match its hash"):
        review.decide(answer, ask_for(answer), by="kim", at=noon)


@pytest.mark.parametrize(
    "verdict", [v for v in Verdict if v in review.AMBER | review.RED], ids=lambda v: v.value
)
def test_every_item_that_is_not_green_wants_a_reason(make_answer, make_finding, noon, verdict):
    answer = make_answer(items=[make_finding(1), make_finding(2, verdict)])
    with pytest.raises(BadRequest, match="items 2 "):
        review.decide(answer, ask_for(answer), by="kim", at=noon)
    with pytest.raises(BadRequest, match="items 2 "):  # a blank is no reason
        review.decide(answer, ask_for(answer, acknowledged={2: "  "}), by="kim", at=noon)
    review.decide(answer, ask_for(answer, acknowledged={2: "seen"}), by="kim", at=noon)


def test_words_that_quote_nothing_want_no_reason(make_answer, make_finding, noon):
    answer = make_answer(items=[make_finding(1, Verdict.NOT_A_QUOTE)])
    review.decide(answer, ask_for(answer), by="kim", at=noon)


@pytest.mark.parametrize(
    ("before", "wanted", "allowed"),
    [
        (ReviewState.AWAITING, ReviewState.RETURNED, True),
        (ReviewState.AWAITING, ReviewState.FILED, False),  # nothing is filed unapproved
        (ReviewState.RETURNED, ReviewState.APPROVED, False),  # what was returned is made again
        (ReviewState.APPROVED, ReviewState.WITHDRAWN, True),
        (ReviewState.FINAL, ReviewState.FILED, True),
        (ReviewState.FINAL, ReviewState.RETURNED, False),
        (ReviewState.FILED, ReviewState.WITHDRAWN, False),  # filed is frozen
        (ReviewState.WITHDRAWN, ReviewState.APPROVED, False),
    ],
)
def test_states_follow_the_drawing(make_answer, noon, before, wanted, allowed):
    answer = make_answer()
    held = Decision(state=before, by="lee", at=noon, answer_sha256=answer.text_sha256)
    answer = decided(answer, held)
    request = ask_for(answer, wanted)
    if allowed:
        assert review.decide(answer, request, by="kim", at=noon).state is wanted
    else:
        with pytest.raises(Conflict):
            review.decide(answer, request, by="kim", at=noon)


def test_final_is_reached_by_exporting_only(make_answer, noon):
    answer = make_answer(review=ReviewState.APPROVED)
    with pytest.raises(BadRequest, match="exporting"):
        review.decide(answer, ask_for(answer, ReviewState.FINAL), by="kim", at=noon)


def test_an_export_without_an_approval_is_refused(make_answer, noon):
    with pytest.raises(Conflict, match="only an approved reply"):
        review.finalize(make_answer(), by="kim", at=noon)


def test_an_approval_of_other_words_is_no_approval(make_answer, noon):
    approved = make_answer(text="Approved words.")
    decision = review.decide(approved, ask_for(approved), by="kim", at=noon)
    edited = decided(make_answer(text="Edited words."), decision)
    with pytest.raises(Conflict):
        review.finalize(edited, by="kim", at=noon)


class Gate(RuleBasedStateMachine):
    """Any sequence of edits and decisions: a text may leave only while its approval lives."""

    make = None  # the fixture's builder, set below: hypothesis machines take no fixtures
    noon = None

    @initialize()
    def start(self):
        self.answer = self.make(text="Version 0.")
        self.version = 0
        self.approved_text = None

    @rule()
    def edit(self):
        self.version += 1
        text = f"Version {self.version}."
        decision = self.answer.decision
        state = ReviewState.AWAITING if decision is None else self.answer.review
        # The worst case: an edit that leaves the old decision standing beside the new text.
        self.answer = self.make(text=text, review=state, decision=decision)

    @rule(state=st.sampled_from(list(ReviewState)), stale=st.booleans())
    def decide(self, state, stale):
        shown = "0" * 64 if stale else self.answer.text_sha256
        request = Decide(job=self.answer.job, answer_sha256=shown, state=state, key="k")
        try:
            decision = review.decide(self.answer, request, by="kim", at=self.noon)
        except (Conflict, BadRequest):
            return
        assert not stale
        self.answer = decided(self.answer, decision)
        if decision.state is ReviewState.APPROVED:
            self.approved_text = self.answer.text
        elif decision.state in (ReviewState.RETURNED, ReviewState.WITHDRAWN):
            self.approved_text = None

    @rule()
    def export(self):
        try:
            decision = review.finalize(self.answer, by="kim", at=self.noon)
        except Conflict:
            return
        assert self.answer.text == self.approved_text
        self.answer = decided(self.answer, decision)

    @invariant()
    def a_text_without_approval_does_not_leave(self):
        if self.answer.text != self.approved_text:
            with pytest.raises(Conflict):
                review.finalize(self.answer, by="kim", at=self.noon)


def test_no_sequence_of_acts_lets_an_unapproved_text_leave(make_answer, noon):
    machine = type("Machine", (Gate,), {"make": staticmethod(make_answer), "noon": noon})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=150, stateful_step_count=25, deadline=None)
    )


@given(st.text())
def test_the_hash_binds_any_text(text):
    assert review.text_sha256(text) != review.text_sha256(text + " ")
