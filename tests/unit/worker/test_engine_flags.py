"""The command line: checked against the build, closed to what shows or moves prompts."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from protocol.errors import BadRequest, Unavailable
from worker.boards.model_file import ModelHeader
from worker.engine import EngineSettings
from worker.engine.build_help import BuildHelp, parse_help, read_help
from worker.engine.child import scrubbed_environment
from worker.engine.drafting import refuse_without_drafter
from worker.engine.models import file_sha256
from worker.engine.native_server import KINDS
from worker.engine.run_folder import RunFolder
from worker.engine.server_flags import (
    public_flags,
    recorded_flags,
    server_flags,
    server_program,
)

PATHS = {"model": Path("/m.gguf"), "socket": Path("/r/e.sock"), "slots": Path("/r/slots")}


async def _build() -> BuildHelp:
    return await read_help(server_program(EngineSettings()))


def _with(build: BuildHelp, *flags: str) -> BuildHelp:
    return msgspec.structs.replace(build, flags=build.flags | {*flags})


async def test_our_own_flags_are_known_to_our_own_server() -> None:
    build = await _build()
    given = server_flags(EngineSettings(speculation="ngram-simple"), build=build, **PATHS)
    assert given[given.index("-c") + 1] == "4096"
    assert given[given.index("--fit") + 1] == "off"
    assert "--offline" in given


async def test_slots_multiply_the_context() -> None:
    settings = EngineSettings(context_tokens=1000, slots=3)
    given = server_flags(settings, build=await _build(), **PATHS)
    assert given[given.index("-c") + 1] == "3000"
    assert given[given.index("-np") + 1] == "3"


async def test_a_flag_the_build_lacks_is_refused_by_name() -> None:
    settings = EngineSettings(flags=("--draft-max", "3"))
    with pytest.raises(BadRequest, match="--draft-max"):
        server_flags(settings, build=await _build(), **PATHS)


@pytest.mark.parametrize(
    "flags",
    [
        ("--log-prompts-dir", "/tmp"),
        ("--log-prompts-dir=/tmp",),
        ("--log-file", "/tmp/log"),
        ("--tools", "all"),
        ("--media-path", "/"),
        ("-lv", "5"),
        ("--verbose",),
        ("--cache-ram", "100"),
        ("-cram", "100"),
        ("--host", "0.0.0.0"),
        ("--rpc", "10.0.0.9:50052"),
        ("-hf", "someone/model"),
        ("--api-key", "secret"),
        ("-m", "/other.gguf"),
        ("--fit", "on"),
        ("--kv-unified",),
        ("--no-slots",),
        ("--spec-type", "ngram-mod"),
        ("--spec-default",),
        ("-lcd", "/tmp/ngrams"),
    ],
)
async def test_flags_that_open_a_door_are_refused(flags: tuple[str, ...]) -> None:
    """Also where the build knows them."""
    build = _with(await _build(), *(flag.split("=")[0] for flag in flags))
    with pytest.raises(BadRequest, match="not allowed") as caught:
        server_flags(EngineSettings(flags=flags), build=build, **PATHS)
    assert flags[0].split("=")[0] in caught.value.message


@pytest.mark.parametrize(
    "kinds", ["ngram-mod", "ngram-map-k", "draft-simple,ngram-mod", "ngram-simple,ngram-cache"]
)
async def test_speculation_that_remembers_is_refused(kinds: str) -> None:
    with pytest.raises(BadRequest, match="one matter"):
        server_flags(EngineSettings(speculation=kinds), build=await _build(), **PATHS)


@pytest.mark.parametrize(
    ("kinds", "flags", "layers", "why"),
    [
        ("draft-simple", (), 0, "needs a draft model"),
        ("ngram-simple,draft-eagle3", (), 1, "needs a draft model"),
        ("draft-mtp", (), 0, "needs layers"),
        ("draft-mtp", (), 1, ""),
        ("draft-mtp", ("--spec-draft-model", "/d.gguf"), 0, ""),
        ("draft-simple", ("-md=/d.gguf",), 0, ""),
        ("ngram-simple", (), 0, ""),
    ],
)
def test_speculation_without_anything_that_drafts_is_refused(
    kinds: str, flags: tuple[str, ...], layers: int, why: str
) -> None:
    values = {"general.architecture": "qwen35moe", "qwen35moe.nextn_predict_layers": layers}
    header = ModelHeader(values=values, tensors=(), size_bytes=0)
    settings = EngineSettings(speculation=kinds, flags=flags)
    if not why:
        refuse_without_drafter(settings, header)
        return
    with pytest.raises(BadRequest, match=why):
        refuse_without_drafter(settings, header)


def test_layers_that_draft_are_not_denied_to_a_model_we_do_not_know() -> None:
    values = {"general.architecture": "deepseek4"}
    header = ModelHeader(values=values, tensors=(), size_bytes=0)
    refuse_without_drafter(EngineSettings(speculation="draft-mtp"), header)


async def test_speculation_that_the_build_lacks_is_refused_and_what_it_has_is_said() -> None:
    build = msgspec.structs.replace(await _build(), speculation=frozenset({"draft-simple"}))
    for kinds in ("draft-mtp", "draft-simple,draft-mtp"):
        with pytest.raises(BadRequest, match="no speculation draft-mtp") as caught:
            server_flags(EngineSettings(speculation=kinds), build=build, **PATHS)
        assert caught.value.next_step == "it knows draft-simple"
    for kinds in ("none", "draft-simple"):
        assert server_flags(EngineSettings(speculation=kinds), build=build, **PATHS)


async def test_kinds_are_read_from_the_help_of_either_kind_of_build() -> None:
    ours = await _build()
    assert {"draft-mtp", "draft-simple", "ngram-simple", "ngram-mod"} <= ours.speculation
    binary = parse_help(
        """
