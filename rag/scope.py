"""Where to look, as a person writes it: ``boiler in:Lease.pdf from:2026-01 custodian:Kim``.

The one place where such words are read. A filter is never dropped in silence: what looks like one
and cannot be kept is refused in words, and what was kept is said with how much it leaves in. Words
between quotation marks are never filters.
"""

from __future__ import annotations

import calendar
import datetime as dt
import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from protocol.errors import BadRequest
from protocol.filters import FILTER_WORDS
from protocol.ids import DocumentId
from protocol.record import DateOrder, DocumentClass, DocumentInfo
from rag import patterns
from rag.matters import OpenMatter
from rag.retrieve import Filters, selection

_QUOTED: Final = r"(?<![^\s(\[])(?:\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»)"
_FILTER: Final = (
    r"(?<!\S)(?P<minus>[-!]?)(?P<key>[^\W\d_]+):"
    r"(?P<value>\"[^\"\n]*\"|“[^”\n]*”|[^\s\"“]\S*)"
)
_WORDS: Final = re.compile(rf"(?P<quoted>{_QUOTED})|{_FILTER}")
_TRAILING: Final = ",;?!"
_NEAR: Final = 0.75
"""Likeness from which an unknown word before a colon is taken for a slip of the pen."""
_SHORT: Final = 4
"""Letters below which likeness says nothing: "re:" and "no:" are words of letters."""

