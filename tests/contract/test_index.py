"""The promise of `rag.index.Index`, over every keeper."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from protocol.errors import Unavailable
from rag.embedding import Vectors
from rag.index import Index, healthy, open_index
from rag.index.memory import MemoryIndex


@pytest.fixture(params=["memory", "chroma"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Index]]:
    """Opens the index; for Chroma a second call opens the same directory again."""
    folder = None if request.param == "memory" else tmp_path / "index"
    held: list[Index] = []

    def opened() -> Index:
        for index in held:
            index.close()
        held.append(open_index(folder))
        return held[-1]

    yield opened
    for index in held:
        index.close()


def unit(*rows: int, size: int = 8) -> Vectors:
    """Vectors along the axes; a row number past the size gives a mix of two."""
    out = np.zeros((len(rows), size), dtype=np.float32)
    for at, row in enumerate(rows):
        out[at, row % size] = 1.0
        if row >= size:
            out[at, (row + 1) % size] = 0.5
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def test_an_empty_index_finds_nothing(reopen) -> None:
    index = reopen()
    assert index.count() == 0
    assert index.ids() == set()
    assert index.search(unit(0)[0], 5) == []


def test_the_nearest_come_first_with_their_cosine(reopen) -> None:
    index = reopen()
    index.add(["a", "b", "c"], unit(0, 1, 8))
    found = index.search(unit(0)[0], 3)
    assert [name for name, _ in found] == ["a", "c", "b"]
    assert [round(score, 3) for _, score in found] == [1.0, 0.894, 0.0]


def test_more_wanted_than_held_gives_all(reopen) -> None:
    index = reopen()
    index.add(["a"], unit(0))
    assert len(index.search(unit(1)[0], 100)) == 1


def test_adding_again_replaces(reopen) -> None:
    index = reopen()
    index.add(["a", "b"], unit(0, 1))
    index.add(["a", "b"], unit(0, 1))
    index.add(["a"], unit(2))
    assert index.count() == 2
    assert index.ids() == {"a", "b"}
    assert index.search(unit(2)[0], 1)[0][0] == "a"


def test_deleted_ids_are_not_found_and_unknown_ones_are_no_error(reopen) -> None:
    index = reopen()
    index.add(["a", "b"], unit(0, 1))
    index.delete(["a", "nothing"])
    assert index.count() == 1
    assert [name for name, _ in index.search(unit(0)[0], 5)] == ["b"]
    index.delete([])


def test_lengths_must_agree_and_vectors_be_finite(reopen) -> None:
    index = reopen()
    with pytest.raises(ValueError):
        index.add(["a"], unit(0, 1))
    with pytest.raises(ValueError):
        index.add(["a"], np.full((1, 8), np.nan, dtype=np.float32))
    assert index.count() == 0


def test_a_large_batch(reopen) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(6000, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = reopen()
    index.add([f"n{at}" for at in range(6000)], vectors)
    assert index.count() == 6000
    assert index.search(vectors[4321], 1)[0][0] == "n4321"


def test_closing_twice_is_harmless(reopen) -> None:
    index = reopen()
    index.close()
    index.close()


def test_removing_leaves_nothing(reopen, tmp_path: Path) -> None:
    index = reopen()
    index.add(["a"], unit(0))
    index.remove()
    assert not (tmp_path / "index").exists()
    assert reopen().count() == 0


def test_chroma_keeps_what_it_was_given(tmp_path: Path) -> None:
    first = open_index(tmp_path / "index")
    first.add(["a", "b"], unit(0, 1))
    first.close()
    second = open_index(tmp_path / "index")
    assert second.count() == 2
    assert second.search(unit(1)[0], 1)[0][0] == "b"
    second.close()


def test_health_sees_a_wrong_count_and_a_lost_vector() -> None:
    index = MemoryIndex()
    index.add(["a", "b"], unit(0, 1))
    sample = [("a", unit(0)[0])]
    assert healthy(index, expected=2, sample=sample)
    assert not healthy(index, expected=3, sample=sample)
    index.add(["a"], unit(2))
    assert not healthy(index, expected=2, sample=sample)


def test_health_sees_lost_chroma_files(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index")
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(3000, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index.add([str(at) for at in range(3000)], vectors)
    index.close()
    folders = [path for path in (tmp_path / "index").glob("*/*") if path.is_dir()]
    assert folders
    for folder in folders:
        shutil.rmtree(folder)
    sample = [(str(at), vectors[at]) for at in range(0, 3000, 100)]
    try:
        again = open_index(tmp_path / "index")
    except Unavailable:
        return  # said at opening: as good
    assert not healthy(again, expected=3000, sample=sample)
    again.close()
