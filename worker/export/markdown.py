"""An approved answer as Markdown: each mark a footnote with its pin cite, then the coverage.

Nothing in the text is live: a link, an image or a tag that a document smuggled into a reply is
printed as characters, so that opening the file fetches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from protocol.answers import Answer, Finding
from worker.export import reading
from worker.export.visible import visible

_LIVE: Final = re.compile(r"!?\[(?=[^\]\n]{0,400}\]\s?[(\[:])|<(?=[A-Za-z/!?])|(?<=\w):(?=//)|`")


def render(answer: Answer, title: str) -> bytes:
    """The file's bytes."""
    marked = reading.marked(answer)
    said = reading.state(answer)
    parts = [
        f"# {_dead(title)}",
        f"**{said}**" if said == reading.DRAFT else said,
        *([f"> {_dead(reading.plain(answer.question))}"] if answer.question else []),
        _with_marks(answer.text, marked),
        *_table(answer),
        "## Record",
        "\n".join(f"[^{item.number}]: {_dead(reading.footnote(item))}" for item in marked)
        or "No checkable item.",
        "## Coverage",
        "\n".join(_dead(line) for line in _coverage(answer)),
        *(f"**{_dead(note)}**" for note in answer.notes),
    ]
    return ("\n\n".join(parts) + "\n").encode()


def _with_marks(text: str, items: Sequence[Finding]) -> str:
    """The text with its marks; the stretches between marks are made dead one by one."""
    out, at = [], 0
    for item in sorted(items, key=lambda item: item.end):
        out += [_dead(text[at : item.end]), f"[^{item.number}]"]
        at = item.end
    return "".join((*out, _dead(text[at:])))


def _table(answer: Answer) -> list[str]:
    if answer.table is None:
        return []
    rows = [answer.table.columns, ("---",) * len(answer.table.columns), *answer.table.rows]
    lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return ["## Table", "\n".join(lines)]


def _cell(words: str) -> str:
    return _dead(reading.plain(words)).replace("|", "\\|")


def _coverage(answer: Answer) -> list[str]:
    first, *rest = reading.coverage_lines(answer.coverage)
    return [first, *(f"- {line}" for line in rest)]


def _dead(text: str) -> str:
    """The same characters to read, none of which Markdown acts upon."""
    return _LIVE.sub(lambda match: "".join(f"\\{c}" for c in match.group()), visible(text))
