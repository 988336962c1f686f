"""What stands right outside a quotation and would turn it round.

A quotation may be word for word true and still mislead because of where it begins or ends: after a
"no"
"t" or an "unless", inside a compound word, before a "%", or with a full stop where the record goes
on with an exception. Each such edge is a DOUBT.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from verify.danger import find_danger, is_negation
from verify.edits import UNITS_OF_MEASURE, Edit, EditKind, Setting, is_marker
from verify.layout import TEXT_REGIONS, Region
from verify.quotation import Quotation
from verify.tokens import Unit

_SCALES: Final = frozenset(
    "% ‰ percent per hundred thousand million millions billion billions trillion mio mrd prozent"
    " millionen milliarden pour 만 억 조 원 °".split()
)
"""Words and signs with which a number goes on."""
_SIGNS: Final = frozenset("$€£¥₩¢₤\u2212±")
_LEADS: Final = frozenset(
    "unless except if whether until before only provided excluding falls wenn ob sofern bevor si "
    "sauf außer".split()
)
"""Words that, right before a statement, keep it from being one."""
_THAT: Final = frozenset({"that", "dass", "que"})
STOPS: Final = (".", "!", "?")
_CLAUSE_ENDS: Final = frozenset(".!?,;:")
_FAR: Final = 300
"""Units on either side that are looked at: a page's footnotes and furniture lie among them."""
_CONDITION: Final = 40
"""Words before a main clause in which the condition it depends on may open."""
_OPENING: Final = frozenset("if unless provided assuming wenn falls sofern si 만약".split())
_REACH: Final = 6
"""Words before a quotation in which a frame that turns it round may stand."""
_FRAME: Final = re.compile(
    r" (?:failed|fails|refused|declined|unable|neglected|ceased|purported|claims?|claimed|alleged"
    r"|denied|denies|deny|doubts?|doubted|disputes?|disputed) (?:(?:to|that|having|ever|the) )*$"
    r"| (?:not|n't|never|neither|cannot|nobody|no) (?:\w+ ){0,2}(?:think|believe|say|said|know"
    r"|knew|recall|remember|mean|agree|accept|concede|suggest|true|clear|certain|proven|established|shown)"
    r" (?:(?:that|the|if|whether) )*$"
    r"| (?:no|little) (?:reason|proof|evidence|indication|basis|doubt|sign|record)(?: to believe)?"
    r" (?:(?:that|the|of|for) )*$"
    r"| far from (?:\w+ )?(?:that |whether |who )?$"
    r"| (?:do|does|did|was|were|is|are|am|have|has|had|would|could|should) not \w+ly $"
    r"| (?:not|n't|never|cannot|nobody|no one) (?:\w+ ){0,1}(?:tell|told|hear|heard|write|wrote"
    r"|promise|promised|claim|report|reported|state|stated|testify|testified|admit|admitted|represent|represented"
    r"|find|found|hold|held|mention|mentioned)(?: \w+){0,3} (?:that|if|whether) $"
    r"| (?:i|he|she|they|we|you) (?:do |did |would |might )?(?:guess|assume|assumed|suppose"
    r"|supposed|suspect|suspected|imagine|hoped|wonder|wondered|presume|presumed|pretended|believe"
    r"|believed|heard) (?:that )?$"
    r"| (?:i|he|she|it|we|you|they) (?:may|might|could|would|should|must) have $"
    r"| (?:nobody|no one|none|nothing|few|little|not one|no \w+)"
    r" (?:at|of|in|from|on|among|with|within) (?:(?:the|our|its|his|her|their|these|those) )?"
    r"(?:\w+ )?$"
    r"| neither (?:\w+ ){1,2}(?:is|are|was|were|shall|will|may|has|had) $"
)
"""The end of a clause that turns round what follows: "failed to", "do not think that"."""
_DENIED_BE: Final = re.compile(
    r" (?:not|n't|never|cannot|nor|neither) (?:yet |ever |also |otherwise )?"
    r"(?:be|been|being|have|has|had|have been|has been|had been|so|even) $"
    r"|n't (?:be|been|have|have been) $"
)
"""A negation whose auxiliary stands between: "shall not be" [liable]."""
_LIMITS: Final = frozenset("before until beyond more other".split())
"""What limits a denial that seems to end: "will pay nothing" [before an expert has looked]."""
_ASKED: Final = re.compile(
    r" (?:moved?|moves|motion|proposed|proposes?|proposal|requested|requests?|asked|asks|demanded"
    r"|demands?|urged|urges?|recommended|recommends?|suggested|suggests?|prays?|prayed) "
    r"(?:\w+ )?that (?:the |a |an )?$"
)
"""What was asked for and not done: "moved that" [the claim be paid]."""
_AUXILIARIES: Final = frozenset(
    "may shall must will can could would should might is are was were has have had does do "
    "did".split()
)
_NOBODY_DOES: Final = re.compile(r" (?:neither|nor|no|none of the) (?:\w+ ){1,2}$")
"""The subject of a denial before its verb: "Neither party" [may assign]."""
_COUNTS: Final = frozenset(
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty "
    "sixty ninety hundred thousand million billion".split()
)
_LIMITING: Final = frozenset("more less fewer least most only not no never exceed up".split())
_ABBREVIATED: Final = frozenset("mr mrs ms dr st jr prof".split())
_TAKEN_BACK: Final = re.compile(
    r"(?:unless|except|excepting|excluding|until|if|but|only (?:if|when|where|after|upon)"
    r"|save (?:for|that|as)|provided(?: however)?(?: that)?|notwithstanding|subject to|other than"
    r"|es sei denn|falls|sofern|sauf|i (?:believe|think|guess|suppose|assume|suspect|imagine)"
    r"|as far as i|if i (?:recall|remember)"
    r"|to (?:the best of )?my (?:knowledge|recollection|memory))(?! \w*ly\b)(?= |$)"
)
"""What right after a statement limits it or takes it back."""
_PROVISOS: Final = frozenset("다만 단 但し ただし".split())
_NEGATED_AFTER: Final = ("ない", "ません", "なかっ", "ず", "ぬ", "まい")


