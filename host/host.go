// Package host is the host agent. It keeps the sessions, the states and the event log of the arms
// on one machine.
//
// A host agent can be killed at any moment. The next host agent finds the holders of the arms,
// attaches to those that prove their identity, and continues. If an arm needs a remedy, the brain
// chooses the remedy and sends an order to the host agent.
package host

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/cost"
	"coleo.dev/holder/process"
	"coleo.dev/host/diffs"
	"coleo.dev/host/spending"
	"coleo.dev/host/toolcalls"
	"coleo.dev/policy/files"
	"coleo.dev/registry"
	"coleo.dev/repeat"
	"coleo.dev/store"
	"coleo.dev/workspace"
)

// PolicyFiles says where the rules of policies are.
type PolicyFiles = files.Paths

// Config is the configuration of a host agent.
type Config struct {
	ID        string // unique among all hosts of one serve
	Hostname  string
	Platform  string
	Version   string
	Dir       string   // the state folder; this package owns its subfolder arms
	Path      []string // the folders in which Coleo looks for agent CLIs first
	Environ   []string // the user's environment; each harness passes on the variables in its allow-list
	MaxArms   int      // the largest number of arms that may run; 0 means no limit
	Keep      int64    // how many bytes of output are kept for each arm; 0 means the holder's default
	AllowSudo bool     // agent CLIs may gain privileges: see coleo.SpawnConfig
	// ScriptedModel is the command that starts the scripted model. Its arguments are --addr ADDR
	// [--script FILE] -- PROGRAM [ARG...]. After the command has started the model, it replaces
	// itself with PROGRAM.
	ScriptedModel []string
	// ToolServer is the command that offers Coleo's own tools to an agent CLI over MCP. Its
	// arguments are --door PATH --tools NAME[,NAME...].
	ToolServer []string
	// Policy says where the rules of policies are. The host agent calls Judged after the decision
	// of a policy about a dialog, and before the answer. Only tests set Judged.
	Policy PolicyFiles
	// Workspaces creates and removes the worktrees of arms.
	Workspaces workspace.Workspaces
	// Prices returns the present prices of models. Budgets contains the budgets of all arms
	// together.
	Prices  func() cost.Prices
	Budgets coleo.Budgets
	// SameCalls is how often an agent CLI may make the same call with the same result in a run.
	// After that, the host agent stops the loop. 0 means loop.MaxSame. A negative number switches
	// off the search for loops.
	SameCalls int
	Judged    func(coleo.PolicyDecision)
	StartedAt time.Time
	Ready     func()           // called when Run begins to carry out orders; can be nil
	Now       func() time.Time // returns the present time; nil means time.Now
	Registry  *registry.Registry
	DB        *store.HostDB
	Bus       *bus.Conn
	Log       *slog.Logger
}

// Host is a running host agent.
type Host struct {
	Config

	mu     sync.Mutex
	arms   map[string]*arm // by id
	starts map[string]int  // how many orders to start an arm are being carried out, by the arm's id

	taking  sync.Mutex      // held by takeNamed, so that an arm that comes from the other host is created once
	arrived chan struct{}   // closed when an arm comes from the other host; nil if nobody waits for an arm
	runs    sync.WaitGroup  // the goroutines of this host agent, such as those that follow sessions
	ctx     context.Context // ends when Run ends
	end     context.CancelFunc

	dispatcher   *toolcalls.Dispatcher
	owedWrites   owedWrites
	processMarks markSearch

	pulseMark pulseNumber
	full      fullDisk
	read      atomic.Uint64 // the number of the newest event that serve has read from the log
	rules     rereader      // used only by Run

	threads threads
	diffs   *diffs.Diffs
	ledger  *spending.Ledger // nil before adoptAll

	instance string    // a random text, which tells this process from another host agent with the same id
	began    time.Time // when this process began to use the id
}

// New returns a host agent. It does nothing until the caller calls Run.
func New(c Config) *Host {
	if c.Now == nil {
		c.Now = time.Now
	}
	h := &Host{Config: c, arms: map[string]*arm{}, starts: map[string]int{}, instance: rand.Text(),
		processMarks: markSearch{look: process.Traces}, began: time.Now(), threads: newThreads(c)}
	h.dispatcher = h.newDispatcher()
	h.diffs = &diffs.Diffs{Environ: c.Environ, Scratch: filepath.Join(c.Dir, "scratch"), Log: c.Log, Now: c.Now,
		CloneOf: c.Workspaces.CloneOf}
	if c.Registry != nil {
		h.diffs.Files = c.Registry.Files()
	}
	return h
}

