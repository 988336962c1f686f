"""How quotations are printed in a reply: curly marks, nested marks turned single, title first.

No pin cite is written here: the check computes the place of every quotation and the reply shows it
beside the mark.
"""

from __future__ import annotations

import re
from typing import Final

from worker.quoting import Sentence

_DOUBLE: Final = re.compile(r"[\"“”„]")


def quoted(words: str) -> str:
    """The words between curly double marks; double marks inside become single ones."""
    return f"“{nested(words)}”"


def nested(words: str) -> str:
    """Double quotation marks as the single ones that stand inside a quotation."""
    opening = True
    out = []
    for character in words:
        if _DOUBLE.match(character):
            out.append("‘" if opening else "’")
            opening = not opening
        else:
            out.append(character)
    return "".join(out)


def line(title: str, sentence: Sentence, question: str | None) -> str:
    """One sentence of the record as a line of a reply.

    Args:
        title: How people call the document.
        sentence: What is quoted.
        question: For an answer of a transcript, the question's words.
    """
    if question is not None:
        said = f"asked {quoted(question)}, the witness said {quoted(sentence.words)}"
    elif sentence.turn == "question":
        said = f"counsel asked {quoted(sentence.words)}"
    elif sentence.turn not in ("", "answer", "header"):
        said = f"{sentence.turn} said {quoted(sentence.words)}"
    else:
        said = quoted(sentence.words)
    return f"- {title}: {said}"
