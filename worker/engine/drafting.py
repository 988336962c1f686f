"""Who drafts: a model of its own in the flags, or layers of the model itself.

Without one a server either ends without a useful word or runs as if nothing had been asked for.
"""

from __future__ import annotations

from protocol.errors import BadRequest
from worker.boards.model_file import ModelHeader
from worker.boards.sizes import knows
from worker.engine.settings import EngineSettings

DRAFT_FLAGS = frozenset("-md --model-draft --spec-draft-model".split())
"""Flags that name the file of a draft model."""
_OWN_LAYERS = "draft-mtp"


def refuse_without_drafter(settings: EngineSettings, header: ModelHeader) -> None:
    """Nothing when every draft kind of the settings has something that drafts.

    Args:
        settings: Of the engine.
        header: Of its model.

    Raises:
        BadRequest: A kind needs a draft model and no flag names one; or the layers of the model
            itself, and it has none (judged for the architectures that we know).
    """
    if any(flag.split("=", 1)[0] in DRAFT_FLAGS for flag in settings.flags):
        return
    for kind in settings.speculation.split(","):
        if kind == _OWN_LAYERS and knows(header.architecture) and not _has_own_layers(header):
            raise BadRequest(
                f"speculation {kind} needs layers of the model that draft, and it has none",
                next_step="name a draft model in flags, or choose ngram-simple",
            )
        if kind.startswith("draft-") and kind != _OWN_LAYERS:
            raise BadRequest(
                f"speculation {kind} needs a draft model, and no flag names one",
                next_step='flags = ["--spec-draft-model", "FILE"]',
            )


def _has_own_layers(header: ModelHeader) -> bool:
    said = header.values.get(f"{header.architecture}.nextn_predict_layers")
    return bool(said) or any(".nextn." in tensor.name for tensor in header.tensors)
