"""Bytes by architecture family, against published and logged figures."""

import struct
from dataclasses import replace

import pytest
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.board_boxes import build_b
from bench.board_models import deepseek_v41_flash, gemma4_26b, make_header, qwen36_27b
from protocol.errors import BadRequest, NotFound
from worker.boards import GIB, MIB
from worker.boards.model_file import TensorInfo
from worker.boards.placement import PlanSettings, plan
from worker.boards.sizes import (
    _BLOCK,
    UnknownCache,
    cache_needs,
    needs_of,
    pad,
    read_model,
    tensor_bytes,
)


def values(**given):
    return {key.replace("__", "."): value for key, value in given.items()}


def cache_gib(header, context, kind="f16", **more):
    cache = cache_needs(header, context_tokens=context, key_type=kind, value_type=kind, **more)
    return sum(cache.layers) / GIB


def attention(kv_heads, length, heads=32, width=4096):
    return values(
        embedding_length=width,
        attention__head_count=heads,
        attention__head_count_kv=kv_heads,
        attention__key_length=length,
        attention__value_length=length,
    )


def test_a_plain_model_is_heads_times_lengths_times_cells():
    header = make_header("llama", [32] * 32, values=attention(8, 128))
    assert cache_gib(header, 8192) == pytest.approx(1.0)
    assert cache_gib(header, 8192, "q8_0") == pytest.approx(34 / 64)
    assert cache_gib(header, 8192, "q4_0") == pytest.approx(18 / 64)


def test_without_lengths_the_width_is_shared_among_the_heads():
    said = values(embedding_length=4096, attention__head_count=32, attention__head_count_kv=8)
    assert cache_gib(make_header("llama", [32] * 32, values=said), 8192) == pytest.approx(1.0)


def test_heads_may_differ_by_layer():
    said = attention((8, 0, 4), 128)
    cache = cache_needs(make_header("llama", [32] * 3, values=said), context_tokens=1024)
    assert cache.layers[1] == 0
    assert cache.layers[0] == 2 * cache.layers[2]


def test_a_small_gemma_3_with_128k_takes_what_its_log_says():
    said = attention(4, 256, heads=8, width=2560) | values(attention__sliding_window=1024)
    header = make_header("gemma3", [32] * 34, values=said)
    cache = cache_needs(header, context_tokens=131072)
    window = [size for size in cache.layers if size < max(cache.layers)]
    assert (sum(cache.layers) - sum(window)) / MIB == pytest.approx(2560)
    assert sum(window) / MIB == pytest.approx(174, abs=0.5)


def test_a_pattern_in_the_header_says_which_layers_are_local():
    cache = cache_needs(gemma4_26b(), context_tokens=131072)
    assert [at for at, size in enumerate(cache.layers) if size == max(cache.layers)] == [
        5, 11, 17, 23, 29,
    ]  # fmt: skip


def test_layers_that_share_a_cache_take_none():
    said = attention(4, 256) | values(attention__sliding_window=512, attention__shared_kv_layers=10)
    cache = cache_needs(make_header("gemma3n", [32] * 30, values=said), context_tokens=8192)
    assert set(cache.layers[20:]) == {0}
    assert all(cache.layers[:20])


def test_a_latent_cache_keeps_keys_only():
    said = values(attention__kv_lora_rank=512, rope__dimension_count=64)
    header = make_header("deepseek2", [32] * 61, values=said)
    assert cache_gib(header, 163840) == pytest.approx(10.72, abs=0.01)


def test_a_hybrid_grows_in_every_fourth_layer_and_keeps_a_state_in_the_others():
    header = qwen36_27b()
    cache = cache_needs(header, context_tokens=262144)
    assert cache.checkpoint_bytes / MIB == pytest.approx(149.625)
    assert (sum(cache.layers) - cache.checkpoint_bytes) / GIB == pytest.approx(16.0)
    two = cache_needs(header, context_tokens=131072, slots=2)
    assert sum(two.layers) - 2 * two.checkpoint_bytes == sum(cache.layers) - cache.checkpoint_bytes


def test_the_last_of_each_four_layers_is_the_one_that_grows():
    short, long = (cache_needs(qwen36_27b(), context_tokens=at).layers for at in (4096, 8192))
    grown = [at for at, (one, other) in enumerate(zip(short, long, strict=True)) if one != other]
    assert grown == list(range(3, 64, 4))