def edge_edits(
    quotation: Quotation,
    record: Sequence[Unit],
    text: str,
    first: int,
    last: int,
    setting: Setting,
    *,
    closes: bool,
) -> list[Edit]:
    """The doubts at both edges of a quotation.

    Args:
        quotation: The quotation; an ellipsis at an edge says that something is left out there.
        record: The record's units.
        text: The record's raw text.
        first: The first unit the quotation meets.
        last: The last one.
        setting: See `edits.Setting`.
        closes: A full stop stands inside the closing mark.
    """
    found: list[Edit] = []
    flow, start, end = _flow(record, first, last)
    if start > 0 and 0 not in quotation.gaps:
        ends = end + 1 == len(flow) or any(stop in flow[end + 1].before for stop in STOPS)
        found += _before(flow, text, start, ends=ends)
    if end + 1 < len(flow) and len(quotation.words) not in quotation.gaps:
        found += _after(flow, end, closes=closes, whole=_opens(flow, start))
    elif end + 1 < len(flow):
        found += _hidden(flow, end)
    for at in (first, last + 1):
        if 0 < at < len(record):
            found += _torn(record, at, setting)
    return found


def _flow(record: Sequence[Unit], first: int, last: int) -> tuple[list[Unit], int, int]:
    """The quotation and the words around it as one reads on, and where it begins and ends there.

    Outside it, furniture is passed over, and footnotes where the quotation is none: a "never" may
    be the last word of the page before. Of the marks at such a seam those that end a clause stay.
    """
    flow: list[Unit] = []
    start = end = 0
    seam: str | None = None
    for at in range(max(0, first - _FAR), min(len(record), last + 1 + _FAR)):
        unit = record[at]
        edge = record[first] if at < first else record[last]
        if not first <= at <= last and _is_beside(unit, edge):
            seam = unit.before if seam is None else seam
            continue
        if at == first:
            start = len(flow)
        if at == last:
            end = len(flow)
        if seam is not None:
            ends = "".join(mark for mark in seam if mark in _CLAUSE_ENDS)
            unit, seam = replace(unit, before=ends, glued=False), None
        flow.append(unit)
    return flow, start, end


def _is_beside(unit: Unit, edge: Unit) -> bool:
    """Whether a unit stands on the page but not in the run of text of which ``edge`` is a part."""
    if unit.region in TEXT_REGIONS or unit.region is edge.region:
        return False
    return unit.region is not Region.FOOTNOTE or edge.region in TEXT_REGIONS


def _doubt(record: str, why: str) -> Edit:
    return Edit(kind=EditKind.DOUBT, record=record, reply="", why=why)


