"""A section, article, clause or exhibit that a reply names beside an item, against where it stands.

"Section 4.2 says “...”" names a place as a page does. Red needs both numbers to be printed once as
headings; whatever is less certain is CHECK.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from protocol.answers import Verdict
from protocol.record import DocumentInfo
from verify.judged import Stretch
from verify.sections import Label, Part, Sections, number_of
from verify.source import Source
from verify.tables import Tables
from verify.titles import Named, exact_titles
from verify.word_forms import sentence_end, sentence_start
from verify.wordlists import DOCUMENT_TYPES

_LABEL: Final = (
    r"\d{1,4}(?:\.\d{1,3}){0,4}(?:\s?\([a-zA-Z0-9]{1,4}\)){0,4}|[IVXLC]{1,7}(?!\w)|[A-Z](?![\w'’])"
)
_ONE: Final = re.compile(
    r"(?<![\w.])(?:(?P<article>(?i:articles?|artikel|arts?\.))"
    r"|(?P<plain>(?i:(?:sub-?)?(?:sections?|clauses?|paragraphs?)|secs?\.|cl\.|parts?|items?|points?"
    r"|abschnitt|ziffer|paras?\.)|§{1,2}|¶{1,2})"
    r"|(?P<exhibit>(?i:exhibits?|schedules?|annex|appendix|attachment|anlage|exs?\.)))"
    rf"\s{{0,3}}(?:(?i:nos?\.)\s?)?(?P<label>{_LABEL})"
    rf"(?P<more>(?:\s?(?:,|,?\s(?:and|or|through|to|und|et)\s|&|-|–)\s?(?:§\s?)?"
    r"\d{1,3}(?:\.\d{1,3}){0,4}(?:\s?\([a-zA-Z0-9]{1,4}\)){0,4}(?![\w.]?\d|\s(?:days?|months?|years?)))*)"
)
_KOREAN: Final = re.compile(
    r"(?P<korean>(?:제|第)\s?(?P<label>\d{1,4})\s?(?:조|条))"
    r"(?:\s?제?\s?(?P<sub>\d{1,2})\s?(?:항|項))?"
)
_LAW: Final = re.compile(
    r"\s*(?:of|,)?\s*(?:the\s+)?(?:[A-Z][\w.'’-]*\s+(?:of\s+|and\s+)?){0,6}"
    r"(?:Act|Code|Constitution|Statutes?|Rules?|Regulations?|Directive|Treaty|U\.?\s?S\.?\s?C\.?"
    r"|C\.?F\.?R\.?|BGB|HGB|ZPO|StGB)\b|\s*(?:claims?|actions?|suits?|liability)\b"
)
_OTHERWISE: Final = re.compile(
    r"(?i)(?:subject\s+to|notwithstanding|despite|except\s+(?:as\s+)?(?:provided|set\s+out|set"
    r"\s+forth)?\s*(?:in|under|by)?|unlike|contrary\s+to|other\s+than|not|defined\s+in|referred"
    r"\s+to\s+in|amend(?:s|ed|ing)?|replac(?:es|ed|ing)|delet(?:es|ed|ing))\s+(?:the\s+)?\Z"
)
_CLOSE: Final = re.compile(
    r"[\s.,;:”\"'’»“„」』*_)\]]{0,8}[(\[]?\s?(?:(?:see|in|under|at|from|per|pursuant\s+to|as|by|of)"
    r"\s+){0,2}(?:\x00+[\s,:]{0,3})?",
    re.IGNORECASE,
)
_OF: Final = re.compile(
    r"\s+(?:of|to|in)\s+(?:the|this|that|its|their)\s+(?:\w+\s+){0,2}?(?P<kind>\w+)"
)
_QUOTED: Final = re.compile(
    r"“[^“”]{0,1500}”|\"[^\"\n]{0,1500}\"|«[^«»]{0,1500}»|「[^「」]{0,800}」"
)
_AFTER: Final = 80
"""Characters after an item within which its section may be named."""
_BESIDE: Final = 200
"""Characters around a value of the record within which it may name that section itself."""
_LONGEST_PLAIN: Final = 3
"""Digits of a number without points up to which it may be a section of a paper, not of a law."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionCite:
    """A section named in a reply at ``[start, end)``."""

    start: int
    end: int
    family: str
    labels: tuple[Label, ...]
    """One, or the members of a list or a range's ends."""
    ranged: bool
    words: str
    """As the reply writes it: "Section 4.2"."""


