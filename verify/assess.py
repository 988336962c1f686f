"""From one alignment to typed edits and to the exact characters of the record it rests on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from verify.align import Alignment, is_particle, meets
from verify.danger import GROUPS, find_danger
from verify.edges import edge_edits
from verify.edits import (
    Edit,
    EditKind,
    Setting,
    is_damage,
    is_marker,
    type_between,
    type_case,
    type_run,
)
from verify.layout import Layout, Region
from verify.quotation import MAX_GAP_WORDS, Quotation
from verify.tokens import Unit, scan

_SMALL: Final = frozenset(
    "the for her his him not are was has had can and but any all one our you its who how may nor "
    "yet she our out now too off "
    "per own did does been were will them they then than that this".split()
)
"""Words that an added letter makes another word: "the[y]", "he[r]"."""
_STOPS: Final = (".", "!", "?")
_JOINTS: Final = frozenset("and or but nor while whereas und oder aber et ou mais".split())


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """What one alignment amounts to."""

    edits: tuple[Edit, ...]
    worst: EditKind
    stretches: tuple[tuple[int, int], ...]
    """Raw ranges of the record, in order; several where it jumps over furniture or a gap."""
    jumps: int
    """How many of the breaks between stretches jump over furniture, not over a gap."""
    matched: int
    """Words of the quotation that the record has at this place."""
    longest: int
    """Longest run of matched words."""
    cost: float
    first: int
    last: int
    """First and last unit of the record that the quotation meets."""


def assess(
    quotation: Quotation,
    alignment: Alignment,
    record: Sequence[Unit],
    layout: Layout,
    setting: Setting,
    *,
    closes: bool,
) -> Assessment | None:
    """Types all differences of an alignment; None when no word meets.

    Args:
        quotation: The reading that was aligned.
        alignment: Where its words meet the record.
        record: The record's units.
        layout: The document's lines.
        setting: See `edits.Setting`.
        closes: A full stop stands inside the closing mark.
    """
    walk = _Walk(quotation, record, layout, setting)
    met = [(i, j) for i, j in alignment.pairs if i is not None and j is not None]
    met = [(i, j) for i, j in met if walk.meets(i, j)]
    if not met:
        return None
    walk.run(alignment)
    stretches, jumps = walk.places(alignment)
    walk.regions({record[j].region for _, j in met})
    walk.added()
    walk.edits += edge_edits(
        quotation, record, layout.text, met[0][1], met[-1][1], setting, closes=closes
    )
    return Assessment(
        edits=tuple(walk.edits),
        worst=max((edit.kind for edit in walk.edits), default=EditKind.TYPOGRAPHY),
        stretches=stretches,
        jumps=jumps,
        matched=len(met),
        longest=_longest(met),
        cost=alignment.cost,
        first=met[0][1],
        last=met[-1][1],
    )


def _longest(met: Sequence[tuple[int, int]]) -> int:
    best = run = 1
    for (a, b), (c, d) in itertools.pairwise(met):
        run = run + 1 if c == a + 1 and d == b + 1 else 1
        best = max(best, run)
    return best


class _Walk:
    """Walks along an alignment and collects edits."""

    def __init__(
        self, quotation: Quotation, record: Sequence[Unit], layout: Layout, setting: Setting
    ) -> None:
        self.quotation = quotation
        self.record = record
        self.layout = layout
        self.text = layout.text
        self.setting = setting
        self.edits: list[Edit] = []

    def meets(self, i: int, j: int) -> bool:
        word = self.quotation.words[i]
        return meets(word, self.record[j], last=i == len(self.quotation.words) - 1)

    def run(self, alignment: Alignment) -> None:
        """Types what lies between the words that meet."""
        quoted: list[int] = []  # words of the quotation not yet accounted for
        held: list[int] = []  # units of the record not yet accounted for
        previous: tuple[int, int] | None = None
        for i, j in alignment.pairs:
            if i is not None and j is not None and self.meets(i, j):
                self._between(previous, (i, j), quoted, held)
                self._word(i, j, after_gap=previous is None or i in self.quotation.gaps)
                previous, quoted, held = (i, j), [], []
                continue
            if i is not None:
                quoted.append(i)
            if j is not None and (previous is not None or i is not None):
                held.append(j)
        if quoted or held:
            if quoted and not held and previous:
                held = self._beside(quoted, previous[1], back=False)
            self._edge_run(quoted, held, previous)

    def _edge_run(
        self, quoted: list[int], held: list[int], previous: tuple[int, int] | None
    ) -> None:
        """Types words left over at an edge of the quotation."""
        words = [self.quotation.words[i].unit for i in quoted]
        if len(held) == 1 and self._runs_into(words, self.record[held[0]], back=previous is None):
            self.edits.append(
                Edit(
                    kind=EditKind.DAMAGE,
                    record=self.record[held[0]].raw,
                    reply=" ".join(word.raw for word in words),
                    why="words are joined or split differently",
                )
            )
            return
        self._run(quoted, held, previous)

    def _beside(self, quoted: list[int], at: int, *, back: bool) -> list[int]:
        """Units right outside the matched ones that are a damaged form of the words left over."""
        words = [self.quotation.words[i].unit for i in quoted]
        for size in range(max(1, len(words) - 2), len(words) + 3):
            held = list(range(at - size, at) if back else range(at + 1, at + 1 + size))
            if held[0] < 0 or held[-1] >= len(self.record):
                continue
            if is_damage(words, [self.record[j] for j in held], is_word=self.setting.is_word):
                return held
        beside = at - 1 if back else at + 1
        if 0 <= beside < len(self.record) and self._runs_into(
            words, self.record[beside], back=back
        ):
            return [beside]
        return []

    def _runs_into(self, words: Sequence[Unit], unit: Unit, *, back: bool) -> bool:
        """Whether the words left over and the next word of the record were printed as one."""
        said = "".join(word.key for word in words)
        rest = unit.key.removesuffix(said) if back else unit.key.removeprefix(said)
        known = self.setting.is_word
        return rest != unit.key and known(rest) and not known(unit.key)

    def _word(self, i: int, j: int, *, after_gap: bool) -> None:
        word, unit = self.quotation.words[i], self.record[j]
        if word.bracket:
            same = word.unit.key == unit.key
            why = (
                "a letter changed, shown by brackets"
                if same
                else "an ending changed, shown by brackets"
            )
            short = len(word.outside) < 3 or word.outside in _SMALL or find_danger([unit.key])
            kind = EditKind.DOUBT if short and not same else EditKind.DISCLOSED
            self.edits.append(Edit(kind=kind, record=unit.raw, reply=word.unit.raw, why=why))
            return
        if is_particle(word.unit.key, unit.key):
            self.edits.append(
                Edit(kind=EditKind.LAYOUT, record=unit.raw, reply=word.unit.raw, why="particle")
            )
            return
        edit = type_case(word.unit, unit, first=after_gap)
        if edit:
            self.edits.append(edit)

    def _between(
        self,
        previous: tuple[int, int] | None,
        here: tuple[int, int],
        quoted: list[int],
        held: list[int],
    ) -> None:
        if previous is None:
            if quoted:
                held = held or self._beside(quoted, here[1], back=True)
                self._edge_run(quoted, held, None)
            return
        gaps = [k for k in range(previous[0] + 1, here[0] + 1) if k in self.quotation.gaps]
        if gaps:
            self._gap(gaps, quoted, held, previous)
            return
        rest = held
        if not quoted:
            rest = [j for j in held if not self._marker(j)]
            if len(rest) < len(held):
                self.edits.append(
                    Edit(kind=EditKind.LAYOUT, record="", reply="", why="footnote marker")
                )
        if quoted or rest:
            self._run(quoted, rest, previous)
            return
        record = "".join(self.record[j].before for j in range(previous[1] + 1, here[1] + 1))
        edit = type_between(self.quotation.words[here[0]].unit.before, record, self.setting)
        if edit:
            self.edits.append(edit)

    def _marker(self, j: int) -> bool:
        return is_marker(self.record[j], self.record[j - 1] if j else None, self.setting)

    def _run(self, quoted: list[int], held: list[int], previous: tuple[int, int] | None) -> None:
        units = [self.record[j] for j in held]
        raw = self.text[units[0].start : units[-1].end] if units else ""
        before = self.record[previous[1]] if previous else None
        words = [self.quotation.words[i].unit for i in quoted]
        self.edits.append(type_run(words, units, before, raw, self.setting))

    def _gap(
        self, gaps: list[int], quoted: list[int], held: list[int], previous: tuple[int, int]
    ) -> None:
        """What an ellipsis, a bracket or an omitted citation stands for."""
        kinds = {self.quotation.gaps[k].kind for k in gaps}
        said = " ".join(self.quotation.gaps[k].words for k in gaps)
        units = [self.record[j] for j in held]
        raw = self.text[units[0].start : units[-1].end] if units else ""
        if quoted:
            self._run(quoted, held, previous)
            return
        danger = find_danger([unit.key for unit in units], groups=self._groups(units, previous))
        kind, why = EditKind.DISCLOSED, "words left out, shown by the quoter"
        if danger is not None:
            kind, why = EditKind.DOUBT, f'the words left out hold "{danger}"'
        elif "bracket" in kinds:
            stands = (
                f'stands for "{" ".join(unit.raw for unit in units[:14])}"'
                if units
                else "is an addition"
            )
            kind, why = (
                EditKind.DOUBT,
                f"what is in brackets {stands}: whether that is right is for you to say",
            )
        elif len(units) > max(MAX_GAP_WORDS[kind_] for kind_ in kinds):
            kind, why = EditKind.DOUBT, "the parts stand far apart in the record"
        elif kinds == {"citation"} and units and not any(unit.key.isdigit() for unit in units):
            kind, why = EditKind.DOUBT, "what was left out does not look like a citation"
        elif self._splices(units, previous):
            kind, why = EditKind.DOUBT, "the words left out join the parts of two statements"
        elif any(":" in unit.before and unit.raw.isupper() for unit in units):
            kind, why = EditKind.DOUBT, "another speaker may stand in the words left out"
        self.edits.append(Edit(kind=kind, record=raw, reply=said, why=why))

    def _groups(self, units: Sequence[Unit], previous: tuple[int, int]) -> tuple[str, ...]:
        """Which words are dangerous to leave out: more of them inside a sentence."""
        if not units:
            return GROUPS
        after = next((u for u in self.record[previous[1] + 1 :] if u.start > units[-1].start), None)
        whole = any(stop in units[0].before for stop in _STOPS) and (
            after is None or any(stop in after.before for stop in _STOPS)
        )
        return GROUPS[:3] if whole else GROUPS

    def _splices(self, units: Sequence[Unit], previous: tuple[int, int]) -> bool:
        """Whether the gap leads from the beginning of one clause into the end of the next.

        "dry when they [left Hamburg and wet when they] reached Halifax": a conjunction is left out
        with words of the second clause, and the word before the gap begins what it leaves out, too.
        """
        keys = [unit.key for unit in units]
        joints = [at for at, key in enumerate(keys) if key in _JOINTS]
        if not joints or any(stop in unit.before for unit in units for stop in _STOPS):
            return False
        return keys[-1] not in _JOINTS and keys[-1] == self.record[previous[1]].key

    def added(self) -> None:
        """Brackets before the first or after the last word: somebody's addition."""
        for at in (0, len(self.quotation.words)):
            gap = self.quotation.gaps.get(at)
            if gap is not None and gap.kind == "bracket":
                self.edits.append(
                    Edit(
                        kind=EditKind.DOUBT,
                        record="",
                        reply=gap.words,
                        why=(
                            "what is in brackets is an addition: whether it is right is for "
                            "you to say"
                        ),
                    )
                )

    def regions(self, met: set[Region]) -> None:
        """Words taken together that the page keeps apart: text, a running head, a line number."""
        if Region.LINE_NUMBER in met:
            self._doubt("a number of it may be a printed line number")
        elif len(met - {Region.EMAIL_QUOTE, Region.BODY}) and len(met) > 1:
            self._doubt("it runs together with a running head or a footnote")

    def _doubt(self, why: str) -> None:
        self.edits.append(Edit(kind=EditKind.DOUBT, record="", reply="", why=why))

    # --- places ---

    def places(self, alignment: Alignment) -> tuple[tuple[tuple[int, int], ...], int]:
        """The raw ranges the quotation rests on, and how many jumps over furniture they hold."""
        ranges: list[tuple[int, int]] = []
        jumps = 0
        last_line: int | None = None
        gap = False
        for i, j in alignment.pairs:
            if i is not None and i in self.quotation.gaps:
                gap = True
            if i is None or j is None:
                continue
            unit = self.record[j]
            parts = unit.parts or ((unit.start, unit.end),)
            for number, (start, end) in enumerate(parts):
                torn = last_line is not None and unit.line - last_line > 1 and number == 0
                between = self.text[ranges[-1][1] : start] if ranges else ""
                jump = bool(between.strip()) and (torn or number > 0) and self._skips(between)
                if not ranges or gap or jump:
                    if ranges and not gap:
                        jumps += 1
                        self._jump(ranges[-1][1], start)
                    ranges.append((start, end))
                else:
                    ranges[-1] = (ranges[-1][0], end)
                gap = False
            last_line = unit.line
        return tuple(ranges), jumps

    def _jump(self, start: int, end: int) -> None:
        """A running head with a "not" in it may be a line of the text that only looks like one."""
        first, last = self.layout.line_at(start), self.layout.line_at(end)
        for line in self.layout.lines[first + 1 : last]:
            if line.region is Region.FURNITURE:
                keys = [unit.key for unit in scan(self.text[line.start : line.end])]
                if find_danger(keys, groups=("negation",)):
                    self._doubt("the running head it jumps over holds a negation")
                    return

    @staticmethod
    def _skips(between: str) -> bool:
        """Whether the text between two neighbouring units holds a whole line of something else."""
        inner = re.split("[\n\f]", between)[1:-1]
        return any(any(c.isalnum() for c in line) for line in inner)
