"""The date of a document as a whole."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.dating import document_date
from rag.retrieve import Filters, retrieve


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("mail.txt", "From: A\nDate: Tue, 16 Jan 2024 09:12:00 -0500\n", dt.date(2024, 1, 16)),
        ("Osei e-mail 2024-01-16.txt", "words", dt.date(2024, 1, 16)),
        ("Reply_20240116_final.pdf", "words", dt.date(2024, 1, 16)),
        ("X_12_19_2003-EX.txt", "words", dt.date(2003, 12, 19)),
        ("X_03_04_2003-EX.txt", "words", None),  # reads both ways
        ("X_05_05_2003.txt", "words", dt.date(2003, 5, 5)),
        ("from 2024-01-16 to 2024-01-18.txt", "words", None),
        ("2024-02-30.txt", "words", None),
        ("Lease.pdf", "Signed on January 9, 2024", None),
        ("m.txt", "Date: someday soon, who knows\n", None),
    ],
)
def test_what_header_and_name_say(name: str, text: str, expected: dt.date | None) -> None:
    assert document_date(name, text) == expected


@given(st.text(max_size=60), st.text(max_size=120))
def test_nothing_breaks_it(name: str, text: str) -> None:
    document_date(name, f"Date: {text}\n")


def test_a_filter_by_date_leaves_out_what_is_undated_unless_asked(fill, embedder) -> None:
    matter = fill(
        {
            "2023-05-01.txt": "leak one",
            "2024-05-01.txt": "leak two",
            "undated.txt": "leak three",
        }
    )
    names = {info.id: info.name for info in matter.documents()}

    def found(**limits: object) -> set[str]:
        hits = retrieve(matter, "leak", embedder=embedder, filters=Filters(**limits))  # type: ignore[arg-type]
        return {names[hit.passage.span.document] for hit in hits}

    day = dt.date(2024, 1, 1)
    assert found(since=day) == {"2024-05-01.txt"}
    assert found(until=day) == {"2023-05-01.txt"}
    assert found(since=day, undated=True) == {"2024-05-01.txt", "undated.txt"}
    assert len(found()) == 3
