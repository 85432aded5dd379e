//go:build cgo

package sqlite

import (
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

// Full tells whether a write failed because there is no room for it: the disk is
// full, or the user's share of it is used up.
func Full(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == sqlite3.ErrFull || e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT
}
