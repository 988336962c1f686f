"""The pictures of the docs are what the app shows now of the recorded replies."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import msgspec
import pytest

PICTURES = Path(__file__).parents[4] / "docs" / "pictures"


@pytest.fixture(scope="module")
def make():
    """The program that makes the pictures."""
    spec = importlib.util.spec_from_file_location("docs_pictures_make", PICTURES / "make.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


async def test_every_picture_is_what_the_app_shows(make):
    recording = msgspec.json.decode((PICTURES / "recorded.json").read_bytes(), type=make.Recording)
    for picture in make.PICTURES:
        kept = (PICTURES / f"{picture.name}.svg").read_text("utf-8")
        shown = await make.take(picture, recording, kept)
        assert shown == kept, f"{picture.name}: run python docs/pictures/make.py"


def test_there_is_one_of_each_at_80_120_and_200_columns(make):
    names = {picture.name for picture in make.PICTURES}
    for what in ("reply", "findings", "source", "difference", "queue", "boards", "korean"):
        assert {f"{what}-{width}" for width in (80, 120, 200)} <= names
    files = {path.stem for path in PICTURES.glob("*-[0-9]*.svg")}
    assert files == names


def test_wide_letters_take_two_cells_each_in_a_picture(make):
    text = '<text class="a" x="10" y="5" textLength="36.6" clip-path="url(#c)">초안a</text>'
    assert make.steady(text) == (
        '<text class="a" x="10" y="5" textLength="48.8" lengthAdjust="spacingAndGlyphs" '
        'clip-path="url(#c)">초안</text><text class="a" x="58.8" y="5" textLength="12.2" '
        'lengthAdjust="spacingAndGlyphs" clip-path="url(#c)">a</text>'
    )
    plain = text.replace("초안a", "abc")
    assert make.steady(plain) == plain
