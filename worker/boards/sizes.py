"""What a model needs, from its header: bytes of weights by layer, and of kv_cache and state.

Formulas by architecture family. ``n`` is the context padded to 256 cells; a cached number takes 2
bytes as f16, 34/32 as q8_0, 18/32 as q4_0.

======== ==========================================================================================
full     n x kv heads x (key length + value length)
window   the same with min(n, window + batch, padded to 256) cells for local layers
latent   n x (kv_lora_rank + rope dimensions), keys only
hybrid   full for every full_attention_interval-th layer; else a state that does not grow:
         4 x state x inner + 4 x (conv - 1) x (inner + 2 x groups x state) bytes a sequence
======== ==========================================================================================

An architecture that is not listed is not guessed at.

Source: llama.cpp's ``llama-hparams.cpp`` and its caches; GGUF's list of tensor types.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import BadRequest, Damaged
from worker.boards.model_file import ModelHeader, Scalar, TensorInfo, read_header, shards_of

_BLOCK: Final[dict[int, tuple[int, int]]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 40), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
    21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
    28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
    40: (64, 36), 41: (128, 18),
}  # fmt: skip
"""Tensor type to (numbers in a block, bytes of a block)."""
CACHE_BYTES: Final = {
    "f16": Fraction(2), "bf16": Fraction(2), "f32": Fraction(4), "q8_0": Fraction(34, 32),
    "q4_0": Fraction(18, 32),
}  # fmt: skip
"""Bytes of one cached number."""
_FULL: Final = frozenset(
    "llama llama4 qwen2 qwen2moe qwen3 qwen3moe mistral3 phi2 phi3 starcoder2 command-r olmo2 "
    "internlm2 granite granitemoe glm4 glm4moe smollm3 stablelm falcon gemma exaone".split()
)
_WINDOW_EVERY: Final = {
    "gemma2": 2, "gemma3": 6, "gemma3n": 5, "gemma4": 6, "gpt-oss": 2, "cohere2": 4,
}  # fmt: skip
"""Every so-manieth layer is global, where the header does not say which."""
_LATENT: Final = frozenset("deepseek2".split())
_HYBRID: Final = frozenset("qwen35 qwen35moe qwen3next".split())
_PAD: Final = 256
_LAYER: Final = re.compile(r"blk\.(\d+)\.")
_LOOKUPS: Final = ("engram_embd", "per_layer_token_embd")
"""Tables that are looked into, a row a token: the host keeps them."""
_MOST_LAYERS: Final = 1024
_MOST_COUNT: Final = 2**40


def knows(architecture: str) -> bool:
    """Whether an architecture is one of those listed here: of another nothing is guessed."""
    return architecture in _FULL | _WINDOW_EVERY.keys() | _LATENT | _HYBRID


class UnknownCache(BadRequest):
    """The architecture's kv_cache is not one we can work out."""


class ModelNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What a model asks of the cards and of the box's memory, before any context."""

    architecture: str
    layers: tuple[int, ...]
    """Bytes of weights of each layer."""
    output_bytes: int
    """The output's weights, which follow the last layer."""
    embedding_bytes: int
    """The token embedding, which stays with the host."""
    lookup_bytes: int
    """Tables that stay with the host by rule."""
    parameters: int
    experts: int
    context_most: int
    """The context it was trained for; 0 when it does not say."""
    drafted_layers: int = 0
    """Layers at the end that only draft tokens; counted in `layers`."""

    @property
    def dense(self) -> bool:
        """Whether every weight is used for every token."""
        return self.experts == 0

    @property
    def bytes_on_cards(self) -> int:
        """Weights that the cards hold together."""
        return sum(self.layers) + self.output_bytes


def read_model(path: Path) -> ModelHeader:
    """The header of a model file, with the tensors of all its shards.

    Raises:
        NotFound: The file or one of its shards is not there.
        BadRequest: One of them is no GGUF file.
    """
    headers = [read_header(shard) for shard in shards_of(path)]
    if len(headers) == 1:
        return headers[0]
    return ModelHeader(
        values=headers[0].values,
        tensors=tuple(tensor for header in headers for tensor in header.tensors),
        size_bytes=sum(header.size_bytes for header in headers),
    )


def missing_bytes(header: ModelHeader) -> int:
    """How much of the weights that one file's header promises is not in it; 0 when all is.

    A copy that broke off keeps its header and lacks its end. Tensors of a type that this version
    cannot size are passed over.
    """
    ends = [
        header.data_at + tensor.offset + tensor_bytes(tensor)
        for tensor in header.tensors
        if tensor.type in _BLOCK
    ]
    return max(0, max(ends, default=0) - header.size_bytes)


