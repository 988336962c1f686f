"""Footnotes for python-docx, which has none: one part, two separators, one reference a mark.

Source: ECMA-376 Part 1, 17.11 (footnotes) and 17.11.23 (separators).
"""

from __future__ import annotations

from typing import Any, Final
from xml.sax.saxutils import escape

from docx.document import Document  # noqa: TID251
from docx.enum.style import WD_STYLE_TYPE  # noqa: TID251
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE  # noqa: TID251
from docx.opc.packuri import PackURI  # noqa: TID251
from docx.opc.part import Part  # noqa: TID251
from docx.oxml import OxmlElement  # noqa: TID251
from docx.oxml.ns import nsdecls, qn  # noqa: TID251
from docx.shared import Pt  # noqa: TID251
from docx.text.paragraph import Paragraph  # noqa: TID251
from docx.text.run import Run  # noqa: TID251

_TEXT: Final = "footnote text"
_REFERENCE: Final = "footnote reference"
_SEPARATORS: Final = (("separator", -1), ("continuationSeparator", 0))


class Footnotes:
    """Collects the footnotes of one document; `close` writes their part."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._notes: list[str] = []
        text = document.styles.add_style(_TEXT, WD_STYLE_TYPE.PARAGRAPH)
        text.font.size = Pt(9)
        text.paragraph_format.space_after = Pt(0)
        reference = document.styles.add_style(_REFERENCE, WD_STYLE_TYPE.CHARACTER)
        reference.font.superscript = True
        self._text_id, self._reference_id = text.style_id, reference.style_id

    def add(self, paragraph: Paragraph, text: str) -> Run:
        """A reference at the end of the paragraph as it stands now, and its note; the reference."""
        self._notes.append(text)
        run = paragraph.add_run()
        run.style = self._document.styles[_REFERENCE]
        reference = OxmlElement("w:footnoteReference")
        reference.set(qn("w:id"), str(len(self._notes)))
        run._r.append(reference)
        return run

    def close(self) -> None:
        """Writes the part and names its separators in the settings."""
        part = Part(
            PackURI("/word/footnotes.xml"),
            CONTENT_TYPE.WML_FOOTNOTES,
            self._xml().encode(),
            self._document.part.package,
        )
        self._document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        settings: Any = self._document.settings.element
        named = OxmlElement("w:footnotePr")
        for _, number in _SEPARATORS:
            one = OxmlElement("w:footnote")
            one.set(qn("w:id"), str(number))
            named.append(one)
        # The schema wants it before w:compat.
        before = settings.find(qn("w:compat"))
        if before is None:
            settings.append(named)
        else:
            before.addprevious(named)

    def _xml(self) -> str:
        parts = [
            f'<w:footnote w:type="{kind}" w:id="{number}"><w:p><w:r><w:{kind}/></w:r></w:p>'
            "</w:footnote>"
            for kind, number in _SEPARATORS
        ]
        for number, text in enumerate(self._notes, start=1):
            parts.append(
                f'<w:footnote w:id="{number}"><w:p><w:pPr><w:pStyle w:val="{self._text_id}"/>'
                f'</w:pPr><w:r><w:rPr><w:rStyle w:val="{self._reference_id}"/></w:rPr>'
                f'<w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> {escape(text)}</w:t></w:r>'
                "</w:p></w:footnote>"
            )
        return (
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
            f"<w:footnotes {nsdecls('w')}>{''.join(parts)}</w:footnotes>"
        )
