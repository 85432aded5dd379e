-- The epoch of each event: the opening of the database in which it was written.
-- NULL is the epoch in meta, of events that are older than this column.
ALTER TABLE events ADD COLUMN epoch TEXT;
