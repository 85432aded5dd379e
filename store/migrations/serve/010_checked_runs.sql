-- With what a run was begun, and whether its answer fits the schema of its prompt. Older
-- runs have neither.
ALTER TABLE runs ADD COLUMN spec_hash TEXT;
ALTER TABLE runs ADD COLUMN answer_check TEXT; -- NULL without a schema; or pending, fits, unfit, unchecked
ALTER TABLE runs ADD COLUMN check_fault TEXT;  -- what does not fit
ALTER TABLE runs ADD COLUMN retry_of TEXT;     -- the run whose answer did not fit, so that this run began
ALTER TABLE runs ADD COLUMN retry TEXT;        -- the run that begins because the answer does not fit