def refuse_cut(path: Path) -> None:
    """Nothing when every file of the model is whole.

    Raises:
        NotFound: The file or one of its shards is not there.
        BadRequest: One of them is no GGUF file.
        Damaged: Its end is missing.
    """
    if missing := sum(missing_bytes(read_header(shard)) for shard in shards_of(path)):
        raise Damaged(
            f"the model file is cut short: {missing / 1e9:.2f} GB of its weights are missing",
            next_step="copy or pull it again",
        )


def context_most(header: ModelHeader) -> int:
    """Tokens of context the model was trained for; 0 when its header does not say."""
    return _whole(header, "context_length")


def tensor_bytes(tensor: TensorInfo) -> int:
    """What a tensor takes.

    Raises:
        BadRequest: Its type is newer than this table.
    """
    if tensor.type not in _BLOCK:
        raise BadRequest(f"the model holds a tensor type ({tensor.type}) this version cannot size")
    numbers, size = _BLOCK[tensor.type]
    return prod(tensor.shape) // numbers * size


def needs_of(header: ModelHeader) -> ModelNeeds:
    """What the model asks for, by its tensors.

    Raises:
        BadRequest: The header names no layers, or tensors of layers it does not have.
    """
    count = _whole(header, "block_count")
    if not 0 < count <= _MOST_LAYERS:
        raise BadRequest("the model's header does not say how many layers it has")
    layers = [0] * count
    output = embedding = lookup = 0
    tied = True
    for tensor in header.tensors:
        size = tensor_bytes(tensor)
        if any(name in tensor.name for name in _LOOKUPS):
            lookup += size
        elif found := _LAYER.match(tensor.name):
            if int(found[1]) >= count:
                raise BadRequest("the model's header counts fewer layers than it holds")
            layers[int(found[1])] += size
        elif tensor.name == "token_embd.weight":
            embedding += size
        else:
            tied = tied and tensor.name != "output.weight"
            output += size
    return ModelNeeds(
        architecture=header.architecture,
        layers=tuple(layers),
        output_bytes=output + (embedding if tied else 0),
        embedding_bytes=embedding,
        lookup_bytes=lookup,
        parameters=header.parameters,
        experts=_whole(header, "expert_count"),
        context_most=context_most(header),
        drafted_layers=_whole(header, "nextn_predict_layers"),
    )


# --- kv_cache and state --------------------------------------------------------------------------


class CacheNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """The kv_cache and state of all slots."""

    layers: tuple[int, ...]
    """Bytes by layer."""
    checkpoint_bytes: int
    """One copy of what cannot be rewound, for one slot; 0 where everything can."""
    bound: bool = False
    """An upper bound that the operator gave, not the model's own formula."""


def pad(cells: int) -> int:
    """Cells as llama.cpp allocates them."""
    return -(-cells // _PAD) * _PAD


def cache_needs(
    header: ModelHeader,
    *,
    context_tokens: int,
    slots: int = 1,
    key_type: str = "f16",
    value_type: str = "f16",
    ubatch_tokens: int = 512,
    bound_bytes: int = 0,
) -> CacheNeeds:
    """What the kv_cache takes by layer, by the architecture's family.

    Args:
        context_tokens: Context of one slot.
        bound_bytes: For an unlisted architecture: a measured or bounding number of bytes that one
            token takes in one layer.

    Raises:
        UnknownCache: The architecture is not listed and no bound is given.
        BadRequest: A cache type is unknown, or the header lacks what its family needs.
    """
    if key_type not in CACHE_BYTES or value_type not in CACHE_BYTES:
        raise BadRequest(f"a kv_cache type must be one of {', '.join(CACHE_BYTES)}")
    key, value = CACHE_BYTES[key_type], CACHE_BYTES[value_type]
    family, layers = header.architecture, _whole(header, "block_count")
    cells = pad(context_tokens * slots)
    if bound_bytes:
        return CacheNeeds(layers=(cells * bound_bytes,) * layers, checkpoint_bytes=0, bound=True)
    if family in _LATENT:
        row = _whole(header, "attention.kv_lora_rank") + _whole(header, "rope.dimension_count")
        return CacheNeeds(layers=(int(cells * row * key),) * layers, checkpoint_bytes=0)
    if family in _HYBRID:
        return _hybrid(header, layers, cells, slots, key, value)
    if family in _WINDOW_EVERY:
        return _window(header, layers, context_tokens, slots, ubatch_tokens, key, value)
    if family not in _FULL:
        raise UnknownCache(
            f"how much context costs is not known for the architecture {family or 'unnamed'}",
            next_step="give a measured `cache_bytes_per_token_and_layer` in the model's profile",
        )
    return CacheNeeds(
        layers=tuple(int(cells * _row(header, layer, key, value)) for layer in range(layers)),
        checkpoint_bytes=0,
    )


def _row(
    header: ModelHeader, layer: int, key: Fraction, value: Fraction, local: bool = False
) -> Fraction:
    """Bytes of one token in one layer that attends."""
    heads = _per_layer(header, "attention.head_count_kv", layer)
    if heads == 0:
        return Fraction(0)
    width = _whole(header, "embedding_length") // max(
        1, _per_layer(header, "attention.head_count", layer)
    )
    key_length = _whole(header, "attention.key_length") or width
    value_length = _whole(header, "attention.value_length") or width
    if local:
        key_length = _whole(header, "attention.key_length_swa") or key_length
        value_length = _whole(header, "attention.value_length_swa") or value_length
    return heads * (key_length * key + value_length * value)


