CREATE TABLE audit (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	ts      TEXT NOT NULL,
	caller  TEXT NOT NULL CHECK (json_valid(caller)),
	command TEXT NOT NULL,
	arm     TEXT,
	detail  TEXT CHECK (detail IS NULL OR json_valid(detail)),
	result  TEXT NOT NULL,
	error   TEXT
) STRICT;

CREATE INDEX audit_arm ON audit (arm, id);
