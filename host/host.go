package host

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/registry"
	"coleo.dev/store"
)

// Config is what a host agent runs with.
type Config struct {
	ID        string // unique among the hosts of one serve
	Hostname  string
	Platform  string
	Version   string
	Dir       string   // state folder; arms/ below it is this package's
	Path      []string // folders in which agent CLIs are looked for first
	Environ   []string // of the user, passed on by the harnesses' allow-lists
	MaxArms   int
	Keep      int64 // of each arm's output, in bytes; 0 means the holder's own bound
	AllowSudo bool  // arms may gain rights: see coleo.SpawnConfig
	// ScriptedModel is the command that starts the scripted model and then becomes
	// the program behind it: --addr ADDR [--script FILE] -- PROGRAM [ARG...].
	ScriptedModel []string
	StartedAt     time.Time
	Now           func() time.Time // the time of day; nil: time.Now
	Registry      *registry.Registry
	DB            *store.HostDB
	Bus           *bus.Conn
	Log           *slog.Logger
}

// Host is a running host agent.
type Host struct {
	Config

	mu   sync.Mutex
	arms map[string]*arm // by id
	runs sync.WaitGroup  // the followers of sessions
	ctx  context.Context // ends with Run
	end  context.CancelFunc

	owed  owed
	marks traces

	marked marking
	full   fullDisk
	read   atomic.Uint64 // how far serve has the log
	rules  rereader      // of Run alone

	instance string    // random: tells it from another host agent with the same id
	began    time.Time // when it took the id
}

// New returns a host agent that does nothing yet.
func New(c Config) *Host {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Host{Config: c, arms: map[string]*arm{}, marks: traces{look: holder.Traces}, instance: rand.Text(), began: time.Now()}
}

// Run takes up the arms that are there and carries out commands until ctx
// ends. The arms live on.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.ctx, h.end = ctx, cancel
	if err := h.claim(ctx); err != nil {
		return err
	}
	if err := h.adoptAll(ctx); err != nil {
		return err
	}
	h.Bus.Unsent = func(op bus.Op, err error) { h.Log.Error("answer a command", "op", op, "error", err) }
	if err := h.Bus.Serve(ctx, h.ID, h.carryOut); err != nil {
		return err
	}
	if err := h.Bus.RollCalls(ctx, h.beat); err != nil {
		return err
	}
	h.keepReserve()
	h.runs.Go(func() { h.retain(ctx) })
	h.beat()
	tick, look := time.NewTicker(bus.BeatEvery), time.NewTicker(rereadEvery)
	defer tick.Stop()
	defer look.Stop()
	for {
		select {
		case <-tick.C:
			h.keepReserve()
			h.rules.again = true // an arm may have begun by what was about to change
			h.beat()
			if err := h.contest(ctx); err != nil {
				return h.yield(err)
			}
		case <-look.C:
			h.reread(ctx)
			h.adoptSilent()
		case <-h.Bus.Back(): // to a serve that may have called the roll before
			if err := h.contest(ctx); err != nil {
				return h.yield(err)
			}
			h.beat()
		case <-ctx.Done():
			h.letGo()
			return nil
		}
	}
}

// claim takes this host agent's id, unless another live one has it: two with one
// id would follow, and start, the same arms.
func (h *Host) claim(ctx context.Context) error {
	if err := h.Bus.Claims(ctx, h.ID, h.mine); err != nil {
		return err
	}
	return h.contest(ctx)
}

// contest looks whether another host agent has had the id for longer. That it
// could not look is no reason to end.
func (h *Host) contest(ctx context.Context) error {
	err := h.Bus.Contest(ctx, h.ID, h.mine())
	if coleo.ErrorCode(err) == coleo.EConflict {
		return err
	}
	return nil
}

func (h *Host) mine() bus.Claim {
	return bus.Claim{Instance: h.instance, Hostname: h.Hostname, PID: os.Getpid(), Age: time.Since(h.began)}
}

// yield lets go of the arms because the id is another host agent's.
func (h *Host) yield(because error) error {
	h.letGo()
	return because
}

// letGo closes every session; the agent CLIs run on.
func (h *Host) letGo() {
	for _, a := range h.all() {
		a.letGo()
	}
	h.end() // what runs beside the sessions ends too
	h.runs.Wait()
}

// adoptAll takes up every arm that should be running.
func (h *Host) adoptAll(ctx context.Context) error {
	if err := h.takeFolders(ctx); err != nil {
		return err
	}
	records, err := h.DB.Arms(ctx)
	if err != nil {
		return err
	}
	var adopting sync.WaitGroup
	for _, record := range records {
		a := &arm{host: h, record: record}
		h.mu.Lock()
		h.arms[record.ID] = a
		h.mu.Unlock()
		adopting.Go(func() {
			switch {
			case record.Desired != coleo.DesiredRunning && record.Status == coleo.StatusStopped:
			case record.Desired != coleo.DesiredRunning: // its end was ordered, and nobody saw it
				if err := a.kill(ctx, 0); err != nil {
					h.Log.Warn("end arm", "arm", a.name(), "error", err)
				}
			case record.Handle == nil:
				a.failed(ctx, record.Spec, coleo.Errorf(coleo.EUnavailable, "the host agent ended while it started the arm, and nothing of that start is there"))
			default:
				if err := a.adopt(ctx); err != nil {
					h.Log.Warn("take up arm", "arm", a.name(), "error", err)
				}
			}
			a.tellOrphans(ctx)
		})
	}
	adopting.Wait()
	return nil
}

