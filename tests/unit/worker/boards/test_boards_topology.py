"""Boards as full NVLink cliques, and what differs from the boards file."""

import random

import msgspec
import pytest

from bench.board_boxes import make_box, make_gpu
from protocol.errors import BadRequest
from worker.boards import Absent, HostMemory, LostGpu, NvLink, Severity, Survey, Trouble
from worker.boards.declared import (
    Declared,
    DeclaredBoard,
    as_declared,
    as_toml,
    load_declared,
)
from worker.boards.topology import cliques, joined
from worker.boards.topology import make_box as box_of

MEMORY = HostMemory(total_bytes=2**39, available_bytes=2**38)


def gpus_with_links(pairs, count):
    def links(index):
        peers = [b if a == index else a for a, b in pairs if index in (a, b)]
        return tuple(
            NvLink(number=at, active=True, remote_pci=f"0000:{peer + 1:02x}:00.0")
            for at, peer in enumerate(peers)
        )

    return [make_gpu(index, links=links(index)) for index in range(count)]


def groups(gpus):
    return [
        sorted(int(uuid[-4:]) for uuid in group)
        for group in cliques(joined(gpus), [gpu.uuid for gpu in gpus])
    ]


def mesh(*indices):
    return [(a, b) for a in indices for b in indices if a < b]


def survey(gpus, driver="580.126.09", **more):
    return Survey(driver=driver, branch="r580", gpus=tuple(gpus), **more)


def declared(*boards, **more):
    return Declared(
        board=tuple(
            DeclaredBoard(name=name, gpus=tuple(f"GPU-{at:04d}" for at in cards), link_width=8)
            for name, cards in boards
        ),
        **more,
    )


FOUR = gpus_with_links(mesh(0, 1, 2, 3), 4)
A = declared(("A", range(4)))


def test_interleaved_boards_are_found():
    pairs = [(0, 1), (2, 3), *mesh(4, 5, 8, 9), *mesh(6, 7, 10, 11)]
    assert sorted(groups(gpus_with_links(pairs, 12))) == [
        [0, 1],
        [2, 3],
        [4, 5, 8, 9],
        [6, 7, 10, 11],
    ]


def test_a_cube_mesh_of_eight_is_two_boards_of_four():
    pairs = mesh(0, 1, 2, 3) + mesh(4, 5, 6, 7) + [(at, at + 4) for at in range(4)]
    assert groups(gpus_with_links(pairs, 8)) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_one_cut_pair_splits_off_a_card():
    pairs = [pair for pair in mesh(4, 5, 8, 9) if pair != (5, 9)]
    found = groups(gpus_with_links(pairs, 10))
    assert [4, 5, 8] in found
    assert [9] in found


def test_cards_without_nvlink_are_boards_of_one():
    assert groups(gpus_with_links([], 3)) == [[0], [1], [2]]


def test_cards_on_switches_are_all_joined():
    link = (NvLink(number=0, active=True, to_switch=True),)
    assert groups([make_gpu(at, links=link) for at in range(8)]) == [list(range(8))]


def test_a_link_that_is_off_joins_nothing():
    off = (NvLink(number=0, active=False, remote_pci="0000:02:00.0"),)
    assert groups([make_gpu(0, links=off), make_gpu(1)]) == [[0], [1]]


def test_one_end_suffices_to_say_that_two_are_joined():
    gpus = gpus_with_links([(0, 1)], 2)
    assert groups([gpus[0], make_gpu(1)]) == [[0, 1]]


def test_random_graphs_are_parted_into_cliques():
    chance = random.Random(3)
    for _ in range(300):
        count = chance.randint(1, 10)
        pairs = [pair for pair in mesh(*range(count)) if chance.random() < 0.6]
        gpus = gpus_with_links(pairs, count)
        graph = joined(gpus)
        parts = cliques(graph, [gpu.uuid for gpu in gpus])
        assert sorted(uuid for part in parts for uuid in part) == sorted(graph)
        for part in parts:
            assert all(b in graph[a] for a in part for b in part if a != b)
        largest = len(parts[0])
        for uuid in graph:  # no card joined to all of the first part was left out
            assert uuid in parts[0] or not set(parts[0]) <= graph[uuid], largest


# --- what differs -----------------------------------------------------------------------------


def kinds(box):
    return [notice.kind for notice in box.notices]


def test_a_box_as_declared_has_nothing_to_say():
    box = box_of(survey(FOUR), A, MEMORY)
    assert box.notices == ()
    assert [board.name for board in box.boards] == ["A"]
    assert box.boards[0].healthy


def test_a_cut_board_keeps_its_name_and_is_ill():
    cut = gpus_with_links([pair for pair in mesh(0, 1, 2, 3) if 3 not in pair], 4)
    box = box_of(survey(cut), A, MEMORY)
    assert [(board.name, board.healthy) for board in box.boards] == [("A", False), ("A-B", True)]
    assert kinds(box) == ["nvlink_cut"]
    assert "3 of its 4 cards" in box.notices[0].reason


def test_a_lost_card_without_a_name_gets_the_only_missing_one():
    box = box_of(survey(FOUR[:3], lost=(LostGpu(index=3),)), A, MEMORY)
    assert box.lost[0].uuid == "GPU-0003"
    assert kinds(box) == ["lost_card", "lost_card"]
    assert "card 3 of board A is gone from the bus" in box.notices[0].reason
    assert not box.boards[0].healthy


