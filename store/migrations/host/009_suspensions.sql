-- The questions that the arms' models have asked with Coleo's tools.
CREATE TABLE suspensions (
	id          TEXT PRIMARY KEY NOT NULL,
	arm_id      TEXT NOT NULL,
	run_id      TEXT,
	kind        TEXT NOT NULL,
	text        TEXT NOT NULL,
	options     TEXT,
	several     INTEGER NOT NULL,
	asked_at    TEXT NOT NULL,
	decision    TEXT, -- NULL while the question waits, and if it was withdrawn
	answered_at TEXT, -- NULL while the question waits
	answered_by TEXT,
	heard_at    TEXT  -- when the answer has reached the model
) STRICT;
CREATE INDEX suspensions_by_arm ON suspensions (arm_id, asked_at);

-- The newest calls of Coleo's tools. A call with a key that is in this table is a repetition of the same
-- call.
CREATE TABLE tool_calls (
	number     INTEGER PRIMARY KEY AUTOINCREMENT,
	arm_id     TEXT NOT NULL,
	key        TEXT NOT NULL,
	text       TEXT, -- the result
	suspension TEXT, -- in place of `text`: the suspension whose answer will be the result
	UNIQUE (arm_id, key)
) STRICT;

-- The list of tasks of each arm, as JSON.
CREATE TABLE arm_tasks (
	arm_id TEXT PRIMARY KEY NOT NULL,
	last   INTEGER NOT NULL, -- the number of the newest task
	tasks  TEXT NOT NULL
) STRICT;

-- The files that arms have claimed.
CREATE TABLE file_claims (
	arm_id TEXT NOT NULL,
	path   TEXT NOT NULL, -- absolute
	kind   TEXT NOT NULL CHECK (kind IN ('read', 'write', 'exclusive')),
	reason TEXT,
	at     TEXT NOT NULL,
	PRIMARY KEY (arm_id, path)
) STRICT;
