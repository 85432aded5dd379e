// Package sqlite opens SQLite files. It is the only package that imports their driver.
package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"

	_ "github.com/mattn/go-sqlite3" // registers itself
)

// busyMillis is how long an access waits for another process that locks the database,
// such as a user's sqlite3 shell.
const busyMillis = 5000

// Open opens a file of Coleo. options are options of the driver, in the form of a URL's
// query. The file is created by the first write.
func Open(path, options string) (*sql.DB, error) {
	return sql.Open("sqlite3", source(path, options))
}

// ReadOnly opens the file of another program, which may be writing to it. It returns an
// error that wraps fs.ErrNotExist if the file is missing.
func ReadOnly(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return sql.Open("sqlite3", source(path, "mode=ro&_query_only=true"))
}

func source(path, options string) string {
	name := (&url.URL{Path: path}).EscapedPath()
	return fmt.Sprintf("file:%s?_busy_timeout=%d&_foreign_keys=true&%s", name, busyMillis, options)
}
