-- The tokens that arms have used: one row for each run, model, source and hour, made from the events of
-- the kind `usage`. See store.addUsage. A row stays when its events, its run and its arm are deleted.
CREATE TABLE usage (
	arm_id    TEXT NOT NULL,
	run_id    TEXT NOT NULL,
	hour      TEXT NOT NULL,
	provider  TEXT NOT NULL,
	model     TEXT NOT NULL,
	source    TEXT NOT NULL,
	estimated INTEGER NOT NULL,
	reported  INTEGER NOT NULL,
	context   INTEGER NOT NULL,
	arm_name  TEXT NOT NULL,
	harness   TEXT NOT NULL,
	project   TEXT NOT NULL,
	calls     INTEGER NOT NULL,
	input     INTEGER NOT NULL,
	cached    INTEGER NOT NULL,
	written   INTEGER NOT NULL,
	output    INTEGER NOT NULL,
	reasoning INTEGER NOT NULL,
	cost      REAL NOT NULL,
	PRIMARY KEY (arm_id, run_id, hour, provider, model, source, estimated, reported, context)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_hour ON usage (hour);

-- Some agent CLIs report only a sum for the whole conversation, called an account. This table contains
-- the newest account of each arm, as JSON: see store.accountOf.
CREATE TABLE accounts (
	arm_id     TEXT PRIMARY KEY NOT NULL,
	generation INTEGER NOT NULL,
	sum        TEXT NOT NULL CHECK (json_valid(sum))
) STRICT;

-- The number of input tokens of a run that were written to a cache.
ALTER TABLE runs ADD COLUMN written_tokens INTEGER;
