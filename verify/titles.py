"""Which documents a reply names, by their titles or by the way people speak of them.

"Credit Agreement (filed 2005-05-09)" is named exactly; "the lease", "Reeves Dep." and "Osei wrote"
are named loosely: good for choosing where to look first, not enough to prove a wrong attribution.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from protocol.ids import DocumentId
from protocol.record import DocumentInfo
from verify.edits import known_words
from verify.wordlists import DOCUMENT_TYPES, DOCUMENT_VERBS, FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+")
_PARTICLE = re.compile(
    r"(?:에게서|에서는|에서도|으로는|에는|에서|에도|으로|에|은|는|이|가|의|을|를|와|과|도|로"
    r"|には|では|によると|は|が|の|で|に|も|を|と)(?:만)?"
)
"""What Korean and Japanese glue to a name: "근로계약서에는" names the 근로계약서."""
_DETERMINERS = frozenset("the this that his her their its s said der die das le la".split())
_PAPERS = frozenset(
    "document documents sheet spreadsheet table file files log list register record records book "
    "notebook diary calendar ledger schedule form statement receipt bill notes message messages "
    "thread chat folder exhibit attachment csv xlsx xls docx doc pdf txt tsv pptx eml msg "
    "column row page tab heading titled entitled called named source".split()
)
"""Words beside which, or as whose last word, a title in small letters is still a title."""
_POINTED = re.compile(
    r"(?:\b(?:in|under|from|per|see|to|of|by|on)\s+(?:the|our|your|its|their|his|her)\s+"
    r"|\b(?:per|see|according\s+to|source:?)\s+|[\"“„«‹「『'‘`*_(\[<#>|–—:-]\s*|\n[ \t]*)\Z",
    re.IGNORECASE,
)
_SET_OFF = re.compile(
    r"\s*[\"”“»›」』'’`*_)\]|:–—]|\.[A-Za-z]{2,4}\b|\s*\n|,?\s+(?:at|p\.|pp\.|line|row|§|¶)"
    r"|,?\s+(?:which\s+)?(?:also\s+)?(?:say|state|show|read|record|list|note|report|provide|contain"
    r"|describe|give|put|confirm|quote|warn|explain|have it|indicate|mention|set|tell)\w*\b"
)
"""What, right after a title in small letters, says that a document is meant."""
_POINTING = frozenset("in under per from see to laut gemäß selon dans".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A stretch of the reply that names one document, or several alike."""

    start: int
    end: int
    documents: tuple[DocumentId, ...]
    exact: bool
    """The whole title (or exhibit label) stands there."""


def _fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


@lru_cache(maxsize=16_384)
def _title_words(title: str) -> tuple[str, ...]:
    """A title's words; kept, since a check asks for every title of the matter many times."""
    return tuple(_fold(word) for word in _WORD.findall(unicodedata.normalize("NFC", title)))


def exact_titles(reply: str, infos: Iterable[DocumentInfo]) -> tuple[Named, ...]:
    """Whole titles in the reply, the longest first where they overlap."""
    words = [(_fold(found.group()), found.start(), found.end()) for found in _WORD.finditer(reply)]
    at: dict[str, list[int]] = {}
    for index, (word, _, _) in enumerate(words):
        at.setdefault(word, []).append(index)
    in_order = sorted(at)
    found: list[Named] = []
    for info in infos:
        title = _title_words(info.title)
        starts = at.get(title[0], []) if title else []
        if len(title) == 1:
            starts = starts + [
                index for word in _beginning(in_order, title[0]) for index in at[word]
            ]
        for index in starts:
            stretch = words[index : index + len(title)]
            if (
                len(stretch) == len(title)
                and _same(stretch, title)
                and not _common_phrase(reply, words, index, title)
            ):
                end = stretch[-1][2] - (len(stretch[-1][0]) - len(title[-1]))
                closing = re.match(r"[)\]」』]", reply[end:]) if info.title[-1:] in ")]" else None
                found.append(
                    Named(
                        start=stretch[0][1],
                        end=end + bool(closing),
                        documents=(info.id,),
                        exact=True,
                    )
                )
    return _longest(found)


