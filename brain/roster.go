package brain

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
)

// A knownHost is a host that has sent a message to this serve process. It is a host agent or host
// local.
type knownHost struct {
	beat   bus.Beat
	seen   time.Time
	grown  chan struct{} // holds one signal: the host's log has new events
	beaten chan struct{} // holds one signal: a beat has arrived, so serve must ask for a pulse

	lost  string    // why the host agent cannot be asked now; "" if it can be asked
	heard time.Time // the time of the host agent's last sign of life

	pulse     bus.Pulse
	asked     int       // the number of pulse requests so far
	answered  int       // the highest number of a pulse request that was answered
	pulsed    time.Time // when the request with the number answered was sent; zero before the first pulse
	arms      map[string]bus.ArmPulse
	parts     map[string]partPulse // the reports about single arms that are newer than the pulse
	settled   bool                 // no row contradicts the pulse
	confirmed map[string]time.Time // when each arm's state was last confirmed, by arm id

	told map[string]coleo.Health // the health of each arm, as last noted after a beat, by arm id

	pulling sync.Mutex // held while a piece of the host's log is read
	head    position   // the position up to which the host's log has been read
}

// position is a position in a host's log.
type position struct {
	epoch string
	seq   uint64
}

// takeBeat stores a beat of a host agent and publishes what the beat changes.
func (b *Brain) takeBeat(beat bus.Beat) {
	now := b.Now().UTC()
	m := b.knownHost(beat.ID)
	b.mu.Lock()
	news, part := beat.Arms, beat.Of != ""
	if part {
		if m.beat.PID == 0 { // the first beat about all arms has not arrived yet
			b.mu.Unlock()
			return
		}
		beat = m.merged(beat)
	}
	back := m.lost != ""
	m.beat, m.seen, m.lost, m.heard, m.settled = beat, now, "", b.Now(), false
	b.mu.Unlock()
	ctx := b.ctx
	if !part { // a partial beat is about one arm only
		b.putHost(ctx, beat, now)
	}
	b.takeArms(ctx, m, beat.ID, news, now)
	if back {
		b.PublishArmsOf(ctx, beat.ID)
	}
	if beat.Requests > 0 {
		b.following.Go(func() { b.fulfil(ctx, beat.ID) })
	}
	wake(m.grown)
	if beat.Pulse == nil {
		wake(m.beaten)
		return
	}
	b.notePart(ctx, beat.ID, *beat.Pulse, position{beat.Epoch, beat.Head}, now)
}

// putHost stores the description of a host agent. The description comes from the host agent itself.
func (b *Brain) putHost(ctx context.Context, beat bus.Beat, now time.Time) {
	host := coleo.Host{
		ID: beat.ID, Hostname: beat.Hostname, Platform: beat.Platform, Version: beat.Version,
		StartedAt: beat.StartedAt, LastSeen: now, Capabilities: beat.Capabilities, MaxArms: beat.MaxArms,
	}
	if err := b.DB.PutHost(ctx, host); err != nil {
		b.Log.Error("record a host", "host", beat.ID, "error", err)
	}
}

// merged completes a beat about one arm. It adds the other arms from the last beat about all arms.
// The caller must hold the brain's mu.
func (m *knownHost) merged(part bus.Beat) bus.Beat {
	all := slices.DeleteFunc(slices.Clone(m.beat.Arms), func(a bus.ArmBeat) bool { return a.ID == part.Of })
	part.Arms = append(all, part.Arms...)
	part.Capabilities = m.beat.Capabilities
	return part
}

// takeArms stores the live arms that a host agent reports, with the times of their last output. It
// publishes the arms that have new output or whose health has changed.
func (b *Brain) takeArms(ctx context.Context, m *knownHost, host string, beats []bus.ArmBeat, now time.Time) {
	outputs := make(map[string]time.Time, len(beats))
	for _, a := range beats {
		outputs[a.ID] = a.LastOutput
	}
	wrote, err := b.DB.Beat(ctx, host, outputs, now)
	if err != nil {
		b.Log.Error("record a heartbeat", "host", host, "error", err)
	}
	rows, err := b.rows(ctx, beats)
	if err != nil {
		b.Log.Error("read the arms of a heartbeat", "host", host, "error", err)
		return
	}
	for _, a := range beats {
		arm, known := rows[a.ID]
		if !known {
			continue
		}
		b.endOutrun(ctx, host, a, arm)
		if b.summarise(&arm); m.noteHealth(arm) || slices.Contains(wrote, a.ID) {
			b.PublishArm(ctx, arm.ID)
		}
	}
}

