CREATE TABLE meta (
	key   TEXT PRIMARY KEY NOT NULL,
	value TEXT NOT NULL
) STRICT;

-- The log of events. All events have the same host, so it is in meta. The epoch was there, too, until
-- 004_epochs.sql gave each event its own epoch.
CREATE TABLE events (
	seq       INTEGER PRIMARY KEY,
	run_id    TEXT,
	parent_id TEXT,
	arm_id    TEXT,
	ts        TEXT,
	turn      INTEGER,
	kind      TEXT NOT NULL,
	payload   TEXT
) STRICT;

CREATE TRIGGER events_stay BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;

CREATE TABLE arms (
	id               TEXT PRIMARY KEY NOT NULL,
	name             TEXT NOT NULL UNIQUE,
	harness          TEXT NOT NULL,
	spec             TEXT NOT NULL CHECK (json_valid(spec)),
	desired          TEXT NOT NULL CHECK (desired IN ('running', 'stopped')),
	generation       INTEGER NOT NULL,
	handle           TEXT CHECK (handle IS NULL OR json_valid(handle)),
	status           TEXT NOT NULL CHECK (status IN ('idle', 'busy', 'paused', 'error', 'stopped', 'starting', 'running')),
	state            TEXT,
	rule             TEXT,
	last_activity_at TEXT,
	last_output_at   TEXT,
	last_heartbeat   TEXT,
	workdir          TEXT,
	provider         TEXT,
	model            TEXT,
	created_at       TEXT,
	run              TEXT CHECK (run IS NULL OR json_valid(run)) -- the receipt of the open run
) STRICT;
