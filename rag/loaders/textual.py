"""Bytes to text: which encoding, and what was wrong with it.

Order: byte order mark, UTF-16 without one (zero bytes in every second place), UTF-8, then the
Korean code page where the bytes make Hangul, then the Western one. Nothing is guessed by
statistics of a language, so the same bytes always give the same text.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """Text, the encoding it was in, and a warning in words (empty when nothing is doubtful)."""

    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes, *, whole: bool = True) -> Decoded | None:
    """The text of ``data``; None when the bytes are no text at all.

    ``whole`` is False for the head of a file, whose last character may be cut in half.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _with_mark(data, encoding)
    if (wide := _wide(data)) is not None:
        return wide
    if data.count(0) > len(data) // 200 + 1:
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
        return None if _binary(text) else Decoded(text=text, encoding="utf-8")
    except UnicodeDecodeError:
        pass
    return _code_page(data, whole=whole)


def _with_mark(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, errors="replace").lstrip("\ufeff")
    broken = "\ufffd" in text
    return Decoded(text=text, encoding=encoding, warning=_BROKEN if broken else "")


def _wide(data: bytes) -> Decoded | None:
    """UTF-16 without a mark: Latin text has its zero bytes all on one side."""
    sample = data[:_SAMPLE]
    if len(sample) < 4:
        return None
    low, high = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    for zeros, other, encoding in ((high, low, "utf-16-le"), (low, high, "utf-16-be")):
        if zeros > half * 0.4 and other < half * 0.02 + 1:
            text = data.decode(encoding, errors="replace")
            if not _binary(text):
                warning = _BROKEN if "\ufffd" in text else ""
                return Decoded(text=text, encoding=encoding, warning=warning)
    return None


def _code_page(data: bytes, *, whole: bool) -> Decoded | None:
    try:
        text = codecs.getincrementaldecoder("cp949")().decode(data, final=whole)
        hangul = sum("가" <= char <= "힣" for char in text[:_SAMPLE])
        other = sum(char > "\x7f" for char in text[:_SAMPLE])
        if hangul >= 2 and hangul >= other * 0.7 and not _binary(text):
            return Decoded(
                text=text,
                encoding="cp949",
                warning="the encoding is not stated; read as Korean (CP949)",
            )
    except UnicodeDecodeError:
        pass
    text = data.decode("cp1252", errors="replace")
    if _binary(text) or text.count("\ufffd") > len(text) // 50 + 2:
        return None
    return Decoded(
        text=text,
        encoding="cp1252",
        warning="the encoding is not stated; read as Western European (Windows-1252)",
    )


def _binary(text: str) -> bool:
    sample = text[:_SAMPLE]
    return len(_CONTROL.findall(sample)) > len(sample) // 100 + 1


_BROKEN = "some characters could not be decoded and show as \ufffd"


_STATED = re.compile(
    r"^(?:utf-?8|(?:us-)?ascii|iso-?8859-?\d{1,2}|latin-?\d|l1|(?:windows|cp)-?(?:125\d|8\d\d|9\d\d)"
    r"|euc-?(?:kr|jp|cn)|ks_?c_?5601.{0,6}|uhc|johab|iso-?2022-?(?:kr|jp).{0,4}|shift[_-]?jis|sjis"
    r"|gb2312|gbk|gb18030|hz.{0,9}|big5.{0,6}|koi8-?[ru]|mac[a-z_-]{2,12}|tis-?620)$",
    re.IGNORECASE,
)
"""Encodings in which documents are written. Others that Python knows change words (escapes, codes
of domain names) or would read a text that is plainly ASCII as something else."""


def as_stated(data: bytes, encoding: str) -> str | None:
    """The text in the encoding that a document states of itself; None where it cannot be that."""
    if not _STATED.match(encoding.strip()):
        return None
    try:
        return data.decode(encoding.strip())
    except (LookupError, UnicodeError, ValueError):
        return None


def unix_lines(text: str) -> str:
    """Every line end as ``\\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