def _common_phrase(
    reply: str, words: Sequence[tuple[str, int, int]], index: int, title: Sequence[str]
) -> bool:
    """Whether the words of a title stand there as everyday words: "no known problems".

    That is so where all of them are common words, none is a kind of paper, they stand in small
    letters (a capital at the start of the sentence apart), and nothing around them points at a
    document: quotation marks, a file's ending, "the ... says", "in the ...", "the sheet".
    """
    common = known_words()
    if any(word in DOCUMENT_TYPES or word in _PAPERS or word not in common for word in title):
        return False
    start, end = words[index][1], words[index + len(title) - 1][2]
    if any(word != word.lower() for word in _WORD.findall(reply[start + 1 : end])):
        return False
    before, after = reply[max(0, start - 40) : start], reply[end : end + 40]
    opens = not before.strip() or before.rstrip()[-1] in ".!?"
    if reply[start].isupper() and not (opens and len(title) > 1):
        return False
    last = index + len(title)
    beside = [*words[max(0, index - 2) : index], *words[last : last + 2]]
    if any(word in _PAPERS or word in DOCUMENT_TYPES for word, _, _ in beside):
        return False
    return not _POINTED.search(before) and not _SET_OFF.match(after)


def _beginning(in_order: Sequence[str], start: str) -> Iterator[str]:
    """The words, of a sorted list, that begin with ``start`` and go on."""
    for word in in_order[bisect_left(in_order, start) :]:
        if not word.startswith(start):
            return
        if word != start:
            yield word


def _same(stretch: Sequence[tuple[str, int, int]], title: Sequence[str]) -> bool:
    """Whether the words are the title's, the last one perhaps with a particle glued to it."""
    *first, (last, _, _) = stretch
    if [word for word, _, _ in first] != list(title[:-1]) or not last.startswith(title[-1]):
        return False
    rest = last[len(title[-1]) :]
    return not rest or _PARTICLE.fullmatch(rest) is not None


def _longest(found: list[Named]) -> tuple[Named, ...]:
    kept: list[Named] = []
    for named in sorted(found, key=lambda named: (named.start - named.end, named.start)):
        same = [other for other in kept if (other.start, other.end) == (named.start, named.end)]
        if same:
            kept.remove(same[0])
            both = tuple(dict.fromkeys((*same[0].documents, *named.documents)))
            kept.append(Named(start=named.start, end=named.end, documents=both, exact=True))
        elif all(named.end <= other.start or other.end <= named.start for other in kept):
            kept.append(named)
    return tuple(sorted(kept, key=lambda named: named.start))


def _speaks_of(words: Sequence[tuple[str, int, int]], index: int) -> bool:
    """Whether a kind of paper is the source spoken of: "The lease says", "under the lease"."""
    before = [word for word, _, _ in words[max(0, index - 3) : index]]
    if not any(word in _DETERMINERS for word in before):
        return index == 1  # "Reeves Dep."
    return index < 4 or any(
        word in _POINTING for word in [w for w, _, _ in words[max(0, index - 4) : index]]
    )


def _either(words: Sequence[tuple[str, int, int]]) -> bool:
    """Whether two kinds of paper are offered for choice: "the agreement or opinion at issue"."""
    plain = [word for word, _, _ in words]
    return any(
        word == "or"
        and plain[at - 1] in DOCUMENT_TYPES
        and any(following in DOCUMENT_TYPES for following in plain[at + 1 : at + 3])
        for at, word in enumerate(plain)
        if at
    )


def loose_titles(sentence: str, offset: int, infos: Sequence[DocumentInfo]) -> tuple[Named, ...]:
    """The documents a sentence speaks of without their full title; empty when none stands out.

    A kind of paper ("the lease", "Dep.") or a verb that implies one ("testified") must fit the
    title; names of people in the sentence that stand in a title decide between several.
    """
    words = [
        (_fold(found.group()), found.start(), found.end()) for found in _WORD.finditer(sentence)
    ]
    kinds: dict[str, tuple[int, int]] = {}
    for index, (word, start, end) in enumerate(words):
        for kind in DOCUMENT_VERBS.get(word, ()):
            kinds.setdefault(kind, (start, end))
        if word in DOCUMENT_TYPES and _speaks_of(words, index):
            kinds.setdefault(DOCUMENT_TYPES[word], (start, end))
    if len(kinds) > 1 and _either(words):
        return ()
    said = {word for word, _, _ in words} - FUNCTION_WORDS
    best: list[tuple[int, DocumentInfo, tuple[int, int]]] = []
    for info in infos:
        title = _title_words(info.title)
        own = {DOCUMENT_TYPES.get(word) for word in title} & kinds.keys()
        if not own:
            continue
        names = [word for word in title if word in said and word not in DOCUMENT_TYPES]
        place = min(kinds[kind] for kind in own if kind is not None)
        best.append((len(set(names)) * 2 + len(own), info, place))
    if not best:
        return ()
    top = max(score for score, _, _ in best)
    chosen = [(info, place) for score, info, place in best if score == top]
    if len(chosen) > 3:
        return ()
    start, end = chosen[0][1]
    return (
        Named(
            start=offset + start,
            end=offset + end,
            documents=tuple(info.id for info, _ in chosen),
            exact=False,
        ),
    )
