-- The positions up to which the sources of the arm's work have been read, as JSON.
ALTER TABLE arms ADD COLUMN trace TEXT;
