"""Files to index: ledger sums, running twice, going on after a stop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from protocol.errors import Conflict, NotFound, Unavailable
from protocol.record import DocumentClass, LedgerState
from rag import intake, reading
from rag.embedding import HashEmbedder
from rag.ingest import IngestProgress, embed_waiting, ingest, ledger
from rag.intake import take_in
from rag.loaders import LoadOptions
from rag.lookup import find
from rag.matters import OpenMatter
from rag.paged import PagedText
from rag.reading import DirectReader, read_again, read_waiting
from rag.record import note_output
from rag.removal import quarantine
from rag.repair import damage, forget_vectors, stale
from rag.retrieve import retrieve


@pytest.fixture
def given(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("The rent is due.\n")
    (folder / "b.txt").write_text("Water came in.\n")
    (folder / "sub" / "a copy.txt").write_text("The rent is due.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    (folder / "Thumbs.db").write_bytes(b"\x00\x01")
    (folder / "empty.txt").write_bytes(b"")
    return folder


def states(matter: OpenMatter) -> dict[str, LedgerState]:
    return {row.name: row.state for row in ledger(matter).rows}


def test_every_file_is_in_the_ledger_once_with_a_reason(empty_matter, embedder, given) -> None:
    found = ingest(empty_matter, embedder=embedder, folder=given)
    assert {row.name: row.state for row in found.rows} == {
        "a.txt": LedgerState.INDEXED,
        "b.txt": LedgerState.INDEXED,
        "sub/a copy.txt": LedgerState.DUPLICATE,
        "broken.pdf": LedgerState.FAILED,
        "Thumbs.db": LedgerState.SKIPPED,
        "empty.txt": LedgerState.SKIPPED,
    }
    assert all(row.reason for row in found.rows if row.state is not LedgerState.INDEXED)
    copy = next(row for row in found.rows if row.state is LedgerState.DUPLICATE)
    assert copy.reason == "the same bytes as a.txt"


def snapshot(matter: OpenMatter) -> dict[str, list[tuple[object, ...]]]:
    return {
        table: [tuple(row) for row in matter.store.rows(f"SELECT * FROM {table} ORDER BY 1, 2")]
        for table in ("files", "documents", "texts", "pages", "passages", "vectors")
    }


def test_a_second_run_changes_and_reads_nothing(
    empty_matter, embedder, given, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    before = snapshot(empty_matter)
    monkeypatch.setattr(reading, "load", lambda *_, **__: pytest.fail("read again"))
    monkeypatch.setattr(intake, "_copy", lambda *_: pytest.fail("copied again"))
    ingest(empty_matter, embedder=embedder, folder=given)
    assert snapshot(empty_matter) == before


def test_a_touched_file_with_the_same_bytes_is_not_read_again(
    empty_matter, embedder, given, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    os.utime(given / "a.txt", (1, 1))
    monkeypatch.setattr(reading, "load", lambda *_, **__: pytest.fail("read again"))
    ingest(empty_matter, embedder=embedder, folder=given)
    assert states(empty_matter)["a.txt"] is LedgerState.INDEXED


def test_a_changed_file_is_read_and_the_old_words_are_not_found(
    empty_matter, embedder, given
) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    (given / "b.txt").write_text("The boiler burst.\n")
    ingest(empty_matter, embedder=embedder, folder=given)
    hits = retrieve(empty_matter, "boiler or water?", embedder=embedder)
    assert "The boiler burst." in [hit.passage.text for hit in hits]
    assert all("Water" not in hit.passage.text for hit in hits)
    assert find(empty_matter, "Water").total == 0
    assert empty_matter.index().count() == 2
    assert stale(empty_matter) == damage(empty_matter) == ()


def test_an_old_text_stays_for_the_answers_that_cite_it(empty_matter, embedder, given) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    old = next(info for info in empty_matter.documents() if info.name == "b.txt")
    (given / "b.txt").write_text("The boiler burst.\n")
    ingest(empty_matter, embedder=embedder, folder=given)
    assert empty_matter.text_version(old.id, old.text_sha256) == "Water came in.\n"
    with pytest.raises(KeyError):
        empty_matter.text(old.id)


def test_reading_again_keeps_ids_old_texts_and_quarantine(
    empty_matter, embedder, given, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    before = {info.name: info for info in empty_matter.documents()}
    quarantine(empty_matter, before["a.txt"].id)
    real = reading.load

    def better(path: Path, *, name: str, options: LoadOptions) -> tuple[PagedText, ...]:
        (given / "better.txt").write_text(real(path, name=name, options=options)[0].text + "More.")
        return real(given / "better.txt", name=name, options=options)

    monkeypatch.setattr(reading, "load", better)
    read_again(empty_matter, ["a.txt", "b.txt"])
    ingest(empty_matter, embedder=embedder)
    after = {info.name: info for info in empty_matter.documents()}
    assert after["b.txt"].id == before["b.txt"].id
    assert empty_matter.text(after["b.txt"].id) == "Water came in.\nMore."
    assert empty_matter.text_version(after["b.txt"].id, before["b.txt"].text_sha256) == (
        "Water came in.\n"
    )
    assert "a.txt" not in after
    assert find(empty_matter, "rent").total == 0
    assert stale(empty_matter) == damage(empty_matter) == ()


def test_originals_are_kept_by_hash_and_readable_by_nobody_else(
    empty_matter, embedder, given
) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    info = next(info for info in empty_matter.documents() if info.name == "a.txt")
    kept = empty_matter.original(info.id)
    assert kept.read_bytes() == (given / "a.txt").read_bytes()
    assert kept.stat().st_mode & 0o077 == 0
    assert not list(empty_matter.originals.glob(".incoming-*"))


def test_a_link_is_not_followed(empty_matter, embedder, tmp_path: Path) -> None:
    folder = tmp_path / "linked"
    folder.mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("not of this matter")
    (folder / "link.txt").symlink_to(secret)
    (folder / "gone.txt").symlink_to(tmp_path / "nowhere")
    ingest(empty_matter, embedder=embedder, folder=folder)
    assert states(empty_matter)["link.txt"] is LedgerState.SKIPPED
    assert states(empty_matter)["gone.txt"] is LedgerState.FAILED
    assert empty_matter.documents() == ()


def test_a_folder_that_is_not_there(empty_matter, embedder, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        ingest(empty_matter, embedder=embedder, folder=tmp_path / "nowhere")


class _Stop(Exception):
    pass


@pytest.mark.parametrize("stage", ["copying", "reading", "embedding", "indexing"])
def test_a_run_that_is_stopped_goes_on(empty_matter, embedder, given, stage: str) -> None:
    def stop(progress: IngestProgress) -> None:
        if progress.stage == stage and progress.done:
            raise _Stop

    with pytest.raises(_Stop):
        ingest(empty_matter, embedder=embedder, folder=given, on_progress=stop)
    ingest(empty_matter, embedder=embedder, folder=given)
    assert len(states(empty_matter)) == 6
    assert stale(empty_matter) == damage(empty_matter) == ()
    assert empty_matter.index().count() == 2


def test_a_file_that_still_waits_says_so_and_words_answer_before_vectors(
    empty_matter, embedder, given
) -> None:
    take_in(empty_matter, given)
    row = next(row for row in ledger(empty_matter).rows if row.name == "a.txt")
    assert (row.state, row.reason) == (LedgerState.SKIPPED, "not read yet")
    read_waiting(empty_matter, reader=DirectReader())
    assert retrieve(empty_matter, "rent", embedder=embedder)[0].passage.text == "The rent is due."
    embed_waiting(empty_matter, embedder=embedder)
    assert retrieve(empty_matter, "rent", embedder=embedder)[0].passage.text == "The rent is due."


def test_progress_is_counted(empty_matter, embedder, given) -> None:
    seen: list[IngestProgress] = []
    ingest(empty_matter, embedder=embedder, folder=given, on_progress=seen.append)
    assert list(dict.fromkeys(each.stage for each in seen)) == [
        "copying",
        "reading",
        "embedding",
        "indexing",
    ]
    assert all(0 <= each.done <= each.total for each in seen)


class _Away(HashEmbedder):
    def embed(self, texts):  # type: ignore[no-untyped-def]
        raise Unavailable("the model is away")


def test_without_the_model_the_record_is_read_and_words_answer(empty_matter, given) -> None:
    with pytest.raises(Unavailable):
        ingest(empty_matter, embedder=_Away(), folder=given)
    assert retrieve(empty_matter, "rent", embedder=None)[0].passage.text == "The rent is due."


def test_two_models_are_not_mixed(empty_matter, embedder, given) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    (given / "new.txt").write_text("Something new.\n")
    with pytest.raises(Conflict):
        ingest(empty_matter, embedder=HashEmbedder(dimensions=16), folder=given)


class _Counting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts):  # type: ignore[no-untyped-def]
        self.texts += texts
        return super().embed(texts)


def test_equal_words_are_embedded_once(empty_matter, tmp_path: Path) -> None:
    folder = tmp_path / "same"
    folder.mkdir()
    embedder = _Counting()
    (folder / "a.txt").write_text("The same long words.\n")
    ingest(empty_matter, embedder=embedder, folder=folder)
    (folder / "b.txt").write_text("The same long words.\n\n\n")
    ingest(empty_matter, embedder=embedder, folder=folder)
    assert embedder.texts == ["The same long words."]
    assert empty_matter.index().count() == 2


def test_our_own_output_comes_back_as_model_output_in_any_layout(
    empty_matter, embedder, given
) -> None:
    note_output(empty_matter, b"...", "Northgate knew in January 2024.")
    (given / "saved again.txt").write_text("Northgate knew\n\nin January   2024.\n")
    ingest(empty_matter, embedder=embedder, folder=given)
    info = next(info for info in empty_matter.documents() if info.name == "saved again.txt")
    assert info.document_class is DocumentClass.MODEL_OUTPUT
    assert all(
        hit.passage.span.document != info.id
        for hit in retrieve(empty_matter, "Northgate knew", embedder=embedder)
    )


def test_a_loader_that_crashes_leaves_the_file_named_and_the_run_going(
    empty_matter, embedder, given, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = reading.load

    def load(path: Path, *, name: str, options: object):  # type: ignore[no-untyped-def]
        if name == "b.txt":
            raise RuntimeError("secret words of the document")
        return real(path, name=name, options=options)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "load", load)
    found = ingest(empty_matter, embedder=embedder, folder=given)
    row = next(row for row in found.rows if row.name == "b.txt")
    assert row.state is LedgerState.FAILED
    assert row.reason
    assert "secret" not in row.reason


def test_another_model_may_make_all_vectors_anew_and_a_stop_in_between_loses_no_words(
    empty_matter, embedder, given
) -> None:
    ingest(empty_matter, embedder=embedder, folder=given)
    other = HashEmbedder(dimensions=64)
    with pytest.raises(Conflict):
        retrieve(empty_matter, "rent", embedder=other, top_k=3)
    forget_vectors(empty_matter)
    words_alone = retrieve(empty_matter, "rent", embedder=None, top_k=3)
    assert words_alone[0].passage.text == "The rent is due."
    ingest(empty_matter, embedder=other)
    numbers = [row["n"] for row in empty_matter.store.rows("SELECT n FROM passages")]
    vectors, owners = empty_matter.store.vectors_of(numbers)
    assert vectors.shape[1] == 64
    assert set(owners) == set(numbers)
    assert not damage(empty_matter)
    assert not stale(empty_matter)
    assert (
        retrieve(empty_matter, "rent", embedder=other, top_k=3)[0].passage == words_alone[0].passage
    )
    with pytest.raises(Conflict, match="another embedding model"):
        retrieve(empty_matter, "rent", embedder=embedder, top_k=3)
