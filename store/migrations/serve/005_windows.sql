-- The terminal window in which a person sees the arm. "window" is a word of SQL.
ALTER TABLE arms ADD COLUMN shown TEXT CHECK (shown IS NULL OR json_valid(shown));
