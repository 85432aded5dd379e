-- What starts arms without a person: schedules and webhooks.
CREATE TABLE triggers (
	name       TEXT PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	kind       TEXT NOT NULL,
	settings   TEXT NOT NULL, -- JSON: what the user has chosen
	created_at TEXT NOT NULL,
	handled_at TEXT,          -- for a schedule: each of its earlier times has had a run, or was missed
	missed     INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Runs of triggers, missed runs and refused requests. These rows stay when their trigger is deleted.
CREATE TABLE trigger_history (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	trigger_name TEXT, -- NULL for refused requests to a webhook that does not exist
	kind    TEXT NOT NULL, -- run, missed or refused
	ts      TEXT NOT NULL,
	once    TEXT UNIQUE,   -- for a run: a second run with the same value is refused
	state   TEXT,          -- for a run: accepted, starting, started or failed
	arm_id  TEXT,          -- for a run
	why     TEXT,
	detail  TEXT,          -- JSON: the other fields
	request TEXT           -- JSON: the request to start the arm, until the run has ended
) STRICT;
CREATE INDEX trigger_history_of ON trigger_history (trigger_name, id);
CREATE INDEX trigger_history_open ON trigger_history (id) WHERE state IN ('accepted', 'starting');
