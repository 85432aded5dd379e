-- Who told an event of work: see coleo.Source. Coleo's own events have none.
ALTER TABLE events ADD COLUMN source TEXT;
-- Old events are deleted by arm. Events of work have bounds of their own.
CREATE INDEX events_own ON events (arm_id, seq) WHERE source IS NULL;
CREATE INDEX events_work ON events (arm_id, seq) WHERE source IS NOT NULL;
DROP INDEX events_by_arm;
