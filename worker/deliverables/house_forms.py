"""The forms a draft is poured into: the firm's own in ``state/templates``, else the built-in ones.

A form is Markdown with slots in double braces. What stands in square brackets is a blank for a
human, and stays one. A slot we do not know is an error, never left in a draft.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from protocol.errors import BadRequest, NotFound

SLOTS: Final = frozenset({"facts", "against", "amounts", "exhibits", "witness", "matter"})
"""What a form may ask for."""
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
_SLOT: Final = re.compile(r"\{\{\s*([a-z_]{1,40})\s*\}\}")
_BLANK: Final = re.compile(r"\[[^\[\]\n]{1,200}\]")
_LONGEST_BYTES: Final = 200_000


def form(name: str, own: Path) -> tuple[str, bool]:
    """A form's text, and whether it is the firm's own.

    Args:
        name: Lower-case letters, digits and hyphens: a name, never a path.
        own: The firm's folder; it need not exist.

    Raises:
        BadRequest: The name is none, the form is no text, or it has a slot we do not know.
        NotFound: There is no such form.
    """
    if not _NAME.fullmatch(name):
        raise BadRequest("that is no name of a form", next_step="use letters, digits and hyphens")
    path = own / f"{name}.md"
    firms = path.is_file() and not path.is_symlink()
    try:
        if firms and path.stat().st_size > _LONGEST_BYTES:
            raise BadRequest("the firm's form is too long")
        text = (
            path.read_text("utf-8")
            if firms
            else resources.files("worker.deliverables")
            .joinpath("templates", f"{name}.md")
            .read_text("utf-8")
        )
    except FileNotFoundError:
        raise NotFound(
            "there is no such form", next_step=f"choose {', '.join(names(own))}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest("the firm's form cannot be read as text") from error
    unknown = sorted(slots(text) - SLOTS)
    if unknown:
        raise BadRequest(f"the form asks for what there is not: {', '.join(unknown)}")
    return text.strip(), firms


def names(own: Path) -> list[str]:
    """The forms there are."""
    built_in = resources.files("worker.deliverables").joinpath("templates").iterdir()
    found = {one.name.removesuffix(".md") for one in built_in if one.name.endswith(".md")}
    if own.is_dir():
        found |= {one.stem for one in own.glob("*.md") if _NAME.fullmatch(one.stem)}
    return sorted(found)


def slots(text: str) -> frozenset[str]:
    """What the form asks for."""
    return frozenset(_SLOT.findall(text))


def poured(text: str, values: Mapping[str, str]) -> str:
    """The form with its slots filled; words of the record are put in once and not read again."""
    return _SLOT.sub(lambda match: values[match[1]], text)


def blanks(text: str) -> tuple[str, ...]:
    """The blanks that a form leaves to a human, in order."""
    return tuple(dict.fromkeys(_BLANK.findall(_SLOT.sub("", text))))
