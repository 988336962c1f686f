"""Which cards form a board, and where that differs from what was declared.

A board is a full NVLink clique, not a connected component: with one dead link a component of four
still looks whole, and the eight cards of a cube mesh are one component but two boards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Final

from worker.boards import (
    Board,
    Box,
    Gpu,
    HostMemory,
    LostGpu,
    Notice,
    Severity,
    Survey,
    Trouble,
    known,
)
from worker.boards.declared import Declared, DeclaredBoard
from worker.boards.verdicts import count

_VOLTA_BRANCH: Final = 580
"""The last driver branch that knows Volta."""

Graph = Mapping[str, frozenset[str]]
"""UUID to the UUIDs of the cards it is joined to."""


def joined(gpus: Sequence[Gpu]) -> dict[str, frozenset[str]]:
    """Which cards have at least one live NVLink between them, said by either end.

    Cards on NVLink switches are joined to every other card on switches.
    """
    by_pci = {gpu.pci: gpu.uuid for gpu in gpus}
    switched = {gpu.uuid for gpu in gpus if any(link.to_switch for link in gpu.links)}
    pairs = {(one, other) for one in switched for other in switched if one != other}
    for gpu in gpus:
        for link in gpu.links:
            other = by_pci.get(link.remote_pci)
            if link.active and other is not None and other != gpu.uuid:
                pairs |= {(gpu.uuid, other), (other, gpu.uuid)}
    return {gpu.uuid: frozenset(other for one, other in pairs if one == gpu.uuid) for gpu in gpus}


def cliques(graph: Graph, order: Sequence[str]) -> list[tuple[str, ...]]:
    """Splits the cards into full cliques, largest first, ties by the given order.

    Source: Bron and Kerbosch, algorithm 457 (1973), for the maximal cliques; cards are few.
    """
    left = list(order)
    found = []
    while left:
        places = {uuid: place for place, uuid in enumerate(left)}
        within = {uuid: graph[uuid] & places.keys() for uuid in left}
        best = min(
            _maximal(frozenset(), frozenset(left), frozenset(), within),
            key=lambda clique: (-len(clique), sorted(places[uuid] for uuid in clique)),
        )
        found.append(tuple(sorted(best, key=places.__getitem__)))
        left = [uuid for uuid in left if uuid not in best]
    return found


def _maximal(
    chosen: frozenset[str], may: frozenset[str], done: frozenset[str], graph: Graph
) -> Iterator[frozenset[str]]:
    if not may and not done:
        yield chosen
        return
    pivot = max(may | done, key=lambda uuid: (len(graph[uuid] & may), uuid))
    for uuid in may - graph[pivot]:
        near = graph[uuid]
        yield from _maximal(chosen | {uuid}, may & near, done & near, graph)
        may -= {uuid}
        done |= {uuid}


def make_box(
    survey: Survey | Trouble,
    declared: Declared,
    memory: HostMemory,
    *,
    volta_on_bus: int = 0,
) -> Box:
    """The box as it is, with everything that differs from what was declared.

    Args:
        volta_on_bus: Volta cards that PCI lists, whether or not the driver does.
    """
    if isinstance(survey, Trouble):
        notice = Notice(
            severity=Severity.OK if survey.kind == "no_card" else Severity.PAUSE,
            kind=survey.kind,
            reason=survey.reason,
            next_step=survey.next_step,
        )
        return Box(boards=(), memory=memory, trouble=survey, notices=(notice,))
    gpus = {gpu.uuid: gpu for gpu in sorted(survey.gpus, key=lambda gpu: gpu.index)}
    lost = _named(survey.lost, declared, gpus)
    notices = [
        *_driver(survey, declared, volta_on_bus),
        *(_lost(gpu, declared) for gpu in lost),
    ]
    groups = cliques(joined(list(gpus.values())), list(gpus))
    groups.sort(key=lambda group: gpus[group[0]].index)
    names = _names(groups, declared)
    boards = []
    for group, name in zip(groups, names, strict=True):
        cards = tuple(gpus[uuid] for uuid in group)
        said = list(_differences(name, cards, declared, [gpu.uuid for gpu in lost]))
        notices += said
        broken = [notice for notice in said if notice.severity is Severity.PAUSE]
        boards.append(
            Board(
                name=name,
                gpus=cards,
                healthy=not broken,
                reason=broken[0].reason if broken else "",
                uplinks_healthy=not any(notice.kind == "link_width" for notice in said),
            )
        )
    missing = set(gpus) | {gpu.uuid for gpu in lost}
    notices += _missing(declared, missing)
    return Box(
        boards=tuple(boards),
        memory=memory,
        driver=survey.driver,
        branch=survey.branch,
        lost=lost,
        notices=tuple(notices),
        near=survey.near,
    )


# --- names ---------------------------------------------------------------------------------------


def _named(
    lost: Sequence[LostGpu], declared: Declared, seen: Mapping[str, Gpu]
) -> tuple[LostGpu, ...]:
    """Lost cards with their UUID where it can be told: the one declared card that is not there."""
    gone = [uuid for board in declared.board for uuid in board.gpus if uuid not in seen]
    gone = [uuid for uuid in gone if all(gpu.uuid != uuid for gpu in lost)]
    nameless = [gpu for gpu in lost if not gpu.uuid]
    if len(nameless) == 1 and len(gone) == 1:
        known_one = LostGpu(index=nameless[0].index, uuid=gone[0], code=nameless[0].code)
        return tuple(known_one if gpu is nameless[0] else gpu for gpu in lost)
    return tuple(lost)


def _names(groups: Sequence[tuple[str, ...]], declared: Declared) -> list[str]:
    """The declared name for the largest piece of a declared board; letters for the rest."""
    taken = {board.name for board in declared.board}
    free = (letter for letter in _letters() if letter not in taken)
    given: dict[int, str] = {}
    for board in declared.board:
        shares = [len(set(group) & set(board.gpus)) for group in groups]
        best = max(range(len(groups)), key=lambda at: (shares[at], -at), default=None)
        if best is not None and shares[best] and best not in given:
            given[best] = board.name
    names = []
    for at, group in enumerate(groups):
        home = declared.of(group[0])
        split = f"{home.name}-" if home is not None and at not in given else ""
        names.append(given.get(at) or f"{split}{next(free)}")
    return names


def _letters() -> Iterator[str]:
    yield from ascii_uppercase
    yield from (one + other for one in ascii_uppercase for other in ascii_uppercase)


# --- what differs --------------------------------------------------------------------------------


def _driver(survey: Survey, declared: Declared, volta_on_bus: int) -> Iterator[Notice]:
    major = survey.driver.partition(".")[0]
    seen = sum(gpu.volta for gpu in survey.gpus)
    if volta_on_bus > seen and major.isdigit() and int(major) > _VOLTA_BRANCH:
        yield Notice(
            severity=Severity.PAUSE,
            kind="driver_too_new",
            reason=f"driver {major} is too new: it ignores the box's {volta_on_bus} Volta cards",
            next_step="install branch 580, the last one for Volta, and hold its packages",
        )
    elif seen and major.isdigit() and int(major) != declared.driver_branch:
        yield Notice(
            severity=Severity.WARN,
            kind="driver_branch",
            reason=f"driver {major} runs; this box should run branch {declared.driver_branch}",
            next_step="install that branch and hold its packages",
        )


def _lost(gpu: LostGpu, declared: Declared) -> Notice:
    home = declared.of(gpu.uuid)
    on = f" of board {home.name}" if home else ""
    said = "is gone from the bus" if gpu.code == 15 else f"cannot be read (driver error {gpu.code})"
    return Notice(
        severity=Severity.PAUSE,
        kind="lost_card",
        reason=f"card {gpu.index}{on} {said}",
        next_step="stop work on its board; shut down, check the seat and the power connectors "
        "(look for soot), start again",
        board=home.name if home else "",
        uuid=gpu.uuid,
    )


def _missing(declared: Declared, seen: set[str]) -> Iterator[Notice]:
    for board in declared.board:
        for uuid in board.gpus:
            if uuid not in seen:
                yield Notice(
                    severity=Severity.PAUSE,
                    kind="missing_card",
                    reason=f"a declared card of board {board.name} is not there",
                    next_step="check its seat and power connectors, or correct the boards file",
                    board=board.name,
                    uuid=uuid,
                )


def _differences(
    name: str, cards: tuple[Gpu, ...], declared: Declared, lost: Sequence[str]
) -> Iterator[Notice]:
    home = next((board for board in declared.board if board.name == name), None)
    if home is not None and {gpu.uuid for gpu in cards} != set(home.gpus):
        apart = [uuid for uuid in home.gpus if uuid not in {gpu.uuid for gpu in cards}]
        if any(uuid not in lost for uuid in apart) or not apart:
            yield Notice(
                severity=Severity.PAUSE,
                kind="nvlink_cut",
                reason=f"board {name} is not whole: {len(cards)} of its {len(home.gpus)} cards are "
                "still joined to each other by NVLink",
                next_step="shut down and reseat the cards or the NVLink bridge; until then the "
                "model would have to cross the slow bus",
                board=name,
            )
        else:
            yield Notice(
                severity=Severity.PAUSE,
                kind="lost_card",
                reason=f"board {name} has lost {len(apart)} of its {len(home.gpus)} cards",
                next_step="see the lost card",
                board=name,
                uuid=apart[0],
            )
    for gpu in cards:
        yield from _card(gpu, name, home or declared.of(gpu.uuid))


def _card(gpu: Gpu, board: str, home: DeclaredBoard | None) -> Iterator[Notice]:
    width, most = known(gpu.link_width), known(gpu.link_width_most)
    expected = (home.link_width if home else None) or most
    if width is not None and expected is not None and width < expected and not gpu.unified:
        yield Notice(
            severity=Severity.PAUSE if width <= 1 else Severity.WARN,
            kind="link_width",
            reason=f"{gpu.short} has {count(width, 'PCIe lane')} instead of {expected}",
            next_step="reseat the card at the next chance; it goes on serving, loading is slower"
            if width > 1
            else "shut down and reseat the card: with one lane it is all but cut off",
            board=board,
            uuid=gpu.uuid,
        )
    limit = known(gpu.power_limit_mw)
    if home and home.power_limit_w is not None and limit is not None:
        set_w = limit // 1000
        if set_w != home.power_limit_w:
            yield Notice(
                severity=Severity.WARN,
                kind="power_limit",
                reason=f"{gpu.short} may draw {set_w} W; {home.power_limit_w} W are declared",
                next_step="run the power-limit unit again: limits are lost when the driver reloads",
                board=board,
                uuid=gpu.uuid,
            )
    if known(gpu.mig_on):
        yield Notice(
            severity=Severity.PAUSE,
            kind="mig",
            reason=f"{gpu.short} is cut into parts (MIG), which this product does not use",
            next_step="switch MIG off: `nvidia-smi -mig 0`",
            board=board,
            uuid=gpu.uuid,
        )
