"""The expressions `scan` uses. Numeric and CJK forms are whole; forms with a month name are met
from the name outward, which keeps the search to one cheap pass over the text."""

from __future__ import annotations

import re

from verify.dates.vocabulary import DAY_WORDS, ERAS, MONTHS, NUMBERED_THINGS, WEEKDAYS


def _cases(names: list[str]) -> str:
    """The names in three cases, grouped by first letter so that the search can skip quickly."""
    heads: dict[str, set[str]] = {}
    for name in names:
        for form in (name, name.capitalize(), name.upper()):
            heads.setdefault(form[0], set()).add(form[1:])
    groups = (
        re.escape(head)
        + "(?:"
        + "|".join(map(re.escape, sorted(tails, key=len, reverse=True)))
        + ")"
        for head, tails in heads.items()
    )
    return "|".join(groups)


_LETTER = r"[^\W\d_]"
_WEEKDAY_WORDS = [name for name in WEEKDAYS if len(name) > 1]
WEEKDAY = rf"(?:{_cases(_WEEKDAY_WORDS)})"
GAP = r"[\s\u00ad\u200b·]{0,40}"
"""Spaces between the parts of a date: wraps and double-spaced pages included."""

MONTH = re.compile(rf"(?<!{_LETTER})(?:{_cases(list(MONTHS))})(?!{_LETTER})")

MONTH_JUST_BEFORE = re.compile(rf"(?<!{_LETTER})(?:{_cases(list(MONTHS))})\.?\s{{0,3}}$")

_ORDINAL = r"(?:st|nd|rd|th|d|ST|ND|RD|TH|er|ER|º|°)"
_JOIN = r"(?:-|–|—|to|and|or|through|thru|&|bis|und|et|au)"
_YEAR = r"(?:1[4-9]|20)\d\d"

DAY_AFTER_MONTH = re.compile(
    rf"\.?,?{GAP}(?P<day>\d{{1,2}})(?:{GAP}{_ORDINAL}(?!{_LETTER}))?(?![\d/:]|[.,]\d|{_LETTER})"
    rf"(?:{GAP}{_JOIN}{GAP}(?P<last>\d{{1,2}})(?:{_ORDINAL})?(?![\w/:.%]))?"
)
YEAR_NEXT = re.compile(
    rf"(?:\.?,?{GAP}(?:of\s+|in\s+the\s+year\s+|A\.D\.\s+)?,?{GAP}|[-/.])(?P<year>{_YEAR})(?![\d/]"
    rf"|,\d{{3}}|{_LETTER})"
)
SHORT_YEAR_NEXT = re.compile(r"(?:[-/](?P<joined>\d\d)|,?\s?['’‘](?P<marked>\d\d))(?![\d/\w.-])")
YEAR_AFTER_FURNITURE = re.compile(
    rf",[^\S\n]*\n(?:[^\n]*\n){{1,8}}?\s*(?P<year>{_YEAR})(?![\d/\w])"
)
"""A page may end between "May 10," and its year: up to eight lines of running head lie between."""

_WORDS = "|".join(sorted(DAY_WORDS, key=len, reverse=True))
DAY_BEFORE_MONTH = re.compile(
    rf"(?:(?<!{_LETTER})(?P<weekday>{WEEKDAY})\.?,?{GAP})?(?:(?<!{_LETTER})(?:the|le|den|der|am|The|THE){GAP})?"
    rf"(?:(?<![\w.,/$€£-])(?P<first>\d{{1,2}})(?:{_ORDINAL})?\.?{GAP}{_JOIN}{GAP}(?:the{GAP})?)?"
    rf"(?:(?<![\w,/$€£])(?<!\d\.)(?P<day>\d{{1,2}})(?:\s?{_ORDINAL})?\.?"
    rf"|(?<!{_LETTER})(?P<word>{_WORDS}|{_WORDS.upper()}|{_WORDS.title()}))"
    rf"(?:{GAP}(?:day|Day|DAY))?(?:{GAP}(?:of|Of|OF|de)(?!{_LETTER}))?[-/]?{GAP}$"
)
WEEKDAY_BEFORE = re.compile(
    rf"(?<!{_LETTER})(?P<weekday>{WEEKDAY})\.?{GAP},?{GAP}(?:(?:the|den|le){GAP})?$"
)
WEEKDAY_AFTER = re.compile(
    rf"{GAP}[(（]{GAP}(?P<word>{WEEKDAY}|[월화수목금토일月火水木金土日](?:요일|曜日?)?){GAP}[)）]"
    rf"|{GAP}(?P<plain>[월화수목금토일]요일|[月火水木金土日]曜日?)"
)

NUMERIC = re.compile(
    r"(?<![\w/:.$€£#§,-])(?<![-–]\s)"
    r"(?:(?P<y>(?:1[4-9]"
    r"|20)\d\d)(?P<s1>[-/.])(?P<ys>\s?)(?P<m>\d{1,2})(?P=s1)(?P=ys)(?P<d>\d{1,2})(?P<dot>\.)?"
    r"|(?P<a>\d{1,2})(?P<s2>[-/.])(?P<as>\s?)(?P<b>\d{1,2})(?P=s2)(?P=as)(?P<c>\d{4}|\d{2}))"
    r"(?![\d/:§])(?!-\d)(?!\.\d)(?!-[A-Za-z])"
)
SHORT_KOREAN = re.compile(
    r"(?<!\w)['’‘](?P<y>\d\d)\.\s?(?P<m>\d{1,2})\.\s?(?P<d>\d{1,2})\.?(?!\d|\.\d)"
)
MONTH_YEAR = re.compile(
    r"(?<![\w/:.$€£#§,-])(?P<m>0?[1-9]|1[0-2])/(?P<y>(?:19|20)\d\d)(?![\d/\w]|[.-]\d)"
)
TIMESTAMP_TAIL = re.compile(
    r"(?:T"
    r"|,?\s{1,3}(?:at\s+)?)(?P<clock>\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?)(?:\s?(?P<half>[AaPp]\.?[Mm]\.?))?"
    r"(?:\s?\(?(?P<zone>[+-]\d\d:?\d\d|Z|UTC|GMT|[ECMP][SD]T))?"
)

