"""Whether a reply and the record speak of the same event around a date or an amount.

A bag of words would pass a true date beside the wrong event. Green needs either the record's own
words in a row, or every word of the clause in the item's own part of the sentence with nothing
that turns it round: no negation, condition, "shall" or name on one side alone. Another item of the
record that fits the clause better wins. Nothing here gives a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from verify.clauses import Clause
from verify.one_sided import one_sided
from verify.periods import counted_otherwise
from verify.surroundings import (
    ITEM,
    OTHER_ITEM,
    OTHER_SENTENCE,
    OWN_PART,
    SHARED,
    Surroundings,
)
from verify.word_forms import CJK, carries_event, negations, stem
from verify.wordlists import (
    DISTANCING,
    EXCEPTIONS,
    FIRST_PERSON,
    IRREGULAR,
    MODALS,
    OBLIGATIONS,
    PARTIES,
    TITLES_OF_PEOPLE,
)

DISAGREES = 0.45
"""Below this share of the clause's weight the words are about something else."""
BETTER_BY = 0.12
"""By how much another item must fit the clause better to be the one that was meant."""
VERBATIM_WORDS = 5
"""So many equal words in a row before an item are a quotation of its place."""
NEAR_WORDS = 2
"""In a sentence with several items, the event's word is among so many words beside its item."""
CUT_OFF_WORDS = 6
"""How far before the repeated words a "denies that" or "not" of the record still governs them; a
fragment, which cuts its sentence anywhere, is held to one word."""
EXCEPTION_WORDS = 4
"""How soon after an item "unless" or "except" must follow to restrict it."""
_STANDS_FOR = frozenset(
    "he she it they we i him her them us his its their this these who which er sie il elle "
    "그 그는".split()
)
"""Words of a sentence that stand for somebody whom an earlier one names."""
_PARTY_STEMS = frozenset(map(stem, PARTIES))
_DIRECTIONS = frozenset({"from", "to", "between"})


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far a clause and the surroundings of an item agree."""

    score: float
    """Share of the clause's weight found, 0 to 1."""
    run: int
    """How many plain words directly before the item are the same."""
    verbatim: bool
    """They are so many that the reply quotes this place."""
    key: bool
    """Whether a word beside the item in the reply is one of the item's own in the record."""
    missing: tuple[str, ...]
    """Words of the clause that the record does not have there."""
    absent: bool
    """One of them stands nowhere near."""
    objection: str
    """What one side says and the other does not, in words; empty when nothing."""
    turned: bool
    """One side says "from" where the other says "to"."""

    @property
    def rank(self) -> float:
        """For sorting places: the share found, the order of words, the nearest word."""
        return self.score + 0.03 * self.run + 0.1 * self.key

    @property
    def good(self) -> bool:
        """The words agree; an objection may still stand."""
        if self.verbatim:
            return not self.absent
        return self.key and not self.missing


def compare(
    clause: Clause, around: Surroundings, granted: frozenset[str] = frozenset()
) -> Agreement:
    """How far the reply's clause agrees with what stands around an item of the record.

    Args:
        clause: The reply's clause.
        around: The item's surroundings.
        granted: Stems that need not stand there: the words of the document's title.
    """
    run = _equal_run(clause.run, around.run)
    content = sum(map(carries_event, clause.run[:run]))
    whole = run >= clause.left and len(clause.words) == content
    verbatim = content >= 2 and (run >= VERBATIM_WORDS or whole)
    total = held = 0.0
    missing, absent = [], False
    for word in clause.words:
        found = 1.0 if word.stem in granted else around.weight_of(word.stem)
        total += word.weight
        held += word.weight * (1.0 if found >= OWN_PART else found)
        if found < (OTHER_ITEM if word.beyond else SHARED):
            missing.append(word.word)
            absent = absent or (not word.beyond and found < OTHER_SENTENCE)
    turned = run == 0 and bool(_DIRECTIONS & {*clause.run[:1], *around.run[:1]})
    score = held / total if total else 0.0
    return Agreement(
        score=max(score, 0.9) if verbatim else score,
        run=run,
        verbatim=verbatim,
        key=verbatim or _key(clause, around),
        missing=tuple(missing),
        absent=absent,
        objection=_objection(clause, around, granted, run if verbatim else 0, turned, equal=run),
        turned=turned,
    )


def _equal_run(said: Sequence[str], held: Sequence[str]) -> int:
    run = 0
    for a, b in zip(said, held, strict=False):
        if a != b:
            break
        run += 1
    return run


