"""Office packages with nothing of this machine in them: fixed times, plain properties."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from typing import Final

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_CORE: Final = "docProps/core.xml"
_STAMPS: Final = re.compile(
    rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(</dcterms:(?:created|modified)>)"
)


def settled(content: bytes, at: dt.datetime) -> bytes:
    """The same package with every time in it set: two exports of one answer are the same bytes."""
    stamp = at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in sorted(old.namelist(), key=lambda one: (one != "[Content_Types].xml", one)):
            body = old.read(name)
            if name == _CORE:
                body = _STAMPS.sub(rb"\g<1>" + stamp + rb"\g<2>", body)
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            new.writestr(info, body)
    return out.getvalue()
