"""The second opinion: a plain search for the quotation's letters in one document.

It shares no code with the tokens, the layout or the aligner. It knows nothing of edits: it folds
the whole text to letters and digits and looks whether the quotation's words stand there in a row,
at word ends, near the place the aligner claims. It may miss a true quotation (then the verdict is
CHECK, "two checks disagree"). It must not find one that is not there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

_SOFT: Final = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff\u0300-\u036f]")
_LINE_NUMBER: Final = re.compile(r"(?m)^[ \t\u00a0]*\d{1,2}(?:[ \t\u00a0]+|$)")
_QUOTE_MARK: Final = re.compile(r"(?m)^[ \t]*(?:>[ \t]?)+")
_BROKEN: Final = re.compile(
    "(?<=[^\\W\\d_])[-\u2010\u2011\u00ad\x02\uf02d\ufffe][ \t\u00a0\r]*\n\\s*(?=[^\\W\\d_])"
)
_HYPHEN: Final = re.compile("(?<=[^\\W\\d_])[-\u2010\u2011\x02\uf02d\ufffe](?=[^\\W\\d_])")
_SPACED: Final = re.compile("(?<=[^\\W\\d_])[-\u2010\u2011] (?=[^\\W\\d_])")
_APOSTROPHE: Final = re.compile("(?<=\\w)['’‘ʼ`´](?=\\w)")
_GLUED: Final = re.compile(r"(?<=[^\W\d_])([.,;:!?)”’\"]*)\d{1,3}(?=[\s.,;:—)”\"]|$)")
_SUPER: Final = re.compile("[²³¹⁰-⁹]+")
_OTHER: Final = re.compile(r"[^\w$€£¥₩%]+|_+")
_SIGN: Final = re.compile(r"[$€£¥₩%]")
_ELLIPSIS: Final = re.compile(
    r"[\[(（〔<]\s*(?:\.[\s.]*|…+|\*[\s*]*|중략|中略)\s*[\])）〕>]|(?:\.\s?){3,5}|…+|\*\s\*\s\*|‥+"
)
_BRACKETED: Final = re.compile(r"[^\s\[\]]*(?:\[[^\[\]]*\][^\s\[\]]*)+")
_KINDS: Final = ((True, True), (False, True), (True, False), (False, False))
"""Ways to fold: with line numbers or without, with markers glued to words or without."""
_REACH: Final = 9_000
"""How far from a claimed place, in folded characters, the words may be found."""


def fold(text: str, *, line_numbers: bool = True, markers: bool = True) -> str:
    """Letters, digits and a few signs, folded; one space between words.

    Args:
        text: Any text.
        line_numbers: Keep numbers at line starts.
        markers: Keep digits glued to the end of a word.
    """
    if not text.isascii():  # a decomposed letter keeps its accent: marks alone are dropped below
        text = unicodedata.normalize("NFC", text)
    text = _QUOTE_MARK.sub("", text.replace("\f", "\n"))
    if not line_numbers:
        text = _LINE_NUMBER.sub("", text)
    text = _BROKEN.sub("", text)
    text = _SOFT.sub("", text) if not text.isascii() else text
    text = _HYPHEN.sub("", text)
    text = _SUPER.sub(lambda found: " " + found.group() + " " if markers else " ", text)
    if not markers:
        text = _GLUED.sub(r"\1", text)
    text = _APOSTROPHE.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = _SIGN.sub(r" \g<0> ", text.casefold())
    return f" {_OTHER.sub(' ', text).strip()} "


class FoldedText:
    """One document, folded in the ways a quotation may have been copied from it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._made: dict[tuple[bool, bool], str] = {}

    def _forms(self) -> Iterator[str]:
        """The foldings, each made when it is first looked at: most quotations need but one."""
        for kind in _KINDS:
            if kind not in self._made:
                self._made[kind] = fold(self._text, line_numbers=kind[0], markers=kind[1])
            yield self._made[kind]

    def holds(self, quoted: str) -> bool:
        """Whether the words stand in a row anywhere in this document."""
        words = fold(quoted)
        return bool(words.strip()) and any(words in form for form in self._forms())

    def agrees(self, quoted: str, *, share: float, jumps: int) -> bool:
        """Whether the quoted words stand in this document, in order.

        Args:
            quoted: The words between the marks; what is in brackets is not looked for.
            share: Where in the document the place is claimed, 0 to 1.
            jumps: How often the place jumps over page furniture or a footnote.
        """
        for text in dict.fromkeys((quoted, _SPACED.sub("", quoted))):
            pieces = [fold(piece) for piece in _pieces(text)]
            pieces = [piece for piece in pieces if piece.strip()]
            if pieces and any(_in_order(form, pieces, share, jumps) for form in self._forms()):
                return True
        return False


def _pieces(quoted: str) -> list[str]:
    """The quoted words cut at ellipses and bracketed words."""
    plain = (
        re.sub(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}", "", quoted)
        if "*" in quoted or "_" in quoted
        else quoted
    )
    made = []
    for part in _ELLIPSIS.split(quoted if _ELLIPSIS.search(quoted) else plain):
        made.extend(_BRACKETED.split(part))
    return made


def _in_order(form: str, pieces: Sequence[str], share: float, jumps: int) -> bool:
    centre = int(share * len(form))
    low, high = max(0, centre - _REACH), min(len(form), centre + _REACH)
    at = low
    for number, piece in enumerate(pieces):
        found = _find(form, piece, at, high, jumps)
        if found is None:
            return False
        at = found
        if number == 0:
            high = min(len(form), at + _REACH)
    return True


def _find(form: str, piece: str, low: int, high: int, jumps: int) -> int | None:
    """The end of a piece in the text, over ``jumps`` seams at most; None when it is not there."""
    start = form.find(piece, low, high)
    if start >= 0:
        return start + len(piece) - 1
    if jumps <= 0:
        return None
    words = piece.split()
    least, most = 0, len(words)
    while least < most:  # the longest beginning that stands in the text
        middle = (least + most + 1) // 2
        if form.find(f" {' '.join(words[:middle])} ", low, high) >= 0:
            least = middle
        else:
            most = middle - 1
    if least == 0:
        return None
    head = f" {' '.join(words[:least])} "
    start = form.find(head, low, high)
    rest = f" {' '.join(words[least:])} "
    return _find(form, rest, start + len(head) - 1, high, jumps - 1)
