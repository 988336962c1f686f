"""Plain text and Markdown, transcripts saved as text among them."""

from __future__ import annotations

import re

from rag.loaders import labels, transcript
from rag.loaders.hidden import without_unseen
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Unread
from rag.loaders.textual import decode, unix_lines
from rag.paged import PlaceKind

MOST_PAGES = 100_000
_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<words>\S[^\n]*)$", re.MULTILINE)


def read(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A text file; form feeds in it end its pages. Raises `Unread` for bytes that are no text."""
    decoded = decode(data)
    if decoded is None:
        raise Unread("the bytes are no text in an encoding known here")
    draft = Draft(kind="md" if name.lower().endswith((".md", ".markdown")) else "txt")
    if decoded.warning:
        draft.warn(decoded.warning)
    text = unix_lines(decoded.text)
    if text.endswith("\f"):
        text = text[:-1]
    if text.count("\f") >= MOST_PAGES:
        raise Unread(f"the text has more than {MOST_PAGES:,} pages: split it")
    for part in text.split("\f") if "\f" in text else transcript.split(text):
        page = PageDraft()
        page.text = without_unseen(part, page)
        draft.pages.append(page)
    if draft.kind == "md":
        for page in draft.pages:
            for match in _HEADING.finditer(page.text):
                page.place(PlaceKind.HEADING, *match.span(), match.group("words").strip(" #"))
    elif transcript.mark(draft.pages):
        draft.kind = "transcript"
    labels.mark(draft)
    if not data:
        draft.pages[0].reason = "the file is empty"
    return draft