// rows returns the rows of the arms in a beat, by arm id. If the beat is about one arm, rows reads
// only the row of that arm.
func (b *Brain) rows(ctx context.Context, beats []bus.ArmBeat) (map[string]coleo.Arm, error) {
	var list []coleo.Arm
	var err error
	switch len(beats) {
	case 0:
	case 1:
		var arm coleo.Arm
		if arm, err = b.DB.Arm(ctx, beats[0].ID); err == nil {
			list = append(list, arm)
		} else if coleo.ErrorCode(err) == coleo.ENotFound {
			err = nil
		}
	default:
		list, err = b.DB.Arms(ctx, true)
	}
	rows := make(map[string]coleo.Arm, len(list))
	for _, arm := range list {
		rows[arm.ID] = arm
	}
	return rows, err
}

// noteHealth stores the arm's health. It returns true if this health differs from the previously
// stored health. It needs no lock, because only takeArms calls it, and beats are handled one at a
// time.
func (m *knownHost) noteHealth(arm coleo.Arm) bool {
	last, known := m.told[arm.ID]
	m.told[arm.ID] = arm.Runtime.State
	return !known || last != arm.Runtime.State
}

// endOutrun orders a host agent to end its generation of an arm if a newer generation runs on
// another host. This happens when the host agent was away for some time. Serve no longer follows
// the older generation.
func (b *Brain) endOutrun(ctx context.Context, host string, a bus.ArmBeat, row coleo.Arm) {
	if row.AgentID == "" || row.AgentID == host || a.Generation == 0 || a.Generation >= row.Generation {
		return
	}
	b.Log.Warn("an arm runs twice: its older generation is ended", "arm", row.Name, "host", host, "generation",
		a.Generation, "newer", row.Generation)
	b.following.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, commands.KillTimeout)
		defer cancel()
		if err := b.Bus.Ask(ctx, host, bus.OpKill, bus.ArmOrder{Arm: a.ID, Generation: a.Generation}, nil); err != nil {
			b.Log.Error("end an older generation", "arm", row.Name, "host", host, "error", err)
		}
	})
}

// takeGrowth wakes the goroutine that follows the host. It is called when the host's log has grown.
func (b *Brain) takeGrowth(g bus.Grown) { wake(b.knownHost(g.Host).grown) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Brain.knownHost returns what this serve knows of a host. If the host is new, it stores the host
// and starts to follow the host.
func (b *Brain) knownHost(id string) *knownHost {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.hosts[id]
	if !ok {
		m = &knownHost{beat: bus.Beat{ID: id}, grown: make(chan struct{}, 1), beaten: make(chan struct{}, 1),
			confirmed: map[string]time.Time{}, parts: map[string]partPulse{}, arms: map[string]bus.ArmPulse{},
			told: map[string]coleo.Health{}}
		b.hosts[id] = m
		ctx := b.ctx
		b.following.Go(func() { b.followHost(ctx, id, m.grown) })
		b.following.Go(func() { b.watchHost(ctx, id, m) })
		b.following.Go(func() { b.permits.Keep(ctx, id, func() bool { return b.needsPermits(m) }) })
	}
	return m
}

// liveHosts returns the last beats of the host agents that can be asked now. The host agent with the
// fewest arms comes first. Host local is not included, because it is not a host agent.
func (b *Brain) liveHosts() []bus.Beat {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []bus.Beat
	for id, m := range b.hosts {
		if !isLocal(id) && m.lost == "" && b.Now().Sub(m.seen) <= bus.HostStale {
			out = append(out, m.beat)
		}
	}
	slices.SortFunc(out, func(x, y bus.Beat) int { return len(x.Arms) - len(y.Arms) })
	return out
}

// beatOf returns the last beat of a host. The beat is zero if there was none.
func (b *Brain) beatOf(host string) bus.Beat {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.hosts[host]; m != nil {
		return m.beat
	}
	return bus.Beat{}
}

// Hosts returns every host agent that serve has ever seen.
func (b *Brain) Hosts(ctx context.Context) ([]coleo.HostInfo, error) {
	known, err := b.DB.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	beats := map[string]bus.Beat{}
	for _, beat := range b.liveHosts() {
		beats[beat.ID] = beat
	}
	out := make([]coleo.HostInfo, 0, len(known))
	for _, h := range known {
		if isLocal(h.ID) {
			continue
		}
		beat, live := beats[h.ID]
		out = append(out, coleo.HostInfo{Host: h, PID: beat.PID, Arms: len(beat.Arms), Live: live})
	}
	return out, nil
}

// reconcile corrects rows that contradict a host agent's pulse. It corrects a row only if the brain
// has read the host's log exactly up to the position in the pulse. If the brain has read beyond
// this position, the rows are newer than the pulse.
func (b *Brain) reconcile(ctx context.Context, id string, pulse bus.Pulse) {
	list, err := b.DB.Doubtful(ctx, id, ruleOrdered)
	if err != nil {
		b.Log.Warn("compare the arms with a host agent's report", "host", id, "error", err)
		return
	}
	b.mu.Lock()
	m := b.hosts[id]
	settled := m.head == position{pulse.Epoch, pulse.Head}
	b.mu.Unlock()
	seen := map[string]bus.ArmPulse{}
	for _, a := range pulse.Arms {
		seen[a.ID] = a
	}
	for _, arm := range list {
		a, known := seen[arm.ID]
		if known && arm.Name == arm.ID && b.learnName(ctx, arm) {
			settled = false
		}
		begun := known && (a.Attached || a.Starting)
		switch {
		case !known && isLeft(arm):
			settled = b.dropLeft(ctx, arm) && settled
		case arm.Status == coleo.StatusStarting && arm.Rule == ruleOrdered && !begun:
			settled = false
			b.storeReading(ctx, id, pulse, arm, coleo.Reading{State: coleo.Dead, Rule: ruleNotStarted})
		case arm.Status == coleo.StatusStopped && known && a.Attached && a.Generation == arm.Generation:
			settled = false
			var report bus.ArmReport
			if err := b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &report); err == nil &&
				report.Attached {
				b.storeReading(ctx, id, pulse, arm, report.Reading)
			}
		}
	}
	b.mu.Lock()
	m.settled = settled
	b.mu.Unlock()
}