def find_section_cites(text: str) -> tuple[SectionCite, ...]:
    """Every section, article, clause or exhibit a text names, those of statutes left out."""
    found = []
    for match in _ONE.finditer(text):
        law = _LAW.match(text, match.end())
        digits = len(re.sub(r"\D.*", "", match["label"]))
        if law or digits > _LONGEST_PLAIN:
            continue
        family = "article" if match["article"] else "exhibit" if match["exhibit"] else "number"
        if (
            family == "number"
            and re.fullmatch("[A-Z]", match["label"])
            and match["label"] not in "IVX"
        ):
            continue
        label = (match["label"],) if family == "exhibit" else number_of(match["label"])
        more = re.findall(r"\d+(?:\.\d+)*(?:\s?\([a-zA-Z0-9]{1,4}\))*", match["more"])
        found.append(
            SectionCite(
                start=match.start(),
                end=match.end(),
                family=family,
                labels=(label, *map(number_of, more)),
                ranged=bool(re.search(r"through|to|-|–", match["more"])),
                words=match.group().strip(),
            )
        )
    for match in _KOREAN.finditer(text):
        label = (match["label"], match["sub"]) if match["sub"] else (match["label"],)
        found.append(
            SectionCite(
                start=match.start(),
                end=match.end(),
                family="article",
                labels=(label,),
                ranged=False,
                words=match.group(),
            )
        )
    return tuple(sorted(found, key=lambda cite: cite.start))


def section_beside(
    reply: str, span: tuple[int, int], titles: Sequence[Named]
) -> tuple[tuple[SectionCite, ...], bool]:
    """The sections that a reply names for an item, and whether its own sentence names them.

    Args:
        reply: The reply.
        span: The item; what other quotation marks hold is not read.
        titles: The documents' titles in it, which may hold numbers of their own.
    """
    masked = _masked(reply, span, titles)
    start = sentence_start(masked, span[0], max(0, span[0] - 600))
    end = sentence_end(masked, span[1], min(len(masked), span[1] + _AFTER))
    stop = masked.find("\n\n", span[1], end)
    end = end if stop < 0 else stop
    if masked[end:].lstrip()[:1] in ("(", "["):
        end = min(len(masked), end + _AFTER)
    # Cites are read in the whole text, so that none is cut by the bounds.
    cites = [c for c in find_section_cites(masked) if not _set_apart(masked, c)]
    after = [c for c in cites if span[1] <= c.start < end]
    if after and _CLOSE.fullmatch(masked, span[1], after[0].start):
        return tuple(c for c in after[:2] if c is after[0] or c.family != after[0].family), True
    before = [c for c in cites if start <= c.start and c.end <= span[0]]
    if before:
        return _together(masked, before), True
    line = masked.rfind("\n\n", 0, max(0, start)) + 1
    heading = masked[:start].rstrip().rfind("\n")
    low = min(line, heading + 1) if start - heading < 120 else line
    earlier = [c for c in cites if low <= c.start and c.end <= start]
    if earlier and not _QUOTED.search(reply, earlier[-1].end, max(earlier[-1].end, span[0] - 1)):
        return _together(masked, earlier), False
    return (), False


def _masked(reply: str, span: tuple[int, int], titles: Sequence[Named]) -> str:
    masked = list(reply)
    stretches = [(t.start, t.end) for t in titles]
    stretches += [
        m.span() for m in _QUOTED.finditer(reply) if m.end() <= span[0] or m.start() >= span[1]
    ]
    for low, high in stretches:
        masked[low:high] = "\x00" * (high - low)
    masked[span[0] : span[1]] = " " * (span[1] - span[0])
    return "".join(masked)


def _set_apart(text: str, cite: SectionCite) -> bool:
    """Whether the reply names the section for something else: "subject to Section 7.4"."""
    return bool(_OTHERWISE.search(text, max(0, cite.start - 60), cite.start))


def _together(text: str, cites: Sequence[SectionCite]) -> tuple[SectionCite, ...]:
    """The nearest cite before an item, with those of another family named in one breath."""
    kept = [cites[-1]]
    for cite in reversed(cites[:-1]):
        gap = text[cite.end : kept[0].start]
        if cite.family == kept[0].family or not re.fullmatch(
            r"[\s,]*(?:(?:of|to|in)\s+)?(?:the\s+)?", gap
        ):
            break
        kept.insert(0, cite)
    return tuple(kept)


