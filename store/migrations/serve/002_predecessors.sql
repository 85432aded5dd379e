-- The event before another one is looked for whatever its epoch.
CREATE INDEX run_events_by_seq ON run_events (host, seq);
