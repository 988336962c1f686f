"""Where models go: the reference builds, refusals, and random boxes."""

import random
from dataclasses import replace as changed_header

import msgspec
import pytest

from bench.board_boxes import build_a, build_b, make_board, make_box, make_gpu, random_box
from bench.board_models import (
    deepseek_v41_flash,
    make_header,
    qwen35_122b,
    qwen36_27b,
    qwen36_35b,
    random_header,
)
from bench.llama_split import board_changes, devices_of_slots
from protocol.errors import BadRequest
from worker.boards import GIB, Absent, Board
from worker.boards.llama_rule import board_crossings
from worker.boards.placement import Decision, PlanSettings, plan, room_on, slots_of
from worker.boards.sizes import UnknownCache, cache_needs, needs_of

SPANNING = PlanSettings(
    context_tokens=131072, span="two-boards", cache_bytes_per_token_and_layer=1152
)


def table_settings(context, kind, overhead):
    return PlanSettings(
        context_tokens=context,
        key_type=kind,
        value_type=kind,
        overhead_bytes=round(overhead * GIB),
        margin_bytes=0,
    )


# --- the table of the 122B model: pooled bytes say yes where no packing exists ----------------

FITS = {
    (32768, "q4_0"): {0.5, 0.75, 1.0},
    (131072, "q4_0"): {0.5, 0.75},
    (131072, "f16"): set(),
    (262144, "q4_0"): {0.5},
}


@pytest.mark.parametrize("overhead", [0.5, 0.75, 1.0, 1.4])
@pytest.mark.parametrize(("context", "kind"), FITS)
def test_the_122b_table(context, kind, overhead):
    box = make_box(make_board("A", range(4)))
    placement = plan(box, qwen35_122b(), table_settings(context, kind, overhead))
    if overhead in FITS[context, kind]:
        assert placement.decision is Decision.PIN
        assert placement.split == (12, 12, 12, 13)
    else:
        assert placement.decision is Decision.REFUSE
        assert placement.shortfall.short_bytes > 0


@pytest.mark.parametrize(
    ("context", "kind", "pooled"),
    [
        (32768, "q4_0", 120.4),
        (131072, "q4_0", 121.1),
        (131072, "f16", 123.2),
        (262144, "q4_0", 121.9),
    ],
)
def test_the_122b_pooled_need(context, kind, pooled):
    header = qwen35_122b()
    cache = cache_needs(header, context_tokens=context, key_type=kind, value_type=kind)
    assert sum(slots_of(needs_of(header), cache)) / GIB == pytest.approx(pooled, abs=0.2)
    assert pooled < 4 * 31.73  # summed up it always fits


# --- crossings -------------------------------------------------------------------------------


@pytest.mark.parametrize("box", [build_a(), build_b()])
def test_forty_layers_over_two_boards_cross_once(box):
    placement = plan(box, deepseek_v41_flash(), SPANNING)
    assert placement.decision is Decision.SPAN
    assert placement.split == (5, 5, 5, 5, 5, 5, 5, 6)
    assert placement.crossings == 1
    indices = [card.index for card in placement.cards]
    assert indices in ([4, 5, 8, 9, 6, 7, 10, 11], [0, 1, 2, 3, 4, 5, 6, 7])
    homes = [card.board for card in placement.cards]
    assert board_changes(devices_of_slots(40, list(placement.split)), homes) == 1


def test_index_order_crosses_more_often():
    home = {uuid: board.name for board in build_a().boards for uuid in board.uuids}
    eight = [home[f"GPU-{index:04d}"] for index in range(4, 12)]
    twelve = [home[f"GPU-{index:04d}"] for index in range(12)]
    assert board_crossings(40, [5, 5, 5, 5, 5, 5, 5, 6], eight) == 3
    assert board_crossings(40, [1] * 12, twelve) == 5
    ours = plan(build_a(), deepseek_v41_flash(), SPANNING)
    assert [card.board for card in ours.cards] not in (eight, twelve)


def test_nothing_spans_unless_it_is_asked_to():
    settings = msgspec.structs.replace(SPANNING, span="never")
    placement = plan(build_a(), deepseek_v41_flash(), settings)
    assert placement.decision is Decision.REFUSE
    assert any("two boards" in change for change in placement.would_fit)


def test_a_model_that_fits_one_board_is_pinned_even_where_it_may_span():
    settings = PlanSettings(span="two-boards")
    assert plan(build_a(), qwen36_35b(), settings).decision is Decision.PIN


def test_a_narrow_uplink_carries_no_span():
    left, right = build_b().boards
    box = make_box(left, msgspec.structs.replace(right, uplinks_healthy=False))
    assert plan(box, deepseek_v41_flash(), SPANNING).decision is Decision.REFUSE