def _torn(record: Sequence[Unit], at: int, setting: Setting) -> list[Edit]:
    """A compound word or a number with its sign, cut in two between ``at - 1`` and ``at``."""
    left, right = record[at - 1], record[at]
    if not right.glued or _lone(left) or _lone(right):
        return []
    if right.before == "-" and left.key.isalpha() and right.key.isalpha():
        return [_doubt(f"{left.raw}-{right.raw}", "it begins or ends inside a compound word")]
    if right.before == "" and not is_marker(right, left, setting):
        return [_doubt(f"{left.raw}{right.raw}", "it begins or ends inside a word or a figure")]
    return []


def _lone(unit: Unit) -> bool:
    """A character of a script that writes no spaces."""
    return len(unit.raw) == 1 and unit.raw >= "\u3040" and unit.raw.isalpha()


def _before(record: Sequence[Unit], text: str, at: int, *, ends: bool) -> list[Edit]:
    before, start = record[at - 1], record[at]
    found = []
    if not any(stop in start.before for stop in (*STOPS, ";", ":")):
        earlier = record[at - 2].key if at > 1 else ""
        leads = _negates(record, at - 1) or before.key in _LEADS
        denied = before.key in _THAT and find_danger([earlier], groups=("denial",))
        if leads or denied:
            words = f"{earlier} {before.raw}" if denied else before.raw
            found.append(
                _doubt(f"{words} {start.raw}", f'"{words}" stands right before it in the record')
            )
        elif ends and (opening := _condition_of(record, at)):
            why = f'its sentence opens with the condition "{opening}"'
            found.append(_doubt(f"{opening} ... {start.raw}", why))
        elif frame := _framed(record, at):
            found.append(
                _doubt(f"{frame} {start.raw}", f'"{frame}" stands before it in the record')
            )
    if _counts(record, at):
        found.append(_doubt(f"{before.raw} {start.raw}", "the number before it is cut off"))
    if start.key[:1].isdigit() and (before.key in _SIGNS or _signed(text, start)):
        found.append(_doubt(f"{before.raw}{start.raw}", "the sign before the number is cut off"))
    return found


def _condition_of(record: Sequence[Unit], at: int) -> str:
    """ "If it is not paid by January 20, [we cannot ship]": the main clause of a condition.

    The condition's first words; empty where the sentence opens with none, or where what starts at
    ``at`` is not what follows its comma.
    """
    if "," not in record[at].before:
        return ""
    low = at - 1
    while low > max(0, at - _CONDITION) and not _starts_sentence(record, low):
        low -= 1
    if not _starts_sentence(record, low) or record[low].key not in _OPENING:
        return ""
    return " ".join(unit.raw for unit in record[low : low + 3])


def _starts_sentence(record: Sequence[Unit], at: int) -> bool:
    if at == 0:
        return True
    stopped = any(mark in record[at].before for mark in (*STOPS, ":", ";"))
    return stopped and record[at - 1].key not in _ABBREVIATED


def _counts(record: Sequence[Unit], at: int) -> bool:
    """Whether a bounded number counts what begins at ``at``: "no more than twelve" [persons]."""
    before, start = record[at - 1], record[at]
    if not start.raw[:1].islower() or start.glued or before.marker:
        return False
    number = before.key in _COUNTS or (before.key.isdigit() and len(before.key) < 4)
    if not number or start.before.strip(" \t\u00a0") not in ("", ")"):
        return False
    return bool(_LIMITING & {unit.key for unit in record[max(0, at - _REACH) : at - 1]})


def _framed(record: Sequence[Unit], at: int) -> str:
    """The words of a denial or a doubt that govern what starts at ``at``; empty without one.

    Looks back within the clause only: past a full stop, a comma or a colon stands another one.
    """
    low = at
    while low > max(0, at - _REACH):
        abbreviated = record[low - 1].key in _ABBREVIATED
        if any(mark in record[low].before for mark in (*STOPS, ",", ";", ":")) and not abbreviated:
            break
        low -= 1
    keys = [unit.key for unit in record[low:at]]
    words = f" {' '.join(keys)} "
    found = _FRAME.search(words) or _DENIED_BE.search(words) or _ASKED.search(words)
    if not found and keys[-2:] in (["no", "one"], ["no", "body"]):
        return " ".join(unit.raw for unit in record[at - 2 : at])
    if not found and record[at].key in _AUXILIARIES:
        found = _NOBODY_DOES.search(f" {' '.join(keys)} ")
    return " ".join(unit.raw for unit in record[low:at]) if found else ""


def _signed(text: str, number: Unit) -> bool:
    """Whether a minus or a decimal point stands before a number: ".5", "-5", not "No.5"."""
    sign = text[max(0, number.start - 1) : number.start]
    earlier = text[max(0, number.start - 2) : max(0, number.start - 1)]
    return sign in {"-", "–", ".", ","} and not earlier.isalnum() and earlier not in {")", "]"}


