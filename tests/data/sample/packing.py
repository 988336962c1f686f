"""Word, workbook and mail files with the same bytes on every machine: no clock, no compression."""

from __future__ import annotations

import base64
import datetime as dt
import io
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument"
_ENTERED = "1980-01-01T00:00:00Z"


def _zipped(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            archive.writestr(entry, (_HEAD + text).encode())
    return out.getvalue()


def _types(overrides: dict[str, str]) -> str:
    parts = "".join(
        f'<Override PartName="{name}" ContentType="{_KIND}.{kind}+xml"/>'
        for name, kind in overrides.items()
    )
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{parts}</Types>'
    )


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{rows}</Relationships>'


def _run(text: str, tag: str = "t") -> str:
    return f'<w:r><w:{tag} xml:space="preserve">{escape(text)}</w:{tag}></w:r>'


def word_file(paragraphs: Sequence[str], inserted: str = "", struck: str = "") -> bytes:
    """A .docx of plain paragraphs.

    Args:
        paragraphs: Their words.
        inserted: A tracked insertion at the end of the last paragraph.
        struck: A tracked deletion after it.
    """
    rows = [_run(words) for words in paragraphs]
    mark = f'w:author="P. Okafor" w:date="{_ENTERED}"'
    if inserted:
        rows[-1] += f'<w:ins w:id="1" {mark}>{_run(inserted)}</w:ins>'
    if struck:
        rows[-1] += f'<w:del w:id="2" {mark}>{_run(struck, "delText")}</w:del>'
    body = "".join(f"<w:p>{row}</w:p>" for row in rows)
    return _zipped(
        {
            "[Content_Types].xml": _types({"/word/document.xml": "wordprocessingml.document.main"}),
            "_rels/.rels": _relations([("officeDocument", "word/document.xml")]),
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
        }
    )


Cell = str | float | dt.date


def shown(value: Cell) -> str:
    """A cell as it looks in the workbook."""
    if isinstance(value, dt.date):
        return value.isoformat()
    return f"${value:,.2f}" if isinstance(value, float) else value


def _cell(address: str, value: Cell) -> str:
    if isinstance(value, dt.date):
        serial = (value - dt.date(1899, 12, 30)).days
        return f'<c r="{address}" s="1"><v>{serial}</v></c>'
    if isinstance(value, float):
        return f'<c r="{address}" s="2"><v>{value:.2f}</v></c>'
    return f'<c r="{address}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def workbook(sheets: Sequence[tuple[str, bool, Sequence[Sequence[Cell]]]]) -> bytes:
    """A .xlsx; of every sheet its name, whether it is hidden, and its rows of up to 26 cells."""
    files = {
        "[Content_Types].xml": _types(
            {
                "/xl/workbook.xml": "spreadsheetml.sheet.main",
                "/xl/styles.xml": "spreadsheetml.styles",
            }
            | {
                f"/xl/worksheets/sheet{n}.xml": "spreadsheetml.worksheet"
                for n in range(1, len(sheets) + 1)
            }
        ),
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/_rels/workbook.xml.rels": _relations(
            [
                *(("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)),
                ("styles", "styles.xml"),
            ]
        ),
        "xl/styles.xml": (
            f'<styleSheet xmlns="{_SHEET}"><numFmts count="1">'
            '<numFmt numFmtId="164" formatCode="&quot;$&quot;#,##0.00"/></numFmts>'
            '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
            '<fills count="1"><fill><patternFill patternType="none"/></fill></fills>'
            '<borders count="1"><border/></borders>'
            '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/>'
            '<xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="164" applyNumberFormat="1"/>'
            "</cellXfs><cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" "
            'builtinId="0"/></cellStyles></styleSheet>'
        ),
    }
    named = []
    for number, (name, hidden, rows) in enumerate(sheets, start=1):
        state = ' state="hidden"' if hidden else ""
        named.append(f'<sheet name="{escape(name)}" sheetId="{number}"{state} r:id="r{number}"/>')
        cells = "".join(
            f'<row r="{at}">'
            + "".join(_cell(f"{chr(65 + column)}{at}", value) for column, value in enumerate(row))
            + "</row>"
            for at, row in enumerate(rows, start=1)
        )
        files[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_SHEET}"><sheetData>{cells}</sheetData></worksheet>'
        )
    files["xl/workbook.xml"] = (
        f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{"".join(named)}</sheets></workbook>'
    )
    return _zipped(files)


def message(
    headers: Sequence[tuple[str, str]], body: str, attached: Sequence[tuple[str, str, bytes]]
) -> bytes:
    """An .eml in ASCII; of every attachment its name, its media type and its bytes."""
    edge = "=_part_of_the_message"
    lines = [f"{key}: {value}" for key, value in headers]
    lines += ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{edge}"', ""]
    lines += [f"--{edge}", "Content-Type: text/plain; charset=us-ascii", "", body]
    for name, kind, data in attached:
        packed = base64.b64encode(data).decode()
        lines += [
            f"--{edge}",
            f'Content-Type: {kind}; name="{name}"',
            "Content-Transfer-Encoding: base64",
            f'Content-Disposition: attachment; filename="{name}"',
            "",
            *(packed[at : at + 76] for at in range(0, len(packed), 76)),
        ]
    lines += [f"--{edge}--", ""]
    return "\r\n".join("\r\n".join(line.splitlines()) if line else "" for line in lines).encode(
        "ascii"
    )
