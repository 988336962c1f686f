"""What a paper says of itself at its head and foot: its kind, its own date, who wrote it.

A letter carries its date on a line of its own and its writer under "Sincerely"; a report has
"Date of report:". Only what the document prints is known.
"""

from __future__ import annotations

import re
from typing import Final

from verify.dates.mention import PartialDate, agrees
from verify.dates.scan import find_dates
from verify.wordlists import DOCUMENT_TYPES

HEAD: Final = 900
"""Characters from the start in which a paper names its date and its writer."""
FOOT: Final = 500
"""The same before its end."""
_KINDS: Final = {
    **DOCUMENT_TYPES,
    "meeting": "minutes", "hearing": "transcript", "testimony": "deposition",
    "message": "e-mail", "statement": "statement", "회신": "letter", "편지": "letter",
    "통지서": "notice", "이메일": "e-mail", "회의록": "minutes", "memos": "memorandum",
    "letters": "letter", "emails": "e-mail", "reports": "report", "agreements": "agreement",
    "contracts": "agreement", "leases": "lease", "invoices": "invoice", "notices": "notice",
    "ruling": "opinion", "decision": "opinion", "pleading": "complaint", "petition": "complaint",
}  # fmt: skip
ALIKE: Final = {
    "lease": "agreement", "amendment": "agreement", "transcript": "deposition",
    "declaration": "declaration", "notice": "letter", "memorandum": "memorandum",
    "order": "opinion", "plan": "agreement", "policy": "agreement",
}  # fmt: skip
"""Kinds that one paper may well be called by."""
_LABELLED: Final = re.compile(
    r"(?im)^[ \t>*#_]*(?:date(?:d)?(?:\s+of\s+(?:the\s+)?(?:report|letter|notice|statement|invoice"
    r"|hearing|deposition|order|this\s+\w+))?|report\s+date|statement\s+date|sent|filed|entered"
    r"|decided|taken|held|issued|executed|일자|작성일|날짜|日付|datum)(?:\s+on)?\s*[:：]?\s*(?P<rest>[^\n]{4,60})$"
)
_ALONE: Final = re.compile(r"(?m)^[ \t]*(?P<rest>[^\n]{6,40})[ \t]*$")
_MADE: Final = re.compile(
    r"(?i)\b(?:made|entered\s+into|dated|effective)(?:\s+and\s+entered\s+into)?"
    r"(?:\s+(?:as\s+of|on|this))*\s+(?P<rest>[^\n]{6,40})"
)
_SIGNED: Final = re.compile(
    r"(?m)^[ \t]*(?:(?:Very\s+truly|Yours?|Sincerely|Respectfully|Best|Kind|Warm|With)\b[^\n]{0,40}"
    r"|Regards|Sincerely|Cordially),?[ \t]*\n\s*(?P<who>[^\n]{2,60})"
)
_BY: Final = re.compile(
    r"(?m)^[ \t]*(?:From|By|Author|Prepared\s+by|Inspector|Signed|발신|작성자|보낸\s?사람)"
    r"\s*[:：]\s*(?P<who>[^\n<]{2,60})"
)


def kind_of(word: str) -> str:
    """The kind of paper a word names, alike kinds taken together; empty for other words."""
    kind = _KINDS.get(word.casefold(), "")
    return ALIKE.get(kind, kind)


def kinds_of(title: str) -> frozenset[str]:
    """The kinds of paper that a title calls a document."""
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)?", title)
    return frozenset(filter(None, map(kind_of, words)))


class Paper:
    """A document's own date, writers and kind, from its title, head and foot."""

    def __init__(self, title: str, text: str) -> None:
        head, foot = text[:HEAD], text[-FOOT:] if len(text) > HEAD else ""
        self.labelled = _values(title) | _labelled(head) | _labelled(foot)
        self.loose = self.labelled | _values(head) | _values(foot)
        self.writers = tuple(
            dict.fromkeys(
                m["who"].strip() for part in (head, foot or head) for m in _SIGNED.finditer(part)
            )
        )
        by = [m["who"].strip() for part in (head, foot) for m in _BY.finditer(part)]
        self.writers += tuple(who for who in by if who not in self.writers)
        self.kinds = kinds_of(title)

    def dated(self, said: PartialDate) -> bool | None:
        """Whether this is the paper's own date; None where the paper does not say one."""
        held = self.labelled or self.loose
        if not held:
            return None
        return any(agrees(said, value) for value in held)


def _values(text: str) -> set[PartialDate]:
    return {value for mention in find_dates(text) for value in mention.readings}


def _labelled(text: str) -> set[PartialDate]:
    """The dates that a label, a line of their own or "made on" marks as the paper's."""
    found: set[PartialDate] = set()
    for pattern in (_LABELLED, _MADE):
        for match in pattern.finditer(text):
            found |= {v for m in find_dates(match["rest"])[:1] for v in m.readings}
    for match in _ALONE.finditer(text):
        for mention in find_dates(match["rest"]):
            rest = match["rest"][: mention.start] + match["rest"][mention.end :]
            if not re.search(r"\w", rest):
                found |= set(mention.readings)
    return found