def test_boards_of_one_numa_node_are_preferred():
    boards = []
    for number, node in enumerate((0, 1, 1)):
        cards = tuple(make_gpu(number * 4 + at, numa_node=node) for at in range(4))
        boards.append(Board(name="ABC"[number], gpus=cards))
    placement = plan(make_box(*boards), deepseek_v41_flash(), SPANNING)
    assert set(placement.boards) == {"B", "C"}


# --- pins ------------------------------------------------------------------------------------


def test_the_smallest_board_that_takes_it_is_chosen_and_its_roomiest_card_first():
    placement = plan(build_a(), qwen36_35b(), PlanSettings(context_tokens=4096))
    assert placement.boards == ("mixed",)
    assert [card.index for card in placement.cards] == [2, 3]
    assert placement.split[0] > placement.split[1]


def test_an_ill_board_is_passed_over():
    north = make_board("north", range(4), healthy=False, reason="it lost a card")
    south = make_board("south", range(4, 8))
    assert plan(
        make_box(north, south), qwen35_122b(), table_settings(32768, "q4_0", 0.5)
    ).boards == ("south",)
    refused = plan(make_box(north), qwen35_122b(), PlanSettings())
    assert refused.decision is Decision.REFUSE
    assert "it lost a card" in refused.reason


def test_flags_leave_nothing_open_and_cards_are_named_by_uuid():
    placement = plan(build_b(), qwen35_122b(), table_settings(32768, "q4_0", 0.5))
    said = " ".join(placement.flags)
    for flag in (
        "-sm layer", "-ts 12,12,12,13", "-ngl all", "--fit off", "-c 32768", "-np 1", "-fa on",
        "-ctk q4_0", "-ctv q4_0",
    ):  # fmt: skip
        assert flag in said
    assert placement.environment == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "GPU-0000,GPU-0001,GPU-0002,GPU-0003",
    }


def test_memory_that_others_hold_does_not_count():
    busy = tuple(make_gpu(at, memory_free_bytes=20 * GIB, foreign_processes=1) for at in range(4))
    box = make_box(Board(name="A", gpus=busy))
    placement = plan(box, qwen35_122b(), table_settings(32768, "q4_0", 0.5))
    assert placement.decision is Decision.REFUSE
    assert any("other programs" in change for change in placement.would_fit)


def test_a_draft_model_is_added_to_the_first_card():
    header = make_header(
        "llama", [4 * GIB] * 8, output=GIB, embedding=GIB, kind=24,
        values={"embedding_length": 4096, "attention.head_count": 32, "attention.head_count_kv": 1},
    )  # fmt: skip
    box = make_box(make_board("A", (0, 1)))
    plain = plan(box, header, PlanSettings(context_tokens=4096))
    drafted = plan(box, header, PlanSettings(context_tokens=4096, draft_bytes=10 * GIB))
    assert plain.split == (4, 5)
    assert drafted.split == (3, 6)


# --- refusals and warnings --------------------------------------------------------------------


def test_a_refusal_names_the_card_the_shortage_and_what_would_fit():
    box = make_box(make_board("A", range(4)))
    placement = plan(box, qwen35_122b(), table_settings(131072, "f16", 0.5))
    assert placement.decision is Decision.REFUSE
    assert placement.shortfall.uuid == "GPU-0003"
    assert "GPU 3 (0000:04:00.0) of board A" in placement.reason
    assert placement.shortfall.short_bytes / GIB == pytest.approx(0.14, abs=0.01)
    assert placement.would_fit[0] == "the same context with a q8_0 kv_cache"
    assert any("a context of" in change for change in placement.would_fit)
    assert placement.flags == ()


def test_what_would_fit_does_fit():
    box = make_box(make_board("A", range(4)))
    settings = table_settings(131072, "f16", 0.5)
    said = next(c for c in plan(box, qwen35_122b(), settings).would_fit if "a context of" in c)
    smaller = msgspec.structs.replace(settings, context_tokens=int(said.split()[3]))
    assert plan(box, qwen35_122b(), smaller).decision is Decision.PIN


def test_lookup_tables_need_host_memory():
    box = msgspec.structs.replace(build_b(), memory=make_box(host_gib=128).memory)
    placement = plan(box, deepseek_v41_flash(), SPANNING)
    assert placement.decision is Decision.REFUSE
    assert placement.shortfall.where == "host memory"
    assert placement.host_bytes > 110e9


