"""The systemd units: verified and measured by systemd's own tool, filled for every kind of box."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import msgspec
import pytest

from bench.board_boxes import build_a, build_b
from protocol.errors import BadRequest
from worker.boards import Box, HostMemory
from worker.boards.declared import Declared, DeclaredBoard
from worker.config import Settings, load
from worker.engine import EngineSettings
from worker.setup.engine_units import in_units, unit_name, with_units
from worker.setup.units import CAPS_UNITS, UNITS, caps_script, render_units, write_units

EXAMPLES = Path(__file__).parents[4] / "deploy" / "examples"
NO_CARDS = Box(boards=(), memory=HostMemory(total_bytes=1, available_bytes=1))
EXPOSURE_MOST = {
    "secondchair-worker.service": 1.0,
    "secondchair-gateway.service": 1.5,
    "secondchair-health.service": 0.8,
    "secondchair-caps.service": 2.5,
    "secondchair-engine-north.service": 0.9,
}
"""What `systemd-analyze security` may say at most, on its scale from 0 (closed) to 10 (open)."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


@pytest.fixture
def settings():
    return Settings(state=Path("/var/lib/secondchair"), run_folder=Path("/run/secondchair"))


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "caps.sh"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def rendered(settings, box=NO_CARDS, **more):
    given = {"declared": Declared(), **more}
    return render_units(settings, Path("/etc/secondchair/worker.toml"), box=box, **given)


def limited(box):
    return Declared(
        board=tuple(
            DeclaredBoard(name=board.name, gpus=board.uuids, power_limit_w=180)
            for board in box.boards
        )
    )


def engines(box, **more):
    """An engine of its own unit for every board of a box."""
    given = {
        "model": Path("/srv/models/m.gguf"),
        "binary": Path("/opt/llama.cpp/bin/llama-server"),
        "flags": ("-sm", "layer", "-ts", "12,12,12,13", "-ngl", "all", "-fa", "on"),
        **more,
    }
    boards = [
        EngineSettings(
            name=board.name,
            environment={
                "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                "CUDA_VISIBLE_DEVICES": ",".join(board.uuids),
            },
            **given,
        )
        for board in box.boards
    ]
    return with_units(
        Settings(
            state=Path("/var/lib/secondchair"),
            run_folder=Path("/run/secondchair"),
            boards=tuple(boards),
        )
    )


def values(text, key):
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


@needs_systemd
@pytest.mark.parametrize("apart", [False, True], ids=["children", "units"])
@pytest.mark.parametrize("build", [None, build_a, build_b])
def test_systemd_finds_nothing_wrong(build, apart, settings, script, tmp_path):
    box = build() if build else NO_CARDS
    if apart:
        settings = engines(box)
    units = rendered(settings, box, declared=limited(box), caps=script)
    write_units(units, tmp_path / "units")
    files = [str(path) for path in (tmp_path / "units").glob("secondchair-*.*") if path.is_file()]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files],
        capture_output=True,
        text=True,
        timeout=60,
    )
    ours = [line for line in done.stderr.splitlines() if "secondchair" in line]
    assert ours == []


@needs_systemd
@pytest.mark.parametrize("name", EXPOSURE_MOST)
def test_systemd_finds_every_unit_closed(name, settings, script, tmp_path):
    box = build_a()
    write_units(rendered(engines(box), box, declared=limited(box), caps=script), tmp_path)
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(tmp_path / name)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stderr
    assert float(found[1]) <= EXPOSURE_MOST[name]


def test_the_worker_has_no_network_and_the_gateway_one_port(settings):
    units = rendered(msgspec.structs.replace(settings, port=2222))
    worker, gateway = units["secondchair-worker.service"], units["secondchair-gateway.service"]
    assert values(worker, "PrivateNetwork") == ["yes"]
    assert "INET" not in " ".join(values(worker, "RestrictAddressFamilies"))
    assert values(gateway, "SocketBindDeny") == ["any"]
    assert values(gateway, "SocketBindAllow") == ["tcp:2222"]
    assert values(gateway, "IPAddressDeny") == ["any"]
    assert values(gateway, "CapabilityBoundingSet") == [""]


def test_the_gateway_writes_only_where_files_are_dropped(settings):
    gateway = rendered(settings)["secondchair-gateway.service"]
    assert values(gateway, "ProtectSystem") == ["strict"]
    assert values(gateway, "ReadWritePaths") == [
        "/var/lib/secondchair/matters /var/lib/secondchair/audit"
    ]


def test_no_blank_is_left_and_no_path_of_this_machine(settings):
    for name, text in rendered(settings, build_a()).items():
        assert not re.search(r"@[A-Z]+@", text), name


