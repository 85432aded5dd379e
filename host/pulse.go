package host

import (
	"context"
	"maps"
	"os"
	"strconv"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
)

// pulse returns the condition of the arms as this process knows it, after a look at
// their processes. It asks no holder, so it never waits and needs little work.
func (h *Host) pulse(_ context.Context, o bus.PulseOrder) (any, error) {
	p := bus.Pulse{PID: os.Getpid(), Epoch: h.DB.Epoch(), Head: h.DB.Head(), Of: o.Arm}
	if o.Arm != "" {
		a, err := h.arm(o.Arm)
		if err == nil {
			p.Arms = []bus.ArmPulse{a.pulse(0)}
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

// marking gives a number to the pulses of all arms. When one of the pulses changes, the
// number changes.
type marking struct {
	mu     sync.Mutex
	number int
	last   map[string]bus.ArmPulse // the pulses that number belongs to
}

// pulses returns the pulses of all arms and their number.
func (m *marking) pulses(arms []*arm) (out []bus.ArmPulse, number string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := make(map[string]bus.ArmPulse, len(arms))
	for _, a := range arms {
		p := a.pulse(lookAfter)
		out = append(out, p)
		now[p.ID] = p
	}
	if !maps.Equal(now, m.last) {
		m.number++
		m.last = now
	}
	return out, strconv.Itoa(m.number)
}

// lookAfter is the maximum age of the last look at a living process in a pulse about
// all arms. A look at a process costs more than the rest of a pulse. With this value of
// lookAfter, only every second pulse looks at the process. A process that was stopped
// by a signal is reported within two pulses.
const lookAfter = 2 * time.Second

// pulse returns the part of a pulse for one arm. It looks at the arm's process, unless
// the last look is at most as old as the parameter old.
func (a *arm) pulse(old time.Duration) bus.ArmPulse {
	a.mu.Lock()
	handle := a.record.Handle
	blocked := a.blocked
	session := a.session
	p := bus.ArmPulse{ID: a.record.ID, Generation: a.record.Generation, Attached: a.session != nil, Starting: a.busy,
		Process: bus.ProcessDead}
	p.NeedsPermit = p.Attached && a.record.Spec.OnPartition == coleo.PartitionFreeze
	a.mu.Unlock()
	if p.Attached {
		p.Blocked = blocked
		if v, can := session.(coleo.Versioned); can {
			p.Unjudged = v.Unjudged()
		}
	}
	if handle != nil {
		p.PID, p.Process = handle.Process.PID, bus.ProcessState(a.lookAt(handle.Process, p.Attached, old))
	}
	return p
}

// lookAt returns whether the arm's process is alive. If the last look saw the process
// alive and is at most as old as the parameter old, lookAt returns Alive without a
// look. While the arm has a session, lookAt is called often, and therefore keeps a
// watch on the process open.
func (a *arm) lookAt(id coleo.Identity, attached bool, old time.Duration) process.Liveness {
	a.sight.Lock()
	defer a.sight.Unlock()
	if a.watch != nil && (!attached || a.watch.ID != id) {
		_ = a.watch.Close()
		a.watch, a.seenAlive = nil, time.Time{}
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
	if now := time.Now(); now.Sub(a.seenAlive) > old {
		seen := a.watch.Look()
		if a.seenAlive = now; seen != process.Alive {
			a.seenAlive = time.Time{}
		}
		return seen
	}
	return process.Alive
}

// vouch is like report, but is for beats. It asks the holder over the session's
// existing connection. If the reply proves nothing, it opens a new connection.
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

// begin waits until no start, attach or end of the arm runs, and locks the arm for such
// an action. The returned function unlocks the arm.
func (a *arm) begin() func() {
	a.setBusy(true)
	a.starting.Lock()
	a.setBusy(true) // the action that had the lock has just set busy to false
	a.doing(true)
	return a.finish
}

// finish unlocks the arm after begin or beginNow.
func (a *arm) finish() {
	a.setBusy(false)
	a.doing(false)
	a.rest()
	a.starting.Unlock()
}

func (a *arm) setBusy(busy bool) {
	a.mu.Lock()
	a.busy = busy
	a.mu.Unlock()
}

// permitAnswer bounds how long serve waits for the holders to get a permit. A working
// holder replies within milliseconds. Serve itself gives up after 2.5 s.
const permitAnswer = time.Second

// permit passes a permit from serve to the holders of the arms that need the permit. It
// passes the permit to all holders at the same time, because otherwise a slow holder
// could let the permits of other arms expire. It returns after at most permitAnswer, with the
// host agent's clock, which serve needs for the next order. If a holder has not replied by then, the
// attempt continues in the background. permit logs each failure.
func (h *Host) permit(_ context.Context, o bus.PermitOrder) (any, error) {
	now := boottime.Now()
	var passing sync.WaitGroup
	for _, of := range o.Arms {
		a, err := h.arm(of.Arm)
		if err != nil || o.Clock != h.instance {
			continue // the order was for an earlier process of this host agent
		}
		passing.Go(func() {
			if err := a.permit(of.Generation, o); err != nil {
				h.Log.Warn("permit keys", "arm", a.name(), "error", err)
			}
		})
	}
	passed := make(chan struct{})
	go func() { defer close(passed); passing.Wait() }()
	select {
	case <-passed:
	case <-time.After(permitAnswer):
	}
	return bus.Clock{ID: h.instance, Now: now}, nil
}

// permit lets the arm's holder accept keys until the time o.Until. If generation is not
// the arm's present generation, permit does nothing.
func (a *arm) permit(generation int, o bus.PermitOrder) error {
	a.mu.Lock()
	record := a.record
	a.mu.Unlock()
	if record.Generation != generation || record.Handle == nil || record.Spec.OnPartition != coleo.PartitionFreeze {
		return nil
	}
	if process.Look(record.Handle.Holder) == process.Stopped {
		return nil // the holder cannot reply, and accepts no keys
	}
	client, err := holder.Dial(record.Handle.Dir, record.Handle.Nonce)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Permit(o.Until); err != nil {
		return err
	}
	a.permitted() // a prompt of the queue may have waited for the permit
	return nil
}
