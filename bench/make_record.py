"""Makes a large record of real prose for timing: no sentence stands in it twice.

    python bench/make_record.py --mb 200 --seed 7 --texts FOLDER --out FOLDER

Sentences of the given texts are shuffled; numbers and names are replaced from seeded lists. The
same texts, size and seed give the same bytes. Each document has pages of about fifty lines.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

DOCUMENT_BYTES: Final = 400_000
PAGE_LINES: Final = 50
_SENTENCE: Final = re.compile(r"[A-Z“\"(][^.!?]{40,400}[.!?](?=\s)")
_NUMBER: Final = re.compile(r"\d")
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,12}\b")
_HEADS: Final = (
    "Bal Cor Dun Ell Far Gren Hal Ing Jor Kel Lan Mor Nor Os Pel Quin Ros Sil Tor Ul Ver Wal "
    "Yar Zel"
).split()
_TAILS: Final = (
    "aby bert cott dale ers field gate ham ison kins ley mond nell over port quist ridge son "
    "ton vard well"
).split()


def sentences(texts: Sequence[str]) -> list[str]:
    """The distinct sentences of some texts, in a fixed order."""
    found: dict[str, None] = {}
    for text in texts:
        joined = re.sub(r"-\n\s*", "", text)
        flat = re.sub(r"\s+", " ", joined)
        for match in _SENTENCE.finditer(flat):
            found[match.group()] = None
    return list(found)


def varied(pool: Sequence[str], seed: int) -> Iterator[str]:
    """Sentences of the pool for ever, numbers and names replaced, none given twice."""
    rng = random.Random(seed)
    names = [head + tail for head in _HEADS for tail in _TAILS]
    seen: set[bytes] = set()
    order = list(range(len(pool)))
    while True:
        rng.shuffle(order)
        for number in order:
            made = _NUMBER.sub(lambda _: str(rng.randrange(10)), pool[number])
            made = _NAME.sub(lambda _: rng.choice(names), made)
            digest = hashlib.blake2b(made.encode(), digest_size=8).digest()
            if digest in seen:
                made = (
                    f"{rng.choice(names)} {rng.choice(names)} noted at {rng.randrange(10**6)} "
                    f"that {made[0].lower()}{made[1:]}"
                )
                digest = hashlib.blake2b(made.encode(), digest_size=8).digest()
                if digest in seen:
                    continue
            seen.add(digest)
            yield made


def documents(texts: Sequence[str], total_bytes: int, seed: int) -> Iterator[str]:
    """The texts of the record's documents, up to about ``total_bytes`` of UTF-8."""
    stream = varied(sentences(texts), seed)
    rng = random.Random(seed + 1)
    left = total_bytes
    while left > 0:
        size = 0
        lines: list[str] = []
        while size < min(DOCUMENT_BYTES, left):
            paragraph = " ".join(next(stream) for _ in range(rng.randint(2, 6)))
            lines += textwrap.wrap(paragraph, 92)
            lines.append("")
            size += len(paragraph.encode()) + 2
        pages = [lines[k : k + PAGE_LINES] for k in range(0, len(lines), PAGE_LINES)]
        text = "\f".join(
            "\n".join([*page, "", f"- {number} -"]) for number, page in enumerate(pages, start=1)
        )
        left -= len(text.encode())
        yield text


def read_texts(folder: Path) -> list[str]:
    """Every text file of a folder, in the order of their names."""
    return [path.read_bytes().decode("utf-8") for path in sorted(folder.glob("*.txt"))]


def main() -> None:
    """Writes the record as text files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--texts", type=Path, required=True, help="folder of .txt files to draw on")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    made = documents(read_texts(given.texts), int(given.mb * 1e6), given.seed)
    for number, text in enumerate(made, start=1):
        (given.out / f"record-{number:04d}.txt").write_bytes(text.encode("utf-8"))


if __name__ == "__main__":
    main()
