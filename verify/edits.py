"""Types every difference between a quotation and the record.

| kind | examples | verdict it allows |
|---|---|---|
| TYPOGRAPHY | curly marks, a capital at the start | VERIFIED |
| LAYOUT | line-end hyphen, running head, footnote marker | VERIFIED |
| DISCLOSED | ellipsis, ``[t]he``, ``argue[d]``, [sic] | VERIFIED_MARKED |
| DOUBT | other punctuation, a substitution in brackets, a dangerous word left out | CHECK |
| DAMAGE | ``inurc`` for "inure": letters a scanner confuses | CHECK |
| MATERIAL | everything else | ALTERED |

There is no score: one difference that fits no other kind is material.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import resources
from typing import Final

from verify.danger import find_danger, is_negation
from verify.tokens import Unit, fold_word


class EditKind(IntEnum):
    """How bad a difference is; the worst one decides."""

    TYPOGRAPHY = 0
    LAYOUT = 1
    DISCLOSED = 2
    DOUBT = 3
    DAMAGE = 4
    MATERIAL = 5


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One difference, typed."""

    kind: EditKind
    record: str
    """The record's words; empty where the reply adds some."""
    reply: str
    """The reply's words; empty where it leaves some out."""
    why: str
    """In words a lawyer would use; empty when the difference speaks for itself."""


# --- damage ---------------------------------------------------------------------------------------

# What scanners take for each other. Each group is read as one sign; pairs of letters come first.
_PAIRS: Final = (("rn", "m"), ("ri", "n"), ("cl", "d"), ("vv", "w"), ("ii", "u"), ("li", "h"))
_GROUPS: Final = (
    "il1|!jtf", "ocea0", "hbk", "un", "vyu", "s5", "b68", "gq9", "z2", "ft", "tr", "nh", "ao",
)  # fmt: skip
_MAX_DAMAGE: Final = 6
"""Letters of one stretch that may be confused; beyond a third of the letters it is no excuse."""


@cache
def _confusable() -> frozenset[tuple[str, str]]:
    return frozenset((a, b) for group in _GROUPS for a in group for b in group if a != b)


