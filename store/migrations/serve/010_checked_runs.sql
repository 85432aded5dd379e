-- `spec_hash` identifies the inputs with which a run began. `answer_check` says whether the answer of the
-- run fits the schema of its prompt. Older runs have neither.
ALTER TABLE runs ADD COLUMN spec_hash TEXT;
ALTER TABLE runs ADD COLUMN answer_check TEXT; -- pending, fits, unfit or unchecked; NULL without a schema
ALTER TABLE runs ADD COLUMN check_fault TEXT;  -- what in the answer does not fit
ALTER TABLE runs ADD COLUMN retry_of TEXT;     -- the earlier run whose answer did not fit, so this run asks again
ALTER TABLE runs ADD COLUMN retry TEXT;        -- the later run that asks again, because this run's answer does not fit
