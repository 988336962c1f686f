"""Style sheets as far as they can hide words: which declarations reach an element.

Selectors are matched by tag, class, id, attribute and by the elements around; the cascade goes by
importance, weight and order. What depends on the screen, on a pointer or on a selector not known
here is `unsure`: it is not applied, but it is told. Nothing is fetched.

Source: CSS Syntax 3, Selectors 4, Cascading 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

Style = dict[str, str]
"""Property to value, both in lower case."""

_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n]?|([^\n]))")
_SIMPLE: Final = re.compile(
    r"(?P<tag>\*|[\w-]+)|\.(?P<class>[\w-]+)|#(?P<id>[\w-]+)"
    r"|\[\s*(?P<key>[\w-]+)\s*(?:(?P<op>[~|^$*]?=)\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\]\s]+)"
    r"\s*(?P<fold>[iI])?)?\s*\]"
    r"|(?P<pseudo>::?[\w-]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?)"
)
_AT_REST: Final = frozenset({":link", ":root", ":scope", ":any-link", ":enabled", ":not(:hover)"})
_NEVER_AT_REST: Final = re.compile(
    r"^:(?:hover|focus|focus-within|focus-visible|active|visited|target|checked|disabled|invalid)$"
)
_MOST_RULES: Final = 50_000
_MOST_TRIES: Final = 2_000_000
"""Selectors tried on elements of one page; a page that needs more is not read as it looks."""
_CONDITION: Final = re.compile(r"\((?!\s*\))|\bnot\b")


class TooMuchStyle(Exception):
    """The style sheets of a page cost more than is spent on one."""


@dataclass(frozen=True, kw_only=True)
class _Simple:
    """One simple selector; ``kind`` is tag, class, id, attribute, not or unknown."""

    kind: str
    value: str
    op: str = ""
    key: str = ""
    inner: tuple[_Compound, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Compound:
    """Simple selectors that one element must meet, and how it stands to the one before."""

    simples: tuple[_Simple, ...]
    combinator: str = ""
    """Between the compound before and this one: space, ``>``, ``+`` or ``~``."""


@dataclass(frozen=True, kw_only=True)
class _Rule:
    order: tuple[int, int, int, int]
    """Weight of the selector (ids, classes, tags), then its place in the sheets."""
    compounds: tuple[_Compound, ...]
    style: Style
    important: Style
    unsure: bool
    """Whether it holds only under a condition that is not known here."""


@dataclass(kw_only=True)
class Sheets:
    """All rules of a page, found by the last compound of their selectors."""

    by_key: dict[tuple[str, str], list[_Rule]] = field(default_factory=dict)
    elsewhere: bool = False
    """Whether the page asks for sheets that are kept elsewhere."""
    _count: int = 0
    _tries: int = 0

    def add(self, sheet: str) -> None:
        """Adds a style sheet's rules."""
        self._rules(_COMMENT.sub(" ", sheet), unsure=False)

    def _rules(self, sheet: str, *, unsure: bool) -> None:
        for head, body in _blocks(sheet):
            if not head.startswith("@"):
                self._rule(head, body, unsure=unsure)
                continue
            name, _, condition = head.partition(" ")
            name = name.lower()
            if name == "@import":
                self.elsewhere = True
            elif name == "@media":
                media = condition.lower()
                if "print" in media and not re.search(r"\b(?:screen|all)\b", media):
                    continue
                self._rules(body, unsure=unsure or bool(_CONDITION.search(media)))
            elif name in {"@supports", "@container", "@scope"}:
                self._rules(body, unsure=True)
            elif name.startswith("@layer"):
                self._rules(body, unsure=unsure)

    def _rule(self, head: str, body: str, *, unsure: bool) -> None:
        style, important = declared(body)
        if not style and not important:
            return
        for selector in _commas(head):
            compounds, sure = _compounds(selector)
            if compounds is None:
                continue
            self._count += 1
            if self._count > _MOST_RULES:
                raise TooMuchStyle
            rule = _Rule(
                order=(*_weight(compounds), self._count),
                compounds=compounds,
                style=style,
                important=important,
                unsure=unsure or not sure,
            )
            self.by_key.setdefault(_key(compounds[-1]), []).append(rule)

    def of(self, element: Any) -> tuple[Style, Style, list[Style]]:
        """What the sheets say of an element: ordinary, important, and what may be said.

        Raises:
            TooMuchStyle: Too many selectors had to be tried on this page.
        """
        keys = [("tag", str(element.tag).lower()), ("", "")]
        keys += [("class", one) for one in (element.get("class") or "").split()]
        if element.get("id"):
            keys.append(("id", element.get("id")))
        met = [
            rule
            for key in dict.fromkeys(keys)
            for rule in self.by_key.get(key, ())
            if self._fits(element, rule.compounds)
        ]
        met.sort(key=lambda rule: rule.order)
        ordinary: Style = {}
        important: Style = {}
        for rule in met:
            if not rule.unsure:
                ordinary |= rule.style
                important |= rule.important
        return ordinary, important, [r.style | r.important for r in met if r.unsure]

    def _fits(self, element: Any, compounds: tuple[_Compound, ...]) -> bool:
        self._tries += 1
        if self._tries > _MOST_TRIES:
            raise TooMuchStyle
        last = compounds[-1]
        if not all(_meets(element, simple) for simple in last.simples):
            return False
        if len(compounds) == 1:
            return True
        rest = compounds[:-1]
        return any(self._fits(other, rest) for other in _around(element, last.combinator))