def test_two_nameless_lost_cards_are_not_guessed():
    lost = (LostGpu(index=2), LostGpu(index=3))
    box = box_of(survey(FOUR[:2], lost=lost), A, MEMORY)
    assert [gpu.uuid for gpu in box.lost] == ["", ""]
    assert kinds(box).count("missing_card") == 2


def test_a_narrow_link_is_a_warning_and_takes_the_board_off_spans():
    gpus = [msgspec.structs.replace(FOUR[0], link_width=4), *FOUR[1:]]
    box = box_of(survey(gpus), A, MEMORY)
    assert [notice.severity for notice in box.notices] == [Severity.WARN]
    assert box.boards[0].healthy
    assert not box.boards[0].uplinks_healthy
    assert "4 PCIe lanes instead of 8" in box.notices[0].reason


def test_a_port_split_wrongly_is_seen_though_its_most_reads_four_too():
    gpus = [msgspec.structs.replace(FOUR[0], link_width=4, link_width_most=4), *FOUR[1:]]
    assert kinds(box_of(survey(gpus), A, MEMORY)) == ["link_width"]
    assert kinds(box_of(survey(gpus), Declared(), MEMORY)) == []  # nothing says it should be 8


def test_one_lane_stops_the_board():
    gpus = [msgspec.structs.replace(FOUR[0], link_width=1), *FOUR[1:]]
    assert not box_of(survey(gpus), A, MEMORY).boards[0].healthy


def test_a_driver_that_ignores_volta_is_named():
    box = box_of(survey([], driver="595.10"), Declared(), MEMORY, volta_on_bus=12)
    assert "driver 595 is too new: it ignores the box's 12 Volta cards" in box.notices[0].reason


def test_another_branch_on_a_volta_box_is_a_warning():
    assert kinds(box_of(survey(FOUR, driver="535.1"), A, MEMORY)) == ["driver_branch"]
    assert kinds(box_of(survey([], driver="610.1"), Declared(), MEMORY)) == []


def test_a_power_limit_other_than_declared_is_a_warning():
    wanted = msgspec.structs.replace(A.board[0], power_limit_w=150)
    box = box_of(survey(FOUR), Declared(board=(wanted,)), MEMORY)
    assert kinds(box) == ["power_limit"] * 4
    assert "may draw 180 W; 150 W are declared" in box.notices[0].reason


def test_a_card_cut_into_parts_is_refused():
    gpus = [msgspec.structs.replace(FOUR[0], mig_on=1), *FOUR[1:]]
    box = box_of(survey(gpus), A, MEMORY)
    assert kinds(box) == ["mig"]
    assert not box.boards[0].healthy


def test_a_driver_that_cannot_be_asked_leaves_no_boards():
    box = box_of(Trouble(kind="no_driver", reason="it is not running"), A, MEMORY)
    assert box.boards == ()
    assert box.trouble is not None
    assert box.notices[0].severity is Severity.PAUSE


def test_many_boards_get_names_beyond_the_alphabet():
    gpus = [make_gpu(at) for at in range(30)]
    names = [board.name for board in box_of(survey(gpus), Declared(), MEMORY).boards]
    assert names[:2] == ["A", "B"]
    assert names[26:28] == ["AA", "AB"]
    assert len(set(names)) == 30


# --- the boards file --------------------------------------------------------------------------


def test_what_is_seen_can_be_written_and_read_back(tmp_path):
    box = box_of(survey(FOUR), Declared(), MEMORY)
    path = tmp_path / "boards.toml"
    path.write_text(as_toml(as_declared(box)), "utf-8")
    read = load_declared(path)
    assert read.board[0].gpus == box.boards[0].uuids
    assert read.board[0].power_limit_w == 180
    assert read.board[0].link_width == 8
    assert box_of(survey(FOUR), read, MEMORY).notices == ()


def test_a_card_that_shares_memory_has_no_width_to_declare():
    spark = make_gpu(0, link_width_most=Absent("no"), power_limit_mw=Absent("no"), unified=True)
    board = as_declared(box_of(survey([spark]), Declared(), MEMORY)).board[0]
    assert (board.link_width, board.power_limit_w) == (None, None)


def test_no_boards_file_means_nothing_is_declared(tmp_path):
    assert load_declared(tmp_path / "none.toml") == Declared()


@pytest.mark.parametrize(
    "text",
    [
        "[[board]]\nname = 'A'\n",
        "[[board]]\nname = 'A'\ngpus = ['x', 'x']\n",
        "[[board]]\nname = 'A'\ngpus = ['x']\n[[board]]\nname = 'A'\ngpus = ['y']\n",
        "[[board]]\nname = 'A'\ngpus = ['x']\nwidht = 8\n",
        "board = 'secret-sentence'",
        "not toml at all",
        "\udcff",
    ],
)
def test_a_wrong_boards_file_is_refused_without_its_values(tmp_path, text):
    path = tmp_path / "boards.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadRequest) as caught:
        load_declared(path)
    assert "secret-sentence" not in caught.value.message


def test_a_box_of_values_has_its_cards_in_the_driver_s_order():
    box = make_box(*box_of(survey(FOUR), A, MEMORY).boards)
    assert [gpu.index for gpu in box.gpus] == [0, 1, 2, 3]
    assert box.board_of("GPU-0002").name == "A"
    assert box.board_of("nobody") is None
