"""Model headers for tests and benches: the models of the reference builds by their shapes, and
random ones. Tensors are summed up to one a class and layer; sizes are what matters here.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from worker.boards.model_file import ModelHeader, Scalar, TensorInfo, read_header
from worker.boards.sizes import missing_bytes

_F32, _F16, _Q8_0, _Q4_K = 0, 1, 8, 12
_BLOCK = 32


def make_header(
    architecture: str,
    layers: Sequence[int],
    *,
    values: Mapping[str, Scalar | tuple[Scalar, ...]],
    output: int = 0,
    embedding: int = 0,
    lookups: Sequence[int] = (),
    kind: int = _Q8_0,
) -> ModelHeader:
    """A header whose layers hold so many weights (rounded down to whole blocks).

    Args:
        values: Keys without the architecture's prefix.
        lookups: Weights of the tables that stay with the host (always Q4_K).
    """
    tensors = [
        TensorInfo(
            name=f"blk.{at}.all.weight", shape=(_BLOCK, count // _BLOCK), type=kind, offset=0
        )
        for at, count in enumerate(layers)
    ]
    if embedding:
        tensors.append(_tensor("token_embd.weight", embedding, kind))
    if output:
        tensors.append(_tensor("output.weight", output, kind))
    tensors += [
        _tensor(f"blk.{at}.engram_embd.weight", count, _Q4_K) for at, count in enumerate(lookups)
    ]
    named = {f"{architecture}.{key}": value for key, value in values.items()}
    named["general.architecture"] = architecture
    named[f"{architecture}.block_count"] = len(layers)
    return ModelHeader(values=named, tensors=tuple(tensors), size_bytes=0)


def _tensor(name: str, count: int, kind: int) -> TensorInfo:
    return TensorInfo(name=name, shape=(256, count // 256), type=kind, offset=0)


def qwen35_122b() -> ModelHeader:
    """Qwen3.5-122B-A10B, Q8_0: 48 layers of 2.49 GiB, every fourth with full attention."""
    width, inner = 3072, 8192
    experts = 3 * width * 1024 * 256 + 3 * width * 1024 + width * 256
    linear = width * (inner + 4096) + 2 * width * inner + 2 * width * 64
    full = width * 32 * 256 * 2 + 2 * width * 512 + 32 * 256 * width
    return make_header(
        "qwen35moe",
        [experts + (full if (layer + 1) % 4 == 0 else linear) for layer in range(48)],
        output=248320 * width,
        embedding=248320 * width,
        values=_hybrid_values(width, inner, heads=32, kv_heads=2, groups=16)
        | {"expert_count": 256},
    )


def qwen36_35b() -> ModelHeader:
    """Qwen3.6-35B-A3B, Q8_0: 40 layers."""
    width, inner = 2048, 4096
    experts = 3 * width * 512 * 256 + 3 * width * 512 + width * 256
    return make_header(
        "qwen35moe",
        [experts + width * 12288 + 2 * width * inner] * 40,
        output=248320 * width,
        embedding=248320 * width,
        values=_hybrid_values(width, inner, heads=16, kv_heads=2, groups=16)
        | {"expert_count": 256},
    )


def qwen36_27b() -> ModelHeader:
    """Qwen3.6-27B, Q8_0: dense, 64 layers."""
    width, inner = 5120, 6144
    return make_header(
        "qwen35",
        [3 * width * 17408 + width * 10240 + 2 * width * inner] * 64,
        output=248320 * width,
        embedding=248320 * width,
        values=_hybrid_values(width, inner, heads=24, kv_heads=4, groups=16),
    )


def _hybrid_values(
    width: int, inner: int, *, heads: int, kv_heads: int, groups: int
) -> dict[str, Scalar | tuple[Scalar, ...]]:
    return {
        "embedding_length": width,
        "context_length": 262144,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "full_attention_interval": 4,
        "ssm.state_size": 128,
        "ssm.inner_size": inner,
        "ssm.group_count": groups,
        "ssm.conv_kernel": 4,
    }


def gemma4_26b() -> ModelHeader:
    """Gemma-4-26B-A4B, Q8_0: 30 layers, five of six with a window of 1,024 tokens."""
    local = tuple((layer + 1) % 6 != 0 for layer in range(30))
    return make_header(
        "gemma4",
        [850_000_000] * 30,
        output=0,
        embedding=262144 * 2816,
        values={
            "embedding_length": 2816,
            "context_length": 262144,
            "expert_count": 128,
            "attention.head_count": 16,
            "attention.head_count_kv": tuple(8 if one else 2 for one in local),
            "attention.key_length": 512,
            "attention.value_length": 512,
            "attention.key_length_swa": 256,
            "attention.value_length_swa": 256,
            "attention.sliding_window": 1024,
            "attention.sliding_window_pattern": local,
        },
    )


def deepseek_v41_flash() -> ModelHeader:
    """DeepSeek V4.1 Flash: 40 layers over two boards, two tables of 384 million rows of 256."""
    return make_header(
        "deepseek4",
        [4_700_000_000] * 40,
        output=129280 * 4096,
        embedding=129280 * 4096,
        lookups=(384_000_000 * 256, 384_000_000 * 256),
        values={"embedding_length": 4096, "context_length": 1048576, "expert_count": 256},
    )


def random_header(chance: random.Random) -> ModelHeader:
    """A model of 1 to 128 layers of even or uneven size, with full attention."""
    count = chance.randint(1, 128)
    size = chance.randint(50, 4000) * 1_000_000
    uneven = chance.random() < 0.4
    heads = chance.choice([1, 2, 4, 8, 16])
    return make_header(
        chance.choice(["llama", "qwen3moe", "glm4moe"]),
        [int(size * chance.uniform(0.3, 1.7)) if uneven else size for _ in range(count)],
        output=chance.randint(0, 1500) * 1_000_000,
        embedding=chance.randint(1, 1500) * 1_000_000,
        kind=chance.choice([_F16, _Q8_0, 2]),
        values={
            "embedding_length": 4096,
            "attention.head_count": 32,
            "attention.head_count_kv": heads,
            "attention.key_length": 128,
            "attention.value_length": 128,
            "expert_count": chance.choice([0, 8, 128]),
        },
    )


def write_header(header: ModelHeader, path: Path) -> Path:
    """The header as the beginning of a GGUF file (version 3), with a hole where its weights are."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(header.tensors), len(header.values))]
    for key, value in header.values.items():
        parts += [_text(key), _value(value)]
    for tensor in header.tensors:
        shape = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        parts += [_text(tensor.name), shape, struct.pack("<IQ", tensor.type, tensor.offset)]
    path.write_bytes(b"".join(parts))
    missing = missing_bytes(read_header(path))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + missing)
    return path


def _text(text: str) -> bytes:
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Scalar | tuple[Scalar, ...]) -> bytes:
    if isinstance(value, tuple):
        kinds = {_value(one)[:4] for one in value}
        assert len(kinds) == 1, "an array holds one kind"
        items = b"".join(_value(one)[4:] for one in value)
        return struct.pack("<I", 9) + kinds.pop() + struct.pack("<Q", len(value)) + items
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<Iq", 11, value)
    if isinstance(value, float):
        return struct.pack("<Id", 12, value)
    return struct.pack("<I", 8) + _text(value)
