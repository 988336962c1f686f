"""What stands before or after a quotation is read on over the turn of a page."""

from __future__ import annotations

import pytest

from protocol.answers import GREEN, ItemKind
from verify import OpenRecord, check
from verify.source import DictSource

_FILLER = "The parties stipulated to the exhibits that the clerk had marked for the hearing."


def _opinion(above: str, below: str, *, note: str = "") -> str:
    pages = [_FILLER, f"{_FILLER} {above}", f"{below} {_FILLER}", _FILLER]
    return "\f".join(
        f"{page}\n\n{note if number == 7 else ''}\n\n{'-' + str(number) + '-':^70}\n"
        for number, page in enumerate(pages, start=6)
    )


@pytest.mark.parametrize(
    ("above", "below", "note", "words", "green"),
    [
        ("even though the landlord had never", "attempted to enforce the lease at all.", "",
         "attempted to enforce the lease at all", False),
        ("The court did find that the landlord", "attempted to enforce the lease at all.", "",
         "attempted to enforce the lease at all", True),
        ("The tenant never moved.", "Attempts were made to enforce the lease at once.", "",
         "Attempts were made to enforce the lease at once", True),
        ("The landlord may enforce the lease at once", "unless the tenant has paid the rent.", "",
         "The landlord may enforce the lease at once.", False),
        ("even though the landlord had never", "attempted to enforce the lease at all.",
         "_______________\n\n1 See the order of the clerk on the docket of that court.",
         "attempted to enforce the lease at all", False),
    ],
)  # fmt: skip
def test_a_page_number_between_hides_nothing(above, below, note, words, green):
    text = _opinion(above, below, note=note)
    record = OpenRecord(DictSource({"op": ("Opinion", text)}))
    (finding,) = [
        f
        for f in check(f"The Opinion says: “{words}”", record).findings
        if f.kind is ItemKind.QUOTE
    ]
    assert (finding.verdict in GREEN) is green, finding.reason
