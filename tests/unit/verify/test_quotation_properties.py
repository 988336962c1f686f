"""Whatever goes in: spans map back, a spoiled quotation is never green, nothing is raised."""

import re

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from protocol.answers import GREEN, Verdict
from verify import OpenRecord, check
from verify.judging import judge_quote
from verify.layout import TEXT_REGIONS, read_layout
from verify.marks import find_marked
from verify.quotation import readings
from verify.second import fold
from verify.source import DictSource, pages_of
from verify.tokens import fold_word, scan, stream

WORDS = (
    "the tenant shall not pay rent before May unless notice was given in writing by the party"
    " and no later than thirty 30 days after 5 June 2023 of $1,200.00 or 4.5% whichever is under"
    " all sums due under section 12 he she it can cannot may must will with without Smith Jones"
).split()
OTHER = "purple seven never allegedly only none 17 99% lessee landlord not or".split()
RELAXED = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])

sentences = st.lists(st.sampled_from(WORDS), min_size=9, max_size=24)
texts = st.text(
    alphabet=st.one_of(
        st.sampled_from(" \n\f\t.,;:'\"“”‘’«»「」[]()…-–—*_>0123456789§$%\u00ad\u200b\u0301"),
        st.characters(codec="utf-8"),
    ),
    max_size=220,
)


def opened(*paragraphs: str) -> OpenRecord:
    return OpenRecord(DictSource({"a": ("Lease Agreement", "\n\n".join(paragraphs))}))


def verdict(quoted: str, record: OpenRecord) -> Verdict:
    lead = "The Lease Agreement says “"
    reply = f"{lead}{quoted}” in clause 4."
    return judge_quote(reply, (len(lead), len(lead) + len(quoted)), record).verdict


@given(texts)
@RELAXED
def test_every_unit_maps_back_to_its_characters(text: str) -> None:
    for unit in scan(text):
        assert text[unit.start : unit.end] == unit.raw
        assert fold_word(unit.raw) == unit.key
    layout = read_layout(text, pages_of(text))
    units = stream(layout, range(len(layout.lines)), regions=TEXT_REGIONS, vocabulary=frozenset())
    last = 0
    for unit in units:
        assert text[unit.start : unit.end] == unit.raw
        assert unit.start >= last
        last = unit.end


@given(texts, texts)
@RELAXED
def test_nothing_is_raised_and_spans_stay_inside(reply: str, text: str) -> None:
    for mark in find_marked(reply):
        assert 0 <= mark.outer_start <= mark.start <= mark.end <= mark.outer_end <= len(reply)
    readings(reply)
    report = check(reply, DictSource({"a": ("Lease", text), "b": ("Report", reply)}))
    for finding in report.findings:
        assert 0 <= finding.start < finding.end <= len(reply)
        assert finding.reason != "not checked"
    covered = [False] * len(reply)
    for claim in report.sentences:
        covered[claim.start : claim.end] = [True] * (claim.end - claim.start)
    assert all(c.isspace() or covered[k] for k, c in enumerate(reply))


@given(sentences, sentences, st.data())
@RELAXED
def test_a_true_quotation_is_green_or_doubted_and_in_its_place(
    before: list[str], words: list[str], data: st.DataObject
) -> None:
    text = " ".join([*before, "Then", *words, "and", "so", "on"]) + "."
    record = opened(text)
    quoted = " ".join(words)
    lead = "The Lease Agreement says “"
    reply = f"{lead}{quoted}” in clause 4."
    judged = judge_quote(reply, (len(lead), len(lead) + len(quoted)), record)
    assert judged.verdict in {*GREEN, Verdict.CHECK}
    place = judged.places[0]
    held = text[place.start : place.end]
    assert fold(held).split() == fold(quoted).split() or judged.verdict is Verdict.CHECK


@given(sentences, st.data())
@RELAXED
def test_a_material_edit_is_never_green(words: list[str], data: st.DataObject) -> None:
    text = f"Preamble of the parties. {' '.join(words)} End of the clause."
    record = opened(text, "Schedule of nothing in particular, kept for length.")
    at = data.draw(st.integers(0, len(words) - 1))
    how = data.draw(st.sampled_from(["replace", "drop", "add", "letter", "swap", "digit"]))
    spoiled = list(words)
    if how == "replace":
        spoiled[at] = data.draw(st.sampled_from(OTHER))
    elif how == "drop":
        assume(0 < at < len(words) - 1)
        del spoiled[at]
    elif how == "add":
        spoiled.insert(at, data.draw(st.sampled_from(OTHER)))
        assume(at > 0)
    elif how == "letter":
        word = spoiled[at]
        assume(word.isalpha())
        spoiled[at] = word[:-1] + data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    elif how == "swap":
        assume(at + 1 < len(words))
        spoiled[at], spoiled[at + 1] = spoiled[at + 1], spoiled[at]
    else:
        assume(any(c.isdigit() for c in spoiled[at]))
        spoiled[at] = re.sub(r"\d", lambda m: str((int(m.group()) + 1) % 10), spoiled[at], count=1)
    quoted = " ".join(spoiled)
    assume(f" {quoted.lower()} " not in f" {text.lower()} ")
    assert verdict(quoted, record) not in GREEN


@given(sentences, st.data())
@RELAXED
def test_dots_never_hide_a_dangerous_word(words: list[str], data: st.DataObject) -> None:
    danger = [k for k in range(3, len(words) - 3) if words[k] in {"not", "no", "unless", "without"}]
    assume(danger)
    at = data.draw(st.sampled_from(danger))
    rest = {*words[:at], *words[at + 1 :]}
    assume(words[at] not in rest)
    text = f"Preamble of the parties. {' '.join(words)} End of the clause."
    quoted = " ".join(
        [*words[:at], data.draw(st.sampled_from(["...", "…", "[...]"])), *words[at + 1 :]]
    )
    assert verdict(quoted, opened(text)) not in GREEN
