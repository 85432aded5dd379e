-- Old events are deleted arm by arm. The highest number of a deleted event is in meta, under 'deleted'.
-- Events with lower numbers may also be missing.
CREATE INDEX events_by_arm ON events (arm_id, seq);