def test_an_unlisted_architecture_is_not_guessed_but_a_bound_is_taken():
    with pytest.raises(UnknownCache):
        cache_needs(deepseek_v41_flash(), context_tokens=4096)
    bound = cache_needs(deepseek_v41_flash(), context_tokens=4096, bound_bytes=1152)
    assert bound.bound
    assert bound.layers == (4096 * 1152,) * 40


def test_lookup_tables_stay_with_the_host():
    needs = needs_of(deepseek_v41_flash())
    assert needs.lookup_bytes / 1e9 == pytest.approx(110.6, abs=0.1)
    assert all(size < 5 * GIB for size in needs.layers)


def test_a_tied_output_counts_on_the_card_and_on_the_host():
    tied = needs_of(gemma4_26b())
    assert tied.output_bytes == tied.embedding_bytes > 0


def test_cells_are_padded():
    assert [pad(cells) for cells in (1, 256, 257)] == [256, 256, 512]


def test_the_table_of_tensor_types_is_that_of_the_format():
    for kind, block in GGML_QUANT_SIZES.items():
        assert _BLOCK[int(kind)] == block


def test_a_tensor_type_from_the_future_is_refused():
    with pytest.raises(BadRequest):
        tensor_bytes(TensorInfo(name="x", shape=(32,), type=250, offset=0))


@pytest.mark.parametrize("count", [0, -3, 10**9])
def test_an_impossible_number_of_layers_is_refused(count):
    header = make_header("llama", [32], values={})
    with pytest.raises(BadRequest):
        needs_of(replace(header, values=header.values | {"llama.block_count": count}))


WILD = st.one_of(
    st.integers(-(2**63), 2**63),
    st.floats(),
    st.text(max_size=5),
    st.booleans(),
    st.lists(st.integers(-9, 9), max_size=4).map(tuple),
)
KEYS = """embedding_length attention.head_count attention.head_count_kv attention.key_length
attention.value_length attention.sliding_window attention.sliding_window_pattern
attention.shared_kv_layers attention.kv_lora_rank rope.dimension_count full_attention_interval
ssm.state_size ssm.inner_size ssm.group_count ssm.conv_kernel nextn_predict_layers expert_count
context_length attention.key_length_swa""".split()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # it is drawing that is slow
@given(
    st.sampled_from(["llama", "gemma3", "gpt-oss", "deepseek2", "qwen35", "odd"]),
    st.dictionaries(st.sampled_from(KEYS), WILD),
    st.integers(1, 5),
)
def test_a_header_may_say_anything(architecture, said, layers):
    header = make_header(architecture, [320] * layers, values=said, output=32)
    try:
        placement = plan(build_b(), header, PlanSettings(span="two-boards"))
    except BadRequest:
        return
    assert all(0 <= card.load_bytes <= card.room_bytes for card in placement.cards)
    assert placement.host_bytes >= 0


# --- real files -----------------------------------------------------------------------------------


def write_shards(folder, count):
    import numpy as np

    for number in range(1, count + 1):
        writer = GGUFWriter(folder / f"m-{number:05d}-of-{count:05d}.gguf", "llama")
        if number == 1:
            writer.add_block_count(count)
        writer.add_tensor(f"blk.{number - 1}.ffn_up.weight", np.zeros((4, 32), np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return folder / f"m-00001-of-{count:05d}.gguf"


def test_all_shards_are_read(tmp_path):
    needs = needs_of(read_model(write_shards(tmp_path, 3)))
    assert needs.layers == (512, 512, 512)


def test_a_missing_shard_is_named_missing(tmp_path):
    first = write_shards(tmp_path, 3)
    (tmp_path / "m-00002-of-00003.gguf").unlink()
    with pytest.raises(NotFound):
        read_model(first)


def test_a_cut_shard_is_refused(tmp_path):
    first = write_shards(tmp_path, 2)
    second = tmp_path / "m-00002-of-00002.gguf"
    second.write_bytes(second.read_bytes()[:30])
    with pytest.raises(BadRequest):
        read_model(first)


def test_a_header_that_promises_a_world_of_tensors_ends_quickly(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0))
    with pytest.raises(BadRequest):
        read_model(path)