def test_host_memory_counts_cache_copies_of_states_and_what_is_locked():
    header = qwen36_27b()
    small = PlanSettings(context_tokens=4096, cache_ram_mib=0)
    base = plan(build_b(), header, small).host_bytes
    state = cache_needs(header, context_tokens=4096).checkpoint_bytes
    assert base == needs_of(header).embedding_bytes + 32 * state
    two = plan(build_b(), header, msgspec.structs.replace(small, slots=2)).host_bytes
    assert two == base + 32 * state
    more = msgspec.structs.replace(small, cache_ram_mib=1024, pinned_bytes=5)
    assert plan(build_b(), header, more).host_bytes == base + GIB + 5


def test_a_large_dense_model_on_volta_gets_a_warning():
    warned = plan(build_b(), qwen36_27b(), PlanSettings(context_tokens=4096))
    assert any("40 tokens a second" in warning for warning in warned.warnings)
    cards = tuple(make_gpu(at, compute="8.6") for at in range(4))
    ampere = plan(make_box(Board(name="A", gpus=cards)), qwen36_27b(), PlanSettings())
    assert ampere.warnings == ()
    assert plan(build_b(), qwen36_35b(), PlanSettings()).warnings == ()


def test_an_unknown_cache_is_not_guessed():
    with pytest.raises(UnknownCache):
        plan(build_a(), deepseek_v41_flash(), PlanSettings(span="two-boards"))


def test_a_box_without_cards_refuses():
    placement = plan(make_box(), qwen36_35b(), PlanSettings())
    assert placement.decision is Decision.REFUSE
    assert "no graphics card" in placement.reason


@pytest.mark.parametrize(
    "settings",
    [PlanSettings(span="three"), PlanSettings(context_tokens=0), PlanSettings(key_type="q3")],
)
def test_settings_without_sense_are_refused(settings):
    with pytest.raises(BadRequest):
        plan(build_a(), qwen36_35b(), settings)


def test_a_card_whose_memory_cannot_be_read_takes_nothing():
    unread = make_gpu(0, memory_free_bytes=Absent("not reported"))
    assert room_on(unread, PlanSettings()) == 0
    placement = plan(make_box(Board(name="A", gpus=(unread,))), qwen36_35b(), PlanSettings())
    assert placement.decision is Decision.REFUSE


def test_more_layers_in_the_tensors_than_in_the_header_is_refused():
    header = qwen36_35b()
    values = header.values | {"qwen35moe.block_count": 3}
    with pytest.raises(BadRequest):
        plan(build_a(), changed_header(header, values=values), PlanSettings())


def test_on_a_spark_the_host_s_share_comes_out_of_the_card():
    memory = 119 * GIB
    spark = make_gpu(0, unified=True, memory_bytes=memory, memory_free_bytes=memory, compute="12.1")
    box = make_box(Board(name="spark", gpus=(spark,)), host_gib=119)
    roomy = PlanSettings(context_tokens=32768, cache_ram_mib=8192)
    placement = plan(box, qwen36_35b(), roomy)
    assert placement.decision is Decision.PIN
    (card,) = placement.cards
    assert card.room_bytes == room_on(spark, roomy) - placement.host_bytes
    greedy = msgspec.structs.replace(roomy, cache_ram_mib=90 * 1024)
    assert plan(box, qwen36_35b(), greedy).decision is Decision.REFUSE


# --- random boxes ----------------------------------------------------------------------------


def test_random_placements_hold_what_they_promise():
    chance = random.Random(11)
    decisions = dict.fromkeys(Decision, 0)
    for _ in range(700):
        box, header = random_box(chance), random_header(chance)
        settings = PlanSettings(
            context_tokens=chance.choice([2048, 32768, 131072]),
            span=chance.choice(["never", "two-boards"]),
        )
        placement = plan(box, header, settings)
        decisions[placement.decision] += 1
        if placement.decision is Decision.REFUSE:
            assert placement.flags == ()
            continue
        check_against_llama(placement, header, settings)
        healthy = {board.name for board in box.boards if board.healthy}
        assert set(placement.boards) <= healthy
        assert len(placement.boards) == (1 if placement.decision is Decision.PIN else 2)
    assert min(decisions.values()) > 15


def check_against_llama(placement, header, settings):
    needs = needs_of(header)
    cache = cache_needs(
        header,
        context_tokens=settings.context_tokens,
        key_type=settings.key_type,
        value_type=settings.value_type,
    )
    devices = devices_of_slots(len(needs.layers), list(placement.split))
    held = [0] * len(placement.cards)
    for size, device in zip(slots_of(needs, cache), devices, strict=True):
        held[device] += size
    for load, card in zip(held, placement.cards, strict=True):
        assert load == card.load_bytes <= card.room_bytes
    homes = [card.board for card in placement.cards]
    assert board_changes(devices, homes) == placement.crossings == len(placement.boards) - 1