def _key(clause: Clause, around: Surroundings) -> bool:
    own = [key for key in clause.keys if around.weight_of(key) >= OWN_PART]
    if not around.crowded:
        return clause.keys[:1] == tuple(own[:1]) != ()
    middle = around.own.index(ITEM)
    left = [word for word in around.own[:middle] if carries_event(word)][-NEAR_WORDS:]
    right = [word for word in around.own[middle + 1 :] if carries_event(word)][:NEAR_WORDS]
    return any(_says(word, key) for word in (*left, *right) for key in own)


def _says(word: str, key: str) -> bool:
    return stem(word) == key or (len(key) > 1 and bool(CJK.search(key)) and key in word)


def _objection(
    clause: Clause,
    around: Surroundings,
    granted: frozenset[str],
    verbatim: int,
    turned: bool,
    *,
    equal: int,
) -> str:
    """What turns the event round on one side alone; the words of a verbatim run are agreed."""
    start, end = _stretch(clause, around)
    cut = 1 if clause.fragment else CUT_OFF_WORDS
    governing = around.own[max(0, start - cut) : end]
    agreed = frozenset(around.run[:verbatim])
    there = negations(governing)
    if verbatim:
        there |= clause.negations & negations(around.run[verbatim - 1 :: -1])
    differing = clause.negations ^ there
    if differing:
        return f'one side says "{min(differing)}" and the other does not'
    distant = [word for word in governing if word in DISTANCING and word not in clause.plain]
    if distant:
        return f'the record says "{distant[0]}" and the reply does not'
    modal = around.own[max(0, start - (0 if clause.fragment else 2)) : end]
    if not clause.obliged and not clause.deadline and any(word in MODALS for word in modal):
        return f'the record says "{next(w for w in modal if w in MODALS)}" and the reply does not'
    if _still_to_come(clause, around):
        return "the record says that it was, the reply that it shall or may be"
    after = around.own[around.own.index(ITEM) + 1 :][:EXCEPTION_WORDS]
    if not clause.fragment and any(w in EXCEPTIONS and w not in clause.plain for w in after):
        return f'the record goes on with "{next(w for w in after if w in EXCEPTIONS)}"'
    order = [w for w in clause.sequence - agreed if around.weight_of(stem(w)) < OWN_PART]
    if order:
        return f'the record does not say "{min(order)}" there'
    strangers = [
        name
        for name in clause.names
        if name not in agreed and not _known(stem(name), around, granted, verbatim)
    ]
    if strangers:
        return f"the record does not name {strangers[0].title()} there"
    if differing_words := one_sided(clause, around.own, start, end):
        return differing_words
    if clause.pending and not _pending(around.own):
        return "the reply says that it was to be, the record that it was"
    if mistitled := _mistitled(clause.ordered, around.own):
        return f"the record has another title before {mistitled.title()}"
    if _swapped(clause, around, granted, equal):
        return "the record names the two sides in another order"
    if counted := counted_otherwise(clause.ordered, around.own):
        return counted
    return "" if verbatim else _of_the_words(clause, around, turned)


def _still_to_come(clause: Clause, around: Surroundings) -> bool:
    """The reply speaks of what will, shall or may be; the record has the same verb in the past."""
    following = (*around.own[1:], "")
    own = {w for w, after in zip(around.own, following, strict=True) if not after[:1].isdigit()}
    if not MODALS & clause.plain or OBLIGATIONS & own:  # "May 9" obliges nobody
        return False
    said = {word.stem for word in clause.words}
    return any(
        stem(word) in said
        and word not in clause.plain
        and (word.endswith("ed") or word in IRREGULAR)
        for word in around.own
    )


def _pending(own: Sequence[str]) -> bool:
    """Whether the record, too, speaks of what was still to be."""
    return "be" in own or bool(MODALS & {*own}) or "to" in own


def _mistitled(said: Sequence[str], held: Sequence[str]) -> str:
    """A name that the reply calls "Mrs." and the record, in the item's own words, only "Mr."."""
    theirs: dict[str, set[str]] = {}
    for title, name in pairwise(held):
        if title in TITLES_OF_PEOPLE:
            theirs.setdefault(name, set()).add(TITLES_OF_PEOPLE[title])
    for title, name in pairwise(said):
        known = theirs.get(name)
        if title in TITLES_OF_PEOPLE and known and TITLES_OF_PEOPLE[title] not in known:
            return name
    return ""


def _swapped(clause: Clause, around: Surroundings, granted: frozenset[str], run: int) -> bool:
    """Whether two parties or people change places: "Seller pays Buyer" for "Buyer pays Seller".

    "I" of the record is the person of the document's title, where the reply names that one. The
    ``run`` of equal words right before the item says the same on both sides.
    """
    names = {stem(name) for name in clause.names}
    run = min(run, clause.left)
    middle = around.own.index(ITEM)
    said = [stem(_elided(word)) for word in clause.ordered]
    said = [*said[: clause.left - run], ITEM, *said[clause.left :]]
    held = [stem(_elided(word)) for word in around.own]
    held = [*held[: max(0, middle - run)], *held[middle:]]
    speaker = [name for name in names if name in granted and name in said and name not in held]
    if len(speaker) == 1:
        held = [speaker[0] if word in FIRST_PERSON else word for word in held]
    ours, theirs = _sides(said, names), _sides(held, names)
    both = [side for side in ours if side in theirs]
    if not any(side in _PARTY_STEMS or side in granted for side in both):
        return False  # places and titles; the order of other names is looked at elsewhere
    return both != [side for side in theirs if side in both]


