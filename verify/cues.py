"""Do these marks quote the record? Decided from the reply's own words around them.

Defined terms, scare quotes, titles, search terms, field values, sample clauses and the user's own
words are not quotations. When the words around say neither, the answer is UNSURE and the record
decides: found means shown; not found and attributed to nobody means silence.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final


class Cue(StrEnum):
    """What the words around a pair of marks say of it."""

    QUOTES = "quotes"
    """They present it as somebody's words."""
    NOT = "not"
    """They present it as something else."""
    UNSURE = "unsure"


# Right before the marks: what names, labels, searches, sets, supposes.
_NOT_BEFORE: Final = tuple(
    re.compile(pattern + r"[\s*_(]*\Z", re.IGNORECASE)
    for pattern in (
        # names and defined terms
        r"\bso[- ]called",
        r"\b(?:known|also known|a/?k/?a|better known|referred to|defined|designated|collectively)\b[^.;:]{0,50}\bas(?: an?| the)?",
        r"\brefer(?:s|red|ring)?\b[^.;:]{0,60}\b(?:as|by)(?: an?| the)?",
        r"\(\s*(?:(?:hereinafter|hereafter|collectively|together|each|individually|and|or|in the following)[,\s]*)*(?:an?|the|referred to as)?",
        r"\b(?:nickname|alias|pseudonym|acronym|abbreviation|codename|code name|moniker)d?\b[^.;:“\"]{0,30}",
        r"\b(?:hereinafter|hereafter|short for|abbreviated(?: as)?|dubbed|nicknamed|a\.k\.a\.)(?: an?| the)?",
        # titles
        r"\b(?:titled|entitled|captioned|styled|headed|headlined|(?:sub)?title(?:d| is| reads)?|heading|caption|subject line|re line)"
        r"(?: (?:is|of|reads|was))?(?: an?| the)?[:,]?",
        # words as words
        r"\b(?:the|this|that|a|an|single|operative|very|its|defined|of) (?:\w+ )?(?:word|term|expression|label|adjective|adverb|noun|verb|"
        r"preposition|conjunction|letter|acronym|modifier|qualifier|words|terms)s?(?: like| such as)?",
        r"\b(?:meaning|definition|sense|reading|construction|interpretation|scope|use|usage) of(?: the)?",
        # searches
        r"\b(?:search(?:ed|es|ing)?|quer(?:y|ied|ying)|grep(?:ped)?|look(?:ed|ing)?|keyword|search term|search string|hits?|results?)s?\b[^.;“\"]{0,60}"
        r"\b(?:for|on|with|using|term|string|was|were|is|:)",
        # screens and fields
        r"\b(?:set|change|switch|update|click|press|select|choose|tick|check|type|enter|save|mark|tag|flag|rename|filter|sort|open|move)(?:ed|s|ing)?\b"
        r"[^.;“\"]{0,60}\b(?:to|on|as|in|by|from|under|button|field|box|tab|menu|column|status|value|option|folder|the)",
        r"\b(?:button|field|box|tab|menu|column|checkbox|status|value|option|setting|placeholder|default|marked|labell?ed|stamped|tagged)"
        r"(?: (?:is|was|are|to|named|called|of|as))?",
        # supposed words
        r"\b(?:might|could|would|should|may|ought to|can)\s+(?:\w+\s+)?(?:say|read|state|provide|write|put it|be worded|have said|have read|have written|be phrased)"
        r"\b[^.;“\"]{0,40}",
        r"\b(?:suppose|imagine|hypothetically|hypothetical|if (?:it|they|he|she|the \w+) (?:had |were to )?(?:said|say|read|wrote|provided))\b[^.;“\"]{0,60}",
        r"\b(?:sample|model|proposed|suggested|draft|boilerplate|template|example|illustrative|alternative) "
        r"(?:\w+ )?(?:clause|language|wording|text|sentence|provision|answer|question|phrasing)s?\b[^.;“\"]{0,40}",
        r"\b(?:instead of|rather than|as opposed to|not)(?: the words?| simply| just| merely)?",
        r"\b(?:we|you|i|one) (?:\w+ )?(?:propose|suggest|recommend|advise|add|insert|rephrase|reword|redraft|draft)\b[^.;“\"]{0,60}",
        r"\bno (?:clause|provision|sentence|document|witness|text|language|passage|such)\b[^.;“\"]{0,50}",
        r"\bnothing\b[^.;“\"]{0,40}",
        r"\b(?:does|do|did) not (?:\w+ )?(?:say|state|use|contain|mention|include|read|provide|define|appear)\b[^.;“\"]{0,40}",
        r"\b(?:doesn't|don't|didn't|never) (?:\w+ )?(?:say|state|use|contain|mention|include|read|provide|define)s?\b[^.;“\"]{0,40}",
        # the user's words
        r"\b(?:you|your)\b[^.;“\"]{0,40}\b(?:asked?|wrote|said|mentioned?|question|request(?:ed)?|quer(?:y|ied)|prompt|instructions?|phrased?|"
        r"called|call|put it|typed|describe[ds]?|want(?:ed)?|message)\b[^.;“\"]{0,60}",
        r"(?:질문하신|말씀하신|물으신|문의하신|검색어(?:는|인)?|이른바|소위|이하|라는 용어|제목(?:은|이)?)",
        r"\b(?:sogenannte[nrms]?|so genannte[nrms]?|soi-disant|dit|dite|ci-après|nachfolgend|im Folgenden|いわゆる)",
    )
)
_HYPOTHETICAL: Final = re.compile(
    r"\b(?:for example|for instance|e\.g\.|such as|say|like)\b[\s,:*_]*\Z", re.IGNORECASE
)
# Right after the marks.
_NOT_AFTER: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[,.]?[*_]*\s+(?:and|but|which) (?:got|had|found|returned|gave|produced|yielded) (?:no|zero|\d+) (?:hits?|results?|matches)",
        r"[,.]?[*_]*,? but (?:this|the|that|no) \w+(?: \w+)? (?:has|contains|holds|includes|does not|says no)",
        r"[*_]*,? (?:field|button|tab|column|menu|checkbox|box|folder|status|label|tag|keyword|option|setting|drop-?down)\b",
        r"[*_]*\s*\)?,? (?:is|was|are) (?:not defined|undefined|a defined term|defined)",
        r"\s*(?:이라 한다|라 한다|라고 한다|이라 합니다|라고 약칭)",
    )
)
_SAYS: Final = (
    r"say|state|provide|read|recite|hold|testify|testifie|write|answer|repl(?:y|ie)|respond|explain|note|find|conclude|observe|argue|warn|require|"
    r"record|contain|quote|declare|affirm|assert|allege|admit|concede|acknowledge|agree|promise|confirm|report|insist|ask|add|describe|"
    r"specif(?:y|ie)|stipulate|mandate|instruct|order|rule|emphasi[sz]e|stress|remark|recall|claim|continue|announce|begin|open|close|end|"
    r"warrant|represent|undertake|direct|caution|complain|demand|deny|denie|reiterate|repeat|set (?:out|forth)|spell|use|cite|go on|put it"
)
_QUOTES_BEFORE: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:{_SAYS})(?:s|es|d|ed|ing|ting|ning)?\b[^.;!?“\"]{{0,90}}[\s,:*_]*\Z",
        r"\b(?:said|held|wrote|found|told|stated|testified|read|swore|written|went on|began|sworn|put)\b[^.;!?“\"]{0,90}[\s,:*_]*\Z",
        r"\b(?:according to|in the words of|as (?:set out|stated|provided|noted|recorded) in|per|quoting|from|under|see|explicit on|as follows|the following"
        r"|verbatim|language is|words are|text is|passage|excerpt|sentence|statement|testimony|quotation|quote|clause|section|paragraph|article)\b[^;!?“\"]{0,120}[\s,:*_]*\Z",
        r"(?:기재|규정|명시|진술|증언|약정|주장|따르면|의하면|에는|에서는|문서)[^.。“\"]{0,40}\Z",
        r"(?:heißt es|lautet|steht|bestimmt|besagt|erklärt|schreibt|regelt|sagte|schrieb)[^.;“„\"]{0,60}\Z",
        r"(?:stipule|prévoit|dispose|indique|déclare|précise|énonce|selon|écrit|affirme)[^.;«“\"]{0,60}\Z",
        r"(?:には|では|によれば|は)[^。]{0,20}\Z",
        r":[\s*_]*\Z",
    )
)
_QUOTES_AFTER: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[.,]?[*_]*[”\"»」』]?[.,]?\s*[\[(](?!s?he\b)[^()]{2,90}\d[^()]{0,40}[\])]",
        r"[.,]?[*_]*[”\"»」』]?[.,]?\s+(?:See|Id\.|Ibid|Tr\.|Dep\.|Ex\.|Dkt|ECF)\b",
        r"[.,]?[*_]*[”\"»」』]?,?\s+(?:he|she|they|it|the \w+|m[rs]{1,2}\.? \w+|[A-Z][\w'’-]+)\s+(?:said|says|wrote|writes|testified|testifies|stated|states|"
        r"answered|replied|explained|added|told|asked|holds|held|reads|provides)\b",
        r"[.,]?[*_]*[”\"»」』]?\s+(?:is|are) (?:the|how|what) (?:\w+ )?(?:words?|language|text|answer|contract|lease|witness|record|statute)\b",
        r"\s*(?:이?라고|고|이?라는|と)\s*(?:기재|규정|명시|진술|증언|약정|주장|적|말|답|記載|定め|述べ|ある|され)",
    )
)
_DETERMINER: Final = re.compile(
    r"\b(?:the|an?|this|that|these|those|its|their|his|her|our|such|any|some|every|no|\w+['’]s?)[\s*_]*\Z",
    re.IGNORECASE,
)
_NOUN_FOLLOWS: Final = re.compile(
    r"[*_]*[”\"»」』’']?[*_]*\s+[a-z]{2,}(?<!\bis)(?<!\bwas)(?<!\bare)(?<!\bin)(?<!\bof)"
)
_WORD: Final = re.compile(r"[^\W_]+")
_SHORT: Final = 5
"""Words up to which marks may be scare quotes."""
_LOOK: Final = 220
"""Characters before and after that are looked at."""


