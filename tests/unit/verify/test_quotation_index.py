"""The quotation index: what is stored comes back, what is damaged is refused, places are found."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Damaged
from verify.hashing import hash_words
from verify.index import build_index, open_index, write_index
from verify.locate import RecordIndex

SHA = "ab" * 32
TEXT = " ".join(f"word{chr(97 + k % 26)}{chr(97 + k // 26 % 26)} falls" for k in range(4000))


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    index = build_index(TEXT)
    path = tmp_path / "a.quotes"
    write_index(index, path, SHA)
    again = open_index(path, SHA)
    assert all(np.array_equal(a, b) for a, b in zip(index.arrays, again.arrays, strict=True))
    assert path.stat().st_size == index.size_bytes
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("keep", [0, 4, 30, 200, -1])
def test_a_file_cut_short_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "a.quotes"
    write_index(build_index(TEXT), path, SHA)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(Damaged):
        open_index(path, SHA)


def test_an_index_of_another_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.quotes"
    write_index(build_index(TEXT), path, SHA)
    with pytest.raises(Damaged):
        open_index(path, "cd" * 32)


def test_a_passage_is_found_over_line_numbers_and_in_the_right_document() -> None:
    filler = "Nothing here is about the matter at hand, and nobody says otherwise. " * 40
    wanted = (
        " 1 the landlord is not permitted\n 2 to terminate this lease during\n 3 the fixed term"
    )
    record = RecordIndex([build_index(filler), build_index(filler + wanted + filler)])
    passage = "the landlord is not permitted to terminate this lease during the fixed term"
    place = record.locate([passage])[0][0]
    assert place.document == 1
    assert place.start - 60 <= len(filler) <= place.end


@pytest.mark.parametrize("passage", ["covfefe", "", "123 456", "’", "\ud800"])
def test_passages_without_known_words(passage: str) -> None:
    record = RecordIndex([build_index("The quick brown fox jumps over it."), build_index("")])
    assert record.locate([passage])[0] == []


def test_no_documents() -> None:
    assert RecordIndex([]).locate(["anything at all"]) == [[]]


@given(st.text(max_size=400))
@settings(max_examples=80, deadline=None)
def test_words_hash_alike_wherever_they_stand(text: str) -> None:
    hashes, begins = hash_words(text)
    shifted, later = hash_words("x " + text)
    assert np.array_equal(hashes, shifted[1:])
    assert np.array_equal(begins + 2, later[1:])


def test_chunks_do_not_cut_words() -> None:
    text = "abcdefghij " * 30_000
    hashes, begins = hash_words(text)
    assert len(hashes) == 30_000
    assert len(set(hashes.tolist())) == 1
    assert np.array_equal(np.diff(begins), np.full(29_999, 11))


def test_a_decomposed_text_has_the_words_of_the_composed_one() -> None:
    composed, decomposed = (
        build_index("résumé naïve\n김도윤"),
        build_index("re\u0301sume\u0301 nai\u0308ve\n김도윤"),
    )
    assert np.array_equal(composed.words, decomposed.words)
