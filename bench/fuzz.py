"""Fuzzes the quotation checker: true quotations of real documents, spoiled in every way we know.

A spoiled quotation that comes back green is the one unforgivable fault. True quotations are mixed
in so that a checker which says CHECK to everything shows as useless.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.mutations import ALWAYS_WRONG, MUTATIONS, Sample
from protocol.answers import GREEN, Verdict
from protocol.ids import DocumentId
from verify.judged import Judged
from verify.judging import judge_quote
from verify.layout import Layout, Region
from verify.record import OpenRecord
from verify.source import DictSource
from verify.speakers import Voice

_MARKS = [("“", "”"), ('"', '"'), ("‘", "’"), ("«", "»"), ("„", "“"), ("「", "」"), ("『", "』")]
_LEADS = [
    "{title} "
    "states: ", "According to {title}, ", "In {title}, the text reads: ", "As {title} puts it, ",
    "{title} is explicit: ", "The relevant passage of {title} is ", "{title} provides that ",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One quotation tried."""

    kind: str
    """The mutation; ``true`` and its like for faithful ones, ``wrong_*`` for attributions."""
    reply: str
    span: tuple[int, int]
    documents: tuple[str, ...]
    green_allowed: bool
    green_expected: bool


class Fuzzer:
    """Draws trials from a set of documents.

    Args:
        documents: Id to (title, text).
        seed: The same seed draws the same trials.
    """

    def __init__(self, documents: Mapping[str, tuple[str, str]], seed: int) -> None:
        self._rng = random.Random(seed)
        self.record = OpenRecord(DictSource(documents))
        self._titles = {name: title for name, (title, _) in documents.items()}
        self._names = sorted(name for name in documents if len(documents[name][1]) > 4_000)
        self._plain = {
            name: (*_forms(text), f" {_plain(self._body(name))} ")
            for name, (_, text) in documents.items()
        }
        words = {w for _, text in documents.values() for w in re.findall(r"\b[a-z]{4,12}\b", text)}
        self._vocabulary = tuple(sorted(words))

    def trials(self, wanted: int) -> Iterator[Trial]:
        """Spoiled quotations and, one in six, true ones; ``wanted`` counts the spoiled."""
        made = 0
        while made < wanted:
            found = self._sample()
            if found is None:
                continue
            name, sample = found
            scope = self._scope(name)
            if self._rng.random() < 0.6:
                yield self._true(name, sample, scope)
            if self._rng.random() < 0.12:
                trial = self._misplaced(name, sample, scope)
                if trial:
                    made += 1
                    yield trial
            kinds = list(MUTATIONS)
            self._rng.shuffle(kinds)
            tried = 0
            for kind in kinds:
                words = MUTATIONS[kind](sample, self._rng)
                if words is None or words == list(sample.words) or len(words) < 3:
                    continue
                spoiled = " ".join(words)
                if kind not in ALWAYS_WRONG and self._is_true(spoiled, scope):
                    continue
                made += 1
                tried += 1
                yield self._trial(kind, name, spoiled, scope, good=False)
                if tried >= 6 or made >= wanted:
                    break

    def judge(self, trial: Trial) -> Judged:
        """What the checker says of a trial."""
        scope = [DocumentId(name) for name in trial.documents]
        return judge_quote(trial.reply, trial.span, self.record, scope)

    # --- drawing ---

    def _scope(self, name: str) -> tuple[str, ...]:
        others = [other for other in self._names if other != name]
        return (name, *self._rng.sample(others, min(5, len(others))))

    def _sample(self) -> tuple[str, Sample] | None:
        name = self._rng.choice(self._names)
        words = self._run(name, self._rng.choice([4, 6, 8, 12, 18, 25, 40]), margin=3)
        if words is None:
            return None
        other = self._rng.choice(self._names)
        elsewhere, foreign = self._run(name, 12), self._run(other, 12)
        if elsewhere is None or foreign is None:
            return None
        core = tuple(words[3:-3])
        return name, Sample(
            words=core,
            before=tuple(words[:3]),
            after=tuple(words[-3:]),
            elsewhere=tuple(elsewhere),
            foreign=tuple(foreign),
            vocabulary=self._vocabulary,
        )

    def _body(self, name: str) -> str:
        """A document read on over its pages, as the samples are drawn."""
        layout = self.record.layout(DocumentId(name))
        lines = (line for line in layout.lines if line.region is Region.BODY)
        return " ".join(layout.text[line.content : line.end] for line in lines)

    def _run(self, name: str, size: int, margin: int = 0) -> list[str] | None:
        """Words of one document as a person would copy them: lines joined, numbers left out."""
        layout = self.record.layout(DocumentId(name))
        start = self._rng.randrange(len(layout.lines))
        words: list[str] = []
        for line in layout.lines[start : start + 400]:
            if line.region is not Region.BODY:
                continue
            content = layout.text[line.content : line.end]
            if words and words[-1][-1:] in "-\u00ad\x02":
                return None
            words += content.split()
            if len(words) >= size + 2 * margin:
                break
        words = words[: size + 2 * margin]
        whole = " ".join(words)
        if (
            len(words) < size + 2 * margin
            or not _good(whole)
            or not _good(" ".join(words[margin : len(words) - margin or None]))
        ):
            return None
        return words

    def _is_true(self, spoiled: str, scope: tuple[str, ...]) -> bool:
        """Whether the spoiled words happen to stand in the record after all."""
        return any(self._holds(name, spoiled) for name in scope)

    def _holds(self, name: str, words: str) -> bool:
        """Whether a document holds the words; parts between dots in order and near each other."""
        parts = [
            f" {_plain(part)} " for part in re.split(r"\.\.\.|\. \. \.|…", words) if _plain(part)
        ]
        return any(_in_order(form, parts) for form in self._plain[name])

    # --- replies ---

    def _trial(
        self,
        kind: str,
        name: str,
        quoted: str,
        scope: tuple[str, ...],
        *,
        good: bool,
        title: str = "",
        lead: str = "",
    ) -> Trial:
        opening, closing = self._rng.choice(_MARKS)
        lead = lead or self._rng.choice(_LEADS)
        start = lead.format(title=title or self._titles[name]) + opening
        if self._rng.random() < 0.3 and not lead.startswith("The relevant"):
            start = "Summary.\n\n1. " + start
        reply = f"{start}{quoted}{closing}."
        return Trial(
            kind=kind, reply=reply, span=(len(start), len(start) + len(quoted)), documents=scope,
            green_allowed=good, green_expected=good,
        )  # fmt: skip

    def _true(self, name: str, sample: Sample, scope: tuple[str, ...]) -> Trial:
        words = " ".join(sample.words)
        kind = self._rng.choice(["true", "true_curly", "true_spaces", "true_bracket_case"])
        if kind == "true_curly":
            words = words.replace("'", "’")
        elif kind == "true_spaces":
            words = words.replace(" ", "\u00a0", 2)
        elif (
            kind == "true_bracket_case"
            and sample.words[0][:1].isupper()
            and sample.words[0].isalpha()
            and len(sample.words[0]) > 1
        ):
            words = f"[{words[0].lower()}]{words[1:]}"
        return self._trial(kind, name, words, scope, good=True)

    def _misplaced(self, name: str, sample: Sample, scope: tuple[str, ...]) -> Trial | None:
        words = " ".join(sample.words)
        if len(sample.words) < 6:
            return None
        kind = self._rng.choice(["wrong_document", "wrong_page", "wrong_speaker"])
        if kind == "wrong_document":
            other = self._rng.choice(scope[1:])
            if self._holds(other, words):
                return None
            return self._trial(kind, name, words, scope, good=False, title=self._titles[other])
        layout = self.record.layout(DocumentId(name))
        at = _find(layout, sample)
        if at is None:
            return None
        if kind == "wrong_page":
            if len(layout.pages) < 3:
                return None
            page = layout.page_at(at)
            wrong = self._rng.choice(
                [n for n in range(1, len(layout.pages) + 40) if abs(n - page) > 1]
            )
            return self._trial(
                kind, name, words, scope, good=False, lead=f"{{title}}, PDF p. {wrong}, reads "
            )
        speakers = self.record.speakers(DocumentId(name))
        turn = speakers.at(at)
        names = sorted(
            {
                t.who
                for t in speakers.turns
                if t.who
                and t.voice is Voice.PLAIN
                and t.who.startswith(("MR.", "MS.", "JUSTICE", "GENERAL"))
            }
        )
        others = [
            who
            for who in names
            if turn is not None and who != turn.who and who.split()[-1] != turn.who.split()[-1]
        ]
        if turn is None or not others:
            return None
        who = self._rng.choice(others).title()
        return self._trial(
            kind,
            name,
            words,
            scope,
            good=False,
            lead=f"At argument (see {{title}}), {who} stated: ",
        )


