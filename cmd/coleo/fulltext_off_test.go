//go:build !sqlite_fts5 && !fts5

package main

// fullText is true if the tests are built with the full-text search of SQLite.
const fullText = false
