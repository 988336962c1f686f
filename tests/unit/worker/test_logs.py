"""A log line carries the fixed fields and nothing a person wrote."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.logs import FIELDS, Log, setup

SECRET = "Marigold said the leak was known"


@pytest.fixture(name="stream")
def _stream():
    """A process that has set up its log, undone afterwards."""
    ours, root = logging.getLogger("secondchair"), logging.getLogger()
    before = (ours.handlers[:], ours.level, ours.propagate, root.handlers[:], root.level)
    hooks = (sys.excepthook, threading.excepthook)
    stream = io.StringIO()
    setup(stream)
    yield stream
    ours.handlers[:], ours.level, ours.propagate, root.handlers[:], root.level = before
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(False)


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_line_holds_event_part_time_and_fields(stream):
    Log("jobs").info("job.claimed", matter="M-7F3K", attempt=2, took_ms=1.5, ok=True)
    (line,) = _lines(stream)
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "level": "info",
        "part": "jobs",
        "event": "job.claimed",
        "matter": "M-7F3K",
        "attempt": 2,
        "took_ms": 1.5,
        "ok": True,
    }


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("job.claimed", {"question": SECRET}),  # a field nobody listed
        ("job.claimed", {"user": SECRET}),  # a sentence under a listed name
        ("job.claimed", {"count": "12"}),  # the wrong type
        ("job.claimed", {"count": True}),  # a flag is not a count
        (SECRET, {}),  # a sentence as the event
    ],
)
def test_anything_else_raises_in_tests_and_never_shows_the_value(event, fields):
    with pytest.raises(TypeError) as caught:
        Log("jobs").info(event, **fields)
    assert "Marigold" not in str(caught.value)


def test_anything_else_is_dropped_and_counted_in_production(stream):
    Log("jobs").info("job.claimed", user=SECRET, question=SECRET, count=1)
    Log("jobs").info(SECRET)
    first, second = _lines(stream)
    assert (first["dropped"], first["count"]) == (2, 1)
    assert second["event"] == "unnamed"
    assert "Marigold" not in stream.getvalue()


def test_below_the_level_nothing_is_written(stream):
    Log("jobs").debug("job.seen", count=1)
    assert stream.getvalue() == ""


def test_trouble_shows_class_and_place_but_not_the_message(stream):
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        reference = Log("service").trouble("call.failed", error, code="internal")
    (line,) = _lines(stream)
    assert line["error"] == "ValueError"
    assert line["reference"] == reference
    assert "test_logs.py:" in line["where"]
    assert "Marigold" not in stream.getvalue()


def test_foreign_records_lose_their_message(stream):
    try:
        raise OSError(SECRET)
    except OSError:
        logging.getLogger("somelib").exception("could not read %s", SECRET)
    logging.getLogger("somelib").info(SECRET)
    (line,) = _lines(stream)
    assert (line["event"], line["library"], line["error"]) == ("foreign", "somelib", "OSError")
    assert "Marigold" not in stream.getvalue()


def test_uncaught_exceptions_show_no_message(stream, capsys):
    thread = threading.Thread(target=lambda: int(SECRET))
    thread.start()
    thread.join()
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        sys.excepthook(KeyError, error, None)
    assert [line["error"] for line in _lines(stream)] == ["ValueError", "KeyError"]
    assert "Marigold" not in stream.getvalue() + "".join(capsys.readouterr())


@given(st.text(min_size=1), st.sampled_from(sorted(FIELDS)))
def test_no_field_takes_a_text_with_a_space_or_a_line_break(text, name):
    assert not FIELDS[name](text + " x")
    assert not FIELDS[name](text + "\n")
