"""The scripts of ``deploy/gpu``: limits on the stand-in driver, a pin tried by apt itself, a build.

The build and its check run with tools that say what real ones say.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "deploy" / "gpu"


def run(script, *words, path="", **environment):
    return subprocess.run(
        [
            *([sys.executable, "-I"] if script.endswith(".py") else []),
            SCRIPTS / script,
            *map(str, words),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", **environment},
    )


def tool(folder, name, text):
    """A program of this name that says what the real one says."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    (folder / name).chmod(0o755)


# --- limits --------------------------------------------------------------------------------------


@pytest.fixture
def caps(library, simulate, tmp_path):
    """Runs set_caps on build A as the boards file declares it."""
    box = simulate("build_a")
    box.set(None, root=1, log=tmp_path / "setters")
    boards = tmp_path / "boards.toml"
    boards.write_text(
        (SCRIPTS.parent / "examples" / "build-a" / "boards.toml").read_text("utf-8"), "utf-8"
    )

    def caps(*words):
        said = run("set_caps.py", "--json", "--wait", "0", *words, boards,
                   **box.environment(library))  # fmt: skip
        rows = [json.loads(line) for line in said.stdout.splitlines()]
        return said, {row["uuid"][-1]: row for row in rows}

    caps.box, caps.boards, caps.log = box, boards, tmp_path / "setters"
    return caps


def test_every_declared_card_is_set_and_read_back(caps):
    for card in range(12):
        caps.box.set(card, limit=300_000, clock=1530)
    said, rows = caps()
    assert said.returncode == 0, said.stdout
    assert len(rows) == 12
    assert all(row["set"] == ["180 W", "at most 1522 MHz"] for row in rows.values())
    told = caps.log.read_text("ascii").splitlines()
    assert told.count("SetPersistenceMode 5 1") == 1
    assert "SetPowerManagementLimit 11 180000" in told
    assert "SetGpuLockedClocks 0 1522" in told


def test_dry_run_sets_nothing(caps):
    said, rows = caps("--dry-run")
    assert said.returncode == 0
    assert rows["0"]["set"] == ["180 W", "at most 1522 MHz"]
    assert not caps.log.exists()


def test_a_card_that_says_yes_and_does_nothing_is_found_by_reading_back(caps):
    caps.box.set(9, stubborn=1, limit=300_000, clock=1590)
    said, rows = caps()
    assert said.returncode == 1
    assert rows["9"]["wrong"] == [
        "180 W were set and the card reads 300 W",
        "it was capped at 1522 MHz and runs at 1590 MHz",
    ]
    assert [row["wrong"] for key, row in rows.items() if key != "9"] == [[]] * 11


def test_a_card_of_its_own_kind_gets_its_own_limit(caps):
    with caps.boards.open("a", encoding="utf-8") as file:
        file.write(f'\n[[card]]\nuuid = "{caps.box.uuids[3]}"\npower_limit_w = 160\n')
    said, rows = caps()
    assert said.returncode == 0
    assert rows["3"]["set"] == ["160 W", "at most 1522 MHz"]
    assert rows["2"]["set"] == ["180 W", "at most 1522 MHz"]


def test_a_limit_the_card_does_not_take_is_not_tried(caps):
    text = caps.boards.read_text("utf-8").replace("power_limit_w = 180", "power_limit_w = 90")
    caps.boards.write_text(text, "utf-8")
    said, rows = caps()
    assert said.returncode == 1
    assert "90 W are declared; this card takes 150 to 300 W" in rows["0"]["wrong"][0]
    assert "SetPowerManagementLimit" not in caps.log.read_text("ascii")


def test_a_card_that_is_gone_fails_and_the_others_are_set(caps):
    caps.box.set(3, lost=1)
    said, rows = caps()
    assert said.returncode == 1
    assert rows["3"]["wrong"]
    assert sum(not row["wrong"] for row in rows.values()) == 11


def test_only_root_may(caps):
    caps.box.set(None, root=0)
    said, rows = caps()
    assert said.returncode == 1
    assert "only root may do that" in rows["0"]["wrong"][0]


