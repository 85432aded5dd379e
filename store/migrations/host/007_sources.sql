-- The source that has reported an event of work: see coleo.Source. Coleo's own events have NULL.
ALTER TABLE events ADD COLUMN source TEXT;
-- Old events are deleted for each arm, and separately for Coleo's own events and for events of work. So
-- each of these two classes has an index.
CREATE INDEX events_own ON events (arm_id, seq) WHERE source IS NULL;
CREATE INDEX events_work ON events (arm_id, seq) WHERE source IS NOT NULL;
DROP INDEX events_by_arm;
