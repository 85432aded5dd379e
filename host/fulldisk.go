package host

import (
	"context"
	"sync"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// littleRoom is a number of free bytes, several times as much as a holder writes at
// once. If the disk has less room, the host agent asks the holders whether they can
// still write.
const littleRoom = 4 << 20

// fullDisk ensures that only one goroutine at a time asks the holders whether they can
// write.
type fullDisk struct {
	mu      sync.Mutex
	looking bool
}

// lookBlocked asks the holders in the background whether their arms are blocked. It
// does so only if the disk is almost full, or if an arm is blocked. At other times, the
// host agent asks the holders only before each beat.
func (h *Host) lookBlocked() {
	left, known := store.Room(h.Dir)
	need := known && left < littleRoom
	arms := h.all()
	for _, a := range arms {
		need = need || a.standsStill() != ""
	}
	h.full.mu.Lock()
	defer h.full.mu.Unlock()
	if !need || h.full.looking {
		return
	}
	h.full.looking = true
	h.runs.Go(func() {
		for i, r := range reports(arms) {
			if r.Proof == bus.Proven || r.Proof == bus.Silent {
				arms[i].noteBlocked(h.ctx, r.Blocked)
			}
		}
		h.full.mu.Lock()
		h.full.looking = false
		h.full.mu.Unlock()
	})
}

// standsStill returns the reason why the arm cannot continue, or "" if it can.
func (a *arm) standsStill() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		return ""
	}
	return a.blocked
}

// noteBlocked records the reason why the arm is blocked, or "" if it is no longer
// blocked. An arm is blocked if its journal cannot be written, or if its holder does
// not reply. If the reason is the same as before, noteBlocked writes nothing.
func (a *arm) noteBlocked(ctx context.Context, why string) {
	a.mu.Lock()
	same, id := a.blocked == why, a.record.ID
	a.blocked = why
	a.mu.Unlock()
	if same {
		return
	}
	if err := a.host.append(ctx, event(id, coleo.EventBlocked, coleo.Note{Text: why})); err != nil {
		a.host.Log.Error("record that the arm is blocked", "arm", a.name(), "blocked", why, "error", err)
	}
}
