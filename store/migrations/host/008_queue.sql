-- The prompts that wait until the arm is idle: a coleo.Queue.
ALTER TABLE arms ADD COLUMN queue TEXT CHECK (queue IS NULL OR json_valid(queue));