_ERA = "|".join(ERAS)
CJK = re.compile(
    rf"(?:(?:(?P<era>{_ERA})\s?(?P<ey>\d{{1,2}}|元)|['’‘]?(?<!\d)(?P<y>\d{{4}}|\d\d))\s?[년年]\s?)?"
    r"(?<!\d)(?P<m>\d{1,2})\s?[월月](?:\s?(?P<d>\d{1,2})\s?[일日](?!간|以)"
    r"|(?!\s?\d{1,2}\s?[일日])(?![가-힣]{0,1}\s?[분치]))"
)
CJK_YEAR = re.compile(
    rf"(?:(?P<era>{_ERA})\s?(?P<ey>\d{{1,2}}|元)|(?<!\d)(?P<y>(?:1[4-9]|20)\d\d))\s?[년年](?!\s?\d"
    rf"|간|間)"
)

YEAR = re.compile(
    rf"(?<![\w.,/$€£:#§'’-])(?P<year>{_YEAR})(?![\d/:\w-]|[.,]\d|\.\s\d{{1,2}}\.\s?\d)"
)
YEAR_CUE = re.compile(
    r"(?:(?<!\w)(?P<part>early|mid|late|Early|Mid|Late)[-\s]{1,2}"
    r"|(?<!\w)(?P<cue>[Ii]n|[Ss]ince|[Dd]uring|[Bb]y|[Uu]ntil|[Bb]efore|[Aa]fter|[Tt]hrough"
    r"|[Ff]rom|[Cc]irca|[Bb]etween|"
    r"(?:[Ff]iscal|[Cc]alendar|[Tt]ax)\s+[Yy]ears?|FY|[Yy]ears?|im\s+Jahr|en)\s{0,20}"
    r"|(?<!\w)(?P<season>[Ss]pring|[Ss]ummer|[Ff]all|[Aa]utumn|[Ww]inter|(?:[Ff]irst|[Ss]econd"
    r"|[Tt]hird|[Ff]ourth)\s+quarter"
    r"|Q[1-4]|[Ee]nd|[Bb]eginning|[Mm]iddle)\s{1,20}(?:of\s{1,20})?)$"
)
NUMBER_LABEL = re.compile(
    r"(?i)(?<!\w)(?:" + "|".join(NUMBERED_THINGS) + r")(?:\.|:)?\s{0,3}#?$|[#§¶]\s?$"
)

_MODIFIERS = (
    (
        "ABOUT",
        r"on\s+or\s+(?:about|around)|about|approximately|around|circa|ca\.|on\s+approximately"
        r"|um\s+den|vers\s+le|etwa",
    ),
    (
        "BY",
        r"on\s+or\s+before|(?:no|not)\s+later\s+than|by|until|till|through|up\s+to|bis(?:\s+zum)?"
        r"|spätestens|jusqu['’]au|at\s+the\s+latest",
    ),
    ("BEFORE", r"before|prior\s+to|earlier\s+than|preceding|vor(?:\s+dem)?|avant(?:\s+le)?"),
    (
        "FROM",
        r"on\s+or\s+after|since|from|beginning(?:\s+on)?|commencing(?:\s+on)?|starting(?:\s+on)?"
        r"|seit(?:\s+dem)?|ab(?:\s+dem)?|depuis(?:\s+le)?|à\s+partir\s+du",
    ),
    ("AFTER", r"after|following|subsequent\s+to|later\s+than|nach(?:\s+dem)?|après(?:\s+le)?"),
    (
        "PART",
        r"early(?:\s+in|-)?|mid-?|late(?:\s+in|-)?|the\s+(?:end|beginning|middle)\s+of|Anfang"
        r"|Mitte|Ende|début|mi-?|fin",
    ),
)
_MODIFIER_WORDS = "|".join(rf"(?P<{name}>(?<!\w)(?:{words}))" for name, words in _MODIFIERS)
MODIFIER_BEFORE = re.compile(
    rf"(?i)(?:{_MODIFIER_WORDS})[\s-]{{0,20}}"
    r"(?:(?:the|on|approximately|le|dem|den)\s{1,20})?(?:close\s+of\s+business\s+(?:on\s+)?)?$"
)
MODIFIER_AFTER = re.compile(
    r"\s?(?:자\s?)?(?:(?P<BY>까지|まで)|(?P<FROM>부터|이후|以降|から)|(?P<BEFORE>이전|전(?!부)"
    r"|以前)|(?P<AFTER>후)|(?P<ABOUT>경|頃|쯤))"
)
LIST_GAP = re.compile(
    r"[\s,]*(?:(?:and|or|to|through|until|till|thru|und|et|au|bis|on|from|by|before|after|the"
    r"|again|-|–|—|&)[\s,]*){1,4}"
)
