-- Every statement of the job queue, by name. A name stands after "-- name:", what it is for below it.
-- Times are ms of Unix time. No column of any table may hold words of a matter.

-- name: schema
-- The whole file, version 1. `number` is the order of arrival.
CREATE TABLE job (
    number         INTEGER PRIMARY KEY AUTOINCREMENT,
    id             TEXT    NOT NULL UNIQUE,
    matter         TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    user           TEXT    NOT NULL,
    board          TEXT    NOT NULL,
    weight_s       REAL    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed', 'stopped')),
    attempts       INTEGER NOT NULL,
    turn           INTEGER NOT NULL,
    crashes        INTEGER NOT NULL,
    arrived        INTEGER NOT NULL,
    created_ms     INTEGER NOT NULL,
    waiting_ms     INTEGER NOT NULL,
    expected_ms    INTEGER NOT NULL,
    ended_ms       INTEGER NOT NULL,
    owner          TEXT    NOT NULL,
    lease_ms       INTEGER NOT NULL,
    stop_asked     INTEGER NOT NULL CHECK (stop_asked IN (0, 1)),
    reason         TEXT    NOT NULL,
    key_sha256     TEXT    NOT NULL UNIQUE,
    request_sha256 TEXT    NOT NULL,
    answer_sha256  TEXT    NOT NULL,
    last_seq       INTEGER NOT NULL,
    told_place     INTEGER NOT NULL
) STRICT;
CREATE INDEX job_active ON job (state, board) WHERE state IN ('waiting', 'running');
CREATE INDEX job_ended ON job (ended_ms) WHERE state IN ('done', 'failed', 'stopped');
CREATE INDEX job_matter ON job (matter, number);

CREATE TABLE event (
    job   TEXT    NOT NULL REFERENCES job (id),
    seq   INTEGER NOT NULL CHECK (seq >= 1),
    at_ms INTEGER NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (job, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    job   TEXT NOT NULL REFERENCES job (id),
    name  TEXT NOT NULL,
    value BLOB NOT NULL CHECK (length(value) <= 4096),
    PRIMARY KEY (job, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE board (
    name   TEXT    PRIMARY KEY,
    paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
    places INTEGER NOT NULL CHECK (places >= 1),
    ticks  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE last_turn (
    board  TEXT    NOT NULL,
    matter TEXT    NOT NULL,
    tick   INTEGER NOT NULL,
    PRIMARY KEY (board, matter)
) STRICT, WITHOUT ROWID;

-- name: job
-- One job by its id.
SELECT * FROM job WHERE id = :id;

-- name: job_of_key
-- The job a client's key has already made.
SELECT * FROM job WHERE key_sha256 = :key_sha256;

-- name: jobs_of
-- A matter's jobs, newest first; a limit of -1 means all.
SELECT * FROM job WHERE matter = :matter ORDER BY number DESC LIMIT :most;

-- name: waiting
-- The line before one board, in order of arrival; the turn is decided elsewhere.
SELECT * FROM job WHERE state = 'waiting' AND board = :board ORDER BY number;

-- name: running_on
-- What has a place on one board.
SELECT * FROM job WHERE state = 'running' AND board = :board ORDER BY number;

-- name: running
-- What has a place on any board.
SELECT * FROM job WHERE state = 'running' ORDER BY number;

-- name: ended
-- Jobs that ended before a time.
SELECT id FROM job WHERE state IN ('done', 'failed', 'stopped') AND ended_ms < :before_ms;

-- name: put_job
-- Adds a job, or replaces everything of it but its number.
INSERT INTO job (
    id, matter, kind, user, board, weight_s, state, attempts, turn, crashes, arrived, created_ms,
    waiting_ms, expected_ms, ended_ms, owner, lease_ms, stop_asked, reason, key_sha256,
    request_sha256, answer_sha256, last_seq, told_place
) VALUES (
    :id, :matter, :kind, :user, :board, :weight_s, :state, :attempts, :turn, :crashes, :arrived,
    :created_ms, :waiting_ms, :expected_ms, :ended_ms, :owner, :lease_ms, :stop_asked, :reason,
    :key_sha256, :request_sha256, :answer_sha256, :last_seq, :told_place
)
ON CONFLICT (id) DO UPDATE SET
    board = excluded.board,
    arrived = excluded.arrived,
    weight_s = excluded.weight_s,
    state = excluded.state,
    attempts = excluded.attempts,
    turn = excluded.turn,
    crashes = excluded.crashes,
    waiting_ms = excluded.waiting_ms,
    expected_ms = excluded.expected_ms,
    ended_ms = excluded.ended_ms,
    owner = excluded.owner,
    lease_ms = excluded.lease_ms,
    stop_asked = excluded.stop_asked,
    reason = excluded.reason,
    answer_sha256 = excluded.answer_sha256,
    last_seq = excluded.last_seq,
    told_place = excluded.told_place;

-- name: delete_events
-- First of the three that remove a job.
DELETE FROM event WHERE job = :id;

-- name: delete_steps
-- Second of the three.
DELETE FROM step WHERE job = :id;

-- name: delete_job
-- Third of the three.
DELETE FROM job WHERE id = :id;

-- name: events
-- A job's events above a number, in order.
SELECT seq, at_ms, body FROM event WHERE job = :job AND seq > :after ORDER BY seq;

-- name: add_event
-- One more event; a number that is taken is an error.
INSERT INTO event (job, seq, at_ms, body) VALUES (:job, :seq, :at_ms, :body);

-- name: step
-- What a step remembered.
SELECT value FROM step WHERE job = :job AND name = :name;

-- name: put_step
-- A step's value; a second one replaces the first.
INSERT INTO step (job, name, value) VALUES (:job, :name, :value)
ON CONFLICT (job, name) DO UPDATE SET value = excluded.value;

-- name: board
-- One board.
SELECT * FROM board WHERE name = :name;

-- name: boards
-- All boards, by name.
SELECT * FROM board ORDER BY name;

-- name: put_board
-- Adds a board or replaces it.
INSERT INTO board (name, paused, places, ticks) VALUES (:name, :paused, :places, :ticks)
ON CONFLICT (name) DO UPDATE
SET paused = excluded.paused, places = excluded.places, ticks = excluded.ticks;

-- name: last_turns
-- When each matter last had a turn on a board.
SELECT matter, tick FROM last_turn WHERE board = :board;

-- name: put_turn
-- A matter has had a turn.
INSERT INTO last_turn (board, matter, tick) VALUES (:board, :matter, :tick)
ON CONFLICT (board, matter) DO UPDATE SET tick = excluded.tick;

-- name: forget_turns
-- A matter was closed.
DELETE FROM last_turn WHERE matter = :matter;
