package host

import (
	"context"
	"fmt"
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
	"coleo.dev/host/armrecord"
)

// pulse answers serve, which asks every 1.5 s what this process knows about its arms and what the
// kernel shows about their processes. It asks no holder, so it never waits and costs little.
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
	p.Arms, p.Mark = h.pulseMark.pulses(h.allArms())
	p.Mark = h.instance + "." + p.Mark
	if p.Mark == o.Known {
		p.Arms, p.Same = nil, true
	}
	return p, nil
}

// pulseNumber counts how often the reports about the arms have changed. (Serve asks for these
// reports, the pulses, every 1.5 s.) If the number is still the same, serve does not need the
// reports again.
type pulseNumber struct {
	mu     sync.Mutex
	number int
	last   map[string]bus.ArmPulse // the reports that belong to the present number, by arm
}

// pulses returns a report about each arm, and the number of the present reports: see pulseNumber.
func (m *pulseNumber) pulses(arms []*arm) (out []bus.ArmPulse, number string) {
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

// lookAfter is how long the reports about all arms rely on the last check that found a process
// alive. A check costs more than the rest of the report. Serve asks for these reports every 1.5 s,
// so only every second report checks a process. If a signal stops a process, one of the next two
// reports says so.
const lookAfter = 2 * time.Second

// pulse returns the report about this arm for serve. If the last check found the arm's process
// alive, and was less than `old` ago, pulse does not check again.
func (a *arm) pulse(old time.Duration) bus.ArmPulse {
	a.mu.Lock()
	handle := a.record.Handle
	blocked := a.blocked
	session := a.session
	p := bus.ArmPulse{ID: a.record.ID, Generation: a.record.Generation, Attached: a.session != nil, Starting: a.busy,
		Process: bus.ProcessDead}
	p.NeedsPermit = p.Attached && a.record.Spec.OnPartition == coleo.PartitionFreeze
	if chosen := a.record.Spec.Chosen; chosen != nil {
		p.Chosen = chosen.Number
	}
	a.mu.Unlock()
	if p.Attached {
		p.Blocked = blocked
		if v, can := session.(coleo.Versioned); can {
			p.Unjudged = v.Unjudged()
		}
	}
	if handle != nil {
		p.PID, p.Process = handle.Process.PID, bus.ProcessState(a.sight.look(handle.Process, p.Attached, old))
	}
	return p
}

// processSight is what the host agent sees of the process of an arm's session.
type processSight struct {
	mu        sync.Mutex     // guards the fields below
	watch     *process.Watch // watches the process; nil if it is not watched
	seenAlive time.Time      // when the process was last seen alive; zero if it must be checked again
}

// look returns whether the arm's process is alive. If the last check found the process alive, and
// was less than `old` ago, look returns Alive without a new check. An arm with a session is checked
// often, so look keeps a Watch of its process.
func (p *processSight) look(id coleo.Identity, attached bool, old time.Duration) process.Liveness {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watch != nil && (!attached || p.watch.ID != id) {
		_ = p.watch.Close()
		p.watch, p.seenAlive = nil, time.Time{}
	}
	if p.watch == nil && attached {
		watch, err := process.NewWatch(id)
		if err != nil {
			return process.Look(id)
		}
		p.watch = watch
	}
	if p.watch == nil {
		return process.LookQuickly(id)
	}
	if now := time.Now(); now.Sub(p.seenAlive) > old {
		seen := p.watch.Look()
		if p.seenAlive = now; seen != process.Alive {
			p.seenAlive = time.Time{}
		}
		return seen
	}
	return process.Alive
}

// reportForBeat is like report, but asks the holder over the session's existing connection. If this
// does not prove that the holder belongs to the arm, reportForBeat opens a new connection and asks
// again.
func (a *arm) reportForBeat() bus.ArmReport {
	return a.reportBy(func(h coleo.Handle) (bus.Proof, string) {
		s, err := a.liveSession()
		if held, can := s.(coleo.HolderSession); err == nil && can && s.Handle().Nonce == h.Nonce {
			if blocked, err := held.Held(); err == nil {
				return bus.Proven, blocked
			}
		}
		return prove(h)
	})
}

// begin locks the arm for a start, an attach or an end. It first waits until no such action of the
// arm is running. The returned function unlocks the arm.
func (a *arm) begin() func() {
	a.setBusy(true)
	a.starting.Lock()
	a.setBusy(true) // set it again, because the previous action has set it to false at its end
	a.driving.SetInAction(true)
	return a.finish
}

// beginHere is like begin. But the action before may have removed the arm, or given it to another host. beginHere
// then locks nothing and returns ENotFound. The caller must do nothing, because a record that it writes would bring
// the arm back.
func (a *arm) beginHere() (done func(), err error) {
	done = a.begin()
	if err := a.notGone(); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// finish unlocks the arm after begin or beginNow.
func (a *arm) finish() {
	a.setBusy(false)
	a.driving.SetInAction(false)
	a.unlockIfUnused()
	a.starting.Unlock()
}

func (a *arm) setBusy(busy bool) {
	a.mu.Lock()
	a.busy = busy
	a.mu.Unlock()
}

// permitAnswer is the longest time that the host agent takes to pass on permits, serve's
// permissions to type, even if a holder does not reply. A working holder replies within
// milliseconds. Serve itself waits for 2.5 s.
const permitAnswer = time.Second

// permit passes permits from serve to the holders of the arms that need one. It asks all holders at
// the same time, because the permits of other arms could expire while it waits for a slow holder.
// It returns after at most permitAnswer, and logs each failure. If a holder has not replied by
// then, the attempt continues in the background. The result contains the host agent's clock, which
// serve needs for the next order.
func (h *Host) permit(_ context.Context, o bus.PermitOrder) (any, error) {
	now := boottime.Now()
	var passing sync.WaitGroup
	for _, of := range o.Arms {
		a, err := h.arm(of.Arm)
		if err != nil || o.Clock != h.instance {
			continue // skip an unknown arm, and an order for an earlier process of this host agent
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

// permit gives the arm's holder a permit until o.Until. It does nothing if `generation` is not the
// arm's present one.
func (a *arm) permit(generation int, o bus.PermitOrder) error {
	a.mu.Lock()
	record := a.record
	a.mu.Unlock()
	if record.Generation != generation || record.Handle == nil || record.Spec.OnPartition != coleo.PartitionFreeze {
		return nil
	}
	if process.Look(record.Handle.Holder) == process.Stopped {
		return nil // a stopped holder cannot reply, and types no keys
	}
	client, err := holder.Dial(record.Handle.Dir, record.Handle.Nonce)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Permit(o.Until); err != nil {
		return err
	}
	a.onPermit() // a prompt of the queue may have waited for the permit
	return nil
}

// report returns the arm's present condition. It changes nothing.
func (a *arm) report() bus.ArmReport { return a.reportBy(prove) }

// reportBy is like report, but calls the function `prove` to find out whether the holder belongs to
// the arm.
func (a *arm) reportBy(prove func(coleo.Handle) (bus.Proof, string)) bus.ArmReport {
	a.mu.Lock()
	r := bus.ArmReport{
		ID: a.record.ID, Name: a.record.Name, Harness: a.record.Harness, Generation: a.record.Generation,
		Desired: a.record.Desired, Handle: a.record.Handle, Reading: a.reading, Attached: a.session != nil,
		Proof: bus.Gone, Process: bus.ProcessDead,
		LastActivity: a.record.LastActivity, LastOutput: a.record.LastOutput, Lease: a.lease.Now(),
		Queue:  armrecord.QueueState(&a.record),
		Config: startedAs(a.record.Spec),
	}
	if a.session != nil {
		r.LastOutput = outputOf(a.session)
	}
	a.mu.Unlock()
	if r.Handle == nil {
		return r
	}
	r.Proof, r.Blocked = prove(*r.Handle)
	if r.Attached {
		r.Process = bus.ProcessState(a.sight.look(r.Handle.Process, true, 0))
	} else {
		r.Process = bus.ProcessState(process.Look(r.Handle.Process))
	}
	if pid := r.Handle.Process.PID; r.Process == bus.ProcessStopped && r.Blocked == "" {
		r.Blocked = fmt.Sprintf("a signal has stopped its agent CLI, process %d: 'kill -CONT %d' continues it", pid,
			pid)
	}
	return r
}

// prove asks the process that listens in the arm's folder for its identity, and compares it with
// the handle. `blocked` is the reason why the arm cannot continue, or "" if it can.
func prove(h coleo.Handle) (proof bus.Proof, blocked string) {
	if process.Look(h.Holder) == process.Stopped {
		return bus.Silent, silenceReason(h)
	}
	client, err := holder.Dial(h.Dir, h.Nonce)
	if err != nil {
		return unprovedBy(h, err)
	}
	defer client.Close()
	s, err := client.Status()
	if coleo.ErrorCode(err) == coleo.ETimeout {
		return unprovedBy(h, err)
	}
	if err != nil || s.Arm != h.Arm || s.Generation != h.Generation || s.Holder != h.Holder || s.Process != h.Process {
		return bus.Unproven, ""
	}
	return bus.Proven, s.Blocked
}

// unprovedBy returns the Proof of an arm whose holder could not be asked because of err.
func unprovedBy(h coleo.Handle, err error) (bus.Proof, string) {
	code := coleo.ErrorCode(err)
	switch {
	case code == coleo.EUnavailable:
		return bus.Gone, ""
	case code == coleo.ETimeout && process.Look(h.Holder) != process.Dead:
		return bus.Silent, silenceReason(h)
	}
	return bus.Unproven, ""
}

// silenceReason returns the reason why a holder does not reply.
func silenceReason(h coleo.Handle) string {
	if process.Look(h.Holder) == process.Stopped {
		return fmt.Sprintf("its holder, process %d, is stopped: 'kill -CONT %d' continues it", h.Holder.PID,
			h.Holder.PID)
	}
	return fmt.Sprintf("its holder, process %d, does not answer", h.Holder.PID)
}

// armBeat returns the part of a bus.Beat about one arm. It returns nothing if there is no proof
// that the arm is alive.
func armBeat(r bus.ArmReport) []bus.ArmBeat {
	if !r.Attached || r.Proof != bus.Proven || r.Process != bus.ProcessAlive {
		return nil
	}
	return []bus.ArmBeat{{ID: r.ID, Generation: r.Generation, LastOutput: r.LastOutput}}
}
