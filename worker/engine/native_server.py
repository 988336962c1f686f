"""A ``llama-server`` without the binary: the native server inside the package ``xllamacpp``.

Run as a script in a process of its own. It takes the flags of ``llama-server`` that we use, under
the same names, so that the keeper need not know which of the two it started. An unknown flag ends
it with a message, as the binary does. It imports nothing of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import signal
import sys
import threading
from pathlib import Path
from typing import Any

OPENMP = "libgomp.so.1"
"""What the package links but does not bring: the OpenMP runtime of the system."""

_ON_OFF = {"on": True, "off": False}

KINDS = (
    *("none", "draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark"),
    *("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"),
)
"""Kinds of speculation the package has; ``--help`` lists them without loading it."""

_SPECULATION = {
    "--spec-ngram-simple-size-n": ("ngram_simple", "size_n"),
    "--spec-ngram-simple-size-m": ("ngram_simple", "size_m"),
    "--spec-ngram-simple-min-hits": ("ngram_simple", "min_hits"),
    "--spec-ngram-map-k-size-n": ("ngram_map_k", "size_n"),
    "--spec-ngram-map-k-size-m": ("ngram_map_k", "size_m"),
    "--spec-ngram-map-k-min-hits": ("ngram_map_k", "min_hits"),
    "--spec-ngram-mod-n-match": ("ngram_mod", "n_match"),
    "--spec-ngram-mod-n-min": ("ngram_mod", "n_min"),
    "--spec-ngram-mod-n-max": ("ngram_mod", "n_max"),
    "--spec-draft-n-max": ("draft", "n_max"),
    "--spec-draft-n-min": ("draft", "n_min"),
    "--spec-draft-ngl": ("draft", "n_gpu_layers"),
}
"""Flags that each set one whole number of the speculation settings."""


def openmp(system: str = OPENMP) -> ctypes.CDLL:
    """Loads the OpenMP runtime: the system's, else the copy that torch brings under the same name.

    A bare Debian has none. What is loaded once under its name serves whoever links it later.

    Raises:
        OSError: Neither is there.
    """
    try:
        return ctypes.CDLL(system, ctypes.RTLD_GLOBAL)
    except OSError:
        found = importlib.util.find_spec("torch")
        for folder in (found.submodule_search_locations or ()) if found else ():
            path = Path(folder, "lib", OPENMP)
            if path.exists():
                return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        raise


def _kinds(said: str) -> list[str]:
    kinds = said.split(",")
    if unknown := set(kinds) - set(KINDS):
        raise argparse.ArgumentTypeError(f"invalid choice: {min(unknown)}")
    return kinds


def flags() -> argparse.ArgumentParser:
    """The flags this program knows; ``--help`` lists them as the binary's does."""
    parser = argparse.ArgumentParser(prog="native_server", allow_abbrev=False)
    add = parser.add_argument
    add("-m", "--model", required=True)
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=0)
    add("--api-key-file")
    add("-a", "--alias", default="")
    add("-c", "--ctx-size", type=int, required=True)
    add("-np", "--parallel", type=int, default=1)
    add("-b", "--batch-size", type=int, default=512)
    add("-ub", "--ubatch-size", type=int, default=512)
    add("-t", "--threads", type=int, default=1)
    add("-ngl", "--gpu-layers", default="all")
    add("-sm", "--split-mode", default="layer", choices=["none", "layer"])
    add("-ts", "--tensor-split", default="")
    add("-fa", "--flash-attn", default="auto", choices=["on", "off", "auto"])
    add("-ctk", "--cache-type-k", default="f16", choices=["f32", "f16", "bf16", "q8_0", "q4_0"])
    add("-ctv", "--cache-type-v", default="f16", choices=["f32", "f16", "bf16", "q8_0", "q4_0"])
    add("--cache-ram", type=int, default=0)
    add("--ctx-checkpoints", type=int, default=32)
    add("--slot-save-path", default="")
    add("--swa-full", action="store_true")
    add("--kv-unified", action="store_true")
    add("--fit", default="off", choices=["on", "off"])
    add("--spec-type", type=_kinds, default=["none"], metavar=",".join(KINDS))
    add("--spec-draft-model", default="")
    for flag in _SPECULATION:
        add(flag, type=int)
    add("--reasoning-format", default="auto", choices=["auto", "none", "deepseek"])
    add("--chat-template-file", default="")
    add("--offline", action="store_true")
    add("--no-ui", action="store_true")
    add("--slots", action="store_true")
    add("-lv", "--verbosity", type=int, default=1)
    return parser


