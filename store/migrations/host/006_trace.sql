-- How far the sources of an arm's work have been read, as JSON.
ALTER TABLE arms ADD COLUMN trace TEXT;
