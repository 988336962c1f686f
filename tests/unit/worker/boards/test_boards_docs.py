"""The table of faults on the hardware page: every fault that is tried, with what is said of it."""

from pathlib import Path

from bench.board_faults import EVERY, FAULTS

PAGE = Path(__file__).parents[4] / "docs" / "hardware.md"
BOXES = {"build_a": "", "second_box": "second box: ", "dgx_spark": "Spark: "}


def test_every_fault_stands_there_with_its_message_and_its_board():
    text = PAGE.read_text("utf-8")
    text = text[text.index("## Every fault that was tried") :]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    told = {row[0].removeprefix("| "): row for row in rows if len(row) == 5}
    tried = {BOXES[one.box] + one.name: one for one in FAULTS if one.box in BOXES}
    assert set(told) - {"fault"} == set(tried)
    for name, fault in tried.items():
        _, _, _, paused, message = told[name]
        assert fault.words in message, name
        assert paused == (fault.pauses if fault.pauses else "no: warning"), name
    assert EVERY == "every board"
