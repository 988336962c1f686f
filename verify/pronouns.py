"""A pronoun as the speaker of a quotation: "She answered: ...", "“...,” he said".

Whom a pronoun means is not string work. It is resolved only where nothing else can be meant: the
reply has spoken of one person alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from verify.speakers import surname

_SPOKE: Final = (
    r"(?:said|says|stated|states|testified|testifies|asked|asks|answered|answers|replied|replies"
    r"|responded|responds|argued|wrote|writes|explained|explains|admitted|admits|conceded|concedes"
    r"|acknowledged|told|tells|observed|remarked|agreed|confirmed|confirms|insisted|insists"
    r"|claimed|noted|notes|added|adds|recalled|recalls|swore|declared|warned|denied|went on"
    r"|continued|put it|let slip)"
)
_PRONOUN: Final = r"(?P<who>he|she|they|the (?:latter|former|other))"
_BEFORE: Final = re.compile(
    rf"\b{_PRONOUN}\s+(?:\w+\s+){{0,2}}{_SPOKE}\b[^.;!?“\"”]{{0,60}}\Z", re.IGNORECASE
)
_AFTER: Final = re.compile(
    rf"[\s,.?!”\"'’»“„」』*_\])-]{{0,8}}(?:as\s+)?(?:{_PRONOUN}\s+(?:\w+\s+){{0,2}}{_SPOKE}\b"
    rf"|{_SPOKE}\s+{_PRONOUN.replace('<who>', '<whom>')}\b)",
    re.IGNORECASE,
)
_ORIENTAL: Final = re.compile(
    r"(?P<who>그녀는|그는|그가|그녀가|彼は|彼女は|同人은|동인은)[^.。“”「」\"]{0,40}\Z"
)
_EUROPEAN: Final = re.compile(
    r"\b(?P<who>er|sie|il|elle)\s+(?:sagte|schrieb|antwortete|erklärte|erwiderte|a\s+(?:dit"
    r"|écrit|répondu|déclaré))\b[^.;“„«\"]{0,40}\Z",
    re.IGNORECASE,
)
_PERSON: Final = re.compile(
    r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Justice|Judge|Herr|Frau|Mme|M)\.?\s+"
    r"(?P<titled>(?:[A-Z]\.\s*)*[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)?)"
    rf"|\b(?P<spoke>[A-Z][\w'’-]+)\s+{_SPOKE}\b"
    r"|\b(?:told|asked|answered|informed|wrote\s+to|e-?mailed)\s+(?P<told>[A-Z][\w'’-]+)"
)
_LOOK: Final = 160
"""Characters before a quotation in which a pronoun that introduces it may stand."""
_BACK: Final = 600
"""Characters of the reply before a quotation in which its pronoun may have been named."""


def pronoun_at(reply: str, start: int, end: int) -> str:
    """The pronoun to which a reply gives the words at ``[start, end)``; empty without one."""
    before = re.sub(r"[\s\"“„«「『'‘*_>]+\Z", " ", reply[max(0, start - _LOOK) : start])
    for form in (_BEFORE, _ORIENTAL, _EUROPEAN):
        found = form.search(before)
        if found:
            return found["who"]
    after = _AFTER.match(reply, end)
    if after and "\n" not in after.group():
        return after["who"] or after["whom"]
    return ""


def named_before(reply: str, at: int, known: Iterable[str]) -> tuple[str, ...]:
    """The people a reply has spoken of shortly before ``at``: with a title, as speaking, spoken to,
    or by a surname of ``known`` (folded surnames of those who speak in the document)."""
    text = reply[max(0, at - _BACK) : at]
    found = [m["titled"] or m["spoke"] or m["told"] for m in _PERSON.finditer(text)]
    low = text.casefold()
    found += [who for who in known if len(who) > 1 and re.search(rf"(?<!\w){re.escape(who)}", low)]
    seen: dict[str, str] = {}
    for who in found:
        if who.casefold() not in {"he", "she", "they", "it", "who", "the", "this", "that", "id"}:
            seen.setdefault(surname(who), who)
    return tuple(seen.values())