def test_devices_only_where_there_are_cards(settings):
    assert values(rendered(settings)["secondchair-worker.service"], "PrivateDevices") == ["yes"]
    with_cards = rendered(settings, build_a())["secondchair-worker.service"]
    assert values(with_cards, "DeviceAllow") == ["char-nvidia* rw"]
    assert values(with_cards, "PrivateDevices") == []


def test_a_board_is_a_drop_in_that_names_its_cards_and_waits_for_its_limits(settings, script):
    box = build_a()
    units = rendered(settings, box, declared=limited(box), caps=script)
    assert set(CAPS_UNITS) <= set(units)
    for board in box.boards:
        text = units[f"secondchair-worker.service.d/board-{board.name}.conf"]
        assert all(uuid in text for uuid in board.uuids)
        assert values(text, "Requires") == ["secondchair-caps.service"]


def test_an_engine_has_a_unit_with_its_cards_its_flags_and_its_limits(script):
    box = build_a()
    units = rendered(engines(box), box, declared=limited(box), caps=script)
    names = {f"secondchair-engine-{board.name}.service" for board in box.boards}
    assert {name for name in units if "engine" in name} == names
    assert set(*map(str.split, values(units["secondchair-worker.service"], "Wants"))) == names
    assert not any(name.startswith("secondchair-worker.service.d/") for name in units)
    for board in box.boards:
        text = units[f"secondchair-engine-{board.name}.service"]
        assert f"CUDA_VISIBLE_DEVICES={','.join(board.uuids)}" in values(text, "Environment")
        assert "-ts 12,12,12,13 -ngl all" in values(text, "ExecStart")[0]
        assert values(text, "Requires") == ["secondchair-caps.service"]
        assert values(text, "RuntimeDirectory") == [f"secondchair-engine/{board.name}"]


def test_an_engine_sees_no_matter_no_settings_and_no_network():
    text = rendered(engines(build_a()), build_a())["secondchair-engine-north.service"]
    assert values(text, "User") == ["secondchair-engine"]
    assert values(text, "Group") == ["secondchair-engine"]
    assert values(text, "TemporaryFileSystem") == ["/var/lib/secondchair:ro"]
    assert values(text, "BindReadOnlyPaths") == ["-/var/lib/secondchair/models"]
    assert values(text, "InaccessiblePaths") == [
        "-/etc/secondchair -/run/secondchair -/run/secondchair-boxes"
    ]
    assert values(text, "PrivateNetwork") == ["yes"]
    assert values(text, "ReadWritePaths") == []


def test_an_engine_without_a_card_has_a_unit_too_and_no_device():
    text = rendered(with_units(Settings(state=Path("/var/lib/secondchair"))))[
        "secondchair-engine-A.service"
    ]
    assert values(text, "PrivateDevices") == ["yes"]
    assert values(text, "Requires") == []


@pytest.mark.parametrize(
    "more",
    [
        {"engine": "remote", "endpoint": "/run/a.sock"},
        {"fallback_binary": Path("/opt/old/llama-server")},
        {"slot_files": True},
    ],
    ids=["remote", "fallback", "slot files"],
)
def test_what_a_unit_cannot_do_stays_with_the_worker(more):
    board = EngineSettings(name="A", **more)
    (left,) = with_units(Settings(boards=(board,))).boards
    assert left.unit_socket is None


def test_a_leaking_engine_meets_its_bound_before_the_box_does(tmp_path):
    model = tmp_path / "m-00001-of-00002.gguf"
    for part in (model, tmp_path / "m-00002-of-00002.gguf"):
        with part.open("wb") as file:
            file.truncate(10 * 1024**3)
    box = msgspec.structs.replace(
        build_a(), memory=HostMemory(total_bytes=512 * 1024**3, available_bytes=1)
    )
    text = rendered(engines(box, model=model, cache_ram_mib=1024), box)[
        "secondchair-engine-north.service"
    ]
    assert values(text, "MemoryMax") == [f"{(20 + 1 + 16) * 1024}M"]
    small = msgspec.structs.replace(
        box, memory=HostMemory(total_bytes=20 * 1024**3, available_bytes=1)
    )
    text = rendered(engines(small, model=model), small)["secondchair-engine-north.service"]
    assert values(text, "MemoryMax") == [f"{17 * 1024}M"]


@pytest.mark.parametrize(
    "more",
    [
        {"flags": ("--chat-template-file", "/srv/two words")},
        {"flags": ("-ts", "1,1 %n")},
        {"model": Path("/srv/mo dels/m.gguf")},
        {"binary": Path("/opt/$HOME/llama-server")},
    ],
)
def test_a_flag_that_a_unit_would_misread_is_refused(more):
    with pytest.raises(BadRequest, match="misread"):
        rendered(engines(build_a(), **more), build_a())


