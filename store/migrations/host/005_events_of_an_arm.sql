-- Old events are deleted arm by arm. Below the number in meta 'deleted' some may be
-- missing.
CREATE INDEX events_by_arm ON events (arm_id, seq);
