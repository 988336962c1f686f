"""What the box's own files say: memory, bus counters, the kernel's log; from trees made here."""

import os

import pytest

from bench.board_boxes import make_gpu
from worker.boards import Absent, HostMemory, Survey
from worker.boards.host import (
    KernelLog,
    nvidia_on_bus,
    read_counts,
    read_memory,
    read_signs,
    shares_memory,
    volta_on_bus,
    with_host_facts,
)
from worker.boards.looking import slowest_module


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "ascii")


def test_memory(tmp_path):
    write(tmp_path / "meminfo", "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 900 kB\nOdd:\n")
    assert read_memory(tmp_path) == HostMemory(
        total_bytes=1024000, available_bytes=921600, free_bytes=10240
    )
    assert read_memory(tmp_path / "none").total_bytes == 0


def test_cards_on_the_bus_are_counted_whether_or_not_the_driver_takes_them(tmp_path):
    devices = tmp_path / "bus/pci/devices"
    for at, (vendor, device, kind) in enumerate(
        [
            ("0x10de", "0x1db5", "0x030200"),
            ("0x10de", "0x2204", "0x030000"),
            ("0x10de", "0x1aef", "0x040300"),  # its sound
            ("0x8086", "0x1db5", "0x020000"),
        ]
    ):
        folder = devices / f"0000:0{at}:00.0"
        write(folder / "vendor", vendor + "\n")
        write(folder / "device", device + "\n")
        write(folder / "class", kind + "\n")
    assert volta_on_bus(tmp_path) == 1
    assert nvidia_on_bus(tmp_path) == 2
    assert volta_on_bus(tmp_path / "none") == 0


def test_error_counters(tmp_path):
    card = tmp_path / "bus/pci/devices/0000:41:00.0"
    write(card / "aer_dev_correctable", "RxErr 3\nBadTLP 4\nTOTAL_ERR_COR 7\n")
    write(card / "aer_dev_fatal", "Undefined 0\nDLP 1\n")
    for number, (ce, ue) in enumerate([(2, 0), (3, 1)]):
        write(tmp_path / f"devices/system/edac/mc/mc{number}/ce_count", f"{ce}\n")
        write(tmp_path / f"devices/system/edac/mc/mc{number}/ue_count", f"{ue}\n")
    counts = read_counts(["0000:41:00.0", "0000:42:00.0"], tmp_path)
    assert counts.aer_corrected == {"0000:41:00.0": 7, "0000:42:00.0": 0}
    assert counts.aer_fatal["0000:41:00.0"] == 1
    assert (counts.memory_corrected, counts.memory_uncorrected) == (5, 1)


def test_numa_node_and_shared_memory(tmp_path):
    write(tmp_path / "bus/pci/devices/0000:01:00.0/numa_node", "1\n")
    write(tmp_path / "bus/pci/devices/0000:02:00.0/numa_node", "-1\n")
    spark = make_gpu(
        2, name="NVIDIA GB10", compute="12.1", memory_bytes=Absent("no"),
        memory_free_bytes=Absent("no"),
    )  # fmt: skip
    memory = HostMemory(total_bytes=100, available_bytes=60)
    survey = Survey(driver="580.1", branch="", gpus=(make_gpu(0), make_gpu(1), spark))
    first, second, shared = with_host_facts(survey, memory, tmp_path).gpus
    assert (first.numa_node, second.numa_node) == (1, None)
    assert (shared.unified, shared.memory_bytes, shared.memory_free_bytes) == (True, 100, 60)


def test_a_card_whose_call_failed_does_not_get_the_box_s_memory():
    assert not shares_memory(make_gpu(0, memory_bytes=Absent("no")))
    assert shares_memory(make_gpu(0, name="NVIDIA GB10", memory_bytes=5))  # a wrong figure


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("4,1,-;NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off", ("0000:41:00.0", 79)),
        ("NVRM: Xid (PCI:0000:0A:00): 48, An uncorrectable error", ("0000:0a:00.0", 48)),
        ("NVRM: GPU at PCI:0000:41:00: GPU-abc fallen off the bus", ("0000:41:00.0", 0)),
        ("NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.", ("0000:41:00.0", 0)),
        ("NVRM: GPU at PCI:00000000:41:00: is lost", ("0000:41:00.0", 0)),
    ],
)  # fmt: skip
def test_the_kernel_s_words(line, sign):
    (found,) = read_signs([line])
    assert (found.pci, found.xid) == sign


@pytest.mark.parametrize(
    "line",
    ["", "usb 1-1: new device", "NVRM: loading NVIDIA UNIX x86_64", "Xid (PCI:0000:41:00): 79"],
)
def test_other_lines_say_nothing(line):
    assert list(read_signs([line])) == []


def test_the_kernel_s_log_is_read_from_its_end(tmp_path):
    path = tmp_path / "kmsg"
    path.write_text("old\n")
    log = KernelLog(path)
    assert log.readable
    assert log.lines() == []
    with path.open("a") as more:
        more.write("new\n")
    assert log.lines() == ["new"]
    log.close()
    log.close()
    assert log.lines() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_one_may_not_read_is_no_fault(tmp_path):
    path = tmp_path / "kmsg"
    path.touch(mode=0o000)
    assert not KernelLog(path).readable


def test_no_log_is_no_fault(tmp_path):
    log = KernelLog(tmp_path / "none")
    assert not log.readable
    assert log.lines() == []


def test_the_slowest_memory_module_counts():
    said = "Configured Memory Speed: 2933 MT/s\nConfigured Memory Speed: 2666 MT/s\nSpeed: 1 MT/s\n"
    assert slowest_module(said) == 2666
    assert slowest_module("") is None