_CLASSES: Final[dict[str, DocumentClass]] = {
    "evidence": DocumentClass.EVIDENCE,
    "pleading": DocumentClass.PLEADING,
    "pleadings": DocumentClass.PLEADING,
    "authority": DocumentClass.AUTHORITY,
    "authorities": DocumentClass.AUTHORITY,
    "law": DocumentClass.AUTHORITY,
    "workproduct": DocumentClass.WORK_PRODUCT,
    "notes": DocumentClass.WORK_PRODUCT,
    "증거": DocumentClass.EVIDENCE,
    "서면": DocumentClass.PLEADING,
    "법령": DocumentClass.AUTHORITY,
    "판례": DocumentClass.AUTHORITY,
    "내부": DocumentClass.WORK_PRODUCT,
}
_AS_WORDS: Final = "to search these very words, put quotation marks around them"


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What of a matter a request is about."""

    words: str = ""
    """The request without its filters."""
    filters: Filters | None = None
    """None when none was given: then everything that may be cited."""
    said: str = ""
    """The filters as they were written."""
    documents: tuple[DocumentId, ...] = ()
    """What they let through."""
    of: int = 0
    """Documents of the matter that could have been let through."""
    undated: int = 0
    """Documents left out by a filter of days only because their day is not known."""

    @property
    def told(self) -> str:
        """How much the filters leave in, in words; empty without filters."""
        if self.filters is None:
            return ""
        return f"{len(self.documents)} of {self.of} documents by the filter {self.said}"

    @property
    def note(self) -> str:
        """A sentence to stand beside the reply, so that the part is not taken for the whole."""
        if self.filters is None:
            return ""
        left = (
            f" Left out because their day is not known: {self.undated} (undated:yes lets them in)."
            if self.undated
            else ""
        )
        return f"Only {self.told} were looked at.{left}"


EVERYTHING: Final = Scope()
"""No filter."""


def parse(text: str, matter: OpenMatter) -> Scope:
    """The filters in a request, and what is left of it.

    Args:
        text: As the person wrote it.
        matter: Whose documents and custodians are meant.

    Raises:
        BadRequest: A filter cannot be kept; the message says which and why, not what was written.
    """
    kept: list[str] = []
    said: list[tuple[str, str]] = []
    shown: list[str] = []
    at = 0
    for found in _WORDS.finditer(text):
        if found["quoted"] is not None:
            continue
        key = _key(found["key"])
        name = FILTER_WORDS.get(key)
        if name is None:
            _refuse_slip(key)
            continue
        if found["minus"]:
            raise BadRequest(
                f"a filter cannot be turned round: -{key}: is not understood",
                next_step="name what to search, not what to leave out",
            )
        value = found["value"].rstrip(_TRAILING)
        shown.append(f"{found['key']}:{value}")
        said.append((name, _unquoted(value)))
        kept.append(text[at : found.start()])
        at = found.end()
    words = " ".join("".join([*kept, text[at:]]).split(" ")).strip() if said else text
    if not said:
        return replace(EVERYTHING, words=words)
    return _scope(" ".join(words.split()), said, " ".join(shown), matter)


def only_filters(text: str, matter: OpenMatter) -> Scope:
    """The filters of a request that has no words of its own; none in an empty text.

    Raises:
        BadRequest: A filter cannot be kept, or other words stand beside the filters.
    """
    scope = parse(text, matter) if text.strip() else EVERYTHING
    if scope.words:
        raise BadRequest(
            "beside filters no other words are understood here",
            next_step='name documents by in:, as in in:Lease.pdf or in:"Supply Agreement"',
        )
    return scope


def _scope(words: str, said: Sequence[tuple[str, str]], shown: str, matter: OpenMatter) -> Scope:
    infos = [
        info for info in matter.documents() if info.document_class is not DocumentClass.MODEL_OUTPUT
    ]
    filters = Filters()
    for name, value in said:
        if not value:
            raise BadRequest(f"nothing stands behind {name}:", next_step=_AS_WORDS)
        filters = _READERS[name](filters, name, value, infos, matter)
    if filters.since and filters.until and filters.since > filters.until:
        raise BadRequest(
            "the filter begins after it ends", next_step="write the earlier day behind from:"
        )
    chosen = selection(matter, filters)
    undated = 0
    if (filters.since or filters.until) and not filters.undated:
        known = matter.store.dates()
        whenever = selection(matter, replace(filters, since=None, until=None))
        undated = sum(name not in known for name in whenever)
    return Scope(
        words=words,
        filters=filters,
        said=shown,
        documents=chosen,
        of=len(infos),
        undated=undated,
    )


# --- one filter each ---


def _documents(
    filters: Filters, name: str, value: str, infos: Sequence[DocumentInfo], matter: OpenMatter
) -> Filters:
    wanted = _folded(value)
    named = [info for info in infos if wanted in _names(info)]
    if not named and any(mark in wanted for mark in "*?"):
        named = [info for info in infos if any(fnmatchcase(n, wanted) for n in _names(info))]
    if not named:
        named = [info for info in infos if any(wanted in known for known in _names(info))]
    if not named:
        _refuse_name(wanted, matter)
    ids = _with_parts({info.id for info in named}, infos)
    return replace(filters, documents=tuple(dict.fromkeys([*filters.documents, *ids])))


def _refuse_name(wanted: str, matter: OpenMatter) -> None:
    """No document has the name; a file that gave none may have it."""
    rows = matter.store.rows("SELECT name FROM files WHERE document IS NULL")
    if any(wanted in _folded(row["name"]) for row in rows):
        raise BadRequest(
            "the file that in: names came in and gave no document: it could not be read",
            next_step="/documents says why",
        )
    raise BadRequest(
        "no document of this matter goes by the name behind in:",
        next_step='/documents lists them; a name with spaces stands in quotation marks: in:"A B"',
    )


def _with_parts(named: set[DocumentId], infos: Sequence[DocumentInfo]) -> list[DocumentId]:
    """The documents with all that came inside them, at any depth."""
    while True:
        more = {info.id for info in infos if info.parent in named} - named
        if not more:
            return [info.id for info in infos if info.id in named]
        named = named | more


def _names(info: DocumentInfo) -> set[str]:
    path = PurePosixPath(info.name)
    names = {info.id, info.title, info.name, path.name, path.stem, info.exhibit or ""}
    return {_folded(name) for name in names if name}


def _custodian(
    filters: Filters, name: str, value: str, infos: Sequence[DocumentInfo], matter: OpenMatter
) -> Filters:
    wanted = _folded(value)
    known = {info.custodian for info in infos if info.custodian}
    found = [one for one in known if _folded(one) == wanted]
    found = found or [one for one in known if wanted in _folded(one)]
    if not found:
        raise BadRequest(
            "no document of this matter is marked as from the custodian named"
            if known
            else "no document of this matter has a custodian",
            next_step="on the box, secondchair-worker documents mark says whose files they are",
        )
    held = dict.fromkeys([*filters.custodians, *sorted(found)])
    return replace(filters, custodians=tuple(held))


def _class(
    filters: Filters, name: str, value: str, infos: Sequence[DocumentInfo], matter: OpenMatter
) -> Filters:
    wanted = re.sub(r"[\s_-]", "", _folded(value))
    if wanted not in _CLASSES:
        raise BadRequest(
            "there is no such class of documents",
            next_step="class: takes evidence, pleading, authority or work_product",
        )
    held = dict.fromkeys([*filters.classes, _CLASSES[wanted]])
    return replace(filters, classes=tuple(held))


def _undated(
    filters: Filters, name: str, value: str, infos: Sequence[DocumentInfo], matter: OpenMatter
) -> Filters:
    if _folded(value) not in {"yes", "no", "예", "아니오"}:
        raise BadRequest("undated: takes yes or no", next_step=_AS_WORDS)
    return replace(filters, undated=_folded(value) in {"yes", "예"})


def _days(
    filters: Filters, name: str, value: str, infos: Sequence[DocumentInfo], matter: OpenMatter
) -> Filters:
    first, last = stretch(value, matter.date_order, name)
    day = dt.timedelta(days=1)
    since, until = filters.since, filters.until
    try:
        if name in ("from", "on"):
            since = max(since or first, first)
        if name in ("to", "on"):
            until = min(until or last, last)
        if name == "after":
            since = max(since or first, last + day)
        if name == "before":
            until = min(until or last, first - day)
    except OverflowError:
        raise BadRequest(f"{name}: leaves no day", next_step=_AS_WORDS) from None
    return replace(filters, since=since, until=until)


def stretch(value: str, order: DateOrder, name: str = "from") -> tuple[dt.date, dt.date]:
    """First and last day that a value names: a day, a month or a year.

    Raises:
        BadRequest: It is none, or reads as two days.
    """
    folded = unicodedata.normalize("NFKC", value).strip().rstrip(".")
    if found := re.fullmatch(r"(\d{4})년?(?:[-./]?\s?(\d{1,2})월?)?", folded):
        year, month = int(found[1]), int(found[2] or 0)
        if year >= 1 and (found[2] is None or 1 <= month <= 12):
            last = calendar.monthrange(year, month or 12)[1]
            return dt.date(year, month or 1, 1), dt.date(year, month or 12, last)
    days = patterns.parse_date(folded, order)
    if len(days) == 1:
        return days[0], days[0]
    raise BadRequest(
        f"the day behind {name}: reads two ways" if days else f"{name}: takes a day, month or year",
        next_step=f"write it as {name}:2026-01-31, {name}:2026-01 or {name}:2026; {_AS_WORDS}",
    )


_Read = Callable[[Filters, str, str, Sequence[DocumentInfo], OpenMatter], Filters]
_READERS: Final[dict[str, _Read]] = {
    "in": _documents,
    "custodian": _custodian,
    "class": _class,
    "undated": _undated,
    **dict.fromkeys(("from", "to", "on", "after", "before"), _days),
}


# --- words ---


def _refuse_slip(key: str) -> None:
    """An unknown word before a colon that looks like a filter is asked about, not searched."""
    near = difflib.get_close_matches(key, _long(FILTER_WORDS), n=1, cutoff=_NEAR)
    if len(key) >= _SHORT and near:
        raise BadRequest(f"there is no such filter; {near[0]}: may be meant", next_step=_AS_WORDS)


def _long(words: Iterable[str]) -> list[str]:
    return [word for word in words if len(word) >= _SHORT]


def _key(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _unquoted(value: str) -> str:
    return value[1:-1].strip() if value[:1] in '"“' and len(value) > 1 else value
