-- The source that has reported an event of work: see coleo.Source. Coleo's own events have NULL.
ALTER TABLE run_events ADD COLUMN source TEXT;
-- Old events are deleted for each arm, and separately for Coleo's own events and for events of work. So
-- each of these two classes has an index.
CREATE INDEX run_events_own ON run_events (arm_id, pos) WHERE source IS NULL;
CREATE INDEX run_events_work ON run_events (arm_id, pos) WHERE source IS NOT NULL;
DROP INDEX run_events_by_arm;
-- This index is not needed, because the table `runs` says where the events of a run are.
DROP INDEX run_events_by_run;
-- This index is not needed, because the index of host, epoch and seq is enough.
DROP INDEX run_events_by_seq;
CREATE INDEX run_events_by_arm_kind ON run_events (arm_id, kind, pos);
CREATE INDEX run_events_by_kind ON run_events (kind, pos);

-- One row for each run, made from its events: see ApplyRun. `first` and `last` are the positions of the
-- run's first and last event.
CREATE TABLE runs (
	id               TEXT PRIMARY KEY NOT NULL,
	first            INTEGER NOT NULL,
	last             INTEGER NOT NULL,
	arm_id           TEXT,
	arm_name         TEXT,
	harness          TEXT,
	host             TEXT,
	parent_id        TEXT,
	started_at       TEXT,
	ended_at         TEXT,
	status           TEXT,
	outcome          TEXT,
	origin           TEXT,
	compact          INTEGER,
	prompt           TEXT,
	prompt_cut       INTEGER,
	answer           TEXT,
	answer_cut       INTEGER,
	whole            INTEGER,
	model            TEXT,
	turns            INTEGER,
	tool_calls       INTEGER,
	denied_calls     INTEGER,
	failed_calls     INTEGER,
	file_changes     INTEGER,
	events           INTEGER,
	input_tokens     INTEGER,
	cached_tokens    INTEGER,
	output_tokens    INTEGER,
	reasoning_tokens INTEGER,
	cost             REAL NOT NULL DEFAULT 0,
	orphans          TEXT CHECK (orphans IS NULL OR json_valid(orphans))
) STRICT;

CREATE UNIQUE INDEX runs_by_first ON runs (first);
CREATE INDEX runs_by_arm ON runs (arm_id, first);
CREATE INDEX runs_by_outcome ON runs (outcome, first);
CREATE INDEX runs_by_start ON runs (started_at, first);
