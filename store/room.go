package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"coleo.dev/sqlite"
)

const (
	// reserveBytes is the full size of a database's reserve file. When the disk is full, the
	// database frees space from this file. SQLite merges a write-ahead log into the database when
	// the log has 1000 pages of 4 KiB. The merge can need as much space again.
	reserveBytes = 8 << 20
	// reservePiece is the number of bytes of the reserve file that are freed at a time. A write
	// rarely needs more. If more were freed, the process that fills the disk could take the rest.
	reservePiece = 512 << 10
	// reservePage is the size of a page of the reserve file, in bytes. Each page contains its own
	// number. File systems compare and compress blocks of at least this size.
	reservePage = 4 << 10
)

// NoRoom reports whether err means that the disk is full.
func NoRoom(err error) bool { return err != nil && sqlite.Full(err) }

// FreeBytes returns the number of free bytes on the file system of the given folder. It returns
// false if this number is unknown.
func FreeBytes(dir string) (int64, bool) { return room(dir) }

func (d *database) reserve() string { return d.path + ".reserve" }

// giveUp frees one piece of the reserve file. It returns false if the reserve file is empty.
func (d *database) giveUp() bool {
	info, err := os.Stat(d.reserve())
	if err != nil || info.Size() == 0 {
		return false
	}
	return os.Truncate(d.reserve(), max(info.Size()-reservePiece, 0)) == nil
}

// keepReserve fills up the reserve file, if the disk has room for twice the missing part. It writes
// random bytes, because random bytes occupy disk space even on file systems that compress data. All
// pieces contain the same random bytes, but each page also contains its number, so no two pages are
// equal.
func (d *database) keepReserve() error {
	size := int64(0)
	info, err := os.Stat(d.reserve())
	if err == nil {
		size = info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	missing := reserveBytes - size
	left, known := room(d.path)
	if missing <= 0 || !known || left < 2*missing {
		return nil
	}
	f, err := os.OpenFile(d.reserve(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
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

// GiveUpReserve frees a piece of the reserve file. Call it when the disk is full. If it returns
// true, the caller should retry the write that failed with NoRoom. It returns false if the reserve
// file is empty.
func (h *HostDB) GiveUpReserve() bool { return h.db.giveUp() }

// KeepReserve fills up the reserve file if the disk has enough space.
func (h *HostDB) KeepReserve() error { return h.db.keepReserve() }

// GiveUpReserve frees a piece of the reserve file. Call it when the disk is full. If it returns
// true, the caller should retry the write that failed with NoRoom. It returns false if the reserve
// file is empty.
func (s *ServeDB) GiveUpReserve() bool { return s.db.giveUp() }

// KeepReserve fills up the reserve file if the disk has enough space.
func (s *ServeDB) KeepReserve() error { return s.db.keepReserve() }
