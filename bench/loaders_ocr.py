"""How many words OCR gets right, on pages made for it: clean, noisy, skewed.

Each page is drawn from known words at 300 dots per inch, spoiled as its kind says, put in a PDF as
a picture, and read by the loader. A word is right when it stands in the recognised text in its
place of the sequence (longest common subsequence of words).
"""

from __future__ import annotations

import io
import random
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

from PIL import Image, ImageFilter
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from bench.loaders import Measured, Row
from rag.loaders import LoadOptions, load, scan

_DPI = 300
_KINDS = ("clean", "noisy", "skewed")
_LINES, _COLUMNS = 52, 88


def ocr_words_right(texts: list[str], *, pages: int = 12, seed: int = 1) -> Measured:
    """Share of words that come back right over ``pages`` pages, the kinds in turn.

    ``texts`` is prose to print. Raises `RuntimeError` when there is no OCR program.
    """
    if scan.program() is None:
        raise RuntimeError("tesseract-ocr is not installed")
    chance = random.Random(seed)
    rows: list[Row] = []
    right = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(pages):
            kind = _KINDS[number % len(_KINDS)]
            lines = _page_of(texts[number % len(texts)], chance)
            path = Path(folder) / f"{number}.pdf"
            path.write_bytes(_scan_of(lines, kind, chance))
            paged = load(path, options=LoadOptions(second_reader=False))[0]
            wanted, came = " ".join(lines).split(), paged.text.split()
            good = _in_order(wanted, came)
            right, total = right + good, total + len(wanted)
            rows.append(
                {
                    "page": number,
                    "kind": kind,
                    "tried": len(wanted),
                    "expected": len(wanted),
                    "came": good,
                    "confidence": paged.pages[0].confidence,
                }
            )
    return Measured(figure=right / total, rows=rows)


def _in_order(wanted: list[str], came: list[str]) -> int:
    matcher = SequenceMatcher(None, wanted, came, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def _page_of(text: str, chance: random.Random) -> list[str]:
    """Some fifty lines of a text, wrapped, from a place by chance."""
    words = [word for word in text.split() if word.isascii()]
    at = chance.randrange(max(1, len(words) - 900))
    lines, line = [], ""
    for word in words[at:]:
        if len(line) + len(word) + 1 > _COLUMNS:
            lines.append(line)
            line = ""
            if len(lines) == _LINES:
                break
        line = f"{line} {word}".strip()
    return lines


def _scan_of(lines: list[str], kind: str, chance: random.Random) -> bytes:
    import pypdfium2  # noqa: TID251 - draws the page that is then a picture

    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, 792))
    canvas.setFont("Times-Roman", 11)
    for at, line in enumerate(lines):
        canvas.drawString(72, 730 - 12.6 * at, line)
    canvas.showPage()
    canvas.save()
    document = pypdfium2.PdfDocument(out.getvalue())
    picture = document[0].render(scale=_DPI / 72, grayscale=True).to_pil()
    document.close()
    picture = _spoiled(picture, kind, chance)
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, 792))
    canvas.drawImage(ImageReader(picture), 0, 0, 612, 792)
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def _spoiled(picture: Image.Image, kind: str, chance: random.Random) -> Image.Image:
    if kind == "clean":
        return picture
    noise = Image.effect_noise(picture.size, 55)
    picture = Image.blend(picture.filter(ImageFilter.GaussianBlur(0.8)), noise, 0.25)
    if kind == "skewed":
        angle = chance.choice((-1, 1)) * chance.uniform(0.6, 1.5)
        picture = picture.rotate(
            angle, expand=False, fillcolor=220, resample=Image.Resampling.BICUBIC
        )
    return picture