@cache
def known_words() -> frozenset[str]:
    """Common English words, so that a word is never taken for the damage of another one."""
    lines = resources.files("verify").joinpath("words.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def damage_cost(good: str, bad: str) -> int | None:
    """How many confusions turn ``good`` into ``bad``; None when that is no scanner's doing."""
    limit = min(_MAX_DAMAGE, max(1, (len(good) + 1) // 3))
    if abs(len(good) - len(bad)) > limit:
        return None
    table = {(0, 0): 0}
    confusable = _confusable()
    for i in range(len(good) + 1):
        for j in range(max(0, i - limit), min(len(bad), i + limit) + 1):
            here = table.get((i, j))
            if here is None or here > limit:
                continue
            if i < len(good) and j < len(bad):
                step = 0 if good[i] == bad[j] else 1 if (good[i], bad[j]) in confusable else 9
                _lower(table, (i + 1, j + 1), here + step)
            for pair, one in _PAIRS:
                if good.startswith(pair, i) and bad.startswith(one, j):
                    _lower(table, (i + len(pair), j + len(one)), here + 1)
                if good.startswith(one, i) and bad.startswith(pair, j):
                    _lower(table, (i + len(one), j + len(pair)), here + 1)
    cost = table.get((len(good), len(bad)))
    return cost if cost is not None and cost <= limit else None


def _lower(table: dict[tuple[int, int], int], key: tuple[int, int], value: int) -> None:
    if value < table.get(key, 99):
        table[key] = value


def is_damage(
    quoted: Sequence[Unit], record: Sequence[Unit], *, is_word: Callable[[str], bool]
) -> bool:
    """Whether the record's letters are a damaged form of the quoted ones.

    Never for numbers, never for negations, never where every damaged form is itself a word.

    Args:
        quoted: Units of the quotation.
        record: Units of the record that stand in their place.
        is_word: Whether a folded form is a word of the language.
    """
    if not quoted or not record:
        return False
    if any(unit.key.isdigit() or unit.key[:1].isdigit() for unit in quoted):
        return False
    if any(not any(c.isalpha() for c in unit.key) for unit in record):
        return False
    if any(is_negation(unit.key) for unit in (*quoted, *record)):
        return False
    good = "".join(unit.key for unit in quoted)
    bad = "".join(unit.key for unit in record)
    if good == bad:
        return True  # only the spaces differ
    if all(is_word(unit.key) for unit in record) and len(quoted) == len(record):
        return False
    return damage_cost(good, bad) is not None


# --- runs of differing units ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What typing an edit needs to know beside the words."""

    notes: frozenset[str]
    """Footnote numbers of the document."""
    is_word: Callable[[str], bool]
    citations_omitted: bool
    """The reply says it left citations out."""
    marks_omitted: bool
    """The reply says it left quotation marks out, or cleaned the passage up."""


UNITS_OF_MEASURE: Final = frozenset({"m", "cm", "km", "mm", "ft", "in", "mi", "yd"})
_COUNTED: Final = frozenset(
    "no nos sec secs art arts ch p pp pg ex exh exhs fig figs vol vols para paras cl cls item "
    "items dkt ecf doc docs § §§ ¶ ¶¶ "
    "section sections article articles exhibit exhibits page pages part parts chapter clause "
    "clauses paragraph paragraphs count "
    "counts number numbers figure volume title titles schedule schedules appendix annex note notes "
    "form forms rule rules phase "
    "class classes type level lot lots unit units room floor version stage step tier series grade "
    "category group zone block "
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep "
    "sept oct nov dec day year week month line lines subsection subparagraph amendment addendum "
    "model tranche option account act "
    "artikel abs absatz satz nr ziffer kapitel anlage article alinéa annexe".split()
)
"""What is followed by a number of its own: a number glued to one of these is no footnote marker."""
_CITATION: Final = re.compile(
    r"[\s,;(]*(?:see,?\s+|cf\.\s+|accord\s+|e\.\s?g\.,?\s+)*"
    r"(?:[A-Z][\w.’'&-]*(?:\s+(?:v\.|of|the|and|&|In|re|[A-Z][\w.’'&-]*))*,\s+)?"
    r"(?:\d{1,4}\s+[A-Z][\w.\s]{1,18}?(?:\d[a-z]{1,2}\s+)?§*\s*[\d_]{1,5}(?:[^A-Za-z]*\d+)*"
    r"|id\.(?:,?\s+at\s+[\d–—\uf02d-]+)?)"
    r"(?:\s*\([^()]{0,60}\d{4}\))?[\s,;.)]*",
    re.IGNORECASE,
)


def is_marker(unit: Unit, before: Unit | None, setting: Setting) -> bool:
    """Whether a number of the record is a footnote marker and not part of the sentence."""
    if before is None or before.key in _COUNTED or before.key in UNITS_OF_MEASURE:
        return False
    if not unit.key.isdigit() or before.key[-1:].isdigit() or not any(map(str.isalpha, before.key)):
        return False
    return (unit.marker or unit.glued) and unit.key in setting.notes


def type_run(
    quoted: Sequence[Unit], record: Sequence[Unit], before: Unit | None, text: str, setting: Setting
) -> Edit:
    """Types one run of units that differ.

    Args:
        quoted: Units of the quotation, maybe none.
        record: Units of the record, maybe none.
        before: The record's unit before the run.
        text: The record's raw text of the run.
        setting: See `Setting`.
    """
    said = " ".join(unit.raw for unit in quoted)
    held = " ".join(unit.raw for unit in record)
    if not quoted:
        if all(
            is_marker(unit, before if k == 0 else record[k - 1], setting)
            for k, unit in enumerate(record)
        ):
            return Edit(kind=EditKind.LAYOUT, record=held, reply="", why="footnote marker")
        if len(record) == 1 and _maybe_marker(record[0], before, setting):
            counted = before.raw if before else ""
            why = f'the number at "{counted}" is a footnote marker or belongs to it'
            return Edit(kind=EditKind.DOUBT, record=held, reply="", why=why)
        danger = find_danger([unit.key for unit in record])
        if setting.citations_omitted and danger is None and _CITATION.fullmatch(text):
            return Edit(kind=EditKind.DISCLOSED, record=held, reply="", why="citation left out")
        if setting.citations_omitted and danger is None and any(u.key.isdigit() for u in record):
            return Edit(
                kind=EditKind.DOUBT, record=held, reply="",
                why="left out as a citation, but not plainly one",
            )  # fmt: skip
        return Edit(kind=EditKind.MATERIAL, record=held, reply="", why="")
    if len(quoted) == len(record) == 1 and _glued_marker(quoted[0], record[0], setting):
        numbered = quoted[0].key in _COUNTED
        why = (
            f'"{held}": a footnote marker or a number of its own' if numbered else "footnote marker"
        )
        kind = EditKind.DOUBT if numbered else EditKind.LAYOUT
        return Edit(kind=kind, record=held, reply=said, why=why)
    if bare(said) == bare(held):
        return Edit(kind=EditKind.DOUBT, record=held, reply=said, why="accents differ")
    if is_damage(quoted, record, is_word=setting.is_word):
        why = "the record looks damaged here"
        if "".join(u.key for u in quoted) == "".join(u.key for u in record):
            why = "words are joined or split differently"
        return Edit(kind=EditKind.DAMAGE, record=held, reply=said, why=why)
    return Edit(kind=EditKind.MATERIAL, record=held, reply=said, why="")


def bare(words: str) -> str:
    """Folded words without their accents."""
    parts = unicodedata.normalize("NFD", fold_word(words))
    return "".join(c for c in parts if not "\u0300" <= c <= "\u036f")


def _glued_marker(quoted: Unit, record: Unit, setting: Setting) -> bool:
    """ "certificate" against "certificate11", where the document has a footnote 11."""
    rest = record.key.removeprefix(quoted.key)
    return (
        rest != record.key
        and rest in setting.notes
        and len(quoted.key) >= 3
        and quoted.key.isalpha()
    )


def _maybe_marker(unit: Unit, before: Unit | None, setting: Setting) -> bool:
    """ "count.2" and "Act1", where the document has such a footnote: a marker, or its number."""
    return (
        before is not None
        and before.key in _COUNTED
        and len(before.key) >= 3
        and unit.key in setting.notes
        and (unit.marker or unit.glued)
    )


# --- punctuation between matched units ------------------------------------------------------------


def type_between(quoted: str, record: str, setting: Setting) -> Edit | None:
    """Types a difference in what stands between two matched units; None when there is none."""
    if quoted == record:
        return None
    said, held = quoted.replace('"', ""), record.replace('"', "")
    if said == held:
        if quoted.count('"') == record.count('"') or setting.marks_omitted:
            return Edit(
                kind=EditKind.TYPOGRAPHY, record=record, reply=quoted, why="quotation marks"
            )
        return Edit(
            kind=EditKind.DOUBT, record=record, reply=quoted, why="quotation marks inside it differ"
        )
    if said.replace("-", "") == held.replace("-", ""):
        return Edit(
            kind=EditKind.DOUBT, record=record, reply=quoted, why="a hyphen or dash differs"
        )
    return Edit(kind=EditKind.DOUBT, record=record, reply=quoted, why="the punctuation differs")


def type_case(quoted: Unit, record: Unit, *, first: bool) -> Edit | None:
    """Types a difference in capitals between two units with the same key; None when none."""
    if quoted.raw == record.raw:
        return None
    a, b = (unicodedata.normalize("NFKC", unit.raw) for unit in (quoted, record))
    if [c.isupper() for c in a if c.isalpha()] == [c.isupper() for c in b if c.isalpha()]:
        return None
    if first:
        return Edit(kind=EditKind.TYPOGRAPHY, record=b, reply=a, why="capitals of the first word")
    return Edit(kind=EditKind.DOUBT, record=b, reply=a, why="capital letters differ")


def show(edits: Sequence[Edit]) -> str:
    """The differences that matter, in words: ``record "shall not" / reply "shall"``."""
    shown = []
    for edit in edits:
        if edit.kind < EditKind.DOUBT:
            continue
        if edit.kind is EditKind.DOUBT and not (edit.record or edit.reply):
            continue
        held = f'record "{_short(edit.record)}"' if edit.record else "not in the record"
        said = f'reply "{_short(edit.reply)}"' if edit.reply else "left out in the reply"
        shown.append(f"{held} / {said}")
    return "; ".join(shown[:6]) + ("; …" if len(shown) > 6 else "")


def _short(words: str, limit: int = 160) -> str:
    return words if len(words) <= limit else words[: limit // 2] + " … " + words[-limit // 2 :]
