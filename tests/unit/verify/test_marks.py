"""Finding quotation marks: the labelled replies, and shapes that look like marks and are none."""

import json
from pathlib import Path

import pytest

from verify.cues import Cue, cue_of
from verify.marks import find_marked

LABELLED = Path(__file__).parents[2] / "data" / "verify" / "marks.jsonl"


def quotes_of(reply: str) -> set[tuple[int, int]]:
    return {
        (mark.start, mark.end)
        for mark in find_marked(reply)
        if cue_of(reply, mark.start, mark.end, block=mark.block) is not Cue.NOT
    }


def near(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return abs(a[0] - b[0]) <= 2 and abs(a[1] - b[1]) <= 2


def test_recall_and_precision_on_the_labelled_replies() -> None:
    wanted = found = hit = replies = 0
    for line in LABELLED.read_text("utf-8").splitlines():
        case = json.loads(line)
        spans = {(a, b) for a, b in case["quotes"]}
        came = quotes_of(case["reply"])
        replies += 1
        wanted += len(spans)
        found += len(came)
        hit += sum(any(near(span, other) for other in came) for span in spans)
    assert replies >= 200
    assert hit / wanted >= 0.99
    assert hit / found >= 0.95


@pytest.mark.parametrize(
    "reply",
    [
        "It's the tenants' view that the landlord's claim isn't timely.",
        'The beam is 12" deep and 5\'10" long.',
        "In the ’90s they didn’t keep records.",
        '```\nprint("hello")\n```',
        'Use `status = "open"` in the filter.',
        "",
        '"',
        "“”",
    ],
)
def test_what_is_no_quotation(reply: str) -> None:
    assert quotes_of(reply) == set()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        # a quotation of two paragraphs: opened twice, closed once
        (
            "He wrote: “First paragraph.\n\n“Second paragraph.”",
            "First paragraph.\n\n“Second paragraph.",
        ),
        ("The clause '5.2 survives the parties' exit' stands.", "5.2 survives the parties' exit"),
        ("She said “I told him ‘the roof leaks’ twice”.", "I told him ‘the roof leaks’ twice"),
        ('It says "the "Deposit" is lost" there.', 'the "Deposit" is lost'),
        (
            "The order reads:\n\n> Granted in part.\n> Denied in part.\n",
            "Granted in part.\n> Denied in part.",
        ),
    ],
)
def test_hard_shapes(reply: str, words: str) -> None:
    assert [reply[mark.start : mark.end] for mark in find_marked(reply)] == [words]


def test_an_unclosed_mark_is_still_found_and_says_so() -> None:
    (mark,) = find_marked("The lease says “rent is due on the first.")
    assert not mark.closed
