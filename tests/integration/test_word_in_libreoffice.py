"""The Word file as another office program reads it: every part is there when it is printed."""

from __future__ import annotations

import asyncio
import shutil
import subprocess

import pypdf
import pytest

from bench.house import CODE, YOU
from bench.house import open_house as house_of
from protocol.answers import GREEN, ReviewState
from protocol.jobs import CiteCheck, Decide, Export

OFFICE = shutil.which("soffice") or shutil.which("libreoffice")


@pytest.mark.slow
@pytest.mark.skipif(OFFICE is None, reason="needs LibreOffice (libreoffice-writer)")
async def test_footnotes_comments_and_tables_are_printed(sample_root, tmp_path):
    async with house_of(sample_root) as house:
        brief = next(one.id for one in await house.documents() if one.title == "Complaint")
        answer = await house.answer(CiteCheck(matter=CODE, document=brief, key=house.key()))
        reasons = {item.number: "looked at" for item in answer.items if item.verdict not in GREEN}
        await house.gate.decide(
            Decide(
                job=answer.job,
                answer_sha256=answer.text_sha256,
                state=ReviewState.APPROVED,
                key=house.key(),
                acknowledged=reasons,
            ),
            YOU,
        )
        made = await house.gate.export(Export(job=answer.job, format="docx", key=house.key()), YOU)
        source = tmp_path / "reply.docx"
        shutil.copy(house.folder / "out" / made.name, source)
    done = await asyncio.to_thread(
        subprocess.run,
        [OFFICE, "--headless", f"-env:UserInstallation=file://{tmp_path / 'profile'}",
         "--convert-to", "pdf:writer_pdf_Export:"
         '{"ExportNotes":{"type":"boolean","value":"true"}}',
         "--outdir", str(tmp_path), str(source)],
        capture_output=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pdf = pypdf.PdfReader(tmp_path / "reply.pdf")
    text = " ".join("\n".join(page.extract_text() for page in pdf.pages).split())
    squeezed = "".join(text.split())
    assert "Reviewed and released by you" in text
    assert all(column in text for column in answer.table.columns[:2])
    marks = [item for item in answer.items if item.places]
    assert all("".join(item.places[0].pin_cite.split()) in squeezed for item in marks)
    landscape = [page for page in pdf.pages if page.mediabox.width > page.mediabox.height]
    assert landscape  # the table's own pages
