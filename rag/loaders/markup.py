"""HTML: the words a browser would show, line by line; what it would not show is a finding.

Styles are read from the elements themselves and from simple rules (tag, class, id) of the page's
own style sheets. Nothing is fetched and no script runs, so words made by scripts are not seen.
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
from rag.loaders.textual import decode
from rag.paged import FindingKind, PlaceKind

_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol p"
    " pre section summary table tbody tfoot thead tr ul".split()
)
_NEVER = frozenset("script style template noscript head title meta link object svg math".split())
_NEVER_CLOSED = _NEVER - {"link", "meta"}
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SIMPLE = re.compile(r"^(?P<tag>[a-z][a-z0-9]*)?(?P<more>(?:[.#][\w-]+)*)$", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w-]{2,30})", re.IGNORECASE)
_MOST_DEPTH = 500
_TOO_DEEP = "the HTML is nested more deeply than is read"
_WHITE = {"white", "#fff", "#ffffff", "rgb(255,255,255)"}

Style = dict[str, str]


@dataclass(kw_only=True)
class _State:
    page: PageDraft
    rules: list[tuple[re.Match[str], Style]] = field(default_factory=list)
    gap: bool = False
    """Whether white space is due before the next word."""


def read(data: bytes, name: str, options: LoadOptions) -> Draft:
    """An HTML file. Raises `Unread` when it holds no element."""
    draft = Draft(kind="html")
    text = _decoded(data, draft)
    page, title = page_of(text)
    draft.title = title
    draft.pages = [page]
    return draft


def page_of(text: str) -> tuple[PageDraft, str]:
    """The shown words of an HTML text as one page, and its title. Raises `Unread`."""
    try:
        parser = lxml.html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
        root = lxml.html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text), parser=parser)
    except Exception as error:  # lxml's own errors, and ValueError for odd characters
        raise Unread("the HTML is damaged or empty") from error
    if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
        raise Unread(_TOO_DEEP)  # the library stops there without a word
    state = _State(page=PageDraft())
    for sheet in root.iter("style"):
        state.rules += _rules(sheet.text or "")
    _walk(root, state, {}, "", 0)
    titles = [element.text or "" for element in root.iter("title")]
    state.page.text = state.page.text.rstrip("\n")
    _count_again(text, state.page)
    return state.page, " ".join(titles[0].split()) if titles else ""


def _decoded(data: bytes, draft: Draft) -> str:
    stated = _CHARSET.search(data[:4096])
    if stated and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        try:
            return data.decode(stated.group(1).decode("ascii"))
        except (LookupError, UnicodeDecodeError):
            draft.warn("the encoding the page states does not fit its bytes")
    decoded = decode(data)
    if decoded is None:
        raise Unread("the bytes are no text in an encoding known here")
    if decoded.warning:
        draft.warn(decoded.warning)
    return decoded.text


def _rules(sheet: str) -> list[tuple[re.Match[str], Style]]:
    out = []
    for selectors, body in _RULE.findall(re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)):
        for selector in selectors.split(","):
            match = _SIMPLE.match(selector.strip())
            if match and selector.strip():
                out.append((match, _style(body)))
    return out


def _style(text: str) -> Style:
    out = {}
    for entry in text.split(";"):
        key, colon, value = entry.partition(":")
        if colon:
            out[key.strip().lower()] = value.replace("!important", "").strip().lower()
    return out


def _of(element: Any, state: _State) -> Style:
    out: Style = {}
    classes = (element.get("class") or "").split()
    for match, style in state.rules:
        tag, more = match.group("tag"), match.group("more") or ""
        wanted = re.findall(r"([.#])([\w-]+)", more)
        fits = (not tag or tag.lower() == element.tag) and all(
            value in classes if mark == "." else value == element.get("id")
            for mark, value in wanted
        )
        if fits:
            out |= style
    if element.get("color"):
        out["color"] = element.get("color").lower()
    if element.get("bgcolor"):
        out["background-color"] = element.get("bgcolor").lower()
    return out | _style(element.get("style") or "")


def _hides(element: Any, style: Style, inherited: Style) -> str:
    """Why a browser would not show this element's words; empty when it would."""
    if element.get("hidden") is not None or style.get("display") == "none":
        return "an element that is not displayed"
    if style.get("visibility") in {"hidden", "collapse"} or style.get("opacity") in {"0", "0.0"}:
        return "an element that is invisible"
    if re.match(r"^0(?:\.0+)?(?:px|pt|em|rem|%)?$|^[01](?:px|pt)$", style.get("font-size", "")):
        return "letters too small to be read"
    if _away(style):
        return "an element outside the page"
    if style.get("max-height") in {"0", "0px"} or (
        style.get("height") in {"0", "0px"} and style.get("overflow") == "hidden"
    ):
        return "an element without height"
    color = style.get("color", inherited.get("color", "")).replace(" ", "")
    paper = _paper(style) or _paper(inherited) or "white"
    if color and (color == paper or (color in _WHITE and paper in _WHITE)):
        return "letters in the colour of what lies behind them"
    if color in {"transparent", "rgba(0,0,0,0)"}:
        return "transparent letters"
    return ""


