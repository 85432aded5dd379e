//go:build !cgo

package sqlite

// Without cgo there is no SQLite, and Coleo cannot open any database. So the functions below never
// see an error of SQLite.

// Damaged returns false.
func Damaged(error) bool { return false }

// Full returns false.
func Full(error) bool { return false }

// Taken returns false.
func Taken(error) bool { return false }
