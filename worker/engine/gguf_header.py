"""The few facts of a GGUF file's header that an engine must know, read without reading the rest.

Skips arrays (a vocabulary is megabytes) and stops before the tensors. Format: the GGUF
specification, versions 2 and 3, little endian.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from protocol.errors import Damaged, NotFound

Scalar = int | float | bool | str

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING = 8
_ARRAY = 9
_MAX_STRING_BYTES = 16 << 20
"""Chat templates are the longest strings; they are tens of kilobytes."""
_MAX_KEYS = 4096


def read_header(path: Path) -> dict[str, Scalar]:
    """Every scalar key of the header; arrays appear as their length.

    Raises:
        NotFound: There is no such file.
        Damaged: It is not a GGUF file, or it ends too soon.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise Damaged("the model file is not a GGUF file")
            version = _number(file, "<I")
            if version not in (2, 3):
                raise Damaged("the model file has a GGUF version we do not read")
            _number(file, "<Q")  # tensors
            keys = _number(file, "<Q")
            if keys > _MAX_KEYS:
                raise Damaged("the model file's header is damaged")
            return dict(_pair(file) for _ in range(keys))
    except OSError as error:
        raise NotFound("the model file cannot be read") from error


def why_no_slot_files(header: dict[str, Scalar]) -> str:
    """Why the kv_cache of this model must not be written to a file; empty when it may.

    A window or a recurrent state is only partly in the file: branching back from it gives other
    logits without a warning, or none is reused (measured on Gemma 3; see docs/engine.md).
    """
    architecture = str(header.get("general.architecture", ""))
    for key, value in header.items():
        name = key.removeprefix(f"{architecture}.")
        if name == "attention.sliding_window" and value:
            return "slot files off: the model has sliding-window attention"
        if name.startswith(("ssm.", "wkv.", "shortconv.")) or name == "full_attention_interval":
            return "slot files off: the model keeps a recurrent state"
    return ""


def _pair(file: BinaryIO) -> tuple[str, Scalar]:
    key = _string(file)
    return key, _value(file, _number(file, "<I"))


def _value(file: BinaryIO, kind: int) -> Scalar:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        return _skip_array(file)
    if kind not in _SCALARS:
        raise Damaged("the model file's header is damaged")
    value: Scalar = struct.unpack(_SCALARS[kind], _bytes(file, struct.calcsize(_SCALARS[kind])))[0]
    return value


def _skip_array(file: BinaryIO) -> int:
    kind, length = _number(file, "<I"), _number(file, "<Q")
    if kind in _SCALARS:
        file.seek(struct.calcsize(_SCALARS[kind]) * length, 1)
    elif kind == _STRING:
        for _ in range(length):
            size = _number(file, "<Q")
            if size > _MAX_STRING_BYTES:
                raise Damaged("the model file's header is damaged")
            file.seek(size, 1)
    else:
        raise Damaged("the model file's header is damaged")
    return length


def _string(file: BinaryIO) -> str:
    size = _number(file, "<Q")
    if size > _MAX_STRING_BYTES:
        raise Damaged("the model file's header is damaged")
    return _bytes(file, size).decode("utf-8", "replace")


def _number(file: BinaryIO, shape: str) -> int:
    number: int = struct.unpack(shape, _bytes(file, struct.calcsize(shape)))[0]
    return number


def _bytes(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise Damaged("the model file ends too soon")
    return data
