package brain

import (
	"context"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// watchHost asks a host agent for its pulse at intervals of PulseEvery and after each beat. It
// stops when Run ends.
func (b *Brain) watchHost(ctx context.Context, id string, m *knownHost) {
	tick := time.NewTicker(bus.PulseEvery)
	defer tick.Stop()
	asking := make(chan struct{}, pulsesAtOnce)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-m.beaten:
		}
		b.noteSilence(ctx, id, m)
		select {
		case asking <- struct{}{}:
			b.following.Go(func() {
				b.takePulse(ctx, id)
				<-asking
			})
		default: // pulsesAtOnce requests are open already
		}
	}
}

// pulsesAtOnce is the largest number of open pulse requests to one host agent. Within SilentAfter,
// serve sends this many requests.
const pulsesAtOnce = 3

// takePulse asks a host agent for its pulse and stores the reply. An old host agent does not know this
// request, but its refusal shows that it runs. The brain then knows nothing about its arms.
func (b *Brain) takePulse(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, bus.SilentAfter)
	defer cancel()
	m := b.knownHost(id)
	b.mu.Lock()
	m.asked++
	number, asked, known := m.asked, b.Now(), m.pulse
	b.mu.Unlock()
	var pulse bus.Pulse
	err := b.Bus.Ask(ctx, id, bus.OpPulse, bus.PulseOrder{Known: known.Mark}, &pulse)
	if pulse.Same && pulse.Mark == known.Mark {
		pulse.Arms = known.Arms
	}
	switch {
	case bus.Unreachable(err):
		b.markAway(ctx, id, notConnected(id))
		return
	case bus.Unanswered(err):
		return // noteSilence decides when a silent host agent counts as away
	}
	b.mu.Lock()
	back := m.lost != ""
	m.lost, m.heard = "", b.Now()
	if m.beat.PID != 0 {
		m.seen = b.Now().UTC()
	}
	var changed []string
	if err == nil && number > m.answered { // replies can arrive out of order
		m.answered = number
		changed = m.storePulse(pulse, asked)
	}
	settled := m.settled && !back
	b.mu.Unlock()
	if back {
		_ = b.Bus.RollCall() // ask for a beat now, because only a beat says which arms are alive
		b.PublishArmsOf(ctx, id)
	} else {
		b.PublishArms(ctx, changed)
	}
	if err == nil && !settled {
		b.reconcile(ctx, id, pulse)
	}
}

// takePulseOf asks a host agent for a report about one arm and stores the report. It does not
// correct the arm's row. Serve corrects the row after the next pulse about all arms.
func (b *Brain) takePulseOf(ctx context.Context, id, arm string) {
	ctx, cancel := context.WithTimeout(ctx, bus.SilentAfter)
	defer cancel()
	asked := b.Now()
	var pulse bus.Pulse
	if err := b.Bus.Ask(ctx, id, bus.OpPulse, bus.PulseOrder{Arm: arm}, &pulse); err != nil {
		return // the next call of takePulse finds the reason
	}
	for _, a := range pulse.Arms {
		if a.ID == arm { // an older host agent reports all arms
			b.notePart(ctx, id, a, position{pulse.Epoch, pulse.Head}, asked)
		}
	}
}

// notePart stores a host agent's report about one arm. If the report differs from the
// last report about the arm, notePart publishes the arm.
func (b *Brain) notePart(ctx context.Context, id string, a bus.ArmPulse, as position, at time.Time) {
	m := b.knownHost(id)
	b.mu.Lock()
	changed := m.notePart(a, as, at)
	b.mu.Unlock()
	if changed {
		b.PublishArms(ctx, []string{a.ID})
	}
}

// partPulse is a host agent's report about one arm. It is newer than the last pulse about all arms.
type partPulse struct {
	bus.ArmPulse
	as position // the end of the host's log just before the host agent made the report
}

// notePart stores a report about one arm, unless the stored report is newer. It returns true if the
// new report differs from the stored one. The caller holds the brain's mu.
func (m *knownHost) notePart(a bus.ArmPulse, as position, at time.Time) bool {
	last := position{m.pulse.Epoch, m.pulse.Head}
	if part, ok := m.parts[a.ID]; ok {
		last = part.as
	}
	if m.pulsed.IsZero() || at.Before(m.pulsed) || as.epoch != last.epoch || as.seq < last.seq {
		return false
	}
	before, known := m.arms[a.ID]
	m.arms[a.ID], m.parts[a.ID] = a, partPulse{a, as}
	if a.Attached {
		m.confirmed[a.ID] = at.UTC()
	}
	m.settled = false
	return !known || before != a
}

// storePulse stores a pulse about all arms. It returns the ids of the arms whose report has
// changed. If a stored report about a single arm is newer than the pulse, storePulse keeps that
// report. The caller holds the brain's mu.
func (m *knownHost) storePulse(pulse bus.Pulse, at time.Time) []string {
	before, head := m.arms, m.pulse.Head
	m.pulse, m.pulsed, m.arms = pulse, at, make(map[string]bus.ArmPulse, len(pulse.Arms))
	for _, a := range pulse.Arms {
		m.arms[a.ID] = a
		if a.Attached {
			m.confirmed[a.ID] = at.UTC()
		}
	}
	for id, part := range m.parts {
		if part.as.epoch == pulse.Epoch && part.as.seq > pulse.Head {
			m.arms[id] = part.ArmPulse
		} else {
			delete(m.parts, id)
		}
	}
	changed := changedArms(before, m.arms)
	m.settled = m.settled && len(changed) == 0 && head == pulse.Head
	return changed
}