def _paper(style: Style) -> str:
    return (style.get("background-color") or style.get("background", "")).replace(" ", "")


def _away(style: Style) -> bool:
    for key in ("left", "top", "text-indent", "margin-left"):
        match = re.match(r"^-(\d+)(?:px|pt|em)?$", style.get(key, ""))
        if match and int(match.group(1)) >= 500:
            return True
    return False


def _walk(element: Any, state: _State, inherited: Style, tag: str, depth: int) -> None:
    page = state.page
    tag = element.tag if isinstance(element.tag, str) else ""
    if not tag or tag in _NEVER:
        return
    if depth > _MOST_DEPTH:
        raise Unread(_TOO_DEEP)
    style = _of(element, state)
    reason = _hides(element, style, inherited)
    if reason or (tag == "input" and element.get("type") == "hidden"):
        words = " ".join(element.text_content().split())
        if words:
            page.find(FindingKind.HIDDEN_TEXT, len(page.text), reason, words)
        return
    kept = {
        key: value
        for key, value in (inherited | style).items()
        if key in {"color", "background", "background-color"}
    }
    block = tag in _BLOCKS
    if block or tag == "br":
        _line(state)
    if tag in {"td", "th"} and page.text and not page.text.endswith("\n"):
        page.text += "\t"
        state.gap = False
    start = len(page.text)
    _words(element.text, state, tag == "pre")
    for child in element:
        _walk(child, state, kept, tag, depth + 1)
        _words(child.tail, state, tag == "pre")
    if tag in {"h1", "h2", "h3", "h4", "h5", "h6"} and page.text[start:].strip():
        page.place(PlaceKind.HEADING, start, len(page.text), page.text[start:].strip())
    if tag in {"p", "li"} and page.text[start:].strip():
        page.paragraphs += 1
        page.place(PlaceKind.PARAGRAPH, start, len(page.text), f"#{page.paragraphs}")
    if block:
        _line(state)


def _words(text: str | None, state: _State, verbatim: bool) -> None:
    if not text:
        return
    page = state.page
    if verbatim:
        page.text += without_unseen(text.replace("\r\n", "\n"), page, len(page.text))
        return
    if text[0].isspace():
        state.gap = True
    words = re.sub(r"[ \t\r\n\f]+", " ", text).strip(" ")
    if not words:
        return
    if state.gap and page.text and not page.text.endswith(("\n", "\t", " ")):
        page.text += " "
    page.text += without_unseen(words, page, len(page.text))
    state.gap = text[-1].isspace()


def _line(state: _State) -> None:
    state.gap = False
    if state.page.text and not state.page.text.endswith("\n"):
        state.page.text = state.page.text.rstrip(" ") + "\n"


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
