-- Up to which number a host had deleted events before this database read its log.
CREATE TABLE gaps (
	host    TEXT PRIMARY KEY NOT NULL,
	deleted INTEGER NOT NULL
) STRICT;
