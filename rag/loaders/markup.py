"""HTML: the words a browser would show, line by line; what it would not show is a finding.

Styles are read from the elements themselves and from the page's own sheets (`styles`, `unseen`).
Nothing is fetched and no script runs, so words made by scripts are not seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import lxml.html  # type: ignore[import-untyped]

from rag.loaders import second
from rag.loaders.hidden import without_unseen
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Unread
from rag.loaders.styles import Sheets, Style, TooMuchStyle, declared
from rag.loaders.textual import as_stated, decode
from rag.loaders.unseen import DOUBT, Seen, judged
from rag.paged import FindingKind, PlaceKind

_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol p"
    " pre section summary table tbody tfoot thead tr ul".split()
)
_NEVER = frozenset("script style template noscript head title meta link object svg math".split())
_NAMED = frozenset("p li h1 h2 h3 h4 h5 h6".split())
_NEVER_CLOSED = _NEVER - {"link", "meta"}
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w-]{2,30})", re.IGNORECASE)
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{20000,}")
_ATTRIBUTE = re.compile(r"\s[\w:-]+\s*=")
_MOST_ATTRIBUTES = 2_000
"""The library needs the square of their number."""
_MOST_DEPTH = 500
_TOO_DEEP = "the HTML is nested more deeply than is read"
_TOO_STYLED = (
    "the style sheets of this HTML are too large to follow, so hidden words cannot be told"
)
_ELSEWHERE = "the page asks for style sheets that are kept elsewhere; what they hide cannot be seen"


@dataclass(kw_only=True)
class _State:
    """What is being written: pieces of the page's text, and what is known about it."""

    page: PageDraft
    sheets: Sheets
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    last: str = ""
    """The character before; empty at the start."""
    gap: bool = False
    """Whether white space is due before the next word."""
    doubt: bool = False

    def put(self, text: str) -> None:
        """Adds to the text."""
        if text:
            self.pieces.append(text)
            self.length += len(text)
            self.last = text[-1]

    def since(self, piece: int) -> str:
        """The text from a piece on."""
        return "".join(self.pieces[piece:])


def read(data: bytes, name: str, options: LoadOptions) -> Draft:
    """An HTML file. Raises `Unread` when it holds no element."""
    draft = Draft(kind="html")
    text = _decoded(data, draft)
    page, title = page_of(text)
    draft.title = title
    draft.pages = [page]
    if _asks_elsewhere(text):
        draft.warn(_ELSEWHERE)
    return draft


def _asks_elsewhere(text: str) -> bool:
    return bool(re.search(r"(?i)<link\b[^>]{0,500}\bstylesheet\b|@import\b", text))


def page_of(text: str) -> tuple[PageDraft, str]:
    """The shown words of an HTML text as one page, and its title. Raises `Unread`."""
    if any(len(_ATTRIBUTE.findall(tag)) > _MOST_ATTRIBUTES for tag in _LONG_TAG.findall(text)):
        raise Unread("an element of this HTML has more attributes than are read")
    try:
        parser = lxml.html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
        root = lxml.html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text), parser=parser)
    except Exception as error:  # lxml's own errors, and ValueError for odd characters
        raise Unread("the HTML is damaged or empty") from error
    if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
        raise Unread(_TOO_DEEP)  # the library stops there without a word
    state = _State(page=PageDraft(), sheets=Sheets())
    try:
        for sheet in root.iter("style"):
            state.sheets.add(sheet.text or "")
        _walk(root, state, Seen(), 0)
    except TooMuchStyle as error:
        raise Unread(_TOO_STYLED) from error
    titles = [element.text or "" for element in root.iter("title")]
    page = state.page
    page.text = state.since(0).rstrip("\n")
    if state.doubt:
        page.readers_disagree, page.reason = True, DOUBT
    _count_again(text, page)
    return page, " ".join(titles[0].split()) if titles else ""


