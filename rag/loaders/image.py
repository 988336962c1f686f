"""Pictures (PNG, JPEG, TIFF): every frame is a page, read by OCR."""

from __future__ import annotations

import io
import warnings

from PIL import Image, ImageOps, ImageSequence

from protocol.record import Reading
from rag.loaders import labels, scan
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Unread

_MOST_PIXELS = 120_000_000
_MOST_FRAMES = 5_000
_LOW_DPI = 180
_FORMATS = {"PNG": "png", "JPEG": "jpeg", "TIFF": "tiff"}


def read(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A picture. Raises `Unread` when it cannot be decoded."""
    draft = Draft(kind="picture")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # oddities of the file; what matters raises
        try:
            image = Image.open(io.BytesIO(data), formats=list(_FORMATS))
        except Image.DecompressionBombError as error:
            raise Unread("the picture is too large to be read") from error
        except Exception as error:
            raise Unread("the picture is damaged") from error
        with image:
            draft.kind = _FORMATS.get(image.format or "", "picture")
            if image.width * image.height > _MOST_PIXELS:
                raise Unread("the picture is too large to be read")
            try:
                for frame in ImageSequence.Iterator(image):
                    draft.pages.append(_page(frame, options))
                    options.done(len(draft.pages), getattr(image, "n_frames", 1))
                    if len(draft.pages) >= _MOST_FRAMES:
                        draft.warn(f"frames after the first {_MOST_FRAMES} were not read")
                        break
            except Exception as error:
                if not draft.pages:
                    raise Unread("the picture is damaged") from error
                draft.pages.append(PageDraft.unread("the picture is damaged from here on"))
    labels.mark(draft)
    return draft


def _page(frame: Image.Image, options: LoadOptions) -> PageDraft:
    upright = ImageOps.exif_transpose(frame) or frame
    if upright.mode in {"RGBA", "LA", "PA", "P"}:
        paper = Image.new("RGBA", upright.size, "white")
        upright = Image.alpha_composite(paper, upright.convert("RGBA"))
    grey = upright.convert("L")
    low, high = grey.getextrema()
    if float(high) - float(low) <= 24:  # type: ignore[arg-type]
        return PageDraft(reason="the page is blank")
    page = scan.page_of(grey, options)
    dpi = float(frame.info.get("dpi", (0, 0))[0] or 0)
    if page.reading is Reading.OCR and 1 < dpi < _LOW_DPI:
        words = f"the picture has {dpi:.0f} dots per inch; under {_LOW_DPI} words are often misread"
        page.reason = "; ".join(filter(None, [page.reason, words]))
    return page
