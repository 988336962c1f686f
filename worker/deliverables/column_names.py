"""The columns a lawyer names for an extract: typed, or listed in a file of the firm's.

``rent, start date, governing law`` are three columns. What kind of value stands in one is told from
its name, and may be said: ``commencement (date)``. ``@leases`` stands for the lines of
``state/templates/leases.columns``; a line that begins with ``#`` is a remark.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from protocol.errors import BadRequest, NotFound

Kind = Literal["date", "amount", "name", "text"]
"""What stands in a column; ``text`` takes the sentence itself."""

MOST_COLUMNS: Final = 20
MOST_CHARS: Final = 60
_LISTED: Final = re.compile(r"@([a-z][a-z0-9-]{0,39})")
_SAID: Final = re.compile(r"(?P<name>.*?)\s*\((?P<kind>date|amount|name|text)\)", re.IGNORECASE)
_LONGEST_BYTES: Final = 20_000
WORD: Final = re.compile(r"[^\W_]+")

_KINDS: Final[dict[Kind, frozenset[str]]] = {
    "date": frozenset(
        "date day start begin commencement end expiration expiry termination deadline due signed"
        " executed filed served received effective renewal closing".split()
    ),
    "amount": frozenset(
        "amount rent price fee cost deposit damages salary payment sum premium penalty fine balance"
        " loan invoice tax interest retainer consideration".split()
    ),
    "name": frozenset(
        "name party parties tenant lessee landlord lessor buyer seller purchaser vendor employer"
        " employee witness plaintiff defendant counsel attorney guarantor borrower lender owner"
        " contractor licensor licensee signatory".split()
    ),
}
_KOREAN_ENDS: Final[dict[Kind, tuple[str, ...]]] = {
    "date": ("일", "일자", "날짜", "기일", "시기"),
    "amount": ("금", "금액", "차임", "대금", "비용", "료", "세"),
    "name": ("인", "자", "원고", "피고", "당사자", "이름", "성명"),
}
_SAME: Final = (
    frozenset({"start", "begin", "commence", "commencement"}),
    frozenset({"end", "expire", "expiration", "expiry"}),
    frozenset({"tenant", "lessee"}),
    frozenset({"landlord", "lessor"}),
    frozenset({"buyer", "purchaser"}),
    frozenset({"seller", "vendor"}),
    frozenset({"signed", "executed", "sign", "execute"}),
)
"""Words that stand for each other in contracts; a sentence may use any of a group."""
_GENERAL: Final = frozenset("date day amount name sum the of a an and for in".split())
"""Words that say what kind of value is wanted; they need not stand in the record."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its name as typed, the kind of its values, and the words a sentence must hold."""

    name: str
    kind: Kind
    words: tuple[frozenset[str], ...]
    """Each a group of stems of which one must stand in the sentence."""


def columns(named: Sequence[str], own: Path) -> tuple[Column, ...]:
    """The columns, lists of the firm's put in their place.

    Args:
        named: As typed, one column or one ``@list`` each.
        own: The firm's folder of templates; it need not exist.

    Raises:
        BadRequest: There is none, too many, or one that is no name.
        NotFound: There is no such list.
    """
    names: list[str] = []
    for one in named:
        listed = _LISTED.fullmatch(one.strip())
        names += _list(listed[1], own) if listed else [one]
    check(names)
    found = {column.name.casefold(): column for column in map(_column, names)}
    return tuple(found.values())


def check(names: Sequence[str]) -> None:
    """Checks that these can be columns.

    Raises:
        BadRequest: They cannot.
    """
    if not 0 < len(names) <= MOST_COLUMNS:
        raise BadRequest(f"an extract has 1 to {MOST_COLUMNS} columns")
    for name in names:
        plain = " ".join(name.split())
        seen = any(unicodedata.category(sign)[0] in "LN" for sign in plain)
        hidden = any(unicodedata.category(sign)[0] == "C" for sign in name)
        if not seen or hidden or len(plain) > MOST_CHARS:
            raise BadRequest(f"a column's name has 1 to {MOST_CHARS} characters that can be seen")


def _list(name: str, own: Path) -> list[str]:
    path = own / f"{name}.columns"
    try:
        if path.is_symlink() or not path.is_file():
            raise FileNotFoundError
        if path.stat().st_size > _LONGEST_BYTES:
            raise BadRequest("the firm's list of columns is too long")
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise NotFound(
            "there is no such list of columns", next_step="the operator keeps them in templates"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest("the firm's list of columns cannot be read as text") from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _column(typed: str) -> Column:
    plain = " ".join(typed.split())
    said = _SAID.fullmatch(plain)
    name = said["name"] if said and said["name"] else plain
    words = [word.casefold() for word in WORD.findall(name)]
    kind: Kind = said["kind"].lower() if said else _guessed(words)  # type: ignore[assignment]
    wanted = [word for word in words if word not in _GENERAL] or words
    return Column(name=name, kind=kind, words=tuple(map(_group, wanted)))


def _guessed(words: Sequence[str]) -> Kind:
    """By the last word that tells: a "rent start date" is a date."""
    for word in reversed(words):
        for kind, known in _KINDS.items():
            if word in known or stem(word) in known:
                return kind
        for kind, ends in _KOREAN_ENDS.items():
            if "가" <= word[-1] <= "힣" and word.endswith(ends):
                return kind
    return "text"


def _group(word: str) -> frozenset[str]:
    same = next((group for group in _SAME if word in group or stem(word) in group), {word})
    return frozenset(map(stem, same))


def stem(word: str) -> str:
    """A word without the endings of number and time; Korean words stay."""
    for ending in ("ments", "ment", "ations", "ation", "ings", "ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
