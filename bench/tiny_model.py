"""Writes a small random-weight model with sliding-window attention, for tests and benches.

No small one with a free licence can be installed, and a dense model hides exactly the faults that
a window shows. The words it says are noise; its counts, reuse and probabilities are real. The
vocabulary and the template are the bundled model's.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WINDOW_TOKENS = 32
_LAYERS = 2
_WIDTH = 64
_HEADS = 2
_HEAD_WIDTH = 32
_FORWARD = 128
_CONTEXT = 4096

_TOKENIZER = (
    "tokenizer.ggml.model",
    "tokenizer.ggml.pre",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.token_type",
    "tokenizer.ggml.merges",
    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.unknown_token_id",
    "tokenizer.ggml.padding_token_id",
    "tokenizer.ggml.add_space_prefix",
    "tokenizer.chat_template",
)


def write_sliding_window_model(
    path: Path, vocabulary_of: Path, *, seed: int = 7, tensors_a_file: int = 0
) -> Path:
    """Write a two-layer model of the gemma3 architecture, about 6 MB; gives its (first) file.

    Args:
        path: The file to write.
        vocabulary_of: A GGUF file whose tokenizer is taken over.
        seed: Of the random weights: equal seeds give equal files.
        tensors_a_file: Splits the model into files of so many; the first one holds no weights.
    """
    writer = gguf.GGUFWriter(
        path, "gemma3", split_max_tensors=tensors_a_file, small_first_shard=tensors_a_file > 0
    )
    writer.add_name("random weights with a sliding window")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(_HEAD_WIDTH)
    writer.add_value_length(_HEAD_WIDTH)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_sliding_window(WINDOW_TOKENS)
    writer.add_rope_freq_base(10000.0)
    words = _copy_tokenizer(writer, vocabulary_of)
    for name, shape in _shapes(words).items():
        weights = _weights(name, shape, seed)
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if tensors_a_file:
        (path,) = path.parent.glob(f"{path.stem}-00001-of-*.gguf")
    return path


def _copy_tokenizer(writer: gguf.GGUFWriter, source: Path) -> int:
    reader = gguf.GGUFReader(source)
    words = 0
    for key in _TOKENIZER:
        field = reader.get_field(key)
        if field is None:
            continue
        value = field.contents()
        kind = field.types[0]
        if key.endswith(".tokens"):
            words = len(value)
        sub_type = field.types[-1] if kind is gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(key, value, kind, sub_type=sub_type)
    return words


def _shapes(words: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (words, _WIDTH),
        "output_norm.weight": (_WIDTH,),
    }
    for n in range(_LAYERS):
        shapes |= {
            f"blk.{n}.attn_norm.weight": (_WIDTH,),
            f"blk.{n}.attn_q.weight": (_HEADS * _HEAD_WIDTH, _WIDTH),
            f"blk.{n}.attn_k.weight": (_HEAD_WIDTH, _WIDTH),
            f"blk.{n}.attn_v.weight": (_HEAD_WIDTH, _WIDTH),
            f"blk.{n}.attn_q_norm.weight": (_HEAD_WIDTH,),
            f"blk.{n}.attn_k_norm.weight": (_HEAD_WIDTH,),
            f"blk.{n}.attn_output.weight": (_WIDTH, _HEADS * _HEAD_WIDTH),
            f"blk.{n}.post_attention_norm.weight": (_WIDTH,),
            f"blk.{n}.ffn_norm.weight": (_WIDTH,),
            f"blk.{n}.ffn_gate.weight": (_FORWARD, _WIDTH),
            f"blk.{n}.ffn_up.weight": (_FORWARD, _WIDTH),
            f"blk.{n}.ffn_down.weight": (_WIDTH, _FORWARD),
            f"blk.{n}.post_ffw_norm.weight": (_WIDTH,),
        }
    return shapes


def _weights(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    if len(shape) == 1:  # norms stay in full precision
        return np.ones(shape, dtype=np.float32)
    drawn = np.random.default_rng([seed, *name.encode()]).standard_normal(shape)
    return (drawn / np.sqrt(shape[-1])).astype(np.float16)
