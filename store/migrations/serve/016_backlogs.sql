-- A host's backlog: the events that its log contained when serve first met the host.
--
--   - `head` is the number of the last event of the backlog, or 0 if serve has read the whole backlog.
--   - `pos` is the position, in serve's log, of the last event of the backlog that serve has read.
--
-- The hosts in an older database have no backlog, because serve had already met them.
CREATE TABLE backlogs (
	host TEXT PRIMARY KEY NOT NULL,
	head INTEGER NOT NULL,
	pos  INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO backlogs (host, head) SELECT host, 0 FROM cursors;
