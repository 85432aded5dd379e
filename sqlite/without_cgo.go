//go:build !cgo

package sqlite

// Without cgo there is no SQLite, and Coleo cannot open any database. The functions below therefore
// never receive an error of SQLite.

// Damaged always returns false.
func Damaged(error) bool { return false }

// Full always returns false.
func Full(error) bool { return false }

// Taken always returns false.
func Taken(error) bool { return false }
