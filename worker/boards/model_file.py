"""The header of a GGUF file, read by skipping: scalars and tensor shapes, never the weights.

A header may hold a vocabulary of 250,000 strings; they are stepped over, not decoded. Format: the
GGUF specification, versions 2 and 3 (little endian).
"""

from __future__ import annotations

import mmap
import re
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

from protocol.errors import BadRequest, NotFound

_MAGIC: Final = b"GGUF"
_SCALARS: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
"""Value type to its struct format; 8 is a string, 9 an array."""
_STRING: Final = 8
_ARRAY: Final = 9
_MOST_DIMS: Final = 8
_SHARD: Final = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf$")
_ALIGNMENT: Final = 32
"""Where the file does not say ``general.alignment``."""
_KEPT_ARRAY: Final = 4096
"""Arrays of scalars up to this length are kept (per-layer values); longer ones are skipped."""

Scalar = int | float | bool | str


@dataclass(frozen=True, kw_only=True)
class TensorInfo:
    """One tensor's name, shape and type number, as in the header."""

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class ModelHeader:
    """What a model file says of itself."""

    values: dict[str, Scalar | tuple[Scalar, ...]]
    """Scalars, strings and short arrays by key; long arrays (vocabularies) are left out."""
    tensors: tuple[TensorInfo, ...]
    size_bytes: int
    data_at: int = 0
    """Where in the file the weights begin: tensors count their offsets from there."""

    @property
    def architecture(self) -> str:
        """``general.architecture``; empty when it is not given."""
        return str(self.values.get("general.architecture", ""))

    @property
    def parameters(self) -> int:
        """All weights, the embedding included."""
        return sum(prod(tensor.shape) for tensor in self.tensors)


class _Walk:
    """A cursor over the mapped file that refuses to leave it."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> int | float | bool:
        size = struct.calcsize(form)
        if self.at + size > len(self.data):
            raise BadRequest("the model file ends inside its header")
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += size
        scalar: int | float | bool = value
        return scalar

    def count(self, form: str = "<Q") -> int:
        return int(self.take(form))

    def skip(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise BadRequest("the model file ends inside its header")
        self.at += size

    def text(self) -> str:
        size = self.count()
        start = self.at
        self.skip(size)
        return self.data[start : self.at].decode("utf-8", "replace")


def shards_of(path: Path) -> tuple[Path, ...]:
    """Every file of a model that is split (``NAME-00001-of-00003.gguf``); else the one file."""
    named = _SHARD.match(path.name)
    if named is None or int(named[3]) < 2:
        return (path,)
    return tuple(
        path.with_name(f"{named[1]}-{number:05d}-of-{named[3]}.gguf")
        for number in range(1, int(named[3]) + 1)
    )


def read_header(path: Path) -> ModelHeader:
    """The header of a GGUF file.

    Raises:
        NotFound: There is no such file.
        BadRequest: It is no GGUF file of a version this reader knows, or it is cut short.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(_Walk(data))
    except ValueError:  # an empty file cannot be mapped
        raise BadRequest("the model file is empty") from None
    except OSError as error:
        raise NotFound(f"the model file cannot be read ({error.strerror})") from None


def _read(walk: _Walk) -> ModelHeader:
    if walk.data[:4] != _MAGIC:
        raise BadRequest("this is no GGUF model file")
    walk.skip(4)
    if walk.count("<I") not in (2, 3):
        raise BadRequest("a GGUF version that this reader does not know")
    tensor_count, value_count = walk.count(), walk.count()
    values: dict[str, Scalar | tuple[Scalar, ...]] = {}
    for _ in range(value_count):
        key = walk.text()
        value = _value(walk, walk.count("<I"))
        if value is not None:
            values[key] = value
    tensors = tuple(_tensor(walk) for _ in range(tensor_count))
    said = values.get("general.alignment")
    step = said if isinstance(said, int) and said > 0 else _ALIGNMENT
    return ModelHeader(
        values=values,
        tensors=tensors,
        size_bytes=len(walk.data),
        data_at=-(-walk.at // step) * step,
    )


def _value(walk: _Walk, kind: int) -> Scalar | tuple[Scalar, ...] | None:
    if kind in _SCALARS:
        return walk.take(_SCALARS[kind])
    if kind == _STRING:
        return walk.text()
    if kind != _ARRAY:
        raise BadRequest("the model file's header holds a value of unknown type")
    inner, count = walk.count("<I"), walk.count()
    if inner == _STRING:
        for _ in range(count):
            walk.skip(walk.count())
        return None
    if inner not in _SCALARS:
        raise BadRequest("the model file's header holds a nested array")
    form = _SCALARS[inner]
    if count > _KEPT_ARRAY:
        walk.skip(count * struct.calcsize(form))
        return None
    return tuple(walk.take(form) for _ in range(count))


def _tensor(walk: _Walk) -> TensorInfo:
    name = walk.text()
    dims = walk.count("<I")
    if dims > _MOST_DIMS:
        raise BadRequest("the model file's header holds an impossible tensor")
    shape = tuple(walk.count() for _ in range(dims))
    return TensorInfo(name=name, shape=shape, type=walk.count("<I"), offset=walk.count())
