package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"coleo.dev/sqlite"
)

const (
	// reserveBytes is the size of the file that each database keeps to give up on a
	// full disk. A write-ahead log grows to 1000 pages of 4 KiB before it is folded
	// into the database, which may need as much once more.
	reserveBytes = 8 << 20
	// reservePiece is how much of the reserve is given up at once, in bytes. What
	// fills the disk may take what a write leaves over, so little is left over.
	reservePiece = 512 << 10
)

// NoRoom tells whether a write failed because the disk is full.
func NoRoom(err error) bool { return err != nil && sqlite.Full(err) }

// Room returns how many bytes can still be written below a folder; false where
// that is not known.
func Room(dir string) (int64, bool) { return room(dir) }

func (d *database) reserve() string { return d.path + ".reserve" }

// giveUp frees a piece of the reserve and tells whether there was one.
func (d *database) giveUp() bool {
	info, err := os.Stat(d.reserve())
	if err != nil || info.Size() == 0 {
		return false
	}
	return os.Truncate(d.reserve(), max(info.Size()-reservePiece, 0)) == nil
}

// keepReserve makes the reserve whole again when the disk has room for twice as
// much. Random bytes take their room on file systems that pack, too.
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
	for ; missing > 0 && err == nil; missing -= reservePiece {
		piece := make([]byte, min(missing, reservePiece))
		_, _ = rand.Read(piece) // it never fails
		_, err = f.Write(piece)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep a reserve for a full disk: %w", err)
	}
	return nil
}

// GiveUpReserve frees a piece of the room that is kept for a full disk, and tells
// whether there was one: a write that failed for lack of room is worth a second
// try then.
func (h *HostDB) GiveUpReserve() bool { return h.db.giveUp() }

// KeepReserve makes the reserve whole again where there is room.
func (h *HostDB) KeepReserve() error { return h.db.keepReserve() }

// GiveUpReserve is HostDB.GiveUpReserve of the fleet's database.
func (s *ServeDB) GiveUpReserve() bool { return s.db.giveUp() }

// KeepReserve is HostDB.KeepReserve of the fleet's database.
func (s *ServeDB) KeepReserve() error { return s.db.keepReserve() }
