package store

import (
	"coleo.dev/sqlite"
	"coleo.dev/store/reserve"
)

// NoRoom reports whether err means that the disk is full.
func NoRoom(err error) bool { return err != nil && sqlite.Full(err) }

// GiveUpReserve makes space on a full disk: it frees a piece of the reserve file. If it returns true,
// retry the write that failed with NoRoom. It returns false if the reserve file is empty.
func (h *HostDB) GiveUpReserve() bool { return reserve.GiveUp(h.db.path) }

// KeepReserve fills up the reserve file if the disk has enough space.
func (h *HostDB) KeepReserve() error { return reserve.Keep(h.db.path) }

// GiveUpReserve makes space on a full disk: it frees a piece of the reserve file. If it returns true,
// retry the write that failed with NoRoom. It returns false if the reserve file is empty.
func (s *ServeDB) GiveUpReserve() bool { return reserve.GiveUp(s.db.path) }

// KeepReserve fills up the reserve file if the disk has enough space.
func (s *ServeDB) KeepReserve() error { return reserve.Keep(s.db.path) }

// nearlyFull is the number of free bytes below which other programs, such as git, can fail for lack of room.
const nearlyFull = 1 << 20

// MakeRoom makes space for other programs on the disk of the database. If the disk is nearly full, MakeRoom frees a
// piece of the reserve file and returns true. Otherwise, or if the reserve file is empty, it returns false.
func (h *HostDB) MakeRoom() bool {
	left, known := reserve.FreeBytes(h.db.path)
	return known && left < nearlyFull && h.GiveUpReserve()
}
