"""The explained settings file: loads back as the same settings, says every key, hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.record import DateOrder
from worker.box_settings import BoxSettings, OtherBoxSettings
from worker.config import Settings, load
from worker.engine import EngineSettings
from worker.setup.explained import as_explained_toml, sentences_of, write_explained

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PATHS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).map(
    lambda text: Path("/srv") / text.replace("/", "_")
)
BOARDS = st.builds(
    EngineSettings,
    name=TEXT,
    model=st.none() | PATHS,
    context_tokens=st.integers(1, 10**6),
    flags=st.lists(TEXT, max_size=3).map(tuple),
    environment=st.dictionaries(TEXT, TEXT, max_size=3),
    floor_tokens_per_s=st.floats(0, 1e6),
    self_test=st.booleans(),
)
CODES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
BOX = st.builds(
    BoxSettings,
    name=CODES,
    lends=TEXT,
    leaving=st.lists(TEXT, max_size=2).map(tuple),
    staying=st.lists(TEXT, max_size=2).map(tuple),
    queue_file=st.none() | PATHS,
)
OTHER_BOX = st.builds(
    OtherBoxSettings,
    name=CODES,
    host=TEXT,
    port=st.integers(0, 65535),
    key=PATHS,
    known_hosts=PATHS,
    calls=st.integers(1, 9),
    socket=st.none() | PATHS,
)
SETTINGS = st.builds(
    Settings,
    state=PATHS,
    host=TEXT,
    port=st.integers(0, 65535),
    run_folder=st.none() | PATHS,
    gateway_uids=st.lists(st.integers(0, 2**31), max_size=3).map(tuple),
    date_order=st.sampled_from(DateOrder),
    boards=st.lists(BOARDS, max_size=2).map(tuple),
    box=st.none() | BOX,
    other_box=st.lists(OTHER_BOX, max_size=2).map(tuple),
    extractive_below_billion=st.floats(0, 1e3),
    second_reading=st.booleans(),
)


@given(SETTINGS)
@settings(max_examples=150, deadline=None)
def test_whatever_is_set_comes_back(tmp_path_factory, wanted):
    path = tmp_path_factory.mktemp("toml") / "worker.toml"
    write_explained(wanted, path)
    assert load(path, environment={}).settings == wanted
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", [Settings, EngineSettings, BoxSettings, OtherBoxSettings])
def test_every_key_has_a_sentence(kind):
    said = sentences_of(kind)
    assert set(said) == set(kind.__struct_fields__)
    assert all(sentence.endswith(".") for sentence in said.values())


def test_every_key_stands_in_the_file_with_its_sentence():
    text = as_explained_toml(Settings(state=Path("/srv/state")))
    flat = " ".join(line.removeprefix("# ") for line in text.splitlines())
    for kind, but in (
        (Settings, {"boards", "box", "other_box"}),
        (EngineSettings, set()),
        (BoxSettings, set()),
        (OtherBoxSettings, set()),
    ):
        for name, said in sentences_of(kind).items():
            if name not in but:
                assert f"{name} = " in text
                assert said in flat


def test_taking_the_mark_away_from_a_default_changes_nothing(tmp_path):
    wanted = Settings(state=Path("/srv/state"))
    lines = as_explained_toml(wanted).split("# One table a board")[0].splitlines()
    bare = [line.removeprefix("# ") for line in lines if " = " in line and "(not set)" not in line]
    path = tmp_path / "worker.toml"
    path.write_text("\n".join(line for line in bare if line.split(" =")[0].isidentifier()))
    assert load(path, environment={}).settings == wanted


def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "worker.toml"
    path.write_text("port = 1\n")
    monkeypatch.setattr("worker.setup.explained.as_explained_toml", lambda _: "port = 'x'\n")
    with pytest.raises(Exception):  # noqa: B017 - whatever it is, the old file stays
        write_explained(Settings(), path)
    assert path.read_text() == "port = 1\n"
    assert [one.name for one in tmp_path.iterdir()] == ["worker.toml"]
