"""Turns a matter's files into passages with exact places, and finds the right ones.

What the worker calls, by file; each is a plain synchronous function:

- `rag.matters`: ``create``, ``OpenMatter``, ``matters_in``, ``erase``
- `rag.ingest`: ``ingest``, ``ledger``; `rag.watching`: ``changes``; `rag.reading`: ``read_again``
- `rag.retrieve`: ``retrieve``, ``Filters``; `rag.lookup`: ``find``
- `rag.coverage`: ``coverage``, ``every_passage``, ``count_passages``
- `rag.removal`: ``quarantine``, ``release``, ``remove``; `rag.record`: ``note_output``
- `rag.repair`: ``damage``, ``stale``, ``rebuild``, ``forget_vectors``
- `rag.embedding`: ``default_embedder``, ``ModelEmbedder``, ``HashEmbedder``; `rag.pool`

Nothing is imported here, so that reading one file (``python -m rag read``) starts in no time.
"""