// arm returns an arm by id or name.
func (h *Host) arm(key string) (*arm, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a, ok := h.arms[key]; ok {
		return a, nil
	}
	for _, a := range h.arms {
		if a.name() == key {
			return a, nil
		}
	}
	return nil, coleo.Errorf(coleo.ENotFound, "no arm called %q on this host", key)
}

func (a *arm) generation() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record.Generation
}

func (a *arm) name() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record.Name
}

func (h *Host) all() []*arm {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*arm, 0, len(h.arms))
	for _, a := range h.arms {
		out = append(out, a)
	}
	return out
}

// reports looks at arms at the same time: a holder that does not answer takes
// long to be given up.
func reports(arms []*arm) []bus.ArmReport { return each(arms, (*arm).report) }

func each(arms []*arm, look func(*arm) bus.ArmReport) []bus.ArmReport {
	out := make([]bus.ArmReport, len(arms))
	var looking sync.WaitGroup
	for i, a := range arms {
		looking.Go(func() { out[i] = look(a) })
	}
	looking.Wait()
	return out
}

// beat publishes a sign of life, with all arms.
func (h *Host) beat() {
	b := h.newBeat()
	b.Capabilities = h.capabilities()
	arms := h.all()
	for i, r := range each(arms, (*arm).vouch) {
		if r.Proof == bus.Proven || r.Proof == bus.Silent {
			arms[i].noteBlocked(h.ctx, r.Blocked)
		}
		if r.Proof == bus.Proven {
			arms[i].adoptLate()
		}
		b.Arms = append(b.Arms, armBeat(r)...)
	}
	h.publish(b)
}

// beatOf publishes a sign of life with one arm, whose start or end has just been
// written down. It asks the holder of that arm alone, and of an end nobody.
func (h *Host) beatOf(a *arm) {
	b := h.newBeat() // its head comes before the looks at the arm
	p := a.pulse()
	if b.Of, b.Pulse = p.ID, &p; p.Attached {
		b.Arms = armBeat(a.vouch())
	}
	h.publish(b)
}

func (h *Host) newBeat() bus.Beat {
	return bus.Beat{
		ID: h.ID, Hostname: h.Hostname, Platform: h.Platform, Version: h.Version, PID: os.Getpid(),
		StartedAt: h.StartedAt, MaxArms: h.MaxArms, Epoch: h.DB.Epoch(), Head: h.DB.Head(), TakesGiven: true,
	}
}

// armBeat is an arm's part of a beat, which only a live one has.
func armBeat(r bus.ArmReport) []bus.ArmBeat {
	if !r.Attached || r.Proof != bus.Proven || r.Process != bus.ProcessAlive {
		return nil
	}
	return []bus.ArmBeat{{ID: r.ID, Generation: r.Generation, LastOutput: r.LastOutput}}
}

func (h *Host) publish(b bus.Beat) {
	if err := h.Bus.Beat(b); err != nil {
		h.Log.Warn("beat", "error", err)
	}
}

// capabilities are the harnesses whose agent CLI is installed here.
func (h *Host) capabilities() []string {
	var out []string
	for _, name := range h.Registry.List() {
		harness, err := h.Registry.Get(name)
		if err == nil && h.installed(harness.Info().Command) {
			out = append(out, name)
		}
	}
	return out
}

func (h *Host) installed(command string) bool {
	dirs := append([]string{}, h.Path...)
	for _, kv := range h.Environ {
		if len(kv) > 5 && kv[:5] == "PATH=" {
			dirs = append(dirs, filepath.SplitList(kv[5:])...)
		}
	}
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, command))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// append adds what has happened to the log and tells serve that it has grown. An
// event that cannot be written is an error for whoever caused it, unless the disk
// is full: then it is written later.
func (h *Host) append(ctx context.Context, events ...coleo.Event) error {
	return h.appendAs(ctx, happened, events...)
}

func (h *Host) appendAs(ctx context.Context, n need, events ...coleo.Event) error {
	if err := h.write(ctx, n, writing{events: events}); err != nil {
		return fmt.Errorf("write to the event log: %w", err)
	}
	return nil
}

func (h *Host) stamp(events []coleo.Event) {
	for i := range events {
		events[i].Host = h.ID
		if events[i].Time.IsZero() {
			events[i].Time = h.Now().UTC()
		}
	}
}

func (h *Host) grew() {
	_ = h.Bus.Grew(bus.Grown{Host: h.ID, Epoch: h.DB.Epoch(), Head: h.DB.Head()})
}

func event(armID string, kind coleo.EventKind, payload any) coleo.Event {
	data, err := json.Marshal(payload)
	if err != nil {
		data = nil // payloads are plain structs of ours
	}
	return coleo.Event{Arm: armID, Kind: kind, Payload: data}
}

// carryOut is the handler of the bus.
func (h *Host) carryOut(ctx context.Context, op bus.Op, data json.RawMessage) (any, error) {
	order, ok := h.orders()[op]
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "this host agent (version %s) does not know %q: update it", h.Version, op)
	}
	out, err := order(ctx, data)
	if err != nil && !errors.As(err, new(*coleo.Error)) {
		h.Log.Error("command", "op", op, "error", err)
	}
	return out, err
}
