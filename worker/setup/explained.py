"""A settings file that explains itself: every key with its sentence, set or commented out.

The sentences are the docstrings of the settings themselves, so the file cannot say something else
than the code. What is written loads back through `worker.config` and gives the same settings.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from protocol.errors import Internal
from worker.box_settings import BoxSettings, OtherBoxSettings
from worker.config import Settings, load
from worker.engine import EngineSettings

_HEAD: Final = """\
# secondchair's worker. A line that begins with "# key =" shows the default: take the "# " away to
# set it. Unknown keys are refused. `secondchair-worker doctor` prints which are set and from where.
# Secrets are paths to files, never values.
"""
_WIDTH: Final = 100
_BOARDS: Final = """\
# One table a board: a model pinned to a set of cards. Without any there is one board, named A.
"""
_BOX: Final = """\
# Several boxes: this one's name, and what may leave it. Without this part the box is alone.
"""
_OTHER: Final = """\
# One table for each box that may word replies for this one, over SSH from gateway to gateway.
"""
_A: Final = EngineSettings(name="A")
_ONE: Final = BoxSettings(name="one")
_TWO: Final = OtherBoxSettings(
    name="two",
    host="192.0.2.2",
    key=Path("/etc/secondchair/box.key"),
    known_hosts=Path("/etc/secondchair/two.known_hosts"),
)
_NONE: Final = Path("\0")
_DELETE: Final = chr(127)


def as_explained_toml(settings: Settings) -> str:
    """The file's text for these settings.

    Raises:
        Internal: It would not load back as the same settings.
    """
    defaults = msgspec.structs.replace(Settings(), state=Path("\0"))  # state is always written
    parts = [_HEAD, *_keys(settings, defaults, skip=("boards", "box", "other_box"))]
    parts += [_BOARDS, *([_board(board) for board in settings.boards] or [_example(_board(_A))])]
    parts += [_BOX, _box(settings.box) if settings.box else _example(_box(_ONE))]
    parts += [
        _OTHER,
        *([_other(other) for other in settings.other_box] or [_example(_other(_TWO))]),
    ]
    return "\n".join(parts)


def write_explained(settings: Settings, path: Path, *, mode: int = 0o600) -> None:
    """Writes the file as a whole, after it was seen to load back as the same settings.

    Raises:
        Internal: It would not.
        OSError: The folder cannot be written.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        fresh.touch(mode=mode)
        fresh.write_text(as_explained_toml(settings), "utf-8")
        fresh.chmod(mode)
        if load(fresh, environment={}).settings != settings:
            raise Internal("the settings file would not load back as it was meant")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def sentences_of(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Each field's docstring, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
    found: dict[str, str] = {}
    for field, said in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(said, ast.Expr)
            and isinstance(said.value, ast.Constant)
            and isinstance(said.value.value, str)
        ):
            found[field.target.id] = " ".join(said.value.value.split())
    return found


def _keys(given: msgspec.Struct, defaults: msgspec.Struct, skip: tuple[str, ...]) -> Iterator[str]:
    said = sentences_of(type(given))
    for name in given.__struct_fields__:
        if name in skip:
            continue
        value, default = getattr(given, name), getattr(defaults, name)
        lines = [*textwrap.wrap(said.get(name, ""), _WIDTH - 2)]
        text = "".join(f"# {line}\n" for line in lines)
        if value != default:
            yield f"{text}{name} = {_value(value)}\n"
        elif default is None:
            yield f"{text}# {name} = (not set)\n"
        else:
            yield f"{text}# {name} = {_value(default)}\n"


def _board(board: EngineSettings) -> str:
    defaults = msgspec.structs.replace(EngineSettings(), name="\0")  # a name is always written
    return "\n".join(["[[boards]]", *_keys(board, defaults, skip=())])


def _box(box: BoxSettings) -> str:
    return "\n".join(["[box]", *_keys(box, BoxSettings(name="\0"), skip=())])


def _other(other: OtherBoxSettings) -> str:
    none = OtherBoxSettings(name="\0", host="\0", key=_NONE, known_hosts=_NONE)
    return "\n".join(["[[other_box]]", *_keys(other, none, skip=())])


def _example(text: str) -> str:
    """The same keys, all commented out."""
    lines = text.splitlines()
    return "\n".join(line if line.startswith("#") or not line else f"# {line}" for line in lines)


def _value(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return _string(str(value.value))
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_string(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return _string(str(value))


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace(_DELETE, "\\u007f")