def cue_of(reply: str, start: int, end: int, *, block: bool = False) -> Cue:
    """What the words around ``[start, end)`` say of the marks there.

    Args:
        reply: The reply.
        start: First character inside the marks.
        end: One past the last.
        block: It is a block quotation.
    """
    before, after = _around(reply, start, end)
    words = len(_WORD.findall(reply[start:end]))
    if any(pattern.match(after) for pattern in _NOT_AFTER):
        return Cue.NOT
    cited = any(pattern.match(after) for pattern in _QUOTES_AFTER)
    if not cited:
        if any(pattern.search(before) for pattern in _NOT_BEFORE):
            return Cue.NOT
        if _HYPOTHETICAL.search(before) and words < 3:
            return Cue.NOT
    if block or cited or any(pattern.search(before) for pattern in _QUOTES_BEFORE):
        return Cue.QUOTES
    if words <= _SHORT and _DETERMINER.search(before) and _NOUN_FOLLOWS.match(after):
        return Cue.NOT
    return Cue.UNSURE


def _around(reply: str, start: int, end: int) -> tuple[str, str]:
    """The reply's own words before and after, marks cut off."""
    opened = start
    while opened > 0 and (
        reply[opened - 1].isspace() and reply[start - 1 : start] != "" and opened == start
    ):
        opened -= 1
    before = reply[max(0, start - _LOOK) : start]
    before = re.sub(r"[\s*_>]*(?:[“„‟«‹「『〝＂\"‘‚'»”]|``)?[*_\s]*\Z", "", before) + " "
    paragraph = re.split(r"\n\s*\n", before)
    last = paragraph[-1] if paragraph[-1].strip() else (paragraph[-2] if len(paragraph) > 1 else "")
    after = reply[end : end + _LOOK]
    after = re.sub(r"^[.,;!?…]?[*_]*(?:[”“»›」』〟＂\"’'«]|'')?", "", after, count=1)
    return last, re.split(r"\n\s*\n", after)[0]
