"""File names that show as something they are not, or that read as an order to a machine."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from rag.paged import FindingKind, PagedFinding

BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
"""Characters that change the order in which their neighbours are shown."""
_UNSEEN = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e")
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b"
    r"(?:instruction|prompt|rule|previous|prior|above|system)"
    r"|\b(?:you are|act as|respond with|reply with|answer only|do not (?:tell|mention|cite))\b"
    r"|(?:^|[\W_])(?:system|assistant|user)\s*[:>]"
    r"|<\|?\/?(?:system|im_start|im_end|assistant|inst)|\[/?INST\]"
    r"|(?:이전|앞선|위의)\s*(?:지시|명령|프롬프트)|지시를?\s*무시|무시하(?:고|라|세요)",
    re.IGNORECASE,
)
_PROGRAM = frozenset(
    "exe com scr pif bat cmd js jse vbs vbe wsf wsh ps1 msi lnk hta jar sh app reg".split()
)
_PAPER = frozenset("pdf doc docx txt rtf xls xlsx csv eml msg htm html odt jpg png tif".split())
_MIXED = (("CYRILLIC", "LATIN"), ("GREEK", "LATIN"))


def findings(name: str) -> list[PagedFinding]:
    """What is wrong with a file's name; page 0, for it is about the file as a whole."""
    reasons = [reason for test in _TESTS if (reason := test(name))]
    return [
        PagedFinding(kind=FindingKind.NAME_TRICK, page=0, start=0, end=0, reason=reason)
        for reason in reasons
    ]


def _bidi(name: str) -> str:
    if BIDI.intersection(name):
        return "the file name holds marks that change the order in which it is shown"
    return ""


def _unseen(name: str) -> str:
    if _UNSEEN.intersection(name) or any(unicodedata.category(char) == "Cc" for char in name):
        return "the file name holds characters that cannot be seen"
    return ""


def _order(name: str) -> str:
    words = re.sub(r"[_\-+.]+", " ", unicodedata.normalize("NFKC", name))
    if _ORDER.search(words) or _ORDER.search(unicodedata.normalize("NFKC", name)):
        return "the file name reads as an instruction; it is shown as a name only"
    return ""


def _double(name: str) -> str:
    suffixes = [suffix.lower().lstrip(".").strip() for suffix in PurePosixPath(name).suffixes]
    if len(suffixes) >= 2 and suffixes[-1] in _PROGRAM and suffixes[-2] in _PAPER:
        return "the file name shows a paper's suffix before a program's"
    if re.search(r"\.\w{2,4}\s{3,}\S*\.\w{2,4}$", name):
        return "the file name hides its suffix behind spaces"
    return ""


def _lookalike(name: str) -> str:
    for word in re.findall(r"\w+", name):
        scripts = {unicodedata.name(char, "").split(" ")[0] for char in word if char.isalpha()}
        if any(one in scripts and other in scripts for one, other in _MIXED):
            return "a word of the file name mixes letters of two scripts that look alike"
    return ""


def _outside(name: str) -> str:
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or name.startswith(("/", "\\")) or re.match(r"^[A-Za-z]:[\\/]", name):
        return "the file name leads to another folder"
    return ""


_TESTS = (_outside, _bidi, _unseen, _order, _double, _lookalike)
