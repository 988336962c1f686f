"""What class a document has when nobody has said: guessed on the safe side.

A wrong guess towards "evidence" would let a brief prove its own facts, so papers that call
themselves pleadings, law or notes are believed. The manifest's word always wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from protocol.record import DocumentClass
from rag.matters import Manifest
from rag.terms import words

T = TypeVar("T")

# In order: the first class of which a word stands in the file's path decides.
_NAME_WORDS: Final[tuple[tuple[DocumentClass, frozenset[str]], ...]] = (
    (
        DocumentClass.WORK_PRODUCT,
        frozenset({"memo", "memorandum", "notes", "privileged", "workproduct", "메모", "검토의견"}),
    ),
    (
        DocumentClass.PLEADING,
        frozenset(
            {
                "complaint", "petition", "answer", "counterclaim", "motion", "brief", "pleading",
                "pleadings", "opposition", "reply", "소장", "답변서", "준비서면", "항소이유서",
            }
        ),
    ),
    (
        DocumentClass.AUTHORITY,
        frozenset(
            {"statute", "statutes", "opinion", "caselaw", "authority", "authorities", "판례"}
        ),
    ),
)  # fmt: skip
# These name mail and contracts as often as papers for a court, so the opening must agree.
_WEAK: Final = frozenset(
    {"answer", "reply", "brief", "motion", "opposition", "opinion", "petition"}
)
_CAPTION: Final = re.compile(
    r"\b(?:plaintiffs?|defendants?|petitioners?|respondents?|appellants?|appellees?)\b"
    r"|\bin the (?:\w+ ){0,4}court\b|\bcase no\b|원\s*고|피\s*고",
    re.IGNORECASE,
)
# A heading of its own, not the small print under a message ("may be privileged").
_MARKING: Final = re.compile(
    r"^\W{0,4}(?:strictly |highly )?(?:(?:legally )?privileged\b|attorney[- ]client\b|"
    r"attorneys?(?:['’]s?)? work[- ]product\b|work product\b|"
    r"변호사[ -]?의뢰인 (?:특권|비밀|비닉)|비닉특권)",
    re.IGNORECASE | re.MULTILINE,
)
_TITLE: Final = re.compile(
    r"^[^a-z\n]{0,80}\b(?:MEMORANDUM(?: OF (?:LAW|POINTS AND AUTHORITIES))? IN"
    r" (?:SUPPORT|OPPOSITION)"
    r"|BRIEF (?:IN (?:SUPPORT|OPPOSITION)|OF|FOR)|(?:NOTICE OF )?MOTION (?:TO|FOR)|OPPOSITION TO"
    r"|REPLY (?:BRIEF|IN SUPPORT))\b[^a-z\n]{0,120}$",
    re.MULTILINE,
)
"""A paper for a court by its own title, in capitals on a line of its own."""
_WORK_PRODUCT: Final = re.compile(r"\bwork[- ]product\b", re.IGNORECASE)
_OPENING_CHARS: Final = 600


def marking(name: str, text: str) -> str:
    """The marking of privilege that opens a document or stands in its name; empty without one."""
    if found := _MARKING.search(text, 0, _OPENING_CHARS):
        return text[found.start() : found.end() + 80].partition("\n")[0]
    return "privileged" if "privileged" in words(name.replace("_", " ")) else ""


def guess(name: str, opening: str) -> DocumentClass:
    """The class that a file's path and the opening of its text suggest; evidence in doubt."""
    if _WORK_PRODUCT.search(marking("", opening)):
        return DocumentClass.WORK_PRODUCT
    said = set(words(re.sub(r"(?<=[A-Za-z])\d+\b|_", " ", name)))
    joined = "".join(sorted(said))
    captioned = len({m.lower() for m in _CAPTION.findall(opening[:3000])}) >= 2
    for document_class, marks in _NAME_WORDS:
        found = said & marks
        if found - _WEAK or (found and captioned):
            return document_class
        if any(mark in joined for mark in marks if not mark.isascii()):
            return document_class
    if _TITLE.search(opening[: 2 * _OPENING_CHARS]):
        return DocumentClass.PLEADING
    return DocumentClass.EVIDENCE


@dataclass(frozen=True, kw_only=True)
class Said:
    """What is said of a document by the manifest, or guessed where it is silent."""

    document_class: DocumentClass
    exhibit: str | None
    custodian: str | None
    designation: str | None
    privileged: bool


def said(manifest: Manifest, name: str, file_name: str, text: str, *, own: bool) -> Said:
    """Class and labels of one document.

    Args:
        manifest: The matter's.
        name: The document's name; for an attachment that of the attachment.
        file_name: The name of the file it came in: its labels reach the attachments, except for the
            exhibit label, which belongs to one paper.
        text: Its canonical text.
        own: Whether this product wrote it.
    """

    def either(rules: Mapping[str, T]) -> T | None:
        found = by_name(rules, name)
        return by_name(rules, file_name) if found is None else found

    document_class = either(manifest.classes) or guess(f"{file_name} {name}", text)
    return Said(
        document_class=DocumentClass.MODEL_OUTPUT if own else document_class,
        exhibit=by_name(manifest.exhibits, name),
        custodian=either(manifest.custodians),
        designation=either(manifest.designations),
        privileged=bool(either(dict.fromkeys(manifest.privileged, True)))
        or bool(marking(f"{file_name} {name}", text)),
    )


def by_name(rules: Mapping[str, T], name: str) -> T | None:
    """What the manifest says of a name: the exact name first, then the longest pattern."""
    if name in rules:
        return rules[name]
    fitting = [pattern for pattern in rules if fnmatchcase(name, pattern)]
    return rules[max(fitting, key=len)] if fitting else None
