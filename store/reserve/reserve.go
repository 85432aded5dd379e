// Package reserve keeps a reserve file beside a database. The file occupies disk space. When the disk
// is full, the database gives up pieces of the file, so that it can still write.
package reserve

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	// reserveBytes is the full size of a database's reserve file. When the disk is full, the database
	// frees space from this file. The size is enough for SQLite's write-ahead log and for its merge.
	// SQLite merges the log into the database when the log has 1000 pages of 4 KiB. The merge can need
	// as much space again.
	reserveBytes = 8 << 20
	// reservePiece is the number of bytes of the reserve file that are freed at a time. A write
	// rarely needs more. If more were freed, the process that fills the disk could take the rest.
	reservePiece = 512 << 10
	// reservePage is the size of a page of the reserve file, in bytes. Each page contains its own
	// number, so no two pages are equal. A file system that compares or compresses blocks uses blocks
	// of at least this size. Therefore it cannot make the file occupy less space.
	reservePage = 4 << 10
)

// FreeBytes returns the number of free bytes on the file system of the given file or folder. It
// returns false if this number is unknown.
func FreeBytes(path string) (int64, bool) { return freeBytes(path) }

func fileOf(database string) string { return database + ".reserve" }

// GiveUp frees one piece of the reserve file of the database at the given path. It returns false if
// the reserve file is empty.
func GiveUp(database string) bool {
	name := fileOf(database)
	info, err := os.Stat(name)
	if err != nil || info.Size() == 0 {
		return false
	}
	return os.Truncate(name, max(info.Size()-reservePiece, 0)) == nil
}

// Keep fills up the reserve file of the database at the given path, if the disk has room for twice
// the missing part. It writes random bytes, because random bytes occupy disk space even on file
// systems that compress data. All pieces contain the same random bytes, but each page also contains
// its number, so no two pages are equal.
func Keep(database string) error {
	name := fileOf(database)
	size := int64(0)
	info, err := os.Stat(name)
	if err == nil {
		size = info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	missing := reserveBytes - size
	left, known := freeBytes(database)
	if missing <= 0 || !known || left < 2*missing {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep a reserve for a full disk: %w", err)
	}
	piece := make([]byte, min(missing, reservePiece))
	_, _ = rand.Read(piece) // rand.Read never fails
	for ; missing > 0 && err == nil; missing -= reservePiece {
		for at := 0; at+8 <= len(piece); at += reservePage {
			binary.LittleEndian.PutUint64(piece[at:], uint64(missing))
		}
		_, err = f.Write(piece[:min(missing, reservePiece)])
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep a reserve for a full disk: %w", err)
	}
	return nil
}
