"""Given an answer and a way to read the record, says what in the answer the record supports.

``check(answer, source)`` is all that other rooms need; ``OpenRecord`` keeps what was read of a
record between checks. Plain synchronous Python: no clock, no network, no model, nothing written.
"""

from verify.checker import check
from verify.record import OpenRecord
from verify.report import CHECKER_VERSION, Report, as_json, as_markdown, as_text

__all__ = [
    "CHECKER_VERSION",
    "OpenRecord",
    "Report",
    "as_json",
    "as_markdown",
    "as_text",
    "check",
]
