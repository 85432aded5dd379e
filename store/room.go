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
	// reserveBytes is the full size of the reserve file. Each database has a reserve file. When the
	// disk is full, the database frees space from this file. SQLite merges a write-ahead log into
	// the database when the log has 1000 pages of 4 KiB. The merge can need as much space again.
	reserveBytes = 8 << 20
	// reservePiece is how many bytes of the reserve file are freed at a time. A write seldom needs
	// more. If more bytes were freed, the process that fills the disk could take the rest.
	reservePiece = 512 << 10
	// reservePage is the distance between two numbers in the reserve file, in bytes. File systems
	// compare and compress blocks of at least this size.
	reservePage = 4 << 10
)

// NoRoom reports whether err says that the disk is full.
func NoRoom(err error) bool { return err != nil && sqlite.Full(err) }

// FreeBytes returns how many bytes are free on the file system of the given folder. The bool is
// false if this number is unknown.
func FreeBytes(dir string) (int64, bool) { return room(dir) }

func (d *database) reserve() string { return d.path + ".reserve" }

// giveUp frees one piece of the reserve file. It returns false if nothing is left to
// free.
func (d *database) giveUp() bool {
	info, err := os.Stat(d.reserve())
	if err != nil || info.Size() == 0 {
		return false
	}
	return os.Truncate(d.reserve(), max(info.Size()-reservePiece, 0)) == nil
}

// keepReserve fills up the reserve file if the disk has room for twice the missing
// part. It writes random bytes, because random bytes take up disk space even on file
// systems that compress. Each piece has the same random bytes, with a number in each page: so no
// two pages are the same.
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

// GiveUpReserve frees a piece of the reserve file, for use when the disk is full. If it
// returns true, the caller should retry the write that failed with NoRoom. It returns
// false if nothing is left to free.
func (h *HostDB) GiveUpReserve() bool { return h.db.giveUp() }

// KeepReserve fills up the reserve file if the disk has enough space.
func (h *HostDB) KeepReserve() error { return h.db.keepReserve() }

// GiveUpReserve frees a piece of the reserve file, for use when the disk is full. If it
// returns true, the caller should retry the write that failed with NoRoom. It returns
// false if nothing is left to free.
func (s *ServeDB) GiveUpReserve() bool { return s.db.giveUp() }

// KeepReserve fills up the reserve file if the disk has enough space.
func (s *ServeDB) KeepReserve() error { return s.db.keepReserve() }