@pytest.mark.parametrize(("text", "words"), [("a = [", "not TOML"), (None, "cannot be read")])
def test_a_boards_file_that_cannot_be_read_is_said(caps, text, words):
    if text is None:
        caps.boards.unlink()
    else:
        caps.boards.write_text(text, "utf-8")
    said, _ = caps()
    assert said.returncode == 2
    assert words in said.stderr


def test_without_a_driver_nothing_is_done(caps):
    caps.box.set(None, init=9)
    said, _ = caps()
    assert said.returncode == 2
    assert "the driver is not running" in said.stderr


# --- driver --------------------------------------------------------------------------------------

PACKAGES = """ii  nvidia-driver-580-server 580.126.09-0ubuntu1
ii  libnvidia-compute-580-server 580.126.09-0ubuntu1
ii  nvidia-container-toolkit 1.17.8-1
ii  bash 5.2"""


@pytest.fixture
def debian(tmp_path):
    """A root to write into, with the package tools' answers."""
    tools, held = tmp_path / "tools", tmp_path / "held"
    held.write_text("", "ascii")
    tool(tools, "dpkg-query", f"cat <<'EOF'\n{PACKAGES}\nEOF")
    tool(tools, "apt-mark", f'case $1 in showhold) cat {held} ;; hold) echo "$2" >>{held} ;; esac')

    def hold(*words):
        return run("hold-driver.sh", *words, path=tools, SECONDCHAIR_ROOT=str(tmp_path / "root"))

    hold.held, hold.root, hold.tools = held, tmp_path / "root", tools
    return hold


def test_the_driver_is_pinned_blocked_and_held_once(debian):
    assert debian("--check").returncode == 1
    assert not debian.root.exists()
    assert debian().returncode == 0
    assert debian.held.read_text("ascii").split() == [
        "nvidia-driver-580-server",
        "libnvidia-compute-580-server",
    ]
    assert debian("--check").returncode == 0
    again = debian()
    assert "written" not in again.stdout
    assert len(debian.held.read_text("ascii").split()) == 2


def test_a_package_of_another_branch_stops_it(debian):
    text = PACKAGES.replace("nvidia-driver-580-server 580", "nvidia-driver-595-server 595")
    tool(debian.tools, "dpkg-query", f"cat <<'EOF'\n{text}\nEOF")
    said = debian()
    assert said.returncode == 1
    assert "nvidia-driver-595-server" in said.stderr
    assert debian.held.read_text("ascii") == ""


