-- What starts arms without a person: schedules and webhooks.
CREATE TABLE triggers (
	name       TEXT PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	kind       TEXT NOT NULL,
	settings   TEXT NOT NULL, -- JSON: what the user has chosen
	created_at TEXT NOT NULL,
	handled_at TEXT,          -- of a schedule: each earlier time has had a run, or was missed
	missed     INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Runs of triggers, missed runs and refused requests. They outlive their trigger.
CREATE TABLE trigger_history (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	trigger_name TEXT, -- NULL: refused requests to a webhook that does not exist
	kind    TEXT NOT NULL, -- run, missed or refused
	ts      TEXT NOT NULL,
	once    TEXT UNIQUE,   -- of a run: what must not have two runs
	state   TEXT,          -- of a run: accepted, starting, started or failed
	arm_id  TEXT,          -- of a run
	why     TEXT,
	detail  TEXT,          -- JSON: the other fields
	request TEXT           -- JSON: the request to start the arm, until the run has ended
) STRICT;
CREATE INDEX trigger_history_of ON trigger_history (trigger_name, id);
CREATE INDEX trigger_history_open ON trigger_history (id) WHERE state IN ('accepted', 'starting');
