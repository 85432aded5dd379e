CREATE TABLE arms (
	id                    TEXT PRIMARY KEY NOT NULL,
	name                  TEXT NOT NULL UNIQUE,
	domain                TEXT,
	harness               TEXT NOT NULL,
	status                TEXT NOT NULL CHECK (status IN ('idle', 'busy', 'paused', 'error', 'stopped', 'starting', 'running')),
	planning_blocked      INTEGER NOT NULL DEFAULT 0 CHECK (planning_blocked IN (0, 1)),
	context_budget        INTEGER NOT NULL DEFAULT 300000,
	current_context_used  INTEGER NOT NULL DEFAULT 0,
	created_at            TEXT,
	updated_at            TEXT,
	last_activity_at      TEXT,
	last_heartbeat        TEXT,
	last_output_at        TEXT,
	recovery_requested_at TEXT,
	config                TEXT CHECK (config IS NULL OR json_valid(config)),
	personality           TEXT,
	convictions           TEXT,
	reputation            INTEGER NOT NULL DEFAULT 50,
	generation            INTEGER NOT NULL DEFAULT 0,
	parent_arm_id         TEXT,
	pid                   INTEGER,
	port                  INTEGER,
	provider              TEXT,
	model                 TEXT,
	total_tokens          INTEGER NOT NULL DEFAULT 0,
	total_cost            REAL NOT NULL DEFAULT 0,
	current_task_id       TEXT,
	current_task_subject  TEXT,
	current_bug_id        TEXT,
	current_bug_title     TEXT,
	agent_id              TEXT,
	host                  TEXT,
	session_id            TEXT,
	workdir               TEXT,
	state                 TEXT,
	rule                  TEXT,
	dialog                TEXT CHECK (dialog IS NULL OR json_valid(dialog))
) STRICT;

CREATE INDEX arms_by_agent ON arms (agent_id);

-- The events of all hosts. `pos` counts them in the order of their arrival. No other order holds for
-- events of different hosts. `pos` is also the API's cursor. With AUTOINCREMENT, no value is used twice.
CREATE TABLE run_events (
	pos       INTEGER PRIMARY KEY AUTOINCREMENT,
	host      TEXT NOT NULL,
	epoch     TEXT NOT NULL,
	seq       INTEGER NOT NULL,
	run_id    TEXT,
	parent_id TEXT,
	arm_id    TEXT,
	ts        TEXT,
	turn      INTEGER,
	kind      TEXT NOT NULL,
	payload   TEXT,
	UNIQUE (host, epoch, seq)
) STRICT;

CREATE INDEX run_events_by_run ON run_events (run_id, pos);
CREATE INDEX run_events_by_arm ON run_events (arm_id, pos);

-- The last event of each host's log that serve has applied to the other tables.
CREATE TABLE cursors (
	host  TEXT PRIMARY KEY NOT NULL,
	epoch TEXT NOT NULL,
	seq   INTEGER NOT NULL
) STRICT;

CREATE TABLE hosts (
	id           TEXT PRIMARY KEY NOT NULL,
	hostname     TEXT,
	platform     TEXT,
	version      TEXT,
	started_at   TEXT,
	last_seen    TEXT,
	capabilities TEXT CHECK (capabilities IS NULL OR json_valid(capabilities)),
	max_arms     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE config (
	key   TEXT PRIMARY KEY NOT NULL,
	value TEXT NOT NULL
) STRICT;
