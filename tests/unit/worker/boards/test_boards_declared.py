"""The boards file: what is said of one card alone, and thresholds by board or by card."""

import pytest

from bench.board_boxes import make_gpu
from protocol.errors import BadRequest
from worker.boards.declared import Declared, as_toml, load_declared
from worker.boards.verdicts import Thresholds, expected_of

TEXT = """
[[board]]
name = "north"
gpus = ["GPU-0000", "GPU-0001"]
link_width = 8
power_limit_w = 180
sm_clock_cap_mhz = 1522

[board.thresholds]
slowdown_margin_c = 5

[[card]]
uuid = "GPU-0001"
link_width = 4
power_limit_w = 150
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "boards.toml"
        path.write_text(text, "utf-8")
        return load_declared(path)

    return write


def test_a_card_may_differ_from_its_board(written):
    declared = written(TEXT)
    one, other = (expected_of(make_gpu(at), declared.of(f"GPU-000{at}")) for at in (0, 1))
    assert (one.link_width, one.power_limit_mw, one.clock_cap_mhz) == (8, 180_000, 1522)
    assert (other.link_width, other.power_limit_mw, other.clock_cap_mhz) == (4, 150_000, 1522)
    assert one.thresholds == other.thresholds == Thresholds(slowdown_margin_c=5)
    assert expected_of(make_gpu(7), declared.of("GPU-0007")).thresholds == Thresholds()


def test_a_card_s_own_thresholds_stand_in_place_of_the_board_s(written):
    declared = written(TEXT + "[card.thresholds]\npower_warn = 1.2\n")
    expected = expected_of(make_gpu(1), declared.of("GPU-0001"))
    assert expected.thresholds == Thresholds(power_warn=1.2)


def test_it_reads_back_what_it_writes(written):
    declared = written(TEXT)
    assert written(as_toml(declared)) == declared


@pytest.mark.parametrize(
    "more",
    [
        '[[card]]\nuuid = "GPU-0009"\n',
        '[[card]]\nuuid = "GPU-0001"\n',
        "[card.thresholds]\nhot = 1\n",
        "[card.thresholds]\npower_warn = 'much'\n",
    ],
)
def test_a_card_of_no_board_twice_or_with_a_wrong_key_is_refused(written, more):
    with pytest.raises(BadRequest):
        written(TEXT + more)


def test_a_file_that_cannot_be_read_is_not_a_box_without_boards(tmp_path):
    with pytest.raises(BadRequest, match="cannot be read"):
        load_declared(tmp_path)  # a folder where the file should be
    assert load_declared(tmp_path / "boards.toml") == Declared()