def _opens(record: Sequence[Unit], at: int) -> bool:
    """Whether a statement begins here: a sentence, or what follows "that"."""
    if at == 0 or record[at - 1].key in _THAT:
        return True
    return any(mark in record[at].before for mark in (*STOPS, ":", ";"))


def _after(record: Sequence[Unit], last: int, *, closes: bool, whole: bool) -> list[Edit]:
    end, after = record[last], record[last + 1]
    following = [unit.key for unit in record[last + 1 : last + 4]]
    stopped = any(stop in after.before for stop in STOPS)
    found = _proviso(end, after) if stopped else []
    if not stopped and _negates(record, last + 1) and not any(c in after.before for c in ",;:-"):
        found.append(
            _doubt(f"{end.raw} {after.raw}", f'"{after.raw}" follows right after it in the record')
        )
    elif whole and not stopped and (cut := _cut_short(record, last, after)):
        found.append(cut)
    elif closes and not stopped:
        words = [key for key in following if not key.isdigit()]
        danger = find_danger(words, groups=("condition",))
        if danger is None and after.key in _LIMITS and _negates_near(record, last):
            danger = after.raw
        if danger is not None:
            found.append(
                _doubt(
                    f"{end.raw}{after.before} {after.raw}",
                    f'it closes with a full stop where the record goes on with "{danger}"',
                )
            )
    if end.key == "수" and after.key.startswith(("있", "없")) and not stopped:
        found.append(_doubt(f"{end.raw} {after.raw}", f'it is cut off before "{after.raw}"'))
    if end.key[:1].isdigit() and after.key in _SCALES:
        found.append(_doubt(f"{end.raw} {after.raw}", "the number goes on in the record"))
    if after.marker and after.glued and end.key in UNITS_OF_MEASURE:
        found.append(_doubt(f"{end.raw}{after.raw}", "the unit goes on in the record"))
    dense = "".join(unit.raw for unit in record[last + 1 : last + 4])
    if not dense.isascii() and dense.startswith(_NEGATED_AFTER):
        found.append(_doubt(end.raw + dense, "a negation follows right after it in the record"))
    return found


def _negates_near(record: Sequence[Unit], last: int) -> bool:
    """Whether one of the last words up to ``last`` negates."""
    return any(_negates(record, at) for at in range(max(0, last - _REACH), last + 1))


def _cut_short(record: Sequence[Unit], last: int, after: Unit) -> Edit | None:
    """A statement from its first word that ends right before its condition, exception or hedge."""
    following = " ".join(unit.key for unit in record[last + 1 : last + 6])
    found = _TAKEN_BACK.match(following)
    if found is None or any(mark in after.before for mark in ";:"):
        return None
    why = f'the record goes on with "{found.group().strip()}"'
    return _doubt(f"{record[last].raw}{after.before} {after.raw}", why)


def _proviso(end: Unit, after: Unit) -> list[Edit]:
    """A Korean or Japanese sentence that the next one, its proviso (단서), takes back in part.

    In a statute or a contract the two are one provision. An English sentence that opens with
    "However", "Provided" or "Except" is left alone: an English proviso stands in the sentence
    itself, behind a comma or a semicolon, where it is found; "However" opens any sentence that
    turns, and to doubt each one before it would teach the reader to overlook the doubt.
    """
    if after.key not in _PROVISOS:
        return []
    why = f'the next sentence opens with "{after.raw}" and may take it back in part'
    return [_doubt(f"{end.raw}{after.before}{after.raw}", why)]


def _hidden(record: Sequence[Unit], last: int) -> list[Edit]:
    """Dots at the end that hide an exception: "may not withhold payment ..." [unless]."""
    end, after = record[last], record[last + 1]
    if any(stop in after.before for stop in STOPS):
        return _proviso(end, after)
    words = [unit.key for unit in record[last + 1 : last + 4] if not unit.key.isdigit()]
    danger = find_danger(words, groups=("condition",))
    if danger is None:
        return []
    return [_doubt(f"{end.raw} {after.raw}", f'its dots leave out "{danger}"')]


def _negates(record: Sequence[Unit], at: int) -> bool:
    """Whether a unit of the record negates; "No. 5" and "Nos. 5-7" do not."""
    unit = record[at]
    if unit.key == "no" and at + 1 < len(record):
        following = record[at + 1]
        if following.before.startswith(".") and following.key[:1].isdigit():
            return False
    return is_negation(unit.key)