def parameters(given: argparse.Namespace, xllamacpp: Any) -> Any:
    """The native server's parameters for the flags given."""
    p = xllamacpp.CommonParams()
    p.model.path = given.model
    p.model_alias = {given.alias} if given.alias else set()
    p.hostnames = [given.host]
    p.port = given.port
    if given.api_key_file:
        p.api_keys = [Path(given.api_key_file).read_text().strip()]
    p.n_ctx = given.ctx_size
    p.n_parallel = given.parallel
    p.n_batch = given.batch_size
    p.n_ubatch = given.ubatch_size
    p.cpuparams.n_threads = given.threads
    p.cpuparams_batch.n_threads = given.threads
    p.n_gpu_layers = -2 if given.gpu_layers == "all" else int(given.gpu_layers)
    p.split_mode = xllamacpp.llama_split_mode[f"LLAMA_SPLIT_MODE_{given.split_mode.upper()}"]
    if given.tensor_split:
        p.tensor_split = [float(share) for share in given.tensor_split.split(",")]
    flash = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}[given.flash_attn]
    p.flash_attn_type = xllamacpp.llama_flash_attn_type[f"LLAMA_FLASH_ATTN_TYPE_{flash}"]
    p.cache_type_k = xllamacpp.ggml_type[f"GGML_TYPE_{given.cache_type_k.upper()}"]
    p.cache_type_v = xllamacpp.ggml_type[f"GGML_TYPE_{given.cache_type_v.upper()}"]
    p.cache_ram_mib = given.cache_ram
    p.n_ctx_checkpoints = given.ctx_checkpoints
    p.slot_save_path = given.slot_save_path
    p.swa_full = given.swa_full
    p.kv_unified = given.kv_unified
    p.fit_params = _ON_OFF[given.fit]
    known = xllamacpp.common_speculative_type
    names = [kind.upper().replace("-", "_") for kind in given.spec_type]
    p.speculative.types = [known[f"COMMON_SPECULATIVE_TYPE_{name}"] for name in names]
    if given.spec_draft_model:
        p.speculative.draft.mparams.path = given.spec_draft_model
    for flag, (part, name) in _SPECULATION.items():
        value = getattr(given, flag.removeprefix("--").replace("-", "_"))
        if value is not None:
            setattr(getattr(p.speculative, part), name, value)
    reasoning = given.reasoning_format.upper()
    p.reasoning_format = xllamacpp.common_reasoning_format[f"COMMON_REASONING_FORMAT_{reasoning}"]
    if given.chat_template_file:
        p.chat_template = Path(given.chat_template_file).read_text("utf-8")
    p.offline = given.offline
    p.ui = not given.no_ui
    p.endpoint_slots = given.slots
    p.verbosity = given.verbosity
    return p


def main(arguments: list[str]) -> None:
    """Load the model, serve until SIGTERM."""
    given = flags().parse_args(arguments)
    with contextlib.suppress(OSError):  # the import then says what is missing
        openmp()
    import xllamacpp  # after the flags: --help needs no package

    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    server = xllamacpp.Server(parameters(given, xllamacpp))
    print("listening", server.listening_address, flush=True)  # noqa: T201 - the keeper reads it
    done.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
