-- The receipts of open runs before the newest: their agent CLI has taken that
-- one into its queue.
ALTER TABLE arms ADD COLUMN earlier TEXT CHECK (earlier IS NULL OR json_valid(earlier));
