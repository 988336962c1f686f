-- Every statement of the shared queue, by name; the rows are those of queries.sql, in PostgreSQL.
-- Times are ms of Unix time. No column of any table may hold words of a matter.

-- name: schema
-- All tables, version 1, in a schema of their own. `number` is the order of arrival.
CREATE TABLE version (number integer NOT NULL);
INSERT INTO version VALUES (1);
CREATE TABLE job (
    number         bigint  GENERATED ALWAYS AS IDENTITY,
    id             text    PRIMARY KEY,
    matter         text    NOT NULL,
    kind           text    NOT NULL,
    "user"         text    NOT NULL,
    board          text    NOT NULL,
    weight_s       double precision NOT NULL,
    state          text    NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed', 'stopped')),
    attempts       bigint  NOT NULL,
    turn           bigint  NOT NULL,
    crashes        bigint  NOT NULL,
    arrived        bigint  NOT NULL,
    created_ms     bigint  NOT NULL,
    waiting_ms     bigint  NOT NULL,
    expected_ms    bigint  NOT NULL,
    ended_ms       bigint  NOT NULL,
    owner          text    NOT NULL,
    lease_ms       bigint  NOT NULL,
    stop_asked     boolean NOT NULL,
    reason         text    NOT NULL,
    key_sha256     text    NOT NULL UNIQUE,
    request_sha256 text    NOT NULL,
    answer_sha256  text    NOT NULL,
    last_seq       bigint  NOT NULL,
    told_place     bigint  NOT NULL
);
CREATE INDEX job_active ON job (state, board) WHERE state IN ('waiting', 'running');
CREATE INDEX job_ended ON job (ended_ms) WHERE state IN ('done', 'failed', 'stopped');
CREATE INDEX job_matter ON job (matter, number);
CREATE TABLE event (
    job   text   NOT NULL REFERENCES job (id),
    seq   bigint NOT NULL CHECK (seq >= 1),
    at_ms bigint NOT NULL,
    body  bytea  NOT NULL,
    PRIMARY KEY (job, seq)
);
CREATE TABLE step (
    job   text  NOT NULL REFERENCES job (id),
    name  text  NOT NULL,
    value bytea NOT NULL CHECK (length(value) <= 4096),
    PRIMARY KEY (job, name)
);
CREATE TABLE board (
    name   text    PRIMARY KEY,
    paused boolean NOT NULL,
    places bigint  NOT NULL CHECK (places >= 1),
    ticks  bigint  NOT NULL
);
CREATE TABLE last_turn (
    board  text   NOT NULL,
    matter text   NOT NULL,
    tick   bigint NOT NULL,
    PRIMARY KEY (board, matter)
);

-- name: version
-- Of the tables that are there; fails where they are not ours.
SELECT number FROM version;

-- name: present
-- Whether the schema is there at all.
SELECT 1 AS present FROM pg_namespace WHERE nspname = %(schema)s;

-- name: one_at_a_time
-- Held to the end of the transaction by every act that touches more than one running job.
SELECT pg_advisory_xact_lock(hashtextextended(%(schema)s, 0));

-- name: look
-- Begins a consistent look at several rows.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: tell
-- Wakes whoever listens, on every box, once this transaction is committed.
SELECT pg_notify(%(channel)s, topic) FROM unnest(%(topics)s::text[]) AS topic;

-- name: clock
-- The server's present time in ms, which all boxes share.
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms;

-- name: job
-- One job by its id.
SELECT * FROM job WHERE id = %(id)s;

-- name: job_of_key
-- The job a client's key has already made.
SELECT * FROM job WHERE key_sha256 = %(key_sha256)s;

-- name: jobs_of
-- A matter's jobs, newest first; no limit where most is null.
SELECT * FROM job WHERE matter = %(matter)s ORDER BY number DESC LIMIT %(most)s;

