"""Which board a model is pinned to, or why none can take it: a pure function.

PIN puts the model on one board, the smallest that takes it. SPAN puts it over two, with exactly one
crossing, and only where the model's settings ask for it. REFUSE names the first card that would
overflow, by how much, and what would fit. Nothing spans, shrinks its context or falls back to the
processor on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Final

import msgspec

from protocol.errors import BadRequest
from worker.boards import GIB, Board, Box, Gpu, known
from worker.boards.llama_rule import board_crossings
from worker.boards.model_file import ModelHeader
from worker.boards.packing import Packing, pack
from worker.boards.plans import CardLoad as CardLoad
from worker.boards.plans import Decision as Decision
from worker.boards.plans import Placement as Placement
from worker.boards.plans import PlanSettings as PlanSettings
from worker.boards.plans import Shortfall as Shortfall
from worker.boards.sizes import CacheNeeds, ModelNeeds, cache_needs, needs_of

_MOST_HOST_SHARE: Final = 0.85
_CHECKPOINTS: Final = 32
"""Copies of a state that llama.cpp keeps for each slot."""
_DENSE_LIMIT: Final = 20_000_000_000
"""Above this a dense model stays under 40 tokens a second on Volta."""


def plan(box: Box, header: ModelHeader, settings: PlanSettings) -> Placement:
    """Where the model goes, or why nowhere.

    Raises:
        BadRequest: The settings are out of range, or the header lacks what the plan needs. An
            architecture whose cache is unknown raises `sizes.UnknownCache`.
    """
    _check(settings)
    needs = needs_of(header)
    cache = _cache(header, settings)
    warnings = tuple(_warnings(box, needs, cache, settings))
    host = host_bytes(needs, cache, settings)
    if lacks := _host_shortfall(box, host):
        return Placement(
            decision=Decision.REFUSE,
            reason=f"the box's own memory does not suffice: {_gib(host)} are needed, and no more "
            f"than {_MOST_HOST_SHARE:.0%} of {_gib(box.memory.total_bytes)} may be taken",
            shortfall=lacks,
            host_bytes=host,
            would_fit=("a smaller cache_ram_mib, or more memory in the box",),
            warnings=warnings,
        )
    if any(gpu.unified for gpu in box.gpus):  # what the host takes is taken from the card
        settings = msgspec.structs.replace(settings, margin_bytes=settings.margin_bytes + host)
    found = _pinned(box, needs, cache, settings) or _spanned(box, needs, cache, settings)
    if found is None:
        return _refused(box, header, needs, cache, settings, warnings, host)
    boards, cards, packing = found
    return _placed(boards, cards, packing, needs, settings, warnings, host)


def host_bytes(needs: ModelNeeds, cache: CacheNeeds, settings: PlanSettings) -> int:
    """What the model takes of the box's own memory."""
    return (
        needs.embedding_bytes
        + needs.lookup_bytes
        + settings.cache_ram_mib * 1024**2
        + cache.checkpoint_bytes * _CHECKPOINTS * settings.slots
        + settings.pinned_bytes
    )


def room_on(gpu: Gpu, settings: PlanSettings) -> int:
    """Bytes of a card that weights and cache may fill."""
    free = known(gpu.memory_free_bytes) or 0
    return max(0, free - settings.overhead_bytes - settings.margin_bytes)


# --- the steps -----------------------------------------------------------------------------------

_Found = tuple[tuple[Board, ...], tuple[Gpu, ...], Packing]


def _check(settings: PlanSettings) -> None:
    if settings.span not in ("never", "two-boards"):
        raise BadRequest("span must be never or two-boards")
    if settings.context_tokens < 1 or settings.slots < 1:
        raise BadRequest("context_tokens and slots must be at least 1")


def _cache(header: ModelHeader, settings: PlanSettings) -> CacheNeeds:
    return cache_needs(
        header,
        context_tokens=settings.context_tokens,
        slots=settings.slots,
        key_type=settings.key_type,
        value_type=settings.value_type,
        ubatch_tokens=settings.ubatch_tokens,
        bound_bytes=settings.cache_bytes_per_token_and_layer,
    )


def _usable(box: Box) -> list[Board]:
    """Healthy boards, the smallest first."""
    return sorted(
        (board for board in box.boards if board.healthy),
        key=lambda board: (board.memory_bytes, board.name),
    )