// Run attaches to the existing arms, and carries out orders until ctx ends. Then it closes the
// sessions and returns nil. The arms continue to run. Run returns EConflict if another live host
// agent has the same id.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer h.diffs.Close()
	h.ctx, h.end = ctx, cancel
	if err := h.claim(ctx); err != nil {
		return err
	}
	if err := h.adoptAll(ctx); err != nil {
		return err
	}
	h.tidyTools(ctx)
	left := h.leftCatalogs()
	h.runs.Go(func() { h.endCatalogs(left) })
	h.settleHandovers(ctx)
	h.Bus.Unsent = func(op bus.Op, err error) { h.Log.Error("answer a command", "op", op, "error", err) }
	if err := h.Bus.Serve(ctx, h.ID, h.carryOut); err != nil {
		return err
	}
	if err := h.Bus.RollCalls(ctx, h.beat); err != nil {
		return err
	}
	h.keepReserve()
	repeated := repeat.New(h.Log)
	if err := repeated.Add(ctx, h.retain()); err != nil {
		return err
	}
	defer repeated.StopAll()
	h.beat()
	if h.Ready != nil {
		h.Ready()
	}
	tick, look := time.NewTicker(bus.BeatEvery), time.NewTicker(rereadEvery)
	defer tick.Stop()
	defer look.Stop()
	for {
		select {
		case <-tick.C:
			h.keepReserve()
			// An arm that started during a change of its harness may have the old description. So compare all
			// arms again.
			h.rules.again = true
			h.beat()
			h.runs.Go(func() { h.takeStrays(ctx) })
			if err := h.contest(ctx); err != nil {
				return h.giveUpID(err)
			}
		case <-look.C:
			h.reread(ctx)
			h.adoptSilent()
		// A new serve may have asked for a beat while this host agent was not connected, so send one.
		case <-h.Bus.Back():
			if err := h.contest(ctx); err != nil {
				return h.giveUpID(err)
			}
			h.beat()
		case <-ctx.Done():
			h.letGo()
			return nil
		}
	}
}

// claim claims the id for this host agent. It returns an error if another live host agent has the
// id. Two host agents with the same id would attach to the same arms and start them twice.
func (h *Host) claim(ctx context.Context) error {
	if err := h.Bus.Claims(ctx, h.ID, h.ownClaim); err != nil {
		return err
	}
	return h.contest(ctx)
}

// contest returns EConflict if another live host agent has had this id for longer. If the check
// itself fails, contest returns nil, so that the host agent continues.
func (h *Host) contest(ctx context.Context) error {
	err := h.Bus.Contest(ctx, h.ID, h.ownClaim())
	if coleo.ErrorCode(err) == coleo.EConflict {
		return err
	}
	return nil
}

func (h *Host) ownClaim() bus.Claim {
	return bus.Claim{Instance: h.instance, Hostname: h.Hostname, PID: os.Getpid(), Age: time.Since(h.began)}
}

// giveUpID closes all sessions, because another host agent has the id. It returns the given reason.
func (h *Host) giveUpID(because error) error {
	h.letGo()
	return because
}

// letGo closes all sessions. The agent CLIs continue to run.
func (h *Host) letGo() {
	for _, a := range h.allArms() {
		a.letGo()
	}
	if err := h.threads.keeper.Close(); err != nil {
		h.Log.Warn("close the index of conversations", "error", err)
	}
	h.end() // also ends the goroutines that belong to no session
	h.runs.Wait()
}

