"""Which of the weights in a folder go to which board: what `init` proposes.

The largest model that fits goes to the first board that takes it, then the largest that fits what
is left, until every healthy board has one. Whether it fits is the planner's word alone
(`worker.boards.placement`); what it refuses is kept with its reason, to be told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import AppError
from worker.boards import GIB, Box
from worker.boards.model_file import ModelHeader
from worker.boards.placement import Decision, Placement, PlanSettings, plan
from worker.boards.profiles import Profile, load_profile
from worker.boards.sizes import read_model, refuse_cut
from worker.engine import EngineSettings

_MOST_HOST_SHARE: Final = 0.85
"""As in the planner: more of the box's memory is never given to models."""
_MOST_PROCESSOR_SHARE: Final = 0.25
"""Of the box's memory for a model that runs on the processor."""
_LATER_SHARD: Final = re.compile(r"-(?!0*1-of)\d+-of-\d+\.gguf$", re.IGNORECASE)
_NO_MODEL: Final = ("mmproj",)
"""Names of files that belong to a model and are none."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A model file of the folder."""

    path: Path
    header: ModelHeader
    profile: Profile | None
    """The one written for its architecture and size, where there is one."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What is proposed: boards with their engines, and why some weights go nowhere."""

    boards: tuple[EngineSettings, ...]
    reasons: tuple[str, ...]
    """One sentence a board, in the order of ``boards``."""
    refused: tuple[str, ...]
    """One sentence a model that no board takes."""


def profiles_folder() -> Path | None:
    """Where the profiles lie: beside an installed package, or in the clone."""
    here = Path(__file__).parent
    places = (here / "profiles", here.parents[1] / "deploy" / "profiles")
    return next((place for place in places if place.is_dir()), None)


def models_in(folder: Path) -> tuple[list[Found], list[str]]:
    """The models of a folder and everything under it, the largest first; and what was no model."""
    profiles = _profiles()
    found, odd = [], []
    for path in sorted(folder.rglob("*.gguf")):
        if _LATER_SHARD.search(path.name) or path.name.lower().startswith(_NO_MODEL):
            continue
        try:
            header = read_model(path)
            refuse_cut(path)
        except (AppError, OSError) as error:
            said = error.message if isinstance(error, AppError) else error.strerror
            odd.append(f"{path.name}: {said}")
            continue
        found.append(Found(path=path, header=header, profile=_profile_for(path, header, profiles)))
    found.sort(key=lambda one: (-one.header.parameters, one.path.name))
    return found, odd


def propose(box: Box, found: Sequence[Found]) -> Proposal:
    """Boards with their engines; none where the box has no card and no model fits its memory."""
    if not box.gpus:
        return _on_processor(box, found)
    rest, taken_bytes = box, 0
    boards: list[EngineSettings] = []
    reasons: list[str] = []
    while chosen := _largest(_less(rest, taken_bytes), found):
        model, placement, settings = chosen
        taken_bytes += placement.host_bytes
        boards.append(_engine(model, placement, settings))
        reasons.append(f"{model.path.name}: {placement.reason}")
        left = tuple(board for board in rest.boards if board.name not in placement.boards)
        rest = msgspec.structs.replace(rest, boards=left)
        if not any(board.healthy for board in left):
            break
    placed = {board.model for board in boards}
    refused = tuple(_why_not(box, model) for model in found if model.path not in placed)
    return Proposal(boards=tuple(boards), reasons=tuple(reasons), refused=refused)


def _largest(box: Box, found: Sequence[Found]) -> tuple[Found, Placement, PlanSettings] | None:
    for model in found:
        settings = model.profile.plan if model.profile else PlanSettings()
        try:
            placement = plan(box, model.header, settings)
        except AppError:
            continue
        if placement.decision is not Decision.REFUSE:
            return model, placement, settings
    return None


def _why_not(box: Box, model: Found) -> str:
    settings = model.profile.plan if model.profile else PlanSettings()
    try:
        placement = plan(box, model.header, settings)
    except AppError as error:
        return f"{model.path.name}: {error.message}"
    if placement.decision is not Decision.REFUSE:
        return f"{model.path.name}: it would fit, but a larger model has the board"
    return f"{model.path.name}: {placement.reason}"


def _less(box: Box, taken_bytes: int) -> Box:
    """The box as it is for the next model, once others have taken of its memory."""
    left = max(1, box.memory.total_bytes - round(taken_bytes / _MOST_HOST_SHARE))
    return msgspec.structs.replace(
        box, memory=msgspec.structs.replace(box.memory, total_bytes=left)
    )


def _engine(model: Found, placement: Placement, settings: PlanSettings) -> EngineSettings:
    return EngineSettings(
        name="+".join(placement.boards),
        model=model.path,
        context_tokens=settings.context_tokens,
        slots=settings.slots,
        ubatch_tokens=settings.ubatch_tokens,
        cache_ram_mib=settings.cache_ram_mib,
        kv_dtype=settings.key_type,
        speculation=settings.speculation,
        flags=placement.engine_flags,
        environment=placement.environment,
        floor_tokens_per_s=model.profile.floor_tokens_per_s if model.profile else 0.0,
        start_timeout_s=1800.0,  # a hundred gigabytes from a cold disk
    )


def _on_processor(box: Box, found: Sequence[Found]) -> Proposal:
    """Without a card: the largest model that leaves most of the box's memory alone."""
    most = box.memory.total_bytes * _MOST_PROCESSOR_SHARE
    refused = []
    for model in found:
        size = model.path.stat().st_size
        if size > most:
            refused.append(
                f"{model.path.name}: {size / GIB:.1f} GiB is more than a quarter of the box's"
                " memory, and there is no card"
            )
            continue
        board = EngineSettings(
            name="A", model=model.path, threads=max(1, (os.cpu_count() or 2) // 2)
        )
        reason = f"{model.path.name}: on the processor, since the box has no card"
        return Proposal(boards=(board,), reasons=(reason,), refused=tuple(refused))
    return Proposal(boards=(), reasons=(), refused=tuple(refused))


def _profiles() -> list[Profile]:
    folder = profiles_folder()
    return [load_profile(path) for path in sorted(folder.glob("*.toml"))] if folder else []


def _profile_for(path: Path, header: ModelHeader, profiles: Sequence[Profile]) -> Profile | None:
    """The profile of this architecture whose title is in the file's name; sizes share one."""
    name = _folded(path.name)
    for profile in profiles:
        title = _folded(profile.title.partition(",")[0])
        if profile.architecture == header.architecture and title in name:
            return profile
    return None


def _folded(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
