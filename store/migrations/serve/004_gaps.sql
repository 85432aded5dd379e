-- Events of a host with numbers up to `deleted` can be missing in this database, because the host deleted
-- them before serve read them.
CREATE TABLE gaps (
	host    TEXT PRIMARY KEY NOT NULL,
	deleted INTEGER NOT NULL
) STRICT;