// adoptAll attaches to every arm that should be running.
func (h *Host) adoptAll(ctx context.Context) error {
	if err := h.takeFolders(ctx); err != nil {
		return err
	}
	spent, err := h.DB.Spendings(ctx)
	if err != nil {
		return err
	}
	h.ledger = spending.New(spent, h.Prices, h.Budgets)
	records, err := h.DB.Arms(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	for _, record := range records { // create all arms first, because a tool call of one arm can concern another
		h.arms[record.ID] = h.newArm(record)
	}
	h.mu.Unlock()
	var adopting sync.WaitGroup
	for _, a := range h.allArms() {
		record := a.record
		adopting.Go(func() {
			if err := a.doubtRecord(ctx); err != nil {
				h.Log.Error("compare the record of an arm with its folder", "arm", a.name(), "error", err)
			}
			switch {
			case record.Desired != coleo.DesiredRunning && record.Status == coleo.StatusStopped:
			case record.Desired != coleo.DesiredRunning: // the end of the arm was ordered, but is not yet recorded
				if err := a.kill(ctx, 0); err != nil {
					h.Log.Warn("end arm", "arm", a.name(), "error", err)
				}
			case record.Handle == nil:
				a.failSpawn(ctx, record.Spec, coleo.Errorf(coleo.EUnavailable,
					"the host agent ended while it started the arm, and no process of that start exists"))
			default:
				if err := a.adopt(ctx); err != nil {
					h.Log.Warn("reattach to an arm", "arm", a.name(), "error", err)
				}
			}
			a.tellOrphans(ctx)
		})
	}
	adopting.Wait()
	h.endBackup(ctx)
	return nil
}

// arm returns the arm with the given id or name. It returns ENotFound if there is no
// such arm.
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

func (a *arm) name() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record.Name
}

func (h *Host) allArms() []*arm {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*arm, 0, len(h.arms))
	for _, a := range h.arms {
		out = append(out, a)
	}
	return out
}

// reports returns the report of each arm. It asks all holders at the same time, because the wait
// for a silent holder is long.
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

// beat publishes a bus.Beat about all arms.
func (h *Host) beat() {
	b := h.newBeat()
	b.Capabilities = h.capabilities()
	arms := h.allArms()
	for i, r := range each(arms, (*arm).reportForBeat) {
		if r.Proof == bus.Proven || r.Proof == bus.Silent {
			arms[i].noteBlocked(h.ctx, r.Blocked)
		}
		if r.Proof == bus.Proven || r.Proof == bus.Gone {
			arms[i].adoptLate()
		}
		b.Arms = append(b.Arms, armBeat(r)...)
	}
	h.publish(b)
}

// beatOf publishes a beat, a report to serve, about one arm that has just started or ended. The
// caller must already have recorded the start or the end. After a start, beatOf asks only the
// holder of this arm. After an end, it asks no holder.
func (h *Host) beatOf(a *arm) {
	// Read the number of the last event before the state of the arm. So the state is never older than
	// this event.
	b := h.newBeat()
	p := a.pulse(0)
	if b.Of, b.Pulse = p.ID, &p; p.Attached {
		b.Arms = armBeat(a.reportForBeat())
	}
	h.publish(b)
}

func (h *Host) newBeat() bus.Beat {
	return bus.Beat{
		ID: h.ID, Hostname: h.Hostname, Platform: h.Platform, Version: h.Version, PID: os.Getpid(),
		StartedAt: h.StartedAt, MaxArms: h.MaxArms, Epoch: h.DB.Epoch(), Head: h.DB.Head(), TakesGiven: true,
		TakesLocal: true,
		TakesForks: true, TakesFiles: true, TakesTools: true, TakesSubarms: true, TakesPolicy: true, TakesWorktrees: true,
		TakesClones: true, TakesWith: true,
		TakesDefault: true, TakesSandbox: true, TakesSandboxNet: true, TakesSandboxLimit: true, TakesContainers: true,
		TakesTriggers: true, TakesBudget: true,
		TakesEndWhenDone: true, TakesAlternatives: true, TakesOnLimit: true,
		Requests: h.countRequests(),
	}
}

func (h *Host) publish(b bus.Beat) {
	if err := h.Bus.Beat(b); err != nil {
		h.Log.Warn("beat", "error", err)
	}
}

// carryOut carries out an order from the bus, and returns its report.
func (h *Host) carryOut(ctx context.Context, op bus.Op, data json.RawMessage) (any, error) {
	order, ok := h.orders()[op]
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "this host agent (version %s) does not know %q: update it",
			h.Version, op)
	}
	out, err := order(ctx, data)
	switch {
	case err == nil || errors.As(err, new(*coleo.Error)):
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // this host agent ends
		err = bus.EndedDuring(h.ID, op)
	default:
		h.Log.Error("command", "op", op, "error", err)
	}
	return out, err
}
