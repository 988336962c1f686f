"""What a reply's counts count: the findings of a cite-check on a paper, else the reply's items.

The words of the paper stand in such a reply as they stand there, which says nothing of whether they
are right: the rows of its table do, and so their signs and the counts follow the rows.
"""

from __future__ import annotations

from typing import Final

from protocol.answers import Answer, Table, Verdict

_FINDING: Final = "finding"
_SHOWN: Final = "words of the brief"


def row_verdicts(table: Table | None) -> list[Verdict]:
    """The verdict of each row on another paper's item; empty for any other table."""
    if table is None or _FINDING not in table.columns or table.columns[-1] != _SHOWN:
        return []
    at = table.columns.index(_FINDING)
    return [Verdict(row[at].replace(" ", "_")) for row in table.rows]


def verdicts(answer: Answer) -> list[Verdict]:
    """Of what the reply tells, quotation marks that quote nothing left out."""
    told = row_verdicts(answer.table) or [item.verdict for item in answer.items]
    return [verdict for verdict in told if verdict is not Verdict.NOT_A_QUOTE]