def _decoded(data: bytes, draft: Draft) -> str:
    said = _CHARSET.search(data[:4096])
    if said and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        text = as_stated(data, said.group(1).decode("ascii"))
        if text is not None:
            return text
        draft.warn("the encoding the page states does not fit its bytes")
    decoded = decode(data)
    if decoded is None:
        raise Unread("the bytes are no text in an encoding known here")
    if decoded.warning:
        draft.warn(decoded.warning)
    return decoded.text


def _style_of(element: Any, state: _State) -> tuple[Style, list[Style]]:
    """What is declared of an element, the strongest last, and what may be."""
    if not element.attrib and not state.sheets.by_key:
        return {}, []
    out: Style = {}
    for key, name in (("color", "color"), ("text", "color"), ("bgcolor", "background-color")):
        if element.get(key) and (key != "text" or element.tag == "body"):
            out[name] = element.get(key).strip().lower()
    ordinary, important, unsure = state.sheets.of(element)
    own, own_important = declared(element.get("style") or "")
    return out | ordinary | own | important | own_important, unsure


def _walk(element: Any, state: _State, above: Seen, depth: int) -> None:
    tag = element.tag if isinstance(element.tag, str) else ""
    if not tag or tag in _NEVER:
        return
    if depth > _MOST_DEPTH:
        raise Unread(_TOO_DEEP)
    page = state.page
    style, unsure = _style_of(element, state)
    verdict = judged(element, style, above, unsure)
    state.doubt = state.doubt or verdict.doubt
    hidden = verdict.hidden
    if tag == "input" and element.get("type") == "hidden":
        hidden = "an element that is not displayed"
    if hidden:
        words = " ".join(element.text_content().split())
        if words:
            page.find(FindingKind.HIDDEN_TEXT, state.length, hidden, words)
        return
    block = tag in _BLOCKS
    if block or tag == "br":
        _line(state)
    if tag in {"td", "th"} and state.last not in {"", "\n"}:
        state.put("\t")
        state.gap = False
    start, piece = state.length, len(state.pieces)
    _words(element.text, state, tag == "pre")
    for child in element:
        _walk(child, state, verdict.inside, depth + 1)
        _words(child.tail, state, tag == "pre")
    if tag in _NAMED and (inside := state.since(piece)).strip():
        if tag in {"p", "li"}:
            page.paragraphs += 1
            page.place(PlaceKind.PARAGRAPH, start, state.length, f"#{page.paragraphs}")
        else:
            page.place(PlaceKind.HEADING, start, state.length, inside.strip())
    if block:
        _line(state)


def _words(text: str | None, state: _State, verbatim: bool) -> None:
    if not text:
        return
    if verbatim:
        state.put(without_unseen(text.replace("\r\n", "\n"), state.page, state.length))
        return
    if text[0].isspace():
        state.gap = True
    words = re.sub(r"[ \t\r\n\f]+", " ", text).strip(" ")
    if not words:
        return
    if state.gap and state.last not in {"", "\n", "\t", " "}:
        state.put(" ")
    state.put(without_unseen(words, state.page, state.length))
    state.gap = text[-1].isspace()


def _line(state: _State) -> None:
    state.gap = False
    if state.last in {"", "\n"}:
        return
    while state.pieces and state.pieces[-1].endswith(" "):
        piece = state.pieces.pop()
        bare = piece.rstrip(" ")
        state.length -= len(piece) - len(bare)
        if bare:
            state.pieces.append(bare)
    state.put("\n")


class _Words(HTMLParser):
    """The second reader: the standard library's parser, which knows no styles and no depth."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self._never: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _NEVER_CLOSED:
            self._never.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._never and tag == self._never[-1]:
            self._never.pop()

    def handle_data(self, data: str) -> None:
        if not self._never:
            self.text.append(data)


def _count_again(text: str, page: PageDraft) -> None:
    reader = _Words()
    try:
        reader.feed(text)
        reader.close()
    except Exception:  # no second count, then
        return
    theirs = second.count(" ".join(reader.text))
    ours = second.count(" ".join([page.text, *(found.text for found in page.findings)]))
    if second.lacks(theirs, ours):
        page.readers_disagree = True
        page.reason = "a second reader finds more words in this file than were read"
