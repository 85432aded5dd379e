-- The prompts that are about to be typed, as the receipts of the runs that they will begin. If the host
-- agent is killed meanwhile, the next host agent checks whether these prompts have arrived.
ALTER TABLE arms ADD COLUMN intended TEXT CHECK (intended IS NULL OR json_valid(intended));