def test_dry_run_writes_nothing(debian):
    said = debian("--dry-run")
    assert "missing" in said.stdout
    assert not debian.root.exists()
    assert debian.held.read_text("ascii") == ""


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt is not installed here")
def test_apt_itself_takes_580_and_leaves_the_container_toolkit_alone(debian, tmp_path):
    assert debian().returncode == 0
    index = tmp_path / "index"
    index.mkdir()
    offered = {
        "nvidia-driver": ["575.57.08-1", "580.126.09-1", "580.65.06-1", "595.10-1"],
        "libnvidia-ml1": ["580.126.09-1", "595.10-1"],
        "nvidia-kernel-dkms": ["595.10-1"],
        "nvidia-container-toolkit": ["1.17.8-1"],
    }
    (index / "Packages").write_text(
        "".join(
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\n"
            f"Filename: ./{name}_{version}.deb\nSize: 1\nDescription: none\n\n"
            for name, versions in offered.items()
            for version in versions
        ),
        "utf-8",
    )
    state = tmp_path / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial", "empty"):
        (state / folder).mkdir(parents=True)
    (state / "sources.list").write_text(f"deb [trusted=yes] file:{index} ./\n", "utf-8")
    (state / "status").write_text("", "ascii")
    options = {
        "Dir::State": state / "state",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::SourceList": state / "sources.list",
        "Dir::Etc::SourceParts": state / "empty",
        "Dir::Etc::Preferences": state / "none",
        "Dir::Etc::PreferencesParts": debian.root / "etc/apt/preferences.d",
        "APT::Sandbox::User": "root",
    }
    given = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    update = subprocess.run(["apt-get", *given, "update"], check=False, capture_output=True,
                            timeout=120)  # fmt: skip
    if update.returncode:
        pytest.skip("apt does not work on a folder of its own here")

    def candidate(name):
        said = subprocess.run(["apt-cache", *given, "policy", name], check=True,
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LC_ALL": "C"})  # fmt: skip
        return next(line.split()[1] for line in said.stdout.splitlines() if "Candidate" in line)

    assert candidate("nvidia-driver") == "580.126.09-1"
    assert candidate("libnvidia-ml1") == "580.126.09-1"
    assert candidate("nvidia-kernel-dkms") == "(none)"
    assert candidate("nvidia-container-toolkit") == "1.17.8-1"


# --- llama.cpp -----------------------------------------------------------------------------------

HELP = "--fit --cache-ram --split-mode --tensor-split --n-gpu-layers --flash-attn"


@pytest.fixture
def toolchain(tmp_path):
    """A CUDA 12 toolkit and a source tree, as far as the scripts look."""
    tools, source = tmp_path / "tools", tmp_path / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text("", "ascii")
    tool(tools, "nvcc", "echo 'Cuda compilation tools, release 12.9, V12.9.41'")
    tool(tools, "cuobjdump", "echo 'ELF file    1: a.sm_70.cubin'")
    server = f"echo '{HELP}'; [ $1 != --list-devices ] || printf '  CUDA0: V100\\n  CUDA1: V100\\n'"
    tool(
        tools,
        "cmake",
        f'[ $1 != --build ] || {{ mkdir -p "$2/bin"; cat >"$2/bin/llama-server" <<"EOF"\n'
        f'#!/bin/sh\n{server}\nEOF\nchmod +x "$2/bin/llama-server"; }}',
    )
    return tools, source


def test_a_build_is_checked_and_the_one_before_is_kept(toolchain, tmp_path):
    tools, source = toolchain
    target = tmp_path / "opt"
    for _ in range(2):
        said = run("build-llama.sh", "--jobs", "1", source, target, path=tools)
        assert said.returncode == 0, said.stderr + said.stdout
    assert "ok     machine code for sm_70" in said.stdout
    assert (target / "bin" / "llama-server").exists()
    assert (target / "bin" / "llama-server.before").exists()


def test_cuda_13_is_refused_for_volta_and_taken_for_a_spark(toolchain, tmp_path):
    tools, source = toolchain
    tool(tools, "nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.48'")
    said = run("build-llama.sh", "--dry-run", source, tmp_path / "opt", path=tools)
    assert said.returncode == 1
    assert "no longer builds for Volta" in said.stderr
    said = run("build-llama.sh", "--dry-run", "--arch", "70;86", source, tmp_path, path=tools)
    assert said.returncode == 1
    said = run("build-llama.sh", "--dry-run", "--arch", "121a", source, tmp_path, path=tools)
    assert said.returncode == 0
    assert "-DCMAKE_CUDA_ARCHITECTURES=121a" in said.stdout


def test_a_build_for_other_cards_does_not_reach_its_place(toolchain, tmp_path):
    tools, source = toolchain
    tool(tools, "cuobjdump", "echo 'ELF file    1: a.sm_700.cubin'; echo 'b.sm_86.cubin'")
    said = run("build-llama.sh", "--jobs", "1", source, tmp_path / "opt", path=tools)
    assert said.returncode == 1
    assert "no machine code for sm_70" in said.stdout
    assert not (tmp_path / "opt").exists()


def test_a_binary_that_sees_too_few_cards_or_lacks_a_flag_is_refused(toolchain, tmp_path):
    tools, _ = toolchain
    tool(tmp_path, "llama-server", f"echo '{HELP}'\nprintf '  CUDA0: V100\\n'")
    binary = tmp_path / "llama-server"
    assert run("check-binary.sh", "--cards", "1", binary, path=tools).returncode == 0
    said = run("check-binary.sh", "--cards", "4", binary, path=tools)
    assert said.returncode == 1
    assert "sees 1 cards, 4 are wanted" in said.stdout
    tool(tmp_path, "llama-server", f"echo '{HELP.replace('--fit ', '--fitting ')}'")
    said = run("check-binary.sh", binary, path=tools)
    assert said.returncode == 1
    assert "does not know --fit" in said.stdout


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.iterdir()))
def test_every_script_explains_itself(script):
    said = run(script, "--help")
    assert said.returncode == 0
    assert len(said.stdout) > 200
    assert os.access(SCRIPTS / script, os.X_OK)
