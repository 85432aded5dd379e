package brain

import (
	"context"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// watchHost asks a host agent for its pulse again and again, and at once after
// each beat, until Run ends.
func (b *Brain) watchHost(ctx context.Context, id string, m *member) {
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
		default: // enough questions are open
		}
	}
}

// pulsesAtOnce bounds the open questions to one host agent: those of one
// SilentAfter.
const pulsesAtOnce = 3

// takePulse asks a host agent for its pulse and notes what it says. A host
// agent that is older than pulses is alive, and says nothing of its arms.
func (b *Brain) takePulse(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, bus.SilentAfter)
	defer cancel()
	m := b.member(id)
	b.mu.Lock()
	m.asked++
	number, asked := m.asked, b.Now()
	b.mu.Unlock()
	var pulse bus.Pulse
	err := b.Bus.Ask(ctx, id, bus.OpPulse, struct{}{}, &pulse)
	switch {
	case bus.Unreachable(err):
		b.lose(ctx, id, notConnected(id))
		return
	case bus.Unanswered(err):
		return // noteSilence counts the time
	}
	b.mu.Lock()
	back := m.lost != ""
	m.lost, m.heard = "", b.Now()
	if m.beat.PID != 0 {
		m.seen = b.Now().UTC()
	}
	changed := back
	if err == nil && number > m.answered { // an older answer may come later
		m.answered = number
		changed = m.note(pulse, asked) || changed
	}
	settled := m.settled && !changed
	b.mu.Unlock()
	if back {
		_ = b.Bus.RollCall() // its next beat may be far, and says what it has started
	}
	if changed {
		b.publishArmsOf(ctx, id)
	}
	if err == nil && !settled {
		b.reconcile(ctx, id, pulse)
	}
}

// note takes over a pulse and tells whether an arm is watched or frozen other
// than before. The caller holds the brain's mu.
func (m *member) note(pulse bus.Pulse, at time.Time) bool {
	before, head := m.arms, m.pulse.Head
	m.pulse, m.pulsed, m.arms = pulse, at, map[string]bus.ArmPulse{}
	changed := len(before) != len(pulse.Arms)
	for _, a := range pulse.Arms {
		m.arms[a.ID] = a
		changed = changed || before[a.ID] != a
		if a.Attached {
			m.confirmed[a.ID] = at.UTC()
		}
	}
	m.settled = m.settled && !changed && head == pulse.Head
	return changed
}

// noteSilence notes that a host agent has not answered for SilentAfter.
func (b *Brain) noteSilence(ctx context.Context, id string, m *member) {
	b.mu.Lock()
	silent := m.lost == "" && !m.heard.IsZero() && b.Now().Sub(m.heard) > bus.SilentAfter
	pid := m.beat.PID
	b.mu.Unlock()
	if silent {
		b.lose(ctx, id, fmt.Sprintf("its host agent %s (process %d) does not answer: if it is stopped, 'kill -CONT %d' on its machine has it go on", id, pid, pid))
	}
}

func notConnected(id string) string {
	return fmt.Sprintf("its host agent %s is not connected: 'coleo up' or 'coleo agent start' on its machine starts it", id)
}

// lose notes why a host agent cannot be asked. Its next sign of life brings it
// back.
func (b *Brain) lose(ctx context.Context, id, why string) {
	b.mu.Lock()
	m, ok := b.hosts[id]
	changed := ok && m.lost == ""
	if ok {
		m.lost = why
	}
	b.mu.Unlock()
	if changed {
		b.Log.Warn("a host agent is away", "host", id, "because", why)
		b.publishArmsOf(ctx, id)
	}
}

// away returns why a host agent cannot be asked now, "" when it can.
func (b *Brain) away(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m, ok := b.hosts[id]; ok {
		return m.lost
	}
	return ""
}

// watchOf says who watches an arm, by what its host agent said last.
func (b *Brain) watchOf(arm coleo.Arm) coleo.Watch {
	if arm.AgentID == "" {
		return coleo.Watch{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := coleo.Watch{AsOf: arm.LastHeartbeat}
	m, ok := b.hosts[arm.AgentID]
	if !ok {
		w.Missing = fmt.Sprintf("its host agent %s has not been heard of since serve was started", arm.AgentID)
		return w
	}
	if at := m.confirmed[arm.ID]; at.After(w.AsOf) {
		w.AsOf = at
	}
	w.Missing = m.lost
	if a, known := m.arms[arm.ID]; known && a.Attached && a.Generation == arm.Generation && a.Process != bus.ProcessStopped {
		w.Blocked = a.Blocked
	}
	if a, known := m.arms[arm.ID]; known && a.Process == bus.ProcessStopped && a.Generation == arm.Generation {
		w.Frozen = a.PID
	}
	if w.Missing == "" && arm.Status != coleo.StatusStarting && m.upToDate() {
		w.Missing = m.unheld(arm)
	}
	return w
}

// upToDate tells whether the last pulse is no older than what has been read of
// the host's log. The caller holds the brain's mu.
func (m *member) upToDate() bool {
	return !m.pulsed.IsZero() && m.pulse.Epoch == m.head.epoch && m.pulse.Head >= m.head.seq
}

// unheld says that the host agent holds no session of an arm, "" when it does.
func (m *member) unheld(arm coleo.Arm) string {
	a, known := m.arms[arm.ID]
	switch {
	case !known:
		return fmt.Sprintf("its host agent %s does not know it", arm.AgentID)
	case a.Attached || a.Starting || a.Generation > arm.Generation:
		return ""
	}
	return fmt.Sprintf("its host agent %s holds no session of it: 'coleo arm recover %s' takes it up again", arm.AgentID, arm.Name)
}

// publishArmsOf publishes the rows of a host agent's arms with their health.
func (b *Brain) publishArmsOf(ctx context.Context, id string) {
	list, err := b.DB.Arms(ctx, true)
	if err != nil {
		return // its followers read the rows anew when they subscribe
	}
	for _, arm := range list {
		if arm.AgentID == id {
			b.summarise(&arm)
			b.updates.publish(coleo.Update{Arm: &arm})
		}
	}
}
