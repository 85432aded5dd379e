-- The tokens that a person has made for programs that command Coleo. `hash` is the SHA-256 of the token's
-- value. The value itself is not stored.
CREATE TABLE operator_tokens (
	name       TEXT PRIMARY KEY,
	hash       TEXT NOT NULL UNIQUE,
	bounds     TEXT NOT NULL CHECK (json_valid(bounds)), -- what the token allows
	created_at TEXT NOT NULL,
	expires_at TEXT NOT NULL,
	used_at    TEXT
) STRICT;
