"""A Word file read again after it was written: the text as approved, and nothing that is not seen.

A file that fails here is not handed out. What is looked for is what has gone out with papers
before: hidden runs, tracked changes, authors' names, links to elsewhere, black bars over text.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import Final

import docx  # noqa: TID251

from protocol.answers import GREEN, Answer
from protocol.errors import Internal
from worker.export import reading
from worker.export.visible import visible
from worker.export.word import AUTHOR, TEXT_STYLE

_HIDDEN: Final = (
    (re.compile(rb"<w:(?:vanish|webHidden|specVanish)\b(?![^>]*w:val=\"(?:0|false)\")"), "hidden"),
    (re.compile(rb"<w:(?:ins|del|moveFrom|moveTo) "), "tracked changes"),
    (re.compile(rb"<w:color w:val=\"FFFFFF\""), "white text"),
    (re.compile(rb"<w:highlight w:val=\"black\"|<w:shd [^>]*w:fill=\"000000\""), "a black bar"),
    (re.compile(rb"TargetMode=\"External\""), "a link to elsewhere"),
    (re.compile(rb"<w:(?:object|altChunk|fldSimple|instrText)\b"), "an object or a field"),
)
_PARTS: Final = re.compile(r"(?:word/(?:document|footnotes|comments|header\d*)\.xml|.*\.rels)")
_BINARY: Final = re.compile(r"vbaProject|\.bin$|embeddings/|customXml/")


def refuse_if_wrong(content: bytes, answer: Answer) -> None:
    """Reads the file again.

    Raises:
        Internal: It does not hold exactly the approved text, or holds what is not seen.
    """
    found = problems(content, answer)
    if found:
        raise Internal(f"the Word file did not come out as it should: {', '.join(found)}")


def problems(content: bytes, answer: Answer) -> list[str]:
    """What is wrong with the file, in words that hold nothing of it; empty when nothing is."""
    found: list[str] = []
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        for name in package.namelist():
            if _BINARY.search(name):
                found.append("a part that no paper needs")
            if _PARTS.fullmatch(name):
                body = package.read(name)
                found += [said for pattern, said in _HIDDEN if pattern.search(body)]
        footnotes = (
            package.read("word/footnotes.xml")
            if "word/footnotes.xml" in package.namelist()
            else b""
        )
    document = docx.Document(io.BytesIO(content))
    text = "\n".join(
        paragraph.text
        for paragraph in document.paragraphs
        if paragraph.style is not None and paragraph.style.name == TEXT_STYLE
    )
    if text != visible(answer.text):
        found.append("another text than the one approved")
    properties = document.core_properties
    if properties.author or properties.last_modified_by or properties.comments:
        found.append("a name in the properties")
    marked = reading.marked(answer)
    if footnotes.count(b"<w:footnote w:id=") != len(marked):
        found.append("another number of footnotes than marks")
    comments = list(document.comments)
    if len(comments) != sum(item.verdict not in GREEN for item in marked):
        found.append("another number of comments than open items")
    if any(comment.author != AUTHOR for comment in comments):
        found.append("a strange author of a comment")
    if reading.state(answer) not in document.sections[0].header.paragraphs[0].text:
        found.append("no state in the header")
    return list(dict.fromkeys(found))
