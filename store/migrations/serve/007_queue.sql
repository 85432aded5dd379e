-- The summary of the arm's queue: a coleo.QueueState.
ALTER TABLE arms ADD COLUMN queue TEXT CHECK (queue IS NULL OR json_valid(queue));