def _window(
    header: ModelHeader,
    layers: int,
    context: int,
    slots: int,
    ubatch: int,
    key: Fraction,
    value: Fraction,
) -> CacheNeeds:
    window = _whole(header, "attention.sliding_window")
    shared = _whole(header, "attention.shared_kv_layers")
    full_cells = pad(context * slots)
    local_cells = min(full_cells, slots * pad(window + ubatch)) if window else full_cells
    sizes, local_bytes = [], 0
    for layer in range(layers):
        local = bool(window) and _is_local(header, layer)
        size = int((local_cells if local else full_cells) * _row(header, layer, key, value, local))
        if layer >= layers - shared:
            size = 0  # it looks into an earlier layer's cache
        sizes.append(size)
        local_bytes += size if local else 0
    return CacheNeeds(layers=tuple(sizes), checkpoint_bytes=local_bytes // max(1, slots))


def _is_local(header: ModelHeader, layer: int) -> bool:
    said = _value(header, "attention.sliding_window_pattern")
    if isinstance(said, tuple):
        return bool(said[layer]) if layer < len(said) else False
    every = int(said) if isinstance(said, int) and said else _WINDOW_EVERY[header.architecture]
    return layer % every < every - 1


def _hybrid(
    header: ModelHeader, layers: int, cells: int, slots: int, key: Fraction, value: Fraction
) -> CacheNeeds:
    every = _whole(header, "full_attention_interval") or 4
    state, inner = _whole(header, "ssm.state_size"), _whole(header, "ssm.inner_size")
    groups, conv = _whole(header, "ssm.group_count"), _whole(header, "ssm.conv_kernel")
    if not (state and inner and conv):
        raise BadRequest("the model's header does not say how large its state is")
    drafted = _whole(header, "nextn_predict_layers")
    fixed = 4 * state * inner + 4 * (conv - 1) * (inner + 2 * groups * state)
    sizes = []
    for layer in range(layers):
        attends = (layer + 1) % every == 0 or layer >= layers - drafted
        sizes.append(int(cells * _row(header, layer, key, value)) if attends else fixed * slots)
    linear = sum((layer + 1) % every != 0 for layer in range(layers - drafted))
    return CacheNeeds(layers=tuple(sizes), checkpoint_bytes=fixed * linear)


# --- header values -------------------------------------------------------------------------------


def _value(header: ModelHeader, name: str) -> Scalar | Sequence[Scalar] | None:
    return header.values.get(f"{header.architecture}.{name}")


def _whole(header: ModelHeader, name: str) -> int:
    """A whole number; 0 where it is not given, below zero or no number. Of a list, the largest."""
    said = _value(header, name)
    if isinstance(said, tuple):
        return max((_count(one) for one in said), default=0)
    return _count(said)


def _per_layer(header: ModelHeader, name: str, layer: int) -> int:
    said = _value(header, name)
    if isinstance(said, tuple):
        return _count(said[layer]) if layer < len(said) else 0
    return _count(said)


def _count(said: object) -> int:
    """What a header says, as a count: a file may say anything."""
    if isinstance(said, float) and not math.isfinite(said):
        return 0
    return max(0, min(int(said), _MOST_COUNT)) if isinstance(said, int | float) else 0
