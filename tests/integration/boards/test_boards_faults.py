"""Every fault of the reference builds: found, named in plain words, the right board paused."""

import asyncio
import re

import pytest

from bench.board_faults import EVERY, FAULTS, try_faults
from worker.boards.probe import Probe
from worker.boards.watcher import Watcher


@pytest.fixture(scope="module")
def outcomes(library, tmp_path_factory):
    """All faults, tried six at a time: most of each is waiting."""
    tried = asyncio.run(try_faults(library, tmp_path_factory.mktemp("faults"), at_once=6))
    return {id(outcome.fault): outcome for outcome in tried}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.box}: {fault.name}")
def test_fault(fault, outcomes):
    outcome = outcomes[id(fault)]
    assert outcome.before == []
    assert outcome.detected, [change.reason for change in outcome.changes]
    assert outcome.paused == outcome.wanted
    touched = {change.board for change in outcome.changes if change.rule != "unwatched"}
    if fault.pauses and fault.pauses != EVERY:
        assert touched == {fault.pauses}
    assert not re.search(r"NVML|NVRM|Traceback|None|GPU-0", outcome.message)


async def test_watching_a_healthy_box_says_nothing(library, simulate, declared_of):
    for name in ("build_a", "build_b", "second_box", "dgx_spark"):
        box, heard = simulate(name), []

        async def hear(change, heard=heard):
            heard.append(change)

        watcher = Watcher(
            Probe(
                deadline_s=60, first_deadline_s=60, environment=box.environment(library)
            ),  # a busy machine is no sick board
            declared_of(box),
            hear,
            poll_s=0.05,
            fresh_s=0.5,
            kernel_lines=list,
        )
        task = asyncio.create_task(watcher.run())
        async with asyncio.timeout(60):
            while watcher.health is None:  # noqa: ASYNC110 - nobody tells when it has looked
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)  # some looks more; fewer on a busy machine, which does no harm
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await watcher.close()
        assert heard == []
        assert watcher.health is not None
        assert watcher.health.verdicts == ()


async def test_what_is_wrong_from_the_start_is_said_once(
    library, simulate, open_probe, declared_of
):
    box, heard = simulate("build_a"), []

    async def hear(change):
        heard.append((change.kind, change.board, change.rule))

    box.set(4, width=4)
    box.set(3, lost=1)
    box.cut_link(6, 7)
    watcher = Watcher(open_probe(box), declared_of(box), hear, kernel_lines=list)
    await watcher.survey()
    for _ in range(5):
        await watcher.step()
    assert sorted(heard) == [
        ("pause", "mixed", "host_lost_card"),
        ("pause", "south", "host_nvlink_cut"),
        ("verdict", "mixed", "host_lost_card"),
        ("verdict", "north", "link_width"),
        ("verdict", "south", "host_nvlink_cut"),
    ]


async def test_an_operator_resumes_and_the_same_fault_stops_it_again(
    library, simulate, open_probe, declared_of
):
    box, heard = simulate("build_b"), []

    async def hear(change):
        heard.append((change.kind, change.board))

    watcher = Watcher(open_probe(box), declared_of(box), hear, kernel_lines=list)
    await watcher.survey()
    box.set(2, ecc_uncorrected=1)
    await watcher.step()
    await watcher.resume("left")
    await watcher.step()
    assert heard == [("verdict", "left"), ("pause", "left"), ("resume", "left")]
    box.set(2, ecc_uncorrected=2)
    await watcher.step()
    assert heard[-1] == ("pause", "left")


async def test_boards_start_paused_while_the_driver_is_away_and_go_on_when_it_is_back(
    library, simulate, open_probe, declared_of
):
    box, heard = simulate("build_b"), []

    async def hear(change):
        heard.append((change.kind, change.board, change.rule))

    box.set(None, init=9)
    box.set(5, lost=1)
    watcher = Watcher(open_probe(box), declared_of(box), hear, kernel_lines=list)
    for _ in range(3):
        await watcher.survey()
    assert heard == [("pause", "left", "no_driver"), ("pause", "right", "no_driver")]
    box.set(None, init=0)
    await watcher.survey()
    assert ("resume", "left", "resume") in heard
    assert ("resume", "right", "resume") not in heard  # it has lost a card
    assert "right" in watcher.health.paused


async def test_after_an_unclean_stop_every_board_waits_for_an_operator(
    library, simulate, open_probe, declared_of
):
    box, heard = simulate("build_b"), []

    async def hear(change):
        heard.append((change.kind, change.board))

    watcher = Watcher(
        open_probe(box), declared_of(box), hear, kernel_lines=list, unclean_start=True
    )
    await watcher.survey()
    await watcher.step()
    assert [board for kind, board in heard if kind == "pause"] == ["left", "right"]
    await watcher.resume("left")
    await watcher.step()
    assert set(watcher.health.paused) == {"right"}


async def test_bus_and_memory_errors_of_the_box_are_heard(
    library, simulate, open_probe, declared_of, tmp_path
):
    box, heard = simulate("build_b"), []

    async def hear(change):
        heard.append((change.kind, change.board, change.rule))

    card = tmp_path / "bus/pci/devices" / box.described["devices"][5]["pci"]
    controller = tmp_path / "devices/system/edac/mc/mc0"
    for path in (card / "aer_dev_correctable", card / "aer_dev_fatal"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("TOTAL 0\n")
    for name in ("ce_count", "ue_count"):
        controller.mkdir(parents=True, exist_ok=True)
        (controller / name).write_text("0\n")
    watcher = Watcher(
        open_probe(box), declared_of(box), hear, sys=tmp_path, counts_s=0.0, kernel_lines=list
    )
    await watcher.survey()
    await watcher.step()
    assert heard == []
    (card / "aer_dev_correctable").write_text("TOTAL 50\n")
    await watcher.step()
    assert heard == [("verdict", "right", "aer_corrected")]
    (controller / "ue_count").write_text("1\n")
    await watcher.step()
    assert heard[-1] == ("verdict", "", "host_memory")
    (card / "aer_dev_fatal").write_text("TOTAL 1\n")
    await watcher.step()
    assert heard[-1] == ("pause", "right", "aer_fatal")
    count = len(heard)
    await watcher.step()
    assert len(heard) == count