def _ordered(board: Board, settings: PlanSettings) -> tuple[Gpu, ...]:
    """A board's cards, the roomiest first."""
    return tuple(sorted(board.gpus, key=lambda gpu: (-room_on(gpu, settings), gpu.index)))


def slots_of(needs: ModelNeeds, cache: CacheNeeds) -> list[int]:
    """Bytes of each layer with its cache, and of the output at the end."""
    layers = [weights + kept for weights, kept in zip(needs.layers, cache.layers, strict=True)]
    return [*layers, needs.output_bytes]


def _pack(
    cards: Sequence[Gpu], needs: ModelNeeds, cache: CacheNeeds, settings: PlanSettings
) -> Packing:
    room = [room_on(gpu, settings) for gpu in cards]
    carried = [settings.image_bytes + settings.draft_bytes, *([0] * (len(cards) - 1))]
    return pack(slots_of(needs, cache), room, carried)


def _pinned(
    box: Box, needs: ModelNeeds, cache: CacheNeeds, settings: PlanSettings
) -> _Found | None:
    for board in _usable(box):
        cards = _ordered(board, settings)
        packing = _pack(cards, needs, cache, settings)
        if packing.fits:
            return (board,), cards, packing
    return None


def _spanned(
    box: Box, needs: ModelNeeds, cache: CacheNeeds, settings: PlanSettings
) -> _Found | None:
    if settings.span != "two-boards":
        return None
    for boards in _pairs(box):
        cards = tuple(gpu for board in boards for gpu in _ordered(board, settings))
        packing = _pack(cards, needs, cache, settings)
        if packing.fits and _crossings(boards, cards, packing) == 1:
            return boards, cards, packing
    return None


def _pairs(box: Box) -> list[tuple[Board, ...]]:
    """Pairs of boards with whole uplinks: those on one NUMA node first, then the smaller."""
    usable = [board for board in _usable(box) if board.uplinks_healthy]
    return sorted(
        permutations(usable, 2),
        key=lambda pair: (
            len(pair[0].numa_nodes | pair[1].numa_nodes),
            pair[0].memory_bytes + pair[1].memory_bytes,
            pair[0].name,
        ),
    )


def _crossings(boards: Sequence[Board], cards: Sequence[Gpu], packing: Packing) -> int:
    home = {uuid: board.name for board in boards for uuid in board.uuids}
    return board_crossings(sum(packing.split) - 1, packing.split, [home[gpu.uuid] for gpu in cards])


def _placed(
    boards: Sequence[Board],
    cards: Sequence[Gpu],
    packing: Packing,
    needs: ModelNeeds,
    settings: PlanSettings,
    warnings: tuple[str, ...],
    host: int,
) -> Placement:
    home = {uuid: board.name for board in boards for uuid in board.uuids}
    loads = tuple(
        CardLoad(
            uuid=gpu.uuid,
            index=gpu.index,
            board=home[gpu.uuid],
            slots=count,
            load_bytes=load,
            room_bytes=room,
        )
        for gpu, count, load, room in zip(
            cards, packing.split, packing.loads, packing.room, strict=True
        )
        if count or load
    )
    split = tuple(card.slots for card in loads)
    crossed = board_crossings(len(needs.layers), split, [card.board for card in loads])
    assert crossed == len(boards) - 1, "a placement crosses once for a span and never for a pin"
    names = tuple(board.name for board in boards)
    return Placement(
        decision=Decision.PIN if len(boards) == 1 else Decision.SPAN,
        reason=f"it fits board {names[0]}"
        if len(boards) == 1
        else f"no single board takes it; boards {names[0]} and {names[1]} do, with one crossing",
        boards=names,
        cards=loads,
        split=split,
        crossings=crossed,
        flags=flags_of(split, settings),
        engine_flags=placing_flags(split, settings),
        environment={
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": ",".join(card.uuid for card in loads),
        },
        host_bytes=host,
        warnings=warnings,
    )


def placing_flags(split: Sequence[int], settings: PlanSettings) -> tuple[str, ...]:
    """The flags that say where layers go, with those of the speculation."""
    return (
        *("-sm", "layer"),
        *("-ts", ",".join(map(str, split))),
        *("-ngl", "all"),
        *("-fa", "on"),
        *settings.speculation_flags,
    )


