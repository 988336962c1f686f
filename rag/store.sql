-- The statements of one matter's record.sqlite, the truth about what a matter holds.
-- A line "-- name: x" starts the statement(s) x; the lines of comment under it say what it is for.

-- name: schema
-- All tables. Offsets count code points of the canonical text named by text_sha256.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- The ledger: one row for every file that came in. state is a LedgerState, or 'pending'.
CREATE TABLE files (
  name            TEXT PRIMARY KEY,
  original_sha256 TEXT NOT NULL,
  size_bytes      INTEGER NOT NULL,
  mtime_ns        INTEGER NOT NULL,
  state           TEXT NOT NULL,
  document        TEXT,
  pages           INTEGER NOT NULL DEFAULT 0,
  pages_read      INTEGER NOT NULL DEFAULT 0,
  reason          TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX files_by_original ON files (original_sha256);

-- One row for every item of the record; text_sha256 is its current text version.
CREATE TABLE documents (
  id              TEXT PRIMARY KEY,
  original_sha256 TEXT NOT NULL,
  file_sha256     TEXT NOT NULL,
  ordinal         INTEGER NOT NULL,
  title           TEXT NOT NULL,
  name            TEXT NOT NULL,
  kind            TEXT NOT NULL,
  document_class  TEXT NOT NULL,
  text_sha256     TEXT NOT NULL,
  chars           INTEGER NOT NULL,
  pages           INTEGER NOT NULL,
  exhibit         TEXT,
  custodian       TEXT,
  parent          TEXT,
  bates_begin     TEXT,
  bates_end       TEXT,
  privileged      INTEGER NOT NULL DEFAULT 0,
  designation     TEXT,
  quarantined     INTEGER NOT NULL DEFAULT 0,
  passages        INTEGER NOT NULL DEFAULT 0,
  dated           TEXT,
  warnings        TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;
CREATE INDEX documents_by_file ON documents (file_sha256);

-- Every text version; old ones stay as long as answers point into them.
CREATE TABLE texts (
  document TEXT NOT NULL,
  sha256   TEXT NOT NULL,
  text     TEXT NOT NULL,
  PRIMARY KEY (document, sha256)
) WITHOUT ROWID;

CREATE TABLE pages (
  document         TEXT NOT NULL,
  text_sha256      TEXT NOT NULL,
  number           INTEGER NOT NULL,
  starts           INTEGER NOT NULL,
  ends             INTEGER NOT NULL,
  label            TEXT,
  bates            TEXT,
  reading          TEXT NOT NULL,
  confidence       REAL,
  readers_disagree INTEGER NOT NULL,
  reason           TEXT NOT NULL,
  PRIMARY KEY (document, text_sha256, number)
) WITHOUT ROWID;

-- The locator table: printed lines, paragraphs, speakers, cells, zones of a message.
CREATE TABLE places (
  document    TEXT NOT NULL,
  text_sha256 TEXT NOT NULL,
  ordinal     INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  starts      INTEGER NOT NULL,
  ends        INTEGER NOT NULL,
  label       TEXT NOT NULL,
  PRIMARY KEY (document, text_sha256, ordinal)
) WITHOUT ROWID;

-- What a machine can read in a document and a person cannot; kept out of the text.
CREATE TABLE findings (
  document    TEXT NOT NULL,
  text_sha256 TEXT NOT NULL,
  ordinal     INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  page        INTEGER NOT NULL,
  starts      INTEGER NOT NULL,
  ends        INTEGER NOT NULL,
  reason      TEXT NOT NULL,
  hidden      TEXT NOT NULL,
  PRIMARY KEY (document, text_sha256, ordinal)
) WITHOUT ROWID;

-- Passages of current texts. words is the text from starts to ends, kept here as well because
-- cutting it out of a long text takes SQLite a walk through all that stands before it.
-- words_sha256 covers heading and words: equal words share vectors.
CREATE TABLE passages (
  n            INTEGER PRIMARY KEY,
  id           TEXT NOT NULL UNIQUE,
  document     TEXT NOT NULL,
  starts       INTEGER NOT NULL,
  ends         INTEGER NOT NULL,
  page         INTEGER NOT NULL,
  heading      TEXT NOT NULL,
  header       TEXT NOT NULL,
  words        TEXT NOT NULL,
  words_sha256 TEXT NOT NULL,
  embedded     INTEGER NOT NULL DEFAULT 0,
  indexed      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX passages_by_document ON passages (document, starts);
CREATE INDEX passages_by_words ON passages (words_sha256) WHERE embedded = 1;
CREATE INDEX passages_waiting ON passages (n) WHERE embedded = 0;
CREATE INDEX passages_unindexed ON passages (n) WHERE embedded = 1 AND indexed = 0;

-- One passage has one vector for each window that the encoder can take whole (f16, unit length).
CREATE TABLE vectors (
  passage INTEGER NOT NULL,
  part    INTEGER NOT NULL,
  vector  BLOB NOT NULL,
  PRIMARY KEY (passage, part)
) WITHOUT ROWID;

-- Vector index entries of passages that are gone, until the index has dropped them.
CREATE TABLE tombstones (
  id TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Words of files this product wrote itself: such a file never comes back as evidence.
CREATE TABLE own_output (
  sha256 TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Keyword indexes over terms (rag/terms.py). Contentless: they hold no text, only terms.
CREATE VIRTUAL TABLE passage_terms USING fts5 (
  header, body, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '.'"
);
CREATE VIRTUAL TABLE card_terms USING fts5 (
  title, opening, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '.'"
);
CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab (passage_terms, 'row');
CREATE VIRTUAL TABLE card_vocabulary USING fts5vocab (card_terms, 'row');
CREATE TABLE cards (
  n        INTEGER PRIMARY KEY,
  document TEXT NOT NULL UNIQUE
);

-- name: additions
-- Tables that came later; made in a record of before when it is opened. From which folder a file came
-- under which name there, and the name it has in the ledger; then the hashes of files that were
-- removed for good, which are not taken in again.
CREATE TABLE IF NOT EXISTS came_from (
  folder TEXT NOT NULL,
  given  TEXT NOT NULL,
  name   TEXT NOT NULL,
  PRIMARY KEY (folder, given)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS removed (
  sha256 TEXT PRIMARY KEY
) WITHOUT ROWID;

-- name: put_file
INSERT INTO files (name, original_sha256, size_bytes, mtime_ns, state)
VALUES (:name, :original_sha256, :size_bytes, :mtime_ns, 'pending')
ON CONFLICT (name) DO UPDATE SET
  original_sha256 = excluded.original_sha256, size_bytes = excluded.size_bytes,
  mtime_ns = excluded.mtime_ns, state = 'pending', document = NULL, pages = 0, pages_read = 0,
  reason = '';

-- name: settle_file
UPDATE files SET state = :state, document = :document, pages = :pages, pages_read = :pages_read,
  reason = :reason
WHERE name = :name;

-- name: put_document
INSERT INTO documents (id, original_sha256, file_sha256, ordinal, title, name, kind,
  document_class, text_sha256, chars, pages, exhibit, custodian, parent, bates_begin, bates_end,
  privileged, designation, dated, warnings)
VALUES (:id, :original_sha256, :file_sha256, :ordinal, :title, :name, :kind, :document_class,
  :text_sha256, :chars, :pages, :exhibit, :custodian, :parent, :bates_begin, :bates_end,
  :privileged, :designation, :dated, :warnings);

-- name: put_page
INSERT OR REPLACE INTO pages VALUES (:document, :text_sha256, :number, :starts, :ends, :label,
  :bates, :reading, :confidence, :readers_disagree, :reason);

-- name: put_passage
INSERT INTO passages (id, document, starts, ends, page, heading, header, words, words_sha256)
VALUES (:id, :document, :starts, :ends, :page, :heading, :header, :words, :words_sha256);

-- name: infos
-- All columns that make a DocumentInfo, in the order of ids.
SELECT id, title, name, kind, document_class, text_sha256, chars, pages, exhibit, custodian, parent,
  bates_begin, bates_end, privileged, designation, quarantined
FROM documents ORDER BY id;

-- name: page_counts
-- How many pages every document has, in its current text.
SELECT p.document, count(*) AS pages FROM documents d
JOIN pages p ON p.document = d.id AND p.text_sha256 = d.text_sha256 GROUP BY p.document;

-- name: unreadable_pages
-- Pages of current texts that were read in one way (no text could be read), in order.
SELECT p.document, p.number, p.reason FROM documents d
JOIN pages p ON p.document = d.id AND p.text_sha256 = d.text_sha256
WHERE p.reading = ? ORDER BY p.document, p.number;

-- name: same_words
-- The vectors of an embedded passage with the same words.
SELECT part, vector FROM vectors
WHERE passage = (SELECT n FROM passages WHERE words_sha256 = ? AND embedded = 1 LIMIT 1)
ORDER BY part;

-- name: keyword_search
-- Passages by BM25, best first; the header counts half. Smaller is better.
SELECT p.n, p.document, bm25(passage_terms, 0.5, 1.0) AS score
FROM passage_terms JOIN passages p ON p.n = passage_terms.rowid
WHERE passage_terms MATCH ? ORDER BY score LIMIT ?;

-- name: card_search
-- Documents by what their title and opening say; the title counts three times.
SELECT cards.document, bm25(card_terms, 3.0, 1.0) AS score
FROM card_terms JOIN cards ON cards.n = card_terms.rowid
WHERE card_terms MATCH ? ORDER BY score LIMIT ?;

-- name: documents_with
-- The documents in which a term stands anywhere.
SELECT DISTINCT p.document
FROM passage_terms JOIN passages p ON p.n = passage_terms.rowid
WHERE passage_terms MATCH ?;
