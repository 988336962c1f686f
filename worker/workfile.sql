-- The statements of workfile.py. Each stands under its name and says what it is for.

-- name: schema
-- Everything of a matter that has words in it and is not the record: one file, deleted with the matter.
CREATE TABLE IF NOT EXISTS requests (
    sha256 TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS answers (
    job TEXT PRIMARY KEY,
    text_sha256 TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS parts (
    job TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    part INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (job, attempt, part)
) STRICT;
CREATE TABLE IF NOT EXISTS notes (
    job TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (job, name)
) STRICT;
CREATE TABLE IF NOT EXISTS turns (
    job TEXT PRIMARY KEY,
    conversation TEXT NOT NULL,
    question TEXT NOT NULL,
    reply TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS turns_by_conversation ON turns (conversation, job);
CREATE TABLE IF NOT EXISTS decisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    request BLOB NOT NULL,
    decision BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS openings (
    person TEXT NOT NULL,
    document TEXT NOT NULL,
    page INTEGER NOT NULL,
    PRIMARY KEY (person, document, page)
) STRICT;
CREATE TABLE IF NOT EXISTS places (
    user TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- name: put_place
-- The newest one counts.
INSERT OR REPLACE INTO places (user, at, body) VALUES (?, ?, ?);

-- name: get_place
SELECT at, body FROM places WHERE user = ?;

-- name: put_request
-- Written before its job, which names it by hash: a row without a job is a scrap, never a loss.
INSERT OR IGNORE INTO requests (sha256, body) VALUES (?, ?);

-- name: get_request
SELECT body FROM requests WHERE sha256 = ?;

-- name: put_answer
-- An attempt that runs again overwrites: results are keyed by job, never appended.
INSERT OR REPLACE INTO answers (job, text_sha256, body) VALUES (?, ?, ?);

-- name: get_answer
SELECT body FROM answers WHERE job = ?;

-- name: put_part
-- Live text, one row a flush.
INSERT OR REPLACE INTO parts (job, attempt, part, text) VALUES (?, ?, ?, ?);

-- name: get_part
-- The newest attempt's text: older live text is void.
SELECT text FROM parts WHERE job = ? AND part = ? ORDER BY attempt DESC LIMIT 1;

-- name: drop_parts
-- The final text replaces the live text.
DELETE FROM parts WHERE job = ?;

-- name: put_note
-- The words of a durable step, keyed like the step.
INSERT OR REPLACE INTO notes (job, name, text) VALUES (?, ?, ?);

-- name: get_note
SELECT text FROM notes WHERE job = ? AND name = ?;

-- name: put_turn
INSERT OR REPLACE INTO turns (job, conversation, question, reply) VALUES (?, ?, ?, ?);

-- name: last_turns
-- Newest first; job ids sort by time.
SELECT question, reply FROM turns WHERE conversation = ? ORDER BY job DESC LIMIT ?;

-- name: forget_turns
DELETE FROM turns WHERE conversation = ?;

-- name: all_answers
SELECT body FROM answers ORDER BY job;

-- name: forget_notes_of
-- The words of steps that were made from one document.
DELETE FROM notes WHERE name = ?;

-- name: forget_turn
DELETE FROM turns WHERE job = ?;

-- name: put_opening
-- Who looked at which page of the record; a second look adds nothing.
INSERT OR IGNORE INTO openings (person, document, page) VALUES (?, ?, ?);

-- name: openings
SELECT document, page FROM openings WHERE person = ?;

-- name: put_decision
INSERT INTO decisions (job, key, request, decision) VALUES (?, ?, ?, ?);

-- name: decision_by_key
SELECT request, decision FROM decisions WHERE key = ?;

-- name: last_decision
SELECT decision FROM decisions WHERE job = ? ORDER BY number DESC LIMIT 1;
