package sqlite

import (
	"context"
	"database/sql"
)

// FullText reports whether this program was built with FTS5, the full-text search of
// SQLite. The build tag sqlite_fts5 adds it.
func FullText(ctx context.Context, db *sql.DB) bool {
	var used bool
	err := db.QueryRowContext(ctx, "SELECT sqlite_compileoption_used('ENABLE_FTS5')").Scan(&used)
	return err == nil && used
}
