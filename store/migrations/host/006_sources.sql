-- Who told an event of work: see coleo.Source.
ALTER TABLE events ADD COLUMN source TEXT;
-- Old events are deleted by arm and kind. This index also finds the arms, as the one
-- before it did.
CREATE INDEX events_by_kind ON events (arm_id, kind, seq);
DROP INDEX events_by_arm;
