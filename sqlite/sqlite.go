// Package sqlite opens SQLite files. No other package imports the SQLite driver.
package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"

	_ "github.com/mattn/go-sqlite3" // registers the driver
)

// busyMillis is the time for which an access waits if another process has locked the database, in
// milliseconds. The other process can be a user's sqlite3 shell.
const busyMillis = 5000

// keptStatements is how many compiled statements each connection keeps. Without them, SQLite compiles each
// statement anew, which takes about half of the time of a short transaction. Coleo has fewer statements.
const keptStatements = 100

// Open opens a database of Coleo. The options are for the driver, in the form of a URL query. If
// the file does not exist, the first write creates it.
func Open(path, options string) (*sql.DB, error) {
	return sql.Open("sqlite3", dataSource(path, fmt.Sprintf("_stmt_cache_size=%d&%s", keptStatements, options)))
}

// ReadOnly opens a database of another program for reading, even while that program writes to it.
// If the file does not exist, the error wraps fs.ErrNotExist.
func ReadOnly(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return sql.Open("sqlite3", dataSource(path, "mode=ro&_query_only=true"))
}

func dataSource(path, options string) string {
	name := (&url.URL{Path: path}).EscapedPath()
	return fmt.Sprintf("file:%s?_busy_timeout=%d&_foreign_keys=true&%s", name, busyMillis, options)
}
