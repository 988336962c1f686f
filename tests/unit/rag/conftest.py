"""Builders for matters and texts; nothing here needs a model."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from protocol.ids import MatterId
from protocol.record import Matter, PageInfo, Reading
from rag.embedding import HashEmbedder
from rag.ingest import ingest
from rag.matters import OpenMatter, create
from rag.paged import PagedText, page_spans
from rag.reading import DirectReader


def make_paged(text: str, **values: object) -> PagedText:
    pages = tuple(
        PageInfo(
            number=number,
            start=start,
            end=end,
            label=None,
            bates=None,
            reading=Reading.TEXT,
            confidence=None,
            readers_disagree=False,
            reason="",
        )
        for number, (start, end) in enumerate(page_spans(text), start=1)
    )
    given = {"kind": "txt", "title": "Paper", "name": "paper.txt"} | values
    return PagedText(text=text, pages=pages, **given)  # type: ignore[arg-type]


@pytest.fixture
def paged() -> Callable[..., PagedText]:
    return make_paged


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture(autouse=True)
def read_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ingest reads in this process, which saves a child a test; another test is about the child."""

    class Here(DirectReader):
        def __enter__(self) -> Here:
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr("rag.ingest.ChildReader", Here)


@pytest.fixture
def empty_matter(tmp_path: Path) -> Iterator[OpenMatter]:
    value = Matter(
        id=MatterId("M-7F3K"),
        title="Hartwell v. Northgate",
        opened_at=dt.datetime(2026, 1, 5, tzinfo=dt.UTC),
    )
    with create(tmp_path / "matters" / "M-7F3K", value, index_in_memory=True) as matter:
        yield matter


@pytest.fixture
def fill(
    empty_matter: OpenMatter, embedder: HashEmbedder, tmp_path: Path
) -> Callable[[Mapping[str, str]], OpenMatter]:
    """Gives the matter these files (name to text), read and embedded."""

    def filled(files: Mapping[str, str]) -> OpenMatter:
        folder = tmp_path / "given"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        ingest(empty_matter, embedder=embedder, folder=folder)
        return empty_matter

    return filled
