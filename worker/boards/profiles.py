"""A model's profile: how it runs on a box, as a small TOML file that the planner checks.

The profiles of ``deploy/profiles/`` name models and settings, never cards: the planner finds those.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from protocol.errors import BadRequest, NotFound
from worker.boards.placement import PlanSettings


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one model runs."""

    title: str
    architecture: str
    """As in the model file's header; a file of another one is refused."""
    note: str = ""
    floor_tokens_per_s: float = 40.0
    """Slower answers fail the start-up test."""
    plan: PlanSettings = PlanSettings()


def load_profile(path: Path) -> Profile:
    """A profile.

    Raises:
        NotFound: There is no such file.
        BadRequest: It is not TOML, or a key is unknown or of the wrong type.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Profile)
    except OSError as error:
        raise NotFound(f"the profile cannot be read ({error.strerror})") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        said = str(error) if isinstance(error, msgspec.ValidationError) else "it is not TOML"
        raise BadRequest(f"the profile: {said}") from None
