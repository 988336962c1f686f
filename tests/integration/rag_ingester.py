"""The child of `test_rag_kill`: ingests a folder and says every step on stdout."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

from protocol.ids import MatterId
from protocol.record import Matter
from rag.embedding import HashEmbedder
from rag.ingest import IngestProgress, ingest
from rag.matters import OpenMatter, create
from rag.reading import DirectReader


def main(folder: Path, place: Path) -> None:
    if (place / "matter.json").exists():
        matter = OpenMatter(place)
    else:
        value = Matter(
            id=MatterId("M-0001"), title="A v. B", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        )
        matter = create(place, value)

    def say(progress: IngestProgress) -> None:
        sys.stdout.write(f"{progress.stage} {progress.done}\n")
        sys.stdout.flush()

    with matter:
        ingest(
            matter,
            embedder=HashEmbedder(dimensions=64),
            folder=folder,
            reader=DirectReader(),
            on_progress=say,
        )
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