// learnName writes the name of an arm into the arm's row, if the row still contains the arm's id as
// the name. A row that was created from the log alone has such a name. It also has no start
// configuration, and may lack the summary of the queue. learnName therefore also stores the
// configuration and the summary. The name, the configuration and the summary come from the host
// agent. learnName returns true if it has written a name.
func (b *Brain) learnName(ctx context.Context, arm coleo.Arm) bool {
	var report bus.ArmReport
	err := b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &report)
	if err != nil || report.Name == "" || report.Name == arm.ID {
		return false
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		row.Name, row.Queue = report.Name, report.Queue
		if len(row.Config) > 0 || report.Config == nil {
			return nil
		}
		var err error
		row.ParentArmID = report.Config.Parent
		if by := report.Config.Succeeds; by != nil {
			row.ParentArmID = by.ID
		}
		if chosen := report.Config.Chosen; chosen != nil {
			row.Labels = chosen.Labels
		}
		row.Config, err = json.Marshal(report.Config)
		return err
	})
	if err != nil {
		b.Log.Warn("give an arm its name", "arm", arm.ID, "name", report.Name, "error", err)
		return false
	}
	b.PublishArm(ctx, arm.ID)
	return true
}

// storeReading writes a host agent's reading of an arm into the arm's row. The caller passes the
// row that it has read. If the row has changed since then, storeReading does nothing. It also does
// nothing if the brain has read the host's log beyond the position in the pulse.
func (b *Brain) storeReading(ctx context.Context, id string, pulse bus.Pulse, before coleo.Arm, r coleo.Reading) {
	b.mu.Lock()
	m := b.hosts[id]
	ok := m != nil && m.head == position{pulse.Epoch, pulse.Head} && b.ordering[before.ID] == 0 && r.State.Valid()
	b.mu.Unlock()
	if !ok {
		return
	}
	arm, err := b.DB.UpdateArm(ctx, before.ID, func(row *coleo.Arm) error {
		if row.Status != before.Status || row.Rule != before.Rule || row.Generation != before.Generation ||
			!row.UpdatedAt.Equal(before.UpdatedAt) {
			return coleo.Errorf(coleo.EConflict, "the row of arm %s has changed", row.Name)
		}
		row.Status, row.State, row.Rule, row.Dialog = row.StatusIn(r.State), r.State, r.Rule, r.Dialog
		row.UpdatedAt = b.Now().UTC()
		return nil
	})
	if err != nil {
		return // the next pulse tries again
	}
	b.Log.Warn("an arm's row was wrong: corrected by its host agent's report",
		"arm", arm.Name, "was", before.State, "is", arm.State)
	b.PublishArm(ctx, arm.ID)
}
