// Package sqlite opens SQLite files. It is the home of their driver.
package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"

	_ "github.com/mattn/go-sqlite3" // registers itself
)

// busyMillis is how long an access waits for another process that holds the
// database, such as a person's sqlite3 shell.
const busyMillis = 5000

// Open opens a file that is ours, with options of the driver as in a URL's query.
// It is made when it is first written to.
func Open(path, options string) (*sql.DB, error) {
	return sql.Open("sqlite3", source(path, options))
}

// ReadOnly opens the file of another program, which may be writing to it. Error:
// fs.ErrNotExist when there is none.
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
