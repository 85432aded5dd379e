-- A host's backlog: the events that its log contained when serve first met the host. head is the
-- number of the last of them, or 0 if all have been read. pos is the position in serve's log of the
-- last one that has been read. Serve had met the hosts of older databases before, so they have no
-- backlog.
CREATE TABLE backlogs (
	host TEXT PRIMARY KEY NOT NULL,
	head INTEGER NOT NULL,
	pos  INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO backlogs (host, head) SELECT host, 0 FROM cursors;
