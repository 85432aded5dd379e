-- The terminal window in which a person sees the arm. The column is not called "window", because that is
-- a keyword of SQL.
ALTER TABLE arms ADD COLUMN shown TEXT CHECK (shown IS NULL OR json_valid(shown));
