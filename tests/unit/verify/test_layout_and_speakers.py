"""Furniture, line numbers, footnotes, page labels; who is speaking."""

from verify.labels import label_pages
from verify.layout import Region, read_layout
from verify.source import pages_of
from verify.speakers import Speakers, Voice, same_person


def layout_of(text: str):
    return read_layout(text, pages_of(text))


def lines(text: str, region: Region) -> list[str]:
    layout = layout_of(text)
    return [
        text[line.start : line.end].strip()
        for line in layout.lines
        if line.region is region and text[line.start : line.end].strip()
    ]


def pages(count: int) -> str:
    return "\f".join(
        f"SMITH v. JONES\n\nText about {name} that is\nlonger than {name}.\n\n- {k} -\nABC-{k:06d}"
        for k, name in enumerate("apples pears plums figs dates".split()[:count], start=1)
    )


def test_what_repeats_at_the_edge_of_pages_is_furniture() -> None:
    text = pages(5)
    assert lines(text, Region.FURNITURE).count("SMITH v. JONES") == 5
    assert len(lines(text, Region.BODY)) == 10


def test_what_repeats_in_the_middle_of_pages_is_text() -> None:
    page = "Head {0}\n" + "\n".join(f"line {k} of page {{0}}" for k in range(9))
    page += "\nThe tenant shall not pay.\n" + "\n".join(f"more {k} on {{0}}" for k in range(9))
    text = "\f".join(page.format(n) for n in "abcde")
    assert lines(text, Region.BODY).count("The tenant shall not pay.") == 5


def test_page_labels_and_bates_stamps_are_read_from_the_pages() -> None:
    text = pages(4).replace("- 1 -", "- 11 -").replace("- 2 -", "- 12 -")
    text = text.replace("- 3 -", "- 13 -").replace("- 4 -", "- 14 -")
    labelled = label_pages(text, pages_of(text))
    assert [page.label for page in labelled] == ["11", "12", "13", "14"]
    assert labelled[2].bates == "ABC-000003"


def test_line_numbers_and_hoisted_ones() -> None:
    def page(name: str) -> str:
        body = (
            f"{k} {name} of {'abcdefghijklm'[k]}"[0 if k % 5 else len(str(k)) :]
            for k in range(1, 13)
        )
        return "5\n10\nOfficial\n" + "\n".join(body)

    layout = layout_of("\f".join(map(page, ["words", "signs", "names"])))
    assert layout.numbered
    printed = [line.printed for line in layout.lines if line.page == 2 and line.printed]
    assert printed == [1, 2, 3, 4, 6, 7, 8, 9, 11, 12]


def test_footnotes_under_a_rule_and_their_numbers() -> None:
    text = "The court so held.1\nIt went on\n——————\n1 See the record.\n\f2 more text\nof page two."
    layout = layout_of(text)
    assert layout.notes == {"1"}
    assert "1 See the record." in lines(text, Region.FOOTNOTE)


def test_questions_belong_to_counsel_and_answers_to_the_witness() -> None:
    text = (
        "DEPOSITION OF DANA REEVES\nQ. Did it leak?\nA. Yes.\nQ. When?\n"
        "MR. PARK: Objection.\nA. In May.\n"
    )
    speakers = Speakers(layout_of(text), "Deposition of Dana Reeves")
    asked, said = speakers.at(text.index("leak")), speakers.at(text.index("In May"))
    assert asked is not None
    assert asked.voice is Voice.QUESTION
    assert said is not None
    assert same_person(said.who, "Ms. Reeves")


def test_a_quoted_message_has_another_author() -> None:
    text = (
        "From: Osei, K. <k@x.test>\nTo: D. Reeves\n\nDo not ship.\n\n"
        "> On Jan 15, D. Reeves wrote:\n> Ship on Friday.\n"
    )
    speakers = Speakers(layout_of(text), "E-mail")
    own, quoted = speakers.at(text.index("Do not")), speakers.at(text.index("Friday"))
    assert own is not None
    assert same_person(own.who, "Osei")
    assert quoted is not None
    assert quoted.voice is Voice.QUOTED_MAIL
    assert same_person(quoted.who, "Ms. Reeves")


def test_a_contract_with_headings_in_capitals_has_no_speakers() -> None:
    text = (
        "BORROWER: Acme\nLENDER: Bank\nTITLE: President\nBY: Smith\nTITLE: Treasurer\nBY: Jones\n"
    )
    assert Speakers(layout_of(text), "Credit Agreement").turns == ()
