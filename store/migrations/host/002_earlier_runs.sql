-- The receipts of the open runs except the newest. Several runs are open if the agent CLI takes a prompt
-- into its queue during a turn.
ALTER TABLE arms ADD COLUMN earlier TEXT CHECK (earlier IS NULL OR json_valid(earlier));
