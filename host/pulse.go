package host

import (
	"context"
	"maps"
	"os"
	"strconv"
	"sync"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
)

// pulse says how the arms are as far as this process knows, and looks at their
// processes. It asks no holder, so that it is cheap and never waits.
func (h *Host) pulse(_ context.Context, o bus.PulseOrder) (any, error) {
	p := bus.Pulse{PID: os.Getpid(), Epoch: h.DB.Epoch(), Head: h.DB.Head(), Of: o.Arm}
	if o.Arm != "" {
		a, err := h.arm(o.Arm)
		if err == nil {
			p.Arms = []bus.ArmPulse{a.pulse()}
		}
		return p, err
	}
	h.lookBlocked()
	p.Arms, p.Mark = h.marked.pulses(h.all())
	p.Mark = h.instance + "." + p.Mark
	if p.Mark == o.Known {
		p.Arms, p.Same = nil, true
	}
	return p, nil
}

// marking gives the pulses of all arms a number that changes when one of them does.
type marking struct {
	mu     sync.Mutex
	number int
	last   map[string]bus.ArmPulse // with that number
}

// pulses looks at all arms and returns what it sees with its number.
func (m *marking) pulses(arms []*arm) (out []bus.ArmPulse, number string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := make(map[string]bus.ArmPulse, len(arms))
	for _, a := range arms {
		p := a.pulse()
		out = append(out, p)
		now[p.ID] = p
	}
	if !maps.Equal(now, m.last) {
		m.number++
		m.last = now
	}
	return out, strconv.Itoa(m.number)
}

func (a *arm) pulse() bus.ArmPulse {
	a.mu.Lock()
	handle := a.record.Handle
	blocked := a.blocked
	p := bus.ArmPulse{ID: a.record.ID, Generation: a.record.Generation, Attached: a.session != nil, Starting: a.busy, Process: bus.ProcessDead}
	p.NeedsPermit = p.Attached && a.record.Spec.OnPartition == coleo.PartitionFreeze
	a.mu.Unlock()
	if p.Attached {
		p.Blocked = blocked
	}
	if handle != nil {
		p.PID, p.Process = handle.Process.PID, bus.ProcessState(a.lookAt(handle.Process, p.Attached))
	}
	return p
}

// lookAt tells how the arm's process is. The process of a session that is held is
// looked at for as long as the session, so it is kept in sight.
func (a *arm) lookAt(id coleo.Identity, attached bool) holder.Liveness {
	a.sight.Lock()
	defer a.sight.Unlock()
	if a.watch != nil && (!attached || a.watch.ID != id) {
		_ = a.watch.Close()
		a.watch = nil
	}
	if a.watch == nil && attached {
		watch, err := holder.NewWatch(id)
		if err != nil {
			return holder.Look(id)
		}
		a.watch = watch
	}
	if a.watch == nil {
		return holder.Glance(id)
	}
	return a.watch.Look()
}

// vouch is report for a beat. It asks the session's holder over the connection that
// the session has. What that does not prove is for a connection of its own to prove.
func (a *arm) vouch() bus.ArmReport {
	return a.reportBy(func(h coleo.Handle) (bus.Proof, string) {
		s, err := a.live()
		if held, can := s.(coleo.Held); err == nil && can && s.Handle().Nonce == h.Nonce {
			if blocked, err := held.Held(); err == nil {
				return bus.Proven, blocked
			}
		}
		return prove(h)
	})
}

// begin takes the turn to start the arm, to take it up or to end it. The function
// that it returns gives the turn back.
func (a *arm) begin() func() {
	a.setBusy(true)
	a.starting.Lock()
	a.setBusy(true) // whoever had the turn has just said that it is over
	return func() {
		a.setBusy(false)
		a.starting.Unlock()
	}
}

func (a *arm) setBusy(busy bool) {
	a.mu.Lock()
	a.busy = busy
	a.mu.Unlock()
}
