"""The real nvidia-ml-py in its child, on the stand-in: values, absences, verdicts, silence."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pynvml  # noqa: TID251  (compared with the stand-in)
import pytest

from bench.nvml_double import SOURCE, build_library, why_not
from worker.boards import GIB, Absent, HostMemory, Lost, Samples, Survey, Trouble, known
from worker.boards.host import with_host_facts
from worker.boards.probe import Probe, Silent
from worker.boards.topology import make_box


async def test_build_a_is_seen_whole(simulate, open_probe, declared_of):
    box = simulate("build_a")
    survey = await open_probe(box).survey()
    assert isinstance(survey, Survey)
    assert survey.driver == "580.126.09"
    assert survey.branch == "r580_00"
    assert [gpu.uuid for gpu in survey.gpus] == box.uuids
    assert survey.gpus[4].pci == "0000:41:00.0"
    assert survey.gpus[4].compute == "7.0"
    assert len(survey.gpus[4].links) == 6
    seen = make_box(survey, declared_of(box), HostMemory(total_bytes=1, available_bytes=1))
    assert [[gpu.index for gpu in board.gpus] for board in seen.boards] == [
        [0, 1], [2, 3], [4, 5, 8, 9], [6, 7, 10, 11],
    ]  # fmt: skip
    assert round(known(seen.boards[1].gpus[1].memory_bytes) / GIB) == 16
    assert seen.notices == ()


async def test_build_b_has_two_boards_behind_switches(simulate, open_probe, declared_of):
    box = simulate("build_b")
    survey = await open_probe(box).survey()
    near = {(one[-1], other[-1]): level for one, other, level in survey.near}
    assert near["0", "1"] == 20
    assert near["1", "2"] == 30
    seen = make_box(survey, declared_of(box), HostMemory(total_bytes=1, available_bytes=1))
    assert [len(board.gpus) for board in seen.boards] == [4, 4]
    assert seen.notices == ()


async def test_the_second_box_mixes_bridged_pairs_and_cards_without_nvlink(
    simulate, open_probe, declared_of
):
    box = simulate("second_box")
    probe = open_probe(box)
    survey = await probe.survey()
    seen = make_box(survey, declared_of(box), HostMemory(total_bytes=1, available_bytes=1))
    assert [len(board.gpus) for board in seen.boards] == [2, 2, 1, 1]
    assert seen.notices == ()
    samples = await probe.sample()
    geforce, volta = samples.samples[0], samples.samples[4]
    assert isinstance(geforce.ecc_uncorrected, Absent)
    assert isinstance(geforce.pages_double, Absent)
    assert volta.ecc_uncorrected == 0
    assert isinstance(volta.links_active, Absent)


async def test_a_spark_reports_little_and_shares_the_box_s_memory(simulate, open_probe):
    probe = open_probe(simulate("dgx_spark"))
    survey = await probe.survey()
    (gpu,) = with_host_facts(survey, HostMemory(total_bytes=119, available_bytes=90)).gpus
    assert (gpu.unified, gpu.memory_bytes, gpu.memory_free_bytes) == (True, 119, 90)
    assert isinstance(gpu.link_width, Absent)
    assert isinstance(gpu.power_limit_mw, Absent)
    (sample,) = (await probe.sample()).samples
    assert sample.power_mw == (9000,)
    assert isinstance(sample.power_limit_mw, Absent)
    assert isinstance(sample.memory_temperature_c, Absent)


# --- verdicts on the driver -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (9, "no_driver", "installed but not running"),
        (18, "version_mismatch", "updated while the box ran"),
        (15, "lost_card", "gone from the bus"),
        (999, "driver_error", "error 999"),
    ],
)
async def test_a_driver_that_cannot_start_says_why(simulate, open_probe, code, kind, words):
    box = simulate()
    box.set(None, init=code)
    probe = open_probe(box)
    for question in (probe.survey, probe.sample):
        trouble = await question()
        assert isinstance(trouble, Trouble)
        assert trouble.kind == kind
        assert words in trouble.reason
        assert trouble.next_step
    box.set(None, init=0)
    assert isinstance(await probe.survey(), Survey)  # a fresh child looks anew


async def test_no_library_is_a_verdict_of_its_own(tmp_path):
    probe = Probe(environment={"LD_LIBRARY_PATH": str(tmp_path)})
    trouble = await probe.survey()
    await probe.close()
    if isinstance(trouble, Survey):
        pytest.skip("this machine has an NVIDIA library of its own")
    assert trouble.kind in ("no_library", "no_driver")


async def test_a_driver_that_fails_later_says_why(simulate, open_probe):
    box = simulate()
    probe = open_probe(box)
    assert isinstance(await probe.sample(), Samples)
    box.set(None, error__GetCount=999)
    trouble = await probe.sample()
    assert isinstance(trouble, Trouble)
    assert trouble.kind == "driver_error"


# --- lost cards -----------------------------------------------------------------------------------


async def test_one_lost_card_leaves_eleven(simulate, open_probe):
    box = simulate()
    probe = open_probe(box)
    await probe.survey()
    box.set(7, lost=1)
    survey = await probe.survey()
    assert len(survey.gpus) == 11
    assert [(gpu.index, gpu.uuid, gpu.code) for gpu in survey.lost] == [(7, box.uuids[7], 15)]
    samples = await probe.sample()
    gone = [sample for sample in samples.samples if isinstance(sample.reachable, Lost)]
    assert [sample.uuid for sample in gone] == [box.uuids[7]]


async def test_a_card_lost_from_the_start_has_no_name_of_its_own(simulate, open_probe, declared_of):
    box = simulate()
    box.set(7, lost=1)
    survey = await open_probe(box).survey()
    assert survey.lost[0].uuid == ""
    seen = make_box(survey, declared_of(box), HostMemory(total_bytes=1, available_bytes=1))
    assert seen.lost[0].uuid == box.uuids[7]


async def test_a_failing_call_of_one_card_is_that_card_s_alone(simulate, open_probe):
    box = simulate()
    box.set(3, error__GetTemperature=999)
    samples = await open_probe(box).sample()
    assert samples.samples[3].temperature_c == Lost(999)
    assert samples.samples[2].temperature_c == 41


# --- power and messages ---------------------------------------------------------------------------


async def test_power_is_read_between_questions(simulate, open_probe):
    box = simulate()
    probe = open_probe(box)
    await probe.sample()
    seen, steady = [], set()
    for milliwatts in (232_000, 40_000):
        box.set(2, power=milliwatts)
        async with asyncio.timeout(60):
            while milliwatts not in seen:
                await asyncio.sleep(0.5)  # the child reads meanwhile
                samples = (await probe.sample()).samples
                seen += samples[2].power_mw
                steady |= set(samples[3].power_mw)
    assert seen.count(232_000) > 1  # more often than it was asked
    assert seen[-1] == 40_000
    assert steady == {41_000}


async def test_the_instant_field_is_preferred(simulate, open_probe):
    box = simulate()
    box.set(0, power_now=77_000)
    assert (await open_probe(box).sample()).samples[0].power_mw == (77_000,)


async def test_xids_come_once_with_their_card(simulate, open_probe):
    box = simulate()
    probe = open_probe(box)
    assert (await probe.sample()).xids == ()
    box.set(9, xid=79)
    box.set(5, xid=31)
    assert sorted((await probe.sample()).xids) == sorted([(box.uuids[9], 79), (box.uuids[5], 31)])
    assert (await probe.sample()).xids == ()


async def test_a_card_that_supports_no_events_is_still_read(simulate, open_probe):
    box = simulate()
    box.set(9, event_mask=0)
    box.set(9, xid=79)
    samples = await open_probe(box).sample()
    assert samples.xids == ()
    assert len(samples.samples) == 12


async def test_a_timeline_plays_by_itself(simulate, open_probe):
    box = simulate()
    probe = open_probe(box)
    await probe.survey()  # the child is up
    box.set(1, 5.0, temp=70)
    read = [(await probe.sample()).samples[1].temperature_c]
    async with asyncio.timeout(60):
        while read[-1] != 70:
            await asyncio.sleep(0.2)
            read.append((await probe.sample()).samples[1].temperature_c)
    assert set(read) == {41, 70}
    assert read == sorted(read)


async def _surveyed(probe):
    """The first survey in twenty tries; on a loaded machine a short deadline may pass."""
    for _ in range(20):
        answer = await probe.survey()
        if isinstance(answer, Survey):
            break
    return answer


# --- silence --------------------------------------------------------------------------------------


async def test_silence_names_the_card_and_no_second_child_is_started(simulate, open_probe):
    box = simulate()
    probe = open_probe(box, deadline_s=0.6)
    await probe.survey()
    stuck = probe.pid
    box.set(8, delay__GetFieldValues=-1)
    for _ in range(3):
        answer = await probe.sample()
        assert isinstance(answer, Silent)
        assert answer.uuid == box.uuids[8]
        assert "has not answered" in answer.reason
        assert probe.pid == stuck
    assert not probe.answers


async def test_silence_of_the_driver_itself_names_no_card(simulate, open_probe):
    box = simulate()
    box.set(None, delay__Init=-1)
    answer = await open_probe(box, first_deadline_s=1.5).survey()
    assert isinstance(answer, Silent)
    assert answer.uuid == ""
    assert "as a whole" in answer.reason


async def test_a_child_that_comes_back_is_used_again(simulate, open_probe):
    box = simulate()
    probe = open_probe(box, deadline_s=0.5)
    await probe.survey()
    pid = probe.pid
    box.set(8, delay__GetTemperature=2000)
    assert isinstance(await probe.sample(), Silent)
    box.set(8, delay__GetTemperature=0)
    for _ in range(20):
        answer = await probe.sample()
        if isinstance(answer, Samples):
            break
    assert isinstance(answer, Samples)
    assert probe.pid == pid
    assert isinstance(await _surveyed(probe), Survey)


async def test_a_late_answer_is_never_taken_for_another_question(simulate, open_probe):
    box = simulate()
    probe = open_probe(box, deadline_s=0.5)
    await probe.survey()
    box.set(8, delay__GetTemperature=1500)
    assert isinstance(await probe.sample(), Silent)
    box.set(8, delay__GetTemperature=0)
    await asyncio.sleep(2.5)  # the late answer lies ready to be read
    assert isinstance(await _surveyed(probe), Survey)


async def test_closing_does_not_wait_for_a_stuck_child(simulate, open_probe):
    box = simulate()
    probe = open_probe(box, deadline_s=0.5)
    await probe.survey()
    child = probe.pid
    box.set(8, delay__GetTemperature=-1)
    os.kill(child, signal.SIGSTOP)  # as deaf as one inside the kernel
    assert isinstance(await probe.sample(), Silent)
    await asyncio.wait_for(probe.close(), 60)


async def test_a_child_that_was_killed_is_replaced(simulate, open_probe):
    probe = open_probe(simulate())
    await probe.survey()
    first = probe.pid
    os.kill(first, signal.SIGKILL)
    assert isinstance(await _surveyed(probe), Survey)
    assert probe.pid != first


async def test_the_child_ends_with_its_parent(simulate, library):
    box = simulate()
    program = (
        "import asyncio, os\n"
        "from worker.boards.probe import Probe\n"
        "async def main():\n"
        "    probe = Probe()\n"
        "    await probe.survey()\n"
        "    print(probe.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        env=os.environ | box.environment(library),
        stdout=subprocess.PIPE,
    )
    child = int((await parent.communicate())[0])
    for _ in range(100):
        if not _alive(child):
            return
        await asyncio.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("the reader outlived its parent")


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- the stand-in itself --------------------------------------------------------------------------


async def test_an_older_driver_lacks_symbols_and_is_read_all_the_same(simulate):
    if reason := why_not():
        pytest.skip(reason)
    box = simulate()
    probe = Probe(environment=box.environment(build_library("R535")))
    survey, samples = await probe.survey(), await probe.sample()
    await probe.close()
    assert survey.branch == ""
    assert samples.samples[0].reasons == 1  # by the older name


async def test_nothing_is_ever_set(simulate, open_probe, tmp_path):
    box = simulate()
    log = tmp_path / "setters"
    box.set(None, log=log)
    probe = open_probe(box)
    await probe.survey()
    await probe.sample()
    assert not log.exists()


def test_structures_are_as_large_as_the_binding_s(tmp_path):
    if reason := why_not():
        pytest.skip(reason)
    types = {
        "pci_t": pynvml.nvmlPciInfo_t,
        "memory_t": pynvml.c_nvmlMemory_t,
        "memory2_t": pynvml.c_nvmlMemory_v2_t,
        "process_t": pynvml.c_nvmlProcessInfo_v3_t,
        "field_t": pynvml.c_nvmlFieldValue_t,
        "event_t": pynvml.c_nvmlEventData_t,
        "util_t": pynvml.c_nvmlUtilization_t,
        "branch_t": pynvml.c_nvmlSystemDriverBranchInfo_v1_t,
    }
    prints = "".join(f'printf("{name} %zu\\n", sizeof({name}));' for name in types)
    program = tmp_path / "sizes.c"
    program.write_text(f'#include "{SOURCE}"\nint main(void) {{ {prints} return 0; }}\n')
    subprocess.run(["gcc", "-o", tmp_path / "sizes", program], check=True)
    said = subprocess.run([tmp_path / "sizes"], check=True, capture_output=True, text=True).stdout
    sizes = {name: int(size) for name, size in (line.split() for line in said.splitlines())}
    assert sizes == {name: ctypes.sizeof(kind) for name, kind in types.items()}


def test_gpustat_runs_on_it(simulate, library):
    pytest.importorskip("gpustat")
    box = simulate()
    done = subprocess.run(
        [sys.executable, "-m", "gpustat", "--no-color"],
        env=os.environ | box.environment(library),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Tesla V100-SXM2-32GB") == 11


async def test_a_close_that_is_cancelled_has_ended_the_child_all_the_same(simulate, open_probe):
    probe = open_probe(simulate("build_b"))
    await probe.survey()
    pid = probe.pid
    closing = asyncio.create_task(probe.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not Path(f"/proc/{pid}").exists()


async def test_a_question_that_is_cancelled_while_its_child_starts_leaves_one_that_close_ends(
    simulate, open_probe, monkeypatch
):
    made, go = asyncio.Queue(), asyncio.Event()
    real = asyncio.create_subprocess_exec

    async def slow(*command, **options):
        child = await real(*command, **options)
        made.put_nowait(child)
        await go.wait()
        return child

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
    probe = open_probe(simulate("build_b"))
    asking = asyncio.create_task(probe.survey())
    async with asyncio.timeout(60):
        child = await made.get()
    asking.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await probe.close()
    ended = child.returncode is not None
    if not ended:
        child.kill()
        await child.wait()
    assert ended
