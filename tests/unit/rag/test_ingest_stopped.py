"""A run that is stopped in the middle of a file loses nothing: the file waits for the next run.

What stops it comes out of ``on_progress``, and must not pass for the file's own damage.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from protocol.errors import Unavailable
from protocol.record import LedgerState
from rag.ingest import ingest, ledger
from rag.intake import take_in
from rag.loaders.child import ChildReader
from rag.progress import IngestProgress
from rag.reading import DirectReader, read_waiting


@pytest.fixture
def given(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    folder.mkdir()
    canvas = Canvas(str(folder / "lease.pdf"), invariant=True)
    for words in ("The rent is due on the first.", "The tenant pays for water."):
        canvas.drawString(72, 700, words)
        canvas.showPage()
    canvas.save()
    return folder


class _Odd(Exception):
    pass


ERRORS = (_Odd(), ValueError("no"), OSError("no"), EOFError(), TimeoutError(), Unavailable("no"))


@pytest.mark.parametrize("reader", [DirectReader, ChildReader])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_stop_in_the_middle_of_a_file_leaves_it_waiting(empty_matter, given, reader, error):
    take_in(empty_matter, given)

    def stop(progress: IngestProgress) -> None:
        if progress.page:
            raise error

    kept = reader()
    try:
        with pytest.raises(type(error)) as raised:
            read_waiting(empty_matter, reader=kept, on_progress=stop)
        assert raised.value is error
        assert empty_matter.documents() == ()
        (row,) = ledger(empty_matter).rows
        assert (row.state, row.reason) == (LedgerState.SKIPPED, "not read yet")
        read_waiting(empty_matter, reader=kept)  # the same reader is good for more
    finally:
        getattr(kept, "close", lambda: None)()
    (document,) = empty_matter.documents()
    assert document.pages == 2
    assert "tenant pays for water" in empty_matter.text(document.id)
    assert ledger(empty_matter).rows[0].state is LedgerState.INDEXED


def test_the_next_run_reads_what_a_stopped_one_left(empty_matter, embedder, given):
    def stop(progress: IngestProgress) -> None:
        if progress.page:
            raise _Odd

    with pytest.raises(_Odd):
        ingest(empty_matter, embedder=embedder, folder=given, on_progress=stop)
    (row,) = ingest(empty_matter, embedder=embedder, folder=given).rows
    assert row.state is LedgerState.INDEXED
