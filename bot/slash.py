"""What a typed line asks for: a slash command with its words, or a question.

One table holds every command; completion and help read the same table, so none is forgotten.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from bot.misuse import Misuse


class Name(StrEnum):
    """The commands of the chat; what each does is said by `help.NAME` in the catalogue."""

    ASK = "ask"
    FIND = "find"
    SUMMARIZE = "summarize"
    EXTRACT = "extract"
    CHRONOLOGY = "chronology"
    CITECHECK = "citecheck"
    DRAFT = "draft"
    OPEN = "open"
    SHOW = "show"
    APPROVE = "approve"
    RETURN = "return"
    WITHDRAW = "withdraw"
    EDIT = "edit"
    EXPORT = "export"
    JOBS = "jobs"
    HISTORY = "history"
    AUDIT = "audit"
    CANCEL = "cancel"
    MATTER = "matter"
    DOCUMENTS = "documents"
    HOLD = "hold"
    LIFT = "lift"
    FORGET = "forget"
    HEALTH = "health"
    HELP = "help"
    QUIT = "quit"


WITHOUT_MATTER: Final = frozenset({Name.MATTER, Name.HEALTH, Name.HELP, Name.QUIT, Name.SHOW})
"""Commands that make sense before a matter is chosen."""

EXTRACTS: Final = ("dates", "amounts", "parties", "facts", "all")
COLUMNS: Final = "columns"
FORMS: Final = ("facts", "declaration", "demand")
FORMATS: Final = ("md", "docx", "pdf", "json", "csv", "xlsx")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    Name.EXTRACT: (*EXTRACTS, f"{COLUMNS}:"),
    Name.DRAFT: FORMS,
    Name.EXPORT: FORMATS,
}


class Typed(msgspec.Struct, frozen=True, kw_only=True):
    """One line as it was meant; ``name`` is None for a slash word that is no command."""

    name: Name | None
    rest: str
    line: str
    """The line in its full form, as a reply shows it."""


def parse(line: str) -> Typed | None:
    """What a line asks for; None for a line of white space.

    A line that starts with two slashes is a question that starts with one.
    """
    text = line.strip()
    if not text:
        return None
    if not text.startswith("/") or text.startswith("//"):
        text = text.removeprefix("/")
        return Typed(name=Name.ASK, rest=text, line=f"/ask {text}")
    word, _, rest = text[1:].partition(" ")
    word, newline, tail = word.partition("\n")
    rest = f"{tail} {rest}".strip() if newline else rest.strip()
    try:
        name = Name(word.casefold())
    except ValueError:
        return Typed(name=None, rest=word, line=text)
    return Typed(name=name, rest=rest, line=f"/{name} {rest}".rstrip())


def own_columns(rest: str) -> tuple[tuple[str, ...], str] | None:
    """The columns a line names and the documents after its semicolon; None when it names none.

    ``columns: tenant, rent; Lease`` asks for two columns of one document.
    """
    named, _, documents = rest.partition(";")
    word, colon, names = named.partition(":")
    if not colon or word.strip().casefold() != COLUMNS:
        return None
    return listed_columns(names), documents.strip()


def listed_columns(names: str) -> tuple[str, ...]:
    """Columns from a list with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))


def needed(typed: Typed, what: str) -> str:
    """The words after the command.

    Raises:
        Misuse: There are none; ``what`` names in the catalogue what is missing.
    """
    if not typed.rest:
        raise Misuse("needs", name=typed.name, what=what)
    return typed.rest


def candidates(before: str) -> list[str]:
    """The words that may complete a line, given the text before the cursor."""
    if not before.startswith("/"):
        return []
    word, space, rest = before[1:].partition(" ")
    if not space:
        return [f"/{name}" for name in Name if name.startswith(word.casefold())]
    choices = _CHOICES.get(word.casefold(), ())
    return [choice for choice in choices if " " not in rest and choice.startswith(rest)]
