"""The wall's watch, and what may not be configured."""

from __future__ import annotations

import pytest

from protocol.errors import BadRequest, Internal
from worker.engine import Prompt, Usage
from worker.engine.wall import CODE_DIGITS, Watch, refuse_shared_speculation


def _usage(prompt: int, reused: int, output: int = 0) -> Usage:
    return Usage(prompt_tokens=prompt, reused_tokens=reused, output_tokens=output)


def test_a_matter_may_reuse_what_it_left() -> None:
    watch = Watch(3)
    watch.check("A", _usage(500, 0, output=20))
    watch.check("A", _usage(600, 520))


def test_a_matter_may_not_reuse_what_another_left() -> None:
    watch = Watch(3)
    watch.check("A", _usage(500, 0))
    watch.check("B", _usage(500, 3 + CODE_DIGITS - 1))  # template and chance in the code
    with pytest.raises(Internal):
        watch.check("C", _usage(500, 3 + CODE_DIGITS))


def test_a_matter_may_not_reuse_more_than_it_left() -> None:
    watch = Watch(3)
    watch.check("A", _usage(900, 0))
    watch.check("B", _usage(100, 0))
    with pytest.raises(Internal):
        watch.check("B", _usage(900, 101))


def test_forgotten_means_nothing_is_left_and_restored_means_something_is() -> None:
    watch = Watch(0)
    watch.check("A", _usage(500, 0))
    watch.forget("A")
    with pytest.raises(Internal):
        watch.check("A", _usage(500, 400))
    watch.restored("A", 400)
    watch.check("A", _usage(500, 400))


def test_a_record_read_again_without_need_is_noticed() -> None:
    watch = Watch(3)
    record = Prompt(system="s", record=("a", "b"), question="q")
    other = Prompt(system="s", record=("a", "c"), question="q")
    watch.compare("A", record, _usage(500, 0), reuse=True)
    assert not watch.read_again  # the first time
    watch.compare("A", record, _usage(500, 490), reuse=True)
    assert not watch.read_again
    watch.compare("A", record, _usage(500, 0), reuse=True)
    assert watch.read_again
    watch.compare("A", record, _usage(500, 0), reuse=False)
    assert not watch.read_again  # it was asked to
    watch.compare("A", other, _usage(500, 0), reuse=True)
    assert not watch.read_again  # another record
    watch.compare("B", other, _usage(500, 0), reuse=True)
    assert not watch.read_again  # another matter


@pytest.mark.parametrize(
    "kind", ["ngram-mod", "ngram-cache", "ngram-map-k", "ngram-map-k4v", "ngram-new"]
)
def test_speculation_that_remembers_is_refused(kind: str) -> None:
    with pytest.raises(BadRequest, match="one matter"):
        refuse_shared_speculation(kind)


@pytest.mark.parametrize("kind", ["none", "ngram-simple", "draft-simple", "draft-mtp"])
def test_speculation_that_keeps_matters_apart_is_allowed(kind: str) -> None:
    refuse_shared_speculation(kind)
