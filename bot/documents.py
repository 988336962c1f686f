"""Which document a person means: by id, by title, by file name, or by how one of them begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from bot.conversation import Conversation
from bot.misuse import Misuse
from protocol.filters import FILTER_WORDS
from protocol.ids import DocumentId
from protocol.jobs import Documents, ListDocuments
from protocol.record import DocumentInfo


async def listed(talk: Conversation) -> tuple[DocumentInfo, ...]:
    """The record of the matter, asked for once and kept while the thread is bound to it."""
    if not talk.documents:
        result = await talk.worker.call(ListDocuments(matter=talk.bound()))
        assert isinstance(result, Documents)
        talk.documents = result.documents
    return talk.documents


def has_filter(text: str) -> bool:
    """Whether a text holds a filter (``in:``, ``from:``, ...), which the worker reads."""
    words = (word.casefold().partition(":") for word in text.split())
    return any(colon and rest and key in FILTER_WORDS for key, colon, rest in words)


async def named_or_filtered(talk: Conversation, rest: str) -> tuple[tuple[DocumentId, ...], str]:
    """The documents that a line names, or the filters it holds instead, for the worker to read.

    Raises:
        Misuse: A name fits no document, or more than one.
    """
    if has_filter(rest):
        return (), rest.strip()
    return tuple(document.id for document in await chosen(talk, rest)), ""


async def chosen(talk: Conversation, named: str) -> list[DocumentInfo]:
    """The documents named in a list with commas; none for no names.

    Raises:
        Misuse: A name fits no document, or more than one.
    """
    names = [name.strip() for name in named.split(",") if name.strip()]
    if not names:
        return []
    record = await listed(talk)
    return list(
        {document.id: document for name in names for document in [pick(record, name)]}.values()
    )


def pick(record: Sequence[DocumentInfo], name: str) -> DocumentInfo:
    """The one document that ``name`` means.

    An exact id, title or file name wins; else the one whose title or file name begins so.

    Raises:
        Misuse: It fits no document, or more than one.
    """
    said = name.strip().strip("\"'“”").casefold()
    exact = [document for document in record if said in _names(document)]
    if not exact:
        exact = [d for d in record if said and any(n.startswith(said) for n in _names(d))]
    if not exact:
        raise Misuse("no_document", next_step="documents_next")
    if len(exact) > 1:
        names = ", ".join(document.title for document in exact[:5])
        raise Misuse("many_documents", next_step="documents_next", names=names)
    return exact[0]


def page_and_name(rest: str) -> tuple[str, int]:
    """A document's name and the page number that ends the line.

    Raises:
        Misuse: No page number ends it.
    """
    name, _, page = rest.rpartition(" ")
    if not name.strip() or not (page.isascii() and page.isdecimal()) or int(page) < 1:
        raise Misuse("needs", name="open", what="page_number")
    return name.strip(), int(page)


def _names(document: DocumentInfo) -> set[str]:
    names = {document.id, document.title, document.name, PurePosixPath(document.name).stem}
    return {name.casefold() for name in names if name}
