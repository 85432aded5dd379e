//go:build !cgo

package sqlite

// Without cgo there is no SQLite: each database fails to open. So no error is one of these.

// Damaged returns false.
func Damaged(error) bool { return false }

// Full returns false.
func Full(error) bool { return false }

// Taken returns false.
func Taken(error) bool { return false }