def _sides(stems: Sequence[str], names: set[str]) -> list[str]:
    """The parties and people among words in their order, each where it stands nearest the item."""
    middle = stems.index(ITEM)
    nearest: dict[str, int] = {}
    for at, word in enumerate(stems):
        if word in names or word in _PARTY_STEMS:
            known = nearest.get(word)
            if known is None or abs(at - middle) < abs(known - middle):
                nearest[word] = at
    return sorted(nearest, key=nearest.__getitem__)


def _elided(word: str) -> str:
    return re.sub(r"^[ld]['’]", "", word)


def _known(name: str, around: Surroundings, granted: frozenset[str], verbatim: int) -> bool:
    least = OTHER_ITEM if verbatim else SHARED
    if verbatim and (_STANDS_FOR & {*around.own} or len(around.own) <= verbatim + 1):
        least = OTHER_SENTENCE
    return name in granted or around.weight_of(name) >= least


def _of_the_words(clause: Clause, around: Surroundings, turned: bool) -> str:
    stems = [stem(word) for word in around.own]
    places = [stems.index(stem(name)) for name in clause.names if stem(name) in stems]
    if places != sorted(places):
        return "the record names them in another order"
    if turned:
        return 'one side says "from" or "to" where the other does not'
    middle = around.own.index(ITEM)
    attached = [word for word in around.own[:middle] if carries_event(word)][-1:]
    if (
        attached
        and _is_role(attached[0])
        and not any(_says(attached[0], word.stem) for word in clause.words)
    ):
        return f'the record says "{attached[0]}" of it, the reply does not'
    return ""


def _is_role(word: str) -> bool:
    """A participle right before an item says which date or sum it is: "dated", "filed", "due"."""
    return (len(word) > 4 and word.endswith("ed")) or word in ("effective", "sent", "held", "due")


def _stretch(clause: Clause, around: Surroundings) -> tuple[int, int]:
    """The part of the item's own words that the clause repeats, as indexes into ``around.own``.

    Reaches back over plain words of the clause, and on over one word in the languages that put
    their negation last.
    """
    own = around.own
    middle = own.index(ITEM)
    nearest: dict[str, int] = {}
    for at, word in enumerate(own if clause.right else own[:middle]):
        for one in clause.words:
            if _says(word, one.stem):
                known = nearest.get(one.stem)
                if known is None or abs(at - middle) < abs(known - middle):
                    nearest[one.stem] = at
    start = min((middle, *nearest.values()))
    end = max((middle, *nearest.values())) + 1
    while start > 0 and own[start - 1] in clause.plain:
        start -= 1
    if end < len(own) and (CJK.search(own[end]) or own[end] in ("nicht", "pas", "jamais")):
        end += 1
    return start, end


# --- weighing one place against another ---


def fits_better(rival: Agreement, own: Agreement) -> bool:
    """Whether the clause belongs to another item of the document rather than to this one."""
    if rival.verbatim and rival.run > own.run:
        return rival.run >= own.run + 2 or bool(own.missing and not rival.missing)
    if own.verbatim or rival.turned or not rival.key or rival.score < DISAGREES:
        return False
    if own.good and not rival.good:
        return False
    return rival.score >= own.score + BETTER_BY or (not own.key and rival.score >= own.score - 0.05)


def fits_as_well(rival: Agreement, own: Agreement, clause: Clause) -> bool:
    """Whether another item fits so well that the clause does not tell the two apart."""
    if own.verbatim:
        return False
    thin = len(clause.words) < 2 and rival.key and rival.run >= own.run
    return thin or (rival.good and rival.score >= own.score and rival.run > own.run)


def disagreement(clause: Clause, words: Agreement) -> str:
    """Why the words around a held item do not carry a green mark; empty when they do."""
    if not clause.keys and not words.verbatim:
        return "Found, but the reply says too little around it to compare"
    if words.score < DISAGREES:
        return "Found, but the record's words there do not speak of this"
    if words.objection:
        return f"Found, but {words.objection}"
    if not words.good:
        missing = ", ".join(words.missing[:4])
        reason = "Found, but the words around it agree only in part"
        return f"{reason}: {missing}" if missing else reason
    return ""