def _find(layout: Layout, sample: Sample) -> int | None:
    """Where a sample begins, if its first words stand there only once."""
    pattern = r"\s+(?:\d{1,2}\s+)?".join(map(re.escape, sample.words[:6]))
    found = [m.start() for m in re.finditer(pattern, layout.text)]
    return found[0] if len(found) == 1 else None


def _good(words: str) -> bool:
    """Prose with letters; no marks, no brackets of its own, no broken words."""
    if re.search(
        r"[\"“”‘\[\]«»„「」『』…<>*_|\x02\uf02d\u00ad\ufffd]|\.\s?\.\s?\.|(?<!\w)'|-$|--|:$", words
    ):
        return False
    letters = sum(c.isalpha() for c in words)
    return letters > 0.7 * len(words.replace(" ", "")) and not re.search(r"[A-Z]{3,}[.' ]", words)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _in_order(form: str, parts: list[str]) -> bool:
    start = form.find(parts[0])
    while start >= 0:
        at = start + len(parts[0]) - 1
        for part in parts[1:]:
            at = form.find(part, at, at + 4_000)
            if at < 0:
                break
            at += len(part) - 1
        if at >= 0:
            return True
        start = form.find(parts[0], start + 1)
    return False


def _forms(text: str) -> tuple[str, ...]:
    """A text as plain words: as it is, without line numbers, without line-end hyphens."""
    bare = re.sub(r"(?m)^[ \t\u00a0]*\d{1,2}(?=\s)", "", text.replace("\f", "\n"))
    made = (
        text,
        bare,
        re.sub(r"[-\u00ad\x02]\s*\n\s*", "", bare),
        re.sub(r"[-\u00ad\x02]\s*\n\s*", "-", bare),
    )
    return tuple(f" {_plain(form)} " for form in made)


def passes(verdict: Verdict) -> bool:
    """Whether a verdict shows as green."""
    return verdict in GREEN
