"""Splits an answer into sentences and says what each one is.

Every character that is not a space lies in exactly one sentence, and every sentence has a class. A
sentence is `supported` only when it holds a checkable item, all of them are green, and its own
words claim no more than a fact: a conclusion, an argument or a rule of law keeps its own class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from protocol.answers import GREEN, Claim, Finding, ItemKind, SentenceClass, Verdict
from verify.word_forms import CJK, carries_event, fold, negations, words_of
from verify.wordlists import DOCUMENT_TYPES, FRAME_STEMS, FRAME_WORDS, REPORTING_WORDS

Span = tuple[int, int]

_END = re.compile(
    r"[.!?…。！？]+[\"'”’»」』)\]*_]*(?:\s?\[\d{1,3}(?:\s?[✔≈✘])?\])*(?=\s|$)|(?<=[。！？])(?=\S)"
)
_BREAK = re.compile(
    r"\n[ \t]*\n\s*|\n(?=[ \t]*(?:[-*•–]\s|\d{1,3}[.)]\s|#{1,6}\s|>|\||[가-하]\.\s))|(?<=\n)(?=#)"
)
_HEADING = re.compile(r"(?m)^[ \t]*#{1,6}\s[^\n]*$")
_ABBREVIATION = re.compile(
    r"(?:(?<!\w)(?:v|vs|No|Nos|Mr|Mrs|Ms|Dr|Prof|Hon|Inc|Corp|Co|Ltd|Bros|Cir|Sec|Fed|Exs?|Exh|Dec"
    r"|Jan|Feb|Mar|Apr|Aug|Sept?"
    r"|Oct|Nov|St|Jr|Sr|Id|id|Cal|Dist|App|Supp|Rev|Civ|Crim|Proc|Dep|Tr|Decl|Compl|Aff|Dkt|Doc|Am"
    r"|Art|art|pp?|paras?|cf|Cf"
    r"|e\.g|i\.e|al|etc|approx|ca|Nr|Abs|bzw|vgl|[A-Z])|\.[A-Z]|\d)$"
)
_LIST_NUMBER = re.compile(r"(?:^|\n)[ \t]*\d{1,3}$")
_KOREAN_DATE = re.compile(r"\d{4}\.\s?\d{1,2}(?:\.\s?\d{1,2})?$")
_NEW_SENTENCE = re.compile(r"\s*[\"'“‘«「『(\[*_]*(?:[A-Z0-9À-ÞÄÖÜ가-힣ぁ-んァ-ヶ一-龥✔≈✘#>-]|$)")
_PAIRS = {"“": "”", "«": "»", "「": "」", "『": "』", "„": "“"}
_LONGEST_QUOTE_CHARS = 1_500


def split_sentences(text: str, protected: Sequence[Span] = ()) -> tuple[Span, ...]:
    """The spans of the sentences, spaces at their ends left out.

    Never splits inside ``protected`` spans nor inside a quotation with proper marks; a paragraph
    end, a list item or a heading always splits, unless protected.
    """
    kept_whole = [*protected, *_quotations(text)]
    cuts = sorted({0, len(text), *_cuts(text)})
    cuts = [cut for cut in cuts if not any(start < cut < end for start, end in kept_whole)]
    spans = []
    for start, end in pairwise(cuts):
        piece = text[start:end]
        stripped = piece.strip()
        if stripped:
            at = start + len(piece) - len(piece.lstrip())
            spans.append((at, at + len(stripped)))
    return tuple(spans)


def _cuts(text: str) -> Iterator[int]:
    for found in _BREAK.finditer(text):
        yield found.end() if found.group().strip("\n") == "" and found.group() else found.start()
    for found in _HEADING.finditer(text):
        yield found.start()
        yield found.end()
    for found in _END.finditer(text):
        if _ends_here(text, found):
            yield found.end()


def _ends_here(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - 16) : found.start()]
    if not _NEW_SENTENCE.match(text, found.end()):
        return False
    if found.group()[:1] not in (".",) or found.group().startswith(".."):
        return True
    if _LIST_NUMBER.search(before) or _KOREAN_DATE.search(before):
        return False
    if _ABBREVIATION.search(before):
        # a number or an abbreviation ends a sentence only before a clear new start
        closing = len(found.group()) > 1
        digit = before[-1:].isdigit() and not text[found.end() :].lstrip()[:1].isdigit()
        return closing or digit or not text[found.end() :].strip()
    return True


def _quotations(text: str) -> Iterator[Span]:
    for opening, closing in _PAIRS.items():
        at = text.find(opening)
        while at >= 0:
            end = text.find(closing, at + 1, at + _LONGEST_QUOTE_CHARS)
            if end < 0 or "\n\n" in text[at:end]:
                at = text.find(opening, at + 1)
                continue
            yield at, end + 1
            at = text.find(opening, end + 1)


# --- classes ---

_BOILERPLATE = re.compile(
    r"(?i)^(?:#{1,6}\s|\W*$|(?:sources?|summary|answer|note|timeline|chronology|facts?|background"
    r"|parties|people and parties|dates|amounts|undated|exhibits|not addressed|open questions"
    r"|differs from the record|the record does not hold this|to look at|as the record has it"
    r"|found in the record|near in meaning, not the same|coverage"
    r"|conclusion|요약|결론|출처)\s*:?$)"
    r"|^\W*(?:the\s+(?:record|documents?|file|materials?)\s+(?:do(?:es)?\s+not|contains?\s+no"
    r"|holds?\s+no)\s+(?:say|state|show|address|mention|contain|hold|give|include|answer|indicate"
    r"|identify|specify)|the\s+record\s+as\s+read\s+holds\s+(?:none|no)\b"
    r"|no\s+(?:document|page|passage)\s+(?:of\s+the\s+record\s+)?(?:says|gives|mentions|addresses"
    r"|states|contains)"
    r"|i\s+(?:could\s+not|did\s+not|can(?:not|'t))\s+(?:find|read|locate)|(?:read"
    r"|searched)\s+\d+\s+of\s+\d+|this\s+(?:is\s+a\s+)?draft|not\s+legal\s+advice"
    r"|기록에는?\s.{0,30}(?:없|않))"
)
_LAW = re.compile(
    r"(?i)(?:\b\d+\s+U\.?\s?S\.?\s?C\.?|§|\bFed\.\s*R\.|\bRule\s+\d+"
    r"|\bunder\s+(?:the\s+)?(?:federal|state|common|korean|california|new\s+york|delaware"
    r"|\w+)\s+law\b"
    r"|\bas\s+a\s+matter\s+of\s+law|\bthe\s+(?:statute|doctrine|case\s+law|courts?\s+(?:have"
    r"|has)\s+(?:held|long))|\bcourts\s+(?:have|generally|often|require|apply|hold|recognize)"
    r"|\bthe\s+law\s+(?:requires|provides|permits)|\bstatute\s+of\s+limitations\b|민법|형법|상법"
    r"|판례|법률상)"
)
_INFERENCE = re.compile(
    r"(?i)\b(?:therefore|thus|hence|accordingly|consequently|it\s+follows|suggest(?:s|ed"
    r"|ing)?\s+that|impl(?:y|ies|ied)\s+that|indicat(?:es|ed|ing)\s+that"
    r"|likely|probabl[ey]|presumably|apparently|evidently|appears?\s+(?:to|that)|seems?"
    r"|must\s+have|may\s+have|might\s+have|could\s+have|we\s+(?:infer|conclude)|i\s+(?:infer"
    r"|conclude)"
    r"|inferred?|in\s+(?:our|my)\s+view|this\s+(?:shows|means|suggests|confirms|proves)"
    r"|which\s+(?:shows|means|suggests|proves))\b"
    r"|따라서|그러므로|것으로\s?보|추정|추측|미루어"
)
_ARGUMENT = re.compile(
    r"(?i)\b(?:(?:is|are|was|were)\s+(?:liable|negligent|entitled|unenforceable|barred"
    r"|in\s+breach)|breach(?:es|ed)?\s+(?:its|the|his|her|their)\s+(?:duty|obligation|agreement"
    r"|contract)"
    r"|the\s+court\s+should|should\s+be\s+(?:granted|denied|dismissed|awarded)|we\s+(?:argue"
    r"|submit|contend|respectfully)|plaintiffs?\s+(?:argues?|contends?|submits?)"
    r"|defendants?\s+(?:argues?|contends?|submits?)"
    r"|fails\s+as\s+a\s+matter|without\s+merit|summary\s+judgment\s+is)\b|주장한다|책임이\s?있다"
    r"|인용되어야|기각되어야"
)
_INSTRUCTION = re.compile(
    r"(?i)^[\s\-*•\d.)]*(?:please|confirm|review|check|verify|note\s+that\s+you|file|send|ask|add"
    r"|attach|consider|see\s+whether|look\s+at|contact|obtain|request|schedule|calendar|docket"
    r"|complete|fill|replace|make\s+sure|ensure|do\s+not)\s"
    r"|\byou\s+(?:should|must|need\s+to|may\s+want|can\s+(?:ask|use|open|write))\b"
    r"|\bwould\s+you\s+like\b|\bdo\s+you\s+want\b|(?:하십시오|하세요|바랍니다|주십시오)[.!]?$"
)
_UNCHECKED = frozenset({ItemKind.AUTHORITY_CITE, ItemKind.STATEMENT})
"""Kinds that can never carry a sentence."""


_POINTERS = frozenset({ItemKind.NAME, ItemKind.RECORD_CITE})
"""Kinds that say of whom or from where, and nothing of what happened: "Ms. Reeves testified that
the roof drain was blocked" is not supported by the record's knowing Ms. Reeves."""