def _around(element: Any, combinator: str) -> Iterator[Any]:
    if combinator == ">":
        parent = element.getparent()
        if parent is not None:
            yield parent
    elif combinator == " ":
        yield from element.iterancestors()
    elif combinator == "+":
        before = element.getprevious()
        if before is not None:
            yield before
    else:
        yield from element.itersiblings(preceding=True)


def _meets(element: Any, simple: _Simple) -> bool:
    if not isinstance(element.tag, str):
        return False
    if simple.kind == "tag":
        return simple.value in ("*", element.tag.lower())
    if simple.kind == "class":
        return simple.value in (element.get("class") or "").split()
    if simple.kind == "id":
        return bool(simple.value == element.get("id"))
    if simple.kind == "not":
        return not any(all(_meets(element, s) for s in one.simples) for one in simple.inner)
    if simple.kind == "is":
        return any(all(_meets(element, s) for s in one.simples) for one in simple.inner)
    if simple.kind == "root":
        return element.getparent() is None
    if simple.kind == "attribute":
        found = element.get(simple.key)
        return found is not None and _attribute(found, simple.op, simple.value)
    return True  # not known here: it may fit, and its rule is unsure


def _attribute(found: str, op: str, wanted: str) -> bool:
    if op == "":
        return True
    if op == "=":
        return found == wanted
    if not wanted:
        return False
    return {
        "~=": wanted in found.split(),
        "|=": found == wanted or found.startswith(f"{wanted}-"),
        "^=": found.startswith(wanted),
        "$=": found.endswith(wanted),
        "*=": wanted in found,
    }[op]


# --- reading a sheet ---


def declared(body: str) -> tuple[Style, Style]:
    """The declarations of a rule or of a ``style`` attribute: ordinary and important ones."""
    ordinary: Style = {}
    important: Style = {}
    for entry in _split(_COMMENT.sub("", body), ";"):
        key, colon, value = entry.partition(":")
        if not colon:
            continue
        key, value = _unescaped(key).strip().lower(), _unescaped(value).strip().lower()
        bare = re.sub(r"!\s*important\s*$", "", value)
        (ordinary if bare == value else important)[key] = bare.strip()
    return ordinary, important


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        code = int(found[1], 16) if found[1] else 0
        return (chr(code) if 0 < code < 0x110000 else "\ufffd") if found[1] else found[2]

    return _ESCAPE.sub(plain, text) if "\\" in text else text


