"""Cites of law: found in the record's text or not; never more than form beyond that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.answers import GREEN, Verdict
from verify.authorities import find_reporter_cites
from verify.citations import find_authority_cites, judge_authority_cite
from verify.judged import Judged
from verify.source import DictSource

BRIEF = (
    "See United States v. Winston, 558 F.2d 105, 108 & n.3 (2d Cir. 1977); Gonzalez "
    "v. Crosby, 545\n"
    "U. S. 524, 536 (2005). Pearson v. Callahan, 129 S. Ct. 808 (2009). See 28 U.S.C. § 1746."
)
OTHER = "Padilla v. Rodriguez, 212\n\nF.3d 69, 74 (1st Cir. 2000)."
DOCUMENTS = {"brief": ("Opening Brief", BRIEF), "other": ("Reply Letter", OTHER)}


def judge(reply: str, marked: str) -> Judged:
    start = reply.index(marked)
    return judge_authority_cite(reply, (start, start + len(marked)), DictSource(DOCUMENTS))


@pytest.mark.parametrize(
    ("reply", "marked"),
    [
        ("Opening Brief relies on 558 F.2d 105.", "558 F.2d 105"),
        ("See 545 U.S. 524, cited in Opening Brief.", "545 U.S. 524"),
        ("Opening Brief cites 129 S.Ct. 808 for this rule.", "129 S.Ct. 808"),
        (
            "Opening Brief cites United States v. Winston, 558 F. 2d 105, 108 (2d Cir. 1977).",
            "558 F. 2d 105",
        ),
        ("See 212 F.3d 69.", "212 F.3d 69"),
        ("Opening Brief cites 28 U.S.C. § 1746.", "28 U.S.C. § 1746"),
    ],
)
def test_a_cite_the_record_holds_is_verified_as_cited(reply: str, marked: str) -> None:
    judged = judge(reply, marked)
    assert judged.verdict is Verdict.VERIFIED, judged.reason
    assert "not validated" in judged.reason


@pytest.mark.parametrize(
    ("reply", "marked", "verdict"),
    [
        ("Opening Brief relies on 558 F.2d 106.", "558 F.2d 106", Verdict.NOT_FOUND),
        ("Opening Brief relies on 558 F.3d 105.", "558 F.3d 105", Verdict.NOT_FOUND),
        ("Opening Brief relies on 58 F.2d 105.", "58 F.2d 105", Verdict.NOT_FOUND),
        ("Opening Brief relies on 558 F.2d 10.", "558 F.2d 10", Verdict.NOT_FOUND),
        ("Opening Brief relies on 212 F.3d 69.", "212 F.3d 69", Verdict.MISATTRIBUTED),
        ("It cites Smith v. Jones, 558 F.2d 105.", "558 F.2d 105", Verdict.MISATTRIBUTED),
        ("United States v. Winston, 558 F.2d 105 (2d Cir. 1987).", "558 F.2d 105", Verdict.ALTERED),
        ("Winston is 558 F.2d 105, 117.", "558 F.2d 105", Verdict.CHECK),
        ("As held in 347 U.S. 483, it is so.", "347 U.S. 483", Verdict.CHECK),
        ("Opening Brief cites 28 U.S.C. § 1747.", "28 U.S.C. § 1747", Verdict.NOT_FOUND),
    ],
)
def test_any_other_cite_is_not_green(reply: str, marked: str, verdict: Verdict) -> None:
    judged = judge(reply, marked)
    assert judged.verdict is verdict, judged.reason
    assert judged.verdict not in GREEN


def test_reporter_and_statute_cites_of_a_reply_are_found() -> None:
    text = "See Celotex Corp. v. Catrett, 477 U.S. 317, 322 (1986), and 42 U.S.C. § 1983."
    found = [text[start:end] for start, end in find_authority_cites(text)]
    assert any("477 U.S. 317" in cite for cite in found)
    assert any("42 U.S.C. § 1983" in cite for cite in found)


@pytest.mark.parametrize("marked", ["§ 1", "U.S.C.", "Rule A"])
def test_what_is_too_short_or_holds_no_number_is_not_looked_up(marked: str) -> None:
    judged = judge(f"Opening Brief relies on {marked} here.", marked)
    assert judged.verdict is Verdict.CHECK
    assert "Not read as a cite" in judged.reason


def test_further_places_stand_beside_the_first() -> None:
    many = DictSource({f"d{n}": (f"Brief {n}", f"See 545 U.S. 524. {n}") for n in range(9)})
    judged = judge_authority_cite("See 545 U.S. 524.", (4, 16), many)
    assert judged.verdict is Verdict.VERIFIED
    assert len(judged.places) == 1
    assert len(judged.also_in) == 5
    assert judged.places[0] not in judged.also_in


@given(st.text(max_size=80))
def test_any_text_is_read_without_failing(text: str) -> None:
    for cite in find_reporter_cites(text):
        assert 0 <= cite.start < cite.end <= len(text)