// changedArms returns the ids of the arms whose reports differ between the two maps.
func changedArms(before, now map[string]bus.ArmPulse) (out []string) {
	for id, a := range now {
		if was, known := before[id]; !known || was != a {
			out = append(out, id)
		}
	}
	for id := range before {
		if _, known := now[id]; !known {
			out = append(out, id)
		}
	}
	return out
}

// noteSilence marks a host agent as away if serve has heard nothing from it for
// SilentAfter.
func (b *Brain) noteSilence(ctx context.Context, id string, m *knownHost) {
	b.mu.Lock()
	silent := m.lost == "" && !m.heard.IsZero() && b.Now().Sub(m.heard) > bus.SilentAfter
	pid := m.beat.PID
	b.mu.Unlock()
	if silent && isLocal(id) {
		b.markAway(ctx, id, "serve itself is slow to read it")
	} else if silent {
		b.markAway(ctx, id,
			fmt.Sprintf(
				"its host agent %s (process %d) does not answer: if it is stopped, "+
					"'kill -CONT %d' on its machine continues it",
				id, pid, pid))
	}
}

func notConnected(id string) string {
	if isLocal(id) {
		return notTakenUp
	}
	return fmt.Sprintf("its host agent %s is not connected: 'coleo up' or 'coleo agent start' on its machine starts it",
		id)
}

// notTakenUp is the reason why nobody watches an arm of host local just after serve's start.
const notTakenUp = "serve has not taken it up yet"

// markAway marks a host agent as away and stores the reason. The next sign of life from the host
// agent clears the reason.
func (b *Brain) markAway(ctx context.Context, id, why string) {
	b.mu.Lock()
	m, ok := b.hosts[id]
	changed := ok && m.lost == ""
	if ok {
		m.lost = why
	}
	b.mu.Unlock()
	if changed {
		b.Log.Warn("a host agent is away", "host", id, "because", why)
		b.PublishArmsOf(ctx, id)
	}
}

// awayReason returns the reason why a host agent cannot be asked now. It returns "" if the host
// agent can be asked.
func (b *Brain) awayReason(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m, ok := b.hosts[id]; ok {
		return m.lost
	}
	return ""
}

// watchOf returns the Watch of an arm. It takes the Watch from the host agent's last report about
// the arm.
func (b *Brain) watchOf(arm coleo.Arm) coleo.Watch {
	if arm.AgentID == "" {
		return coleo.Watch{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := coleo.Watch{AsOf: arm.LastHeartbeat}
	m, ok := b.hosts[arm.AgentID]
	if !ok && isLocal(arm.AgentID) {
		w.Missing = notTakenUp
		return w
	}
	if !ok {
		w.Missing = fmt.Sprintf("its host agent %s has not connected since serve was started", arm.AgentID)
		return w
	}
	if at := m.confirmed[arm.ID]; at.After(w.AsOf) {
		w.AsOf = at
	}
	w.Missing = m.lost
	if a, known := m.arms[arm.ID]; known && a.Attached && a.Generation == arm.Generation &&
		a.Process != bus.ProcessStopped {
		w.Blocked, w.Unjudged = a.Blocked, a.Unjudged
	}
	if a, known := m.arms[arm.ID]; known && a.Process == bus.ProcessStopped && a.Generation == arm.Generation {
		w.Frozen = a.PID
	}
	if w.Missing == "" && arm.Status != coleo.StatusStarting && m.upToDate(arm.ID) {
		w.Missing = m.whyNotHeld(arm)
	}
	return w
}

// upToDate reports whether the host agent's last report about an arm is as new as the arm's row.
// The row is as new as the last event that serve has read from the host's log. The caller holds the
// brain's mu.
func (m *knownHost) upToDate(arm string) bool {
	last := position{m.pulse.Epoch, m.pulse.Head}
	if part, ok := m.parts[arm]; ok {
		last = part.as
	}
	return !m.pulsed.IsZero() && last.epoch == m.head.epoch && last.seq >= m.head.seq
}

// whyNotHeld returns a message if the host agent has no session of the arm. Otherwise it returns "".
func (m *knownHost) whyNotHeld(arm coleo.Arm) string {
	a, known := m.arms[arm.ID]
	switch {
	case !known:
		return fmt.Sprintf("%s does not know it", agentWord(arm.AgentID))
	case a.Attached || a.Starting || a.Generation > arm.Generation:
		return ""
	}
	return fmt.Sprintf("%s holds no session of it: 'coleo arm recover %s' brings it back",
		agentWord(arm.AgentID), arm.Name)
}

// needsPermits reports whether an arm in the host agent's last report needs a permit.
func (b *Brain) needsPermits(m *knownHost) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range m.arms {
		if a.NeedsPermit {
			return true
		}
	}
	return false
}