def flags_of(split: Sequence[int], settings: PlanSettings) -> tuple[str, ...]:
    """llama-server's flags for a placement: nothing is left for it to choose."""
    drafting = () if settings.speculation == "none" else ("--spec-type", settings.speculation)
    return (
        *placing_flags(split, settings),
        *("--fit", "off"),
        *("-c", str(settings.context_tokens * settings.slots)),
        *("-np", str(settings.slots)),
        *("-ctk", settings.key_type),
        *("-ctv", settings.value_type),
        *("-ub", str(settings.ubatch_tokens)),
        *("--cache-ram", str(settings.cache_ram_mib)),
        *drafting,
    )


# --- refusals ------------------------------------------------------------------------------------


def _host_shortfall(box: Box, host: int) -> Shortfall | None:
    most = int(box.memory.total_bytes * _MOST_HOST_SHARE)
    if not box.memory.total_bytes or host <= most:
        return None
    return Shortfall(where="host memory", uuid="", short_bytes=host - most, board="")


def _refused(
    box: Box,
    header: ModelHeader,
    needs: ModelNeeds,
    cache: CacheNeeds,
    settings: PlanSettings,
    warnings: tuple[str, ...],
    host: int,
) -> Placement:
    usable = _usable(box)
    if not usable:
        ill = "; ".join(f"board {board.name}: {board.reason}" for board in box.boards)
        reason = box.trouble.reason if box.trouble else ill or "the box has no graphics card"
        return Placement(
            decision=Decision.REFUSE, reason=reason, warnings=warnings, host_bytes=host
        )
    board = usable[-1]
    cards = _ordered(board, settings)
    failing = _pack(cards, needs, cache, settings).first_failing()
    assert failing is not None, "a packing that fits was not taken"
    place, short = failing
    gpu = cards[place]
    where = f"{gpu.short} of board {board.name}"
    return Placement(
        decision=Decision.REFUSE,
        reason=f"no board takes it: on {where}, the best there is, {_gib(short)} are missing",
        shortfall=Shortfall(where=where, uuid=gpu.uuid, short_bytes=short, board=board.name),
        would_fit=tuple(_would_fit(box, header, needs, settings)),
        warnings=warnings,
        host_bytes=host,
    )


def _would_fit(
    box: Box, header: ModelHeader, needs: ModelNeeds, settings: PlanSettings
) -> Iterator[str]:
    """Single changes that make it fit one board; then the span, where it is not asked for."""
    replace = msgspec.structs.replace
    if not settings.cache_bytes_per_token_and_layer:
        for kind in ("q8_0", "q4_0"):
            changed = replace(settings, key_type=kind, value_type=kind)
            if changed != settings and _pinned(box, needs, _cache(header, changed), changed):
                yield f"the same context with a {kind} kv_cache"
                break
    context = settings.context_tokens // 2
    while context >= 4096:
        changed = replace(settings, context_tokens=context)
        if _pinned(box, needs, _cache(header, changed), changed):
            yield f"a context of {context} tokens"
            break
        context //= 2
    spanning = replace(settings, span="two-boards")
    if settings.span == "never" and _spanned(box, needs, _cache(header, settings), spanning):
        yield 'two boards with one crossing (span = "two-boards" in its profile)'
    busy = [gpu.short for gpu in box.gpus if known(gpu.foreign_processes) and not gpu.unified]
    if busy:
        yield f"ending the other programs on {', '.join(busy)}"
    over = len(needs.layers) and needs.bytes_on_cards
    most = max((sum(room_on(gpu, settings) for gpu in b.gpus) for b in box.boards), default=0)
    if over > most:
        yield f"a smaller quantisation: its weights of {_gib(over)} exceed every board"


def _warnings(
    box: Box, needs: ModelNeeds, cache: CacheNeeds, settings: PlanSettings
) -> Iterator[str]:
    if needs.dense and needs.parameters > _DENSE_LIMIT and any(gpu.volta for gpu in box.gpus):
        yield (
            f"a dense model of {needs.parameters / 1e9:.0f} billion parameters: expect under 40 "
            "tokens a second on Volta; a mixture-of-experts model of this size answers faster"
        )
    if needs.context_most and settings.context_tokens > needs.context_most:
        yield f"the model was trained for {needs.context_most} tokens of context, not more"
    if cache.bound:
        yield "the size of its kv_cache is a given upper bound; measure it at the first start"
    if settings.key_type != settings.value_type:
        yield "key and value types differ: default builds are then slow, they know equal pairs only"


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB // 10 else f"{size / 1024**2:.0f} MiB"
