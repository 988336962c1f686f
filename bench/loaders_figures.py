"""The loaders' figures of the rag bench, gathered: speed, gold spans, OCR, damaged files."""

from __future__ import annotations

from pathlib import Path

from bench.harness import Arguments, Result
from bench.loaders import gold_spans_mapped, pages_per_cpu_s, scan_ratio, speed
from bench.loaders_fuzz import fuzz
from bench.loaders_ocr import ocr_words_right
from rag.loaders import LoadOptions, load, scan

_TESTS = Path(__file__).resolve().parent.parent / "tests" / "data"
_SAMPLE = _TESTS / "sample"
FUZZ_FILES, FUZZ_FILES_FULL = 500, 6_000
OCR_PAGES, OCR_PAGES_FULL = 12, 36


def loader_figures(arguments: Arguments) -> Result:
    """Figures ``pages_per_cpu_s``, ``pypdfium2_ratio``, ``pypdfium2_scan_ratio``,
    ``gold_spans_mapped``, ``ocr_words_right``, ``fuzz_files``, ``fuzz_failures``.

    ``pypdfium2_ratio`` is our text and boxes as a share of bare pypdfium2's text and boxes,
    ``pypdfium2_scan_ratio`` the same with the hidden-text scan. What could not be measured here is
    None, with a note.
    """
    result = Result(figures={})
    _of_data(arguments, result)
    _ocr(arguments, result)
    files = FUZZ_FILES_FULL if arguments.full else FUZZ_FILES
    damaged = fuzz(files, seeds=_TESTS / "files", seed=arguments.seed)
    result.figures |= {"fuzz_files": files, "fuzz_failures": int(damaged.figure)}
    result.rows += [{"measure": "fuzz", **row} for row in damaged.rows]
    result.failed = damaged.figure > 0
    return result


def _of_data(arguments: Arguments, result: Result) -> None:
    names = ("pages_per_cpu_s", "pypdfium2_ratio", "pypdfium2_scan_ratio", "gold_spans_mapped")
    if arguments.data is None or not (arguments.data / "retrieval" / "pdf").is_dir():
        result.figures |= dict.fromkeys(names)
        result.notes.append("no folder with retrieval/pdf: speed and gold spans were not measured")
        return
    fast = speed(arguments.data)
    gold = gold_spans_mapped(arguments.data)
    result.figures |= {
        "pages_per_cpu_s": pages_per_cpu_s(fast),
        "pypdfium2_ratio": round(fast.figure, 3),
        "pypdfium2_scan_ratio": scan_ratio(fast),
        "gold_spans_mapped": round(gold.figure, 4),
    }
    result.rows += [{"measure": "speed", **row} for row in fast.rows]
    result.rows += [{"measure": "gold", **row} for row in gold.rows]


def _ocr(arguments: Arguments, result: Result) -> None:
    if scan.program() is None:
        result.figures["ocr_words_right"] = None
        result.notes.append("tesseract-ocr is not installed: OCR was not measured")
        return
    pages = OCR_PAGES_FULL if arguments.full else OCR_PAGES
    read = ocr_words_right(_texts(arguments.data), pages=pages, seed=arguments.seed)
    result.figures["ocr_words_right"] = round(read.figure, 4)
    result.rows += [{"measure": "ocr", **row} for row in read.rows]


def _texts(data: Path | None) -> list[str]:
    """Prose to print: the contracts of the data folder, else the sample matter's papers."""
    if data is not None and (data / "retrieval" / "documents").is_dir():
        files = sorted((data / "retrieval" / "documents").glob("*.txt"))[:12]
        return [file.read_text("utf-8") for file in files]
    options = LoadOptions(ocr=False, second_reader=False)
    papers = sorted(_SAMPLE.glob("*/*.pdf"))
    return [" ".join(load(paper, options=options)[0].text for paper in papers)]
