-- The epoch of each event. Each time that a host agent opens this database, a new epoch begins. Events
-- that are older than this column have NULL. Their epoch is in meta.
ALTER TABLE events ADD COLUMN epoch TEXT;
