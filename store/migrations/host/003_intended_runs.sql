-- The prompts that are about to be typed, as the receipts of the runs that they
-- shall begin: what a killed host agent leaves here is looked for later.
ALTER TABLE arms ADD COLUMN intended TEXT CHECK (intended IS NULL OR json_valid(intended));