def section_objection(
    reply: str,
    span: tuple[int, int],
    titles: Sequence[Named],
    place: tuple[int, int],
    sections: Sections,
    title: str,
    document: str,
) -> tuple[Verdict, str] | None:
    """What speaks against the section a reply names; None when it holds or names none.

    Args:
        reply: The reply.
        span: The item in it.
        titles: The documents' titles in the reply.
        place: Where the item stands in the document.
        sections: The document's numbered parts.
        title: The document's title, and ``document`` its id.
    """
    cites, own = section_beside(reply, span, titles)
    within: Part | None = None
    worst: tuple[Verdict, str] | None = None
    for cite in sorted(cites, key=lambda cite: cite.family != "exhibit"):
        if _of_another(reply, cite, titles, title, document):
            continue
        found = _compare(cite, place, sections, title, within=within)
        if cite.family == "exhibit":
            held = [p for p in sections.parts("exhibit", cite.labels[0]) if _meets(p, place)]
            within = held[0] if held else None
        if found is not None and not own:
            found = None if not _parts(cite, sections, None) else (Verdict.CHECK, found[1])
        if found is not None and (worst is None or found[0] is Verdict.MISATTRIBUTED):
            worst = found
    return worst


def section_problem(
    reply: str,
    span: tuple[int, int],
    place: Stretch,
    info: DocumentInfo,
    source: Source,
    tables: Tables,
) -> str:
    """The same for a date or a figure, in words; empty when nothing speaks against it."""
    if not find_section_cites(reply):
        return ""
    titles = exact_titles(reply, source.documents())
    around = source.text(info.id)[max(0, place.start - _BESIDE) : place.end + _BESIDE]
    for cite in section_beside(reply, span, titles)[0]:
        words = r"\s+".join(map(re.escape, cite.words.split()))
        if re.search(rf"[^\s\d.][ \t]*\n?[ \t]*{words}(?!\w)", around):
            return ""  # the record's own sentence refers to it
    sections = tables.get("sections", source, info, Sections)
    found = section_objection(
        reply, span, titles, (place.start, place.end), sections, info.title, info.id
    )
    return f"{found[1][0].lower()}{found[1][1:]}" if found else ""


def _of_another(
    reply: str, cite: SectionCite, titles: Sequence[Named], title: str, document: str
) -> bool:
    """Whether the section is another document's: "Section 2 of the Credit Agreement"."""
    for named in titles:
        if 0 <= named.start - cite.end <= 12 and re.fullmatch(
            r"\s+(?:of|to|in)\s+(?:the\s+)?", reply[cite.end : named.start]
        ):
            return document not in named.documents
    found = _OF.match(reply, cite.end)
    kind = DOCUMENT_TYPES.get(found["kind"].lower()) if found else None
    own = {DOCUMENT_TYPES.get(word) for word in re.findall(r"\w+", title.lower())}
    return kind is not None and bool(own - {None}) and kind not in own


def _compare(
    cite: SectionCite,
    place: tuple[int, int],
    sections: Sections,
    title: str,
    *,
    within: Part | None,
) -> tuple[Verdict, str] | None:
    parts = _parts(cite, sections, within)
    if any(_meets(part, place) for part in parts):
        return None
    if cite.family == "exhibit" and not parts:
        return None  # an exhibit of the record, which its own label finds
    family = cite.family if sections.has(cite.family) else "number"
    stands = sections.named(family, place[0])
    where = f"; it stands under {'.'.join(stands)}" if stands else ""
    if not parts:
        return Verdict.CHECK, f"{title} prints no heading for {cite.words}{where}"
    sure = len(parts) == 1 and len(cite.labels) == 1 and bool(stands)
    sure = sure and len(sections.parts(family, stands)) == 1
    reason = (
        f"It stands under {'.'.join(stands)}, not in {cite.words}"
        if stands
        else (f"It does not stand in {cite.words}")
    )
    return (Verdict.MISATTRIBUTED if sure else Verdict.CHECK), reason


def _parts(cite: SectionCite, sections: Sections, within: Part | None) -> tuple[Part, ...]:
    families = {"article": ("article", "number"), "number": ("number", "article")}
    for family in families.get(cite.family, (cite.family,)):
        found = [
            part for label in cite.labels for part in sections.parts(family, label, within=within)
        ]
        if found and cite.ranged and len(found) > 1:
            starts, ends = [p.start for p in found], [p.end for p in found]
            return (Part(start=min(starts), end=max(ends)),)
        if found:
            return tuple(found)
    return ()


def _meets(part: Part, place: tuple[int, int]) -> bool:
    return part.start <= place[0] < part.end or place[0] <= part.start < place[1]
