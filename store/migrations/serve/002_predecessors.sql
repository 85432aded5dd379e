-- This index finds the event before another event. The epoch of that event can be any.
CREATE INDEX run_events_by_seq ON run_events (host, seq);