def class_sentences(
    text: str, findings: Sequence[Finding], frames: Sequence[Span] = ()
) -> tuple[Claim, ...]:
    """Every sentence of an answer with its class and the numbers of the findings in it.

    Args:
        text: The answer.
        findings: Everything the checkers said of it; a finding belongs to the sentence in which it
            starts. Quotation marks that quote nothing (NOT_A_QUOTE) support nothing.
        frames: Stretches that name documents or say who speaks.
    """
    spans = split_sentences(text, [(finding.start, finding.end) for finding in findings])
    claims = []
    for start, end in spans:
        inside = [finding for finding in findings if start <= finding.start < end]
        claims.append(
            Claim(
                start=start,
                end=end,
                sentence_class=_class_of(text[start:end], start, inside, frames),
                items=tuple(finding.number for finding in inside),
            )
        )
    return tuple(claims)


def _class_of(
    sentence: str, start: int, inside: Sequence[Finding], frames: Sequence[Span]
) -> SentenceClass:
    checkable = [
        finding
        for finding in inside
        if finding.verdict is not Verdict.NOT_A_QUOTE and finding.kind not in _UNCHECKED
    ]
    if any(finding.verdict not in GREEN for finding in checkable):
        return SentenceClass.UNSUPPORTED
    own = _own_words(sentence, start, inside)
    if any(finding.kind is ItemKind.AUTHORITY_CITE for finding in inside) or _LAW.search(own):
        return SentenceClass.LAW
    if _INFERENCE.search(own):
        return SentenceClass.INFERENCE
    if _ARGUMENT.search(own):
        return SentenceClass.ARGUMENT
    kinds = {finding.kind for finding in checkable}
    if kinds - _POINTERS:
        told = _beyond(sentence, start, inside, checkable, frames)
        return SentenceClass.INFERENCE if told else SentenceClass.SUPPORTED
    if ItemKind.RECORD_CITE in kinds:
        return SentenceClass.INFERENCE  # the place exists; that it says so is the reply's reading
    if _BOILERPLATE.search(sentence):
        return SentenceClass.BOILERPLATE
    if _INSTRUCTION.search(own):
        return SentenceClass.INSTRUCTION
    return SentenceClass.NO_SOURCE