def _blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """Each rule's head and body; a body may hold rules of its own."""
    at, depth, start, head = 0, 0, 0, ""
    for found in re.finditer(r"[{};]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", sheet):
        mark = found.group()
        if mark == "{":
            if depth == 0:
                head, start = sheet[at : found.start()].strip(), found.end()
            depth += 1
        elif mark == "}":
            depth = max(0, depth - 1)
            if depth == 0 and head:
                yield head, sheet[start : found.start()]
                head = ""
            if depth == 0:
                at = found.end()
        elif mark == ";" and depth == 0:
            if sheet[at : found.start()].strip().startswith("@"):
                yield sheet[at : found.start()].strip(), ""
            at = found.end()
    if depth and head:  # a sheet that was cut off ends its rules
        yield head, sheet[start:]


def _split(text: str, mark: str) -> list[str]:
    """The parts between marks outside brackets and quotation marks."""
    out, depth, quote, start = [], 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth = max(0, depth - 1)
        elif char == mark and not depth:
            out.append(text[start:at])
            start = at + 1
    return [*out, text[start:]]


def _commas(head: str) -> list[str]:
    return [one.strip() for one in _split(head, ",") if one.strip()]


def _compounds(selector: str) -> tuple[tuple[_Compound, ...] | None, bool]:
    """The compounds of a selector, and whether all of it is known here.

    None when it can never concern an element's own words at rest (``::before``, ``:hover``).
    """
    out: list[_Compound] = []
    held: list[_Simple] = []
    combinator, sure, at = "", True, 0
    while at < len(selector):
        between = re.compile(r"\s*([>+~])\s*|\s+").match(selector, at)
        if between:
            if held:
                out.append(_Compound(simples=tuple(held), combinator=combinator))
                held = []
            combinator, at = between[1] or " ", between.end()
            continue
        found = _SIMPLE.match(selector, at)
        if found is None:
            return (*out, _Compound(simples=(_UNKNOWN,), combinator=combinator)), False
        at = found.end()
        simple = _simple(found)
        if simple is None:
            return None, True
        sure = sure and simple.kind != "unknown"
        held.append(simple)
    if held:
        out.append(_Compound(simples=tuple(held), combinator=combinator))
    return (tuple(out) or None), sure


_UNKNOWN: Final = _Simple(kind="unknown", value="")


def _simple(found: re.Match[str]) -> _Simple | None:
    if found["tag"]:
        return _Simple(kind="tag", value=found["tag"].lower())
    if found["class"]:
        return _Simple(kind="class", value=found["class"])
    if found["id"]:
        return _Simple(kind="id", value=found["id"])
    if found["key"]:
        value = (found["value"] or "").strip("\"'")
        if found["fold"]:
            return _UNKNOWN
        return _Simple(
            kind="attribute", key=found["key"].lower(), op=found["op"] or "", value=value
        )
    return _pseudo(found["pseudo"].lower(), found["pseudo"])


def _pseudo(pseudo: str, written: str) -> _Simple | None:
    if pseudo.startswith("::") or _NEVER_AT_REST.match(pseudo):
        return None
    if pseudo in {":before", ":after", ":first-line", ":first-letter"}:
        return None
    if pseudo == ":root":
        return _Simple(kind="root", value="")
    if pseudo in _AT_REST:
        return _Simple(kind="tag", value="*")
    name, _, inside = written.partition("(")
    if name.lower() in {":not", ":is", ":where"} and inside:
        parsed = [_compounds(one) for one in _commas(inside[:-1])]
        if all(made and sure and len(made) == 1 for made, sure in parsed):
            inner = tuple(made[0] for made, _ in parsed if made)
            kind = "not" if name.lower() == ":not" else "is"
            return _Simple(kind=kind, value="", inner=inner)
    return _UNKNOWN


def _weight(compounds: tuple[_Compound, ...]) -> tuple[int, int, int]:
    kinds = [simple.kind for one in compounds for simple in one.simples]
    tags = sum(
        simple.kind == "tag" and simple.value != "*" for one in compounds for simple in one.simples
    )
    return kinds.count("id"), len(kinds) - kinds.count("id") - kinds.count("tag"), tags


def _key(compound: _Compound) -> tuple[str, str]:
    """Under what a rule is looked for: the narrowest part of its last compound."""
    for kind in ("id", "class", "tag"):
        for simple in compound.simples:
            if simple.kind == kind and simple.value != "*":
                return kind, simple.value
    return "", ""
