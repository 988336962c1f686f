"""Bates numbers over several files: what lies between them, and what stands twice."""

from __future__ import annotations

import pytest

from rag.production import MOST_TOLD, series, told
from rag.removal import quarantine


def paper(first: int, last: int, prefix: str = "NG-") -> str:
    pages = [f"Words of page {n}.\n\n{prefix}{n:06d}" for n in range(first, last + 1)]
    return "\f".join(pages)


# The files' first and last numbers, and the gaps (after, before, missing) between them.
GAPS = [
    ({"a.txt": (1, 3), "b.txt": (4, 6)}, []),
    ({"a.txt": (1, 3), "b.txt": (7, 9)}, [("NG-000003", "NG-000007", 3)]),
    ({"b.txt": (1, 3), "a.txt": (5, 6)}, [("NG-000003", "NG-000005", 1)]),
    (
        {"a.txt": (1, 2), "b.txt": (10, 11), "c.txt": (20, 21)},
        [("NG-000002", "NG-000010", 7), ("NG-000011", "NG-000020", 8)],
    ),
]


@pytest.mark.parametrize(("files", "gaps"), GAPS)
def test_gaps_lie_between_files(fill, files, gaps) -> None:
    (one,) = series(fill({name: paper(*numbers) for name, numbers in files.items()}))
    assert [(gap.after, gap.before, gap.missing) for gap in one.gaps] == gaps
    assert one.documents == len(files)
    assert not one.overlaps


def test_numbers_in_two_files_are_one_stretch(fill) -> None:
    matter = fill({"a.txt": paper(1, 6), "b.txt": paper(4, 9)})
    (one,) = series(matter)
    (both,) = one.overlaps
    assert (both.first, both.last) == ("NG-000004", "NG-000006")
    assert len(both.documents) == 2
    assert "NG-000004 to NG-000006: in a.txt and in b.txt" in told(matter)


def test_each_prefix_is_a_series(fill) -> None:
    matter = fill({"a.txt": paper(1, 3), "b.txt": paper(9, 11, "KIM"), "c.txt": "No stamp."})
    assert [(one.begin, one.end) for one in series(matter)] == [
        ("KIM000009", "KIM000011"),
        ("NG-000001", "NG-000003"),
    ]
    assert told(matter)[1] == "NG-000001 to NG-000003: 3 pages of 1 document, none missing"


def test_a_document_set_aside_leaves_no_gap(fill) -> None:
    """Its numbers were produced; that it was clawed back is said elsewhere."""
    matter = fill({"a.txt": paper(1, 3), "b.txt": paper(4, 6), "c.txt": paper(7, 9)})
    (middle,) = [info.id for info in matter.documents() if info.name == "b.txt"]
    quarantine(matter, middle)
    assert series(matter)[0].gaps == ()


def test_many_gaps_are_counted_and_some_are_told(fill) -> None:
    matter = fill({f"{n:02}.txt": paper(n * 10, n * 10 + 1) for n in range(1, MOST_TOLD + 5)})
    lines = told(matter)
    assert len(lines) == MOST_TOLD + 2
    assert lines[-1] == "NG-000010 to NG-000241: 3 more gaps and stretches are not listed"
    assert "184 numbers missing in 23 gaps" in lines[0]


def test_without_stamps_nothing_is_said(fill) -> None:
    assert told(fill({"a.txt": "No stamp."})) == ()