-- name: waiting
-- The line before one board, in order of arrival; the turn is decided elsewhere.
SELECT * FROM job WHERE state = 'waiting' AND board = %(board)s ORDER BY number;

-- name: running_on
-- What has a place on one board.
SELECT * FROM job WHERE state = 'running' AND board = %(board)s ORDER BY number;

-- name: running
-- What has a place on any board.
SELECT * FROM job WHERE state = 'running' ORDER BY number;

-- name: ended
-- Jobs that ended before a time.
SELECT id FROM job WHERE state IN ('done', 'failed', 'stopped') AND ended_ms < %(before_ms)s;

-- name: put_job
-- Adds a job, or replaces everything of it but its number.
INSERT INTO job (
    id, matter, kind, "user", board, weight_s, state, attempts, turn, crashes, arrived, created_ms,
    waiting_ms, expected_ms, ended_ms, owner, lease_ms, stop_asked, reason, key_sha256,
    request_sha256, answer_sha256, last_seq, told_place
) VALUES (
    %(id)s, %(matter)s, %(kind)s, %(user)s, %(board)s, %(weight_s)s, %(state)s, %(attempts)s,
    %(turn)s, %(crashes)s, %(arrived)s, %(created_ms)s, %(waiting_ms)s, %(expected_ms)s,
    %(ended_ms)s, %(owner)s, %(lease_ms)s, %(stop_asked)s, %(reason)s, %(key_sha256)s,
    %(request_sha256)s, %(answer_sha256)s, %(last_seq)s, %(told_place)s
)
ON CONFLICT (id) DO UPDATE SET
    board = excluded.board,
    weight_s = excluded.weight_s,
    state = excluded.state,
    attempts = excluded.attempts,
    turn = excluded.turn,
    crashes = excluded.crashes,
    arrived = excluded.arrived,
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
-- First of the three that remove jobs.
DELETE FROM event WHERE job = ANY(%(ids)s);

-- name: delete_steps
-- Second of the three.
DELETE FROM step WHERE job = ANY(%(ids)s);

-- name: delete_jobs
-- Third of the three.
DELETE FROM job WHERE id = ANY(%(ids)s);

-- name: events
-- A job's events above a number, in order.
SELECT seq, at_ms, body FROM event WHERE job = %(job)s AND seq > %(after)s ORDER BY seq;

-- name: add_event
-- One more event; a number that is taken is an error.
INSERT INTO event (job, seq, at_ms, body) VALUES (%(job)s, %(seq)s, %(at_ms)s, %(body)s);

-- name: step
-- What a step remembered.
SELECT value FROM step WHERE job = %(job)s AND name = %(name)s;

-- name: put_step
-- A step's value; a second one replaces the first.
INSERT INTO step (job, name, value) VALUES (%(job)s, %(name)s, %(value)s)
ON CONFLICT (job, name) DO UPDATE SET value = excluded.value;

-- name: board
-- One board.
SELECT * FROM board WHERE name = %(name)s;

-- name: boards
-- All boards, by name; by code point, as the other keepers order them.
SELECT * FROM board ORDER BY name COLLATE "C";

-- name: put_board
-- Adds a board or replaces it.
INSERT INTO board (name, paused, places, ticks)
VALUES (%(name)s, %(paused)s, %(places)s, %(ticks)s)
ON CONFLICT (name) DO UPDATE
SET paused = excluded.paused, places = excluded.places, ticks = excluded.ticks;

-- name: last_turns
-- When each matter last had a turn on a board.
SELECT matter, tick FROM last_turn WHERE board = %(board)s;

-- name: put_turn
-- A matter has had a turn.
INSERT INTO last_turn (board, matter, tick) VALUES (%(board)s, %(matter)s, %(tick)s)
ON CONFLICT (board, matter) DO UPDATE SET tick = excluded.tick;

-- name: forget_turns
-- A matter was closed.
DELETE FROM last_turn WHERE matter = %(matter)s;
