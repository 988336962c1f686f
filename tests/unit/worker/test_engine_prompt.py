"""Prompts: what is stable stands first, roles alternate, nothing private is printed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.engine import (
    Limits,
    Prompt,
    ReasoningText,
    Request,
    Text,
    Turn,
    messages,
    prompt_sha256,
)
from worker.engine.wall import matter_code, walled

words = st.text(max_size=20)
turns = st.lists(st.builds(Turn, question=words, answer=words), max_size=3).map(tuple)
records = st.lists(words, max_size=4).map(tuple)


def _rendered(prompt: Prompt) -> str:
    return "\x00".join(said["role"] + ":" + said["content"] for said in messages(prompt))


def _same_start(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))]


@given(words, records, turns, words, turns, words)
def test_two_questions_on_one_record_share_every_byte_up_to_its_end(
    system: str,
    record: tuple[str, ...],
    turns_a: tuple[Turn, ...],
    question_a: str,
    turns_b: tuple[Turn, ...],
    question_b: str,
) -> None:
    one = _rendered(Prompt(system=system, record=record, turns=turns_a, question=question_a))
    two = _rendered(Prompt(system=system, record=record, turns=turns_b, question=question_b))
    head = _rendered(Prompt(system=system, record=record))
    assert one.startswith(head)
    assert two.startswith(head)
    assert len(_same_start(one, two)) >= len(head)


@given(words, records, turns, words)
def test_roles_alternate_and_end_with_the_user(
    system: str, record: tuple[str, ...], said: tuple[Turn, ...], question: str
) -> None:
    roles = [m["role"] for m in messages(Prompt(system=system, record=record, turns=said))]
    chat = [role for role in roles if role != "system"]
    assert chat == ["user", "assistant"] * len(said) + ["user"]
    assert roles.count("system") == (1 if system else 0)


@given(st.text(max_size=8), st.text(max_size=8))
def test_prompts_of_two_matters_part_within_the_code(one: str, other: str) -> None:
    prompt = Prompt(system="same", record=("same",), question="same")
    a, b = (_rendered(walled(matter, prompt)) for matter in (one, other))
    if one == other:
        assert a == b
    else:
        assert len(_same_start(a, b)) < len("system:") + len(matter_code(one))


def test_the_hash_tells_prompts_apart() -> None:
    one = Prompt(system="a", record=("b", "c"))
    assert prompt_sha256(one) == prompt_sha256(Prompt(system="a", record=("b", "c")))
    assert prompt_sha256(one) != prompt_sha256(Prompt(system="a", record=("b", "d")))


def test_text_that_cannot_be_sent_is_mended_not_refused() -> None:
    broken = Prompt(system="a", record=("half of \ud83d a pair",))
    assert messages(broken)[1]["content"].startswith("half of ? a pair")
    assert prompt_sha256(broken)


def test_nothing_private_is_printed() -> None:
    turn = Turn(question="SECRET", answer="SECRET")
    prompt = Prompt(system="SECRET", record=("SECRET",), turns=(turn,), question="SECRET")
    request = Request(id="1", matter="M", prompt=prompt, limits=Limits(max_tokens=1))
    for value in (turn, prompt, request, Text(delta="SECRET"), ReasoningText(delta="SECRET")):
        assert "SECRET" not in repr(value)
        assert "SECRET" not in str(value)
