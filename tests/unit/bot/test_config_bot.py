"""Settings: file, then environment, then flags; errors name the key and never the value."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config import Settings, explained, load
from protocol.errors import BadRequest

SECRET = "privileged-words-in-the-wrong-place"


def written(folder: Path, text: str) -> Path:
    file = folder / "bot.toml"
    file.write_text(text, "utf-8")
    return file


def test_later_sources_win_and_each_value_knows_its_own(tmp_path):
    file = written(tmp_path, 'host = "box"\nport = 1\nlanguage = "ko"\n')
    loaded = load(
        file,
        environment={"SECONDCHAIR_PORT": "2", "SECONDCHAIR_LANGUAGE": "en"},
        flags={"language": "ko", "zone": None},
    )
    settings = loaded.settings
    assert (settings.host, settings.port, settings.language) == ("box", 2, "ko")
    assert {key: loaded.sources[key] for key in ("host", "port", "language", "zone")} == {
        "host": "file",
        "port": "environment",
        "language": "flag",
        "zone": "default",
    }


def test_without_a_file_the_defaults_hold(monkeypatch, tmp_path):
    monkeypatch.setattr("bot.config.config_path", lambda: tmp_path / "none.toml")
    loaded = load(environment={})
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}


def test_a_named_file_must_be_there(tmp_path):
    with pytest.raises(BadRequest, match="cannot be read"):
        load(tmp_path / "none.toml", environment={})


def test_paths_know_the_home_folder(tmp_path):
    loaded = load(written(tmp_path, 'key_file = "~/k"\n'), environment={})
    assert loaded.settings.key_file == Path("~/k").expanduser()


WRONG = [
    ("host", '""'),
    ("host", f'"{SECRET} with spaces"'),
    ("host", "7"),
    ("port", "0"),
    ("port", "70000"),
    ("port", f'"{SECRET}"'),
    ("port", '"8022"'),  # a file has types: text is no number there
    ("key_file", "1"),
    ("key_file", '""'),
    ("known_hosts", '"~no-such-person-here/x"'),
    ("language", f'"{SECRET}"'),
    ("zone", f'"{SECRET}"'),
    ("zone", '"../../etc/passwd"'),
    ("signs", '"loud"'),
    ("width", "12"),
    ("matter", f'"{SECRET}"'),
    ("demo_matter", '"M-0"'),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_names_its_key_and_is_not_repeated(tmp_path, key, value):
    with pytest.raises(BadRequest) as caught:
        load(written(tmp_path, f"{key} = {value}\n"), environment={})
    assert f"`{key}`" in caught.value.message
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("key", ["port", "language", "zone", "signs", "width", "matter"])
def test_the_same_from_environment_and_flags(key):
    for given_ in ({"environment": {f"SECONDCHAIR_{key.upper()}": SECRET}},
                   {"environment": {}, "flags": {key: SECRET}}):  # fmt: skip
        with pytest.raises(BadRequest) as caught:
            load(**given_)
        assert f"`{key}`" in caught.value.message
        assert SECRET not in str(caught.value)


def test_unknown_keys_of_a_file_are_refused(tmp_path):
    with pytest.raises(BadRequest, match="`hosst`"):
        load(written(tmp_path, 'hosst = "box"\n'), environment={})


def test_a_sentence_as_a_key_is_not_repeated(tmp_path):
    with pytest.raises(BadRequest) as caught:
        load(written(tmp_path, f'"{SECRET}" = 1\n'), environment={})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["= 1", 'host = "', "\x00", f"{SECRET} {SECRET}"])
def test_what_is_no_toml_is_refused_without_its_text(tmp_path, text):
    with pytest.raises(BadRequest) as caught:
        load(written(tmp_path, text), environment={})
    assert SECRET not in str(caught.value)


def test_variables_of_other_programs_are_left_alone():
    load(environment={"SECONDCHAIR_STATE": "/x", "SECONDCHAIR_DATA": "/y", "PORT": "x"})


def test_the_file_that_init_writes_is_all_defaults_and_explains_every_key(tmp_path):
    text = explained()
    assert tomllib.loads(text) == {}
    uncommented = "\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line)
    assert load(written(tmp_path, uncommented), environment={}).settings == Settings()
    for key in Settings.__struct_fields__:
        assert f"# {key}: " in text


@given(st.dictionaries(st.sampled_from(Settings.__struct_fields__), st.text(max_size=12)))
def test_no_environment_makes_it_fail_in_another_way(values):
    environment = {f"SECONDCHAIR_{key.upper()}": text for key, text in values.items()}
    with suppress(BadRequest):
        load(environment=environment)