--spec-draft-n-max N                    number of tokens to draft (default: 16)
--spec-type none,draft-simple,draft-mtp
                                        types of speculation, with commas; ngram-simple needs
                                        no model (default: none)
                                        (env: LLAMA_ARG_SPEC_TYPE)
--spec-draft-p-min P                    least probability of draft-eagle3 (default: 0.75)
"""
    )
    assert binary.speculation == {"draft-simple", "draft-mtp", "ngram-simple"}
    assert {"--spec-type", "--spec-draft-p-min"} <= binary.flags
    assert parse_help("-m FILE   the model").speculation == frozenset()


def test_the_kinds_of_our_own_server_are_those_of_its_package() -> None:
    package = pytest.importorskip("xllamacpp")
    prefix = "COMMON_SPECULATIVE_TYPE_"
    names = {name.removeprefix(prefix) for name in package.common_speculative_type.__members__}
    assert {kind.upper().replace("-", "_") for kind in KINDS} == names - {"COUNT"}


async def test_provenance_holds_no_path() -> None:
    given = server_flags(EngineSettings(name="SECRET"), build=await _build(), **PATHS)
    assert not any("/" in word or "SECRET" in word for word in public_flags(given))
    assert "-c" in public_flags(given)
    more = ("--lora=/home/x", "--mmproj", "/home/y", "-md=/home/z")
    assert not any("/" in word for word in public_flags([*given, *more]))


@pytest.mark.parametrize("form", ["two words", "one word"])
async def test_a_draft_model_is_recorded_by_its_hash(tmp_path: Path, form: str) -> None:
    draft = tmp_path / "draft.gguf"
    draft.write_bytes(b"GGUF")
    flag = "--spec-draft-model"
    given = [flag, str(draft)] if form == "two words" else [f"{flag}={draft}"]
    recorded = await recorded_flags(["-c", "1", *given])
    assert recorded == ("-c", "1", flag, f"sha256:{file_sha256(draft)}")
    draft.write_bytes(b"GGUF2")
    assert await recorded_flags(["-c", "1", *given]) != recorded


async def test_a_program_that_cannot_run_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await read_help([str(tmp_path / "none")])


def test_the_environment_is_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GGML_CUDA_P2P", "LLAMA_ARG_TOOLS", "LLAMA_SERVER_SLOTS_DEBUG", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a")
    found = scrubbed_environment({"GGML_CUDA_FORCE_MMQ": "1"})
    assert found["CUDA_VISIBLE_DEVICES"] == "GPU-a"
    assert found["GGML_CUDA_FORCE_MMQ"] == "1"
    assert not {"GGML_CUDA_P2P", "LLAMA_ARG_TOOLS", "LLAMA_SERVER_SLOTS_DEBUG"} & set(found)
    assert not any("PROXY" in name.upper() or name.startswith("PYTHON") for name in found)


@pytest.mark.parametrize("value", ["0", "1", ""])
def test_peer_copies_cannot_be_set_even_as_off(value: str) -> None:
    with pytest.raises(BadRequest, match="GGML_CUDA_P2P"):
        scrubbed_environment({"GGML_CUDA_P2P": value})


@pytest.mark.parametrize(
    "name",
    ["LLAMA_ARG_RPC", "LLAMA_ARG_SPEC_TYPE", "LLAMA_ARG_TOOLS", "LLAMA_LOG_FILE", "LLAMA_API_KEY"],
)
def test_flags_do_not_come_in_by_the_environment(name: str) -> None:
    with pytest.raises(BadRequest, match=name):
        scrubbed_environment({name: "1"})


def test_the_run_folder_is_ours_alone_and_goes(tmp_path: Path) -> None:
    made = RunFolder(None)
    assert made.path.stat().st_mode & 0o777 == 0o700
    assert made.new_socket() != made.new_socket()
    made.folder("slots").joinpath("a").touch()
    made.remove()
    assert not made.path.exists()
    configured = RunFolder(tmp_path / "run")
    configured.new_socket().touch()
    configured.remove()
    assert list(configured.path.iterdir()) == []


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    deep = RunFolder(tmp_path / ("d" * 90))
    with pytest.raises(BadRequest, match="too long"):
        deep.new_socket()


def test_the_program_is_started_by_absolute_path() -> None:
    program = server_program(EngineSettings())
    assert program[0] == sys.executable
    assert Path(program[-1]).is_absolute()
    assert server_program(EngineSettings(binary=Path("/opt/llama-server"))) == ["/opt/llama-server"]