def _beyond(
    sentence: str,
    start: int,
    inside: Sequence[Finding],
    checkable: Sequence[Finding],
    frames: Sequence[Span],
) -> bool:
    """Whether a sentence says more than was checked.

    The words around a date or an amount were compared with the record's; those around a quotation
    were not, and may only say who speaks and where. So may a part between semicolons that holds
    nothing but names and cites.
    """
    masked = [(f.start, f.end) for f in inside if f.kind is not ItemKind.STATEMENT] + list(frames)
    own = list(sentence)
    for low, high in masked:
        for at in range(max(0, low - start), min(len(own), high - start)):
            own[at] = "\x00"
    at = 0
    for part in "".join(own).split(";"):
        low, high = start + at, start + at + len(part)
        at += len(part) + 1
        held = {f.kind for f in checkable if low <= f.start < high} - _POINTERS
        if held <= {ItemKind.QUOTE} and _states(part.replace("\x00", " ")):
            return True
    return False


def _states(words: str) -> bool:
    """Whether words that are no quotation state something, instead of naming who speaks where."""
    found = words_of(fold(words))
    if negations(found):
        return True
    return any(carries_event(word) and not _is_frame(word) for word in found)


def _is_frame(word: str) -> bool:
    if word in REPORTING_WORDS or word in FRAME_WORDS or word in DOCUMENT_TYPES:
        return True
    return word[:1].isdigit() or bool(CJK.search(word) and word.startswith(tuple(FRAME_STEMS)))


def _own_words(sentence: str, start: int, inside: Sequence[Finding]) -> str:
    """The sentence without its quotations: what a quotation argues is not the reply's argument."""
    for finding in inside:
        if finding.kind is ItemKind.QUOTE:
            low, high = max(0, finding.start - start), max(0, finding.end - start)
            sentence = sentence[:low] + " " * (min(high, len(sentence)) - low) + sentence[high:]
    return sentence
