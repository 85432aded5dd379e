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