@pytest.mark.parametrize("build", ["build-a", "build-a-second", "build-b", "build-b-spark"])
def test_every_board_of_the_example_settings_has_a_unit(build):
    settings = load(EXAMPLES / build / "worker.toml", environment={}).settings
    assert in_units(settings) == settings.boards
    units = rendered(settings)
    assert all(unit_name(board.name) in units for board in settings.boards)


def test_two_boards_whose_units_would_have_one_name_are_refused():
    boards = tuple(EngineSettings(name=name) for name in ("a+b", "a-b"))
    with pytest.raises(BadRequest, match="one name"):
        rendered(with_units(Settings(state=Path("/srv/state"), boards=boards)))


def test_the_unit_of_a_board_that_is_gone_goes(tmp_path):
    box = build_a()
    write_units(rendered(engines(box), box), tmp_path)
    assert list(tmp_path.glob("secondchair-engine-*"))
    (tmp_path / "mine.service").write_text("[Service]\n")
    write_units(rendered(Settings(state=Path("/var/lib/secondchair"))), tmp_path)
    assert not list(tmp_path.glob("secondchair-engine-*"))
    assert (tmp_path / "mine.service").exists()


def test_without_declared_limits_nothing_runs_as_root(settings, script):
    units = rendered(settings, build_a(), caps=script)
    assert not set(CAPS_UNITS) & set(units)
    assert all(values(text, "User") for name, text in units.items() if name.endswith(".service"))


@pytest.mark.parametrize("apart", [False, True], ids=["child", "unit"])
def test_processors_and_memory_are_bound_where_the_box_has_two_nodes(apart, settings, tmp_path):
    for node, cpus in ((0, "0-15"), (1, "16-31")):
        folder = tmp_path / f"devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cpus}\n")
    box = build_a()
    board = box.boards[0]
    gpus = tuple(msgspec.structs.replace(gpu, numa_node=1) for gpu in board.gpus)
    box = msgspec.structs.replace(box, boards=(msgspec.structs.replace(board, gpus=gpus),))
    if apart:
        settings = engines(box)
    text = rendered(settings, box, sys_root=tmp_path)[
        f"secondchair-engine-{board.name}.service"
        if apart
        else f"secondchair-worker.service.d/board-{board.name}.conf"
    ]
    assert values(text, "AllowedCPUs") == ["16-31"]
    assert values(text, "AllowedMemoryNodes") == ["1"]
    assert values(text, "NUMAPolicy") == (["bind"] if apart else [])


@pytest.mark.parametrize(
    "state", ["/srv/two words", "/srv/100%", "/srv/a\nExecStart=/bin/sh", "relative", "/srv/a;b"]
)
def test_a_path_that_a_unit_would_misread_is_refused(state, settings):
    with pytest.raises(BadRequest, match="path"):
        rendered(msgspec.structs.replace(settings, state=Path(state)))


def test_an_engine_over_the_network_is_refused_with_the_way_out(settings):
    board = EngineSettings(name="A", engine="remote", endpoint="http://127.0.0.1:8080")
    with pytest.raises(BadRequest, match="over the network"):
        rendered(msgspec.structs.replace(settings, boards=(board,)))
    socket = msgspec.structs.replace(board, endpoint="/run/secondchair-engine/a.sock")
    assert set(rendered(msgspec.structs.replace(settings, boards=(socket,)))) == set(UNITS)


def test_a_second_writing_changes_nothing_and_a_board_that_is_gone_goes(settings, tmp_path):
    assert len(write_units(rendered(settings, build_a()), tmp_path)) > len(UNITS)
    assert write_units(rendered(settings, build_a()), tmp_path) == []
    (tmp_path / "secondchair-worker.service.d" / "mine.conf").write_text("[Service]\n")
    write_units(rendered(settings), tmp_path)
    left = [path.name for path in (tmp_path / "secondchair-worker.service.d").iterdir()]
    assert left == ["mine.conf"]


def test_an_installed_package_carries_templates_and_profiles():
    """What a wheel forces in is where the code looks for it beside itself."""
    root = Path(__file__).parents[4]
    build = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    forced = build["targets"]["wheel"]["force-include"]
    assert forced["deploy/systemd"] == "worker/setup/systemd"
    assert forced["deploy/profiles"] == "worker/setup/profiles"
    assert forced["deploy/gpu/set_caps.py"] == "worker/setup/gpu/set_caps.py"
    assert all((root / source).exists() for source in forced)
    assert caps_script() == root / "deploy" / "gpu" / "set_caps.py"
