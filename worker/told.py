"""What a reply's counts count.

Most replies are judged by their own items. A cite-check of a paper shows that paper's words, which
stand there as shown, so its items are green by nature; what it tells is in the rows of its table: a
finding on each item of the paper. Those are counted, and never the words shown.
"""

from __future__ import annotations

from typing import Final

from protocol.answers import Answer, Table, Verdict

FINDING: Final = "finding"
"""The column of a table that holds verdicts on another paper's items."""
SHOWN: Final = "words of the brief"
"""The last column of such a table: how the words shown were checked."""
WORDS_SHOWN: Final = "words shown"
"""The last column of a table whose rows say how they were found: only the words are proven."""
ONLY_WORDS: Final = frozenset({SHOWN, WORDS_SHOWN})
AS_THERE: Final = "as they stand there"


def found_rows(table: Table | None) -> list[tuple[dict[str, str], Verdict]]:
    """The rows that judge another paper, each with its verdict; empty for any other table."""
    if table is None or FINDING not in table.columns or table.columns[-1] != SHOWN:
        return []
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return [(row, Verdict(row[FINDING].replace(" ", "_"))) for row in rows]


def verdicts(answer: Answer) -> list[Verdict]:
    """Of what the reply tells: of the paper it checked, else of its own items."""
    told = [verdict for _, verdict in found_rows(answer.table)]
    return told or [item.verdict for item in answer.items]
