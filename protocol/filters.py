"""The words that say where to look: ``in:Lease.pdf from:2026-01-01``.

Both sides know the words; only the worker knows what they mean in a matter (`rag.scope`).
"""

from __future__ import annotations

from typing import Final

FILTER_WORDS: Final[dict[str, str]] = {
    "in": "in",
    "file": "in",
    "document": "in",
    "doc": "in",
    "from": "from",
    "since": "from",
    "to": "to",
    "until": "to",
    "after": "after",
    "before": "before",
    "on": "on",
    "date": "on",
    "custodian": "custodian",
    "class": "class",
    "undated": "undated",
    "파일": "in",
    "문서": "in",
    "부터": "from",
    "까지": "to",
    "날짜": "on",
    "보관자": "custodian",
    "종류": "class",
}
"""Each word before the colon, and the filter it means."""
