package host

import (
	"context"
	"maps"
	"os"
	"strconv"
	"sync"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder/process"
)

// pulse returns the condition of the arms as this process knows it, and looks at their
// processes. It asks no holder, so it is cheap and never waits.
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

// marking gives a number to the pulses of all arms. The number changes when a pulse
// changes.
type marking struct {
	mu     sync.Mutex
	number int
	last   map[string]bus.ArmPulse // the pulses of that number
}

// pulses returns the pulses of all arms and their number.
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
	p := bus.ArmPulse{ID: a.record.ID, Generation: a.record.Generation, Attached: a.session != nil, Starting: a.busy,
		Process: bus.ProcessDead}
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

// lookAt returns the liveness of the arm's process. While a session is held, its process
// is looked at again and again, so lookAt keeps a watch open for it.
func (a *arm) lookAt(id coleo.Identity, attached bool) process.Liveness {
	a.sight.Lock()
	defer a.sight.Unlock()
	if a.watch != nil && (!attached || a.watch.ID != id) {
		_ = a.watch.Close()
		a.watch = nil
	}
	if a.watch == nil && attached {
		watch, err := process.NewWatch(id)
		if err != nil {
			return process.Look(id)
		}
		a.watch = watch
	}
	if a.watch == nil {
		return process.LookQuickly(id)
	}
	return a.watch.Look()
}

// vouch is report for a heartbeat. It asks the holder over the session's existing
// connection. If that proves nothing, it opens a new connection.
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

// begin waits for the turn to start the arm, to attach to it or to end it. The returned
// function gives the turn back.
func (a *arm) begin() func() {
	a.setBusy(true)
	a.starting.Lock()
	a.setBusy(true) // the previous owner of the turn has just cleared busy
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
