package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
)

// Harness drives one agent CLI by its Spec. It implements coleo.Harness.
type Harness struct {
	spec   *Spec
	hooks  Hooks
	hold   []string
	floods *Floods
}

var _ coleo.Harness = (*Harness)(nil)

// Facts is what Hooks may know of a session.
type Facts struct {
	Home         string    `json:"home"`
	Workdir      string    `json:"workdir"`
	Conversation string    `json:"-"`
	Started      time.Time `json:"started"`
	Account      string    `json:"account,omitempty"` // path of the file that .Account in a launch names
}

// Hooks answer what a Spec cannot. Each may be nil.
type Hooks struct {
	// Conversation returns the id of the conversation that the agent CLI began by itself.
	// It returns "" while the id cannot be known.
	Conversation func(ctx context.Context, f Facts) (string, error)
	// Answer returns the answer to a prompt from the agent CLI's own channel. After an
	// answer without text the session reads the screen.
	Answer func(ctx context.Context, f Facts, r coleo.Receipt) (coleo.Answer, error)
	// Usage returns what the conversation has used, from the agent CLI's own account. It
	// returns nothing before the first turn.
	Usage func(ctx context.Context, f Facts) (coleo.Usage, error)
}

// New returns a harness. hold is the command that becomes a holder: `coleo hold --stdin`,
// with the program's own path. All harnesses of a host agent share floods.
func New(spec *Spec, hooks Hooks, hold []string, floods *Floods) *Harness {
	return &Harness{spec: spec, hooks: hooks, hold: hold, floods: floods}
}

// Info describes the harness as its Spec does.
func (h *Harness) Info() coleo.Info { return h.spec.Info() }

// Info describes the harness of a Spec.
func (s *Spec) Info() coleo.Info {
	transport := coleo.TransportPTY
	if s.Transport != "" {
		transport = coleo.Transport(s.Transport)
	}
	return coleo.Info{
		Name: s.Name, Title: s.Title, Version: s.Version, Checked: s.Checked, Transport: transport, Catalog: s.Catalog,
		Support: coleo.Support(s.Support), Missing: s.Missing, NoModel: s.NoModel, DaemonManaged: s.DaemonManaged,
		Capabilities: coleo.Capabilities(s.Capabilities), Command: s.Command, Install: s.Install, Package: s.Package,
		Trust: s.Launch.Trust.File,
	}
}

// Spawn starts the agent CLI under a new holder and returns its session. It returns the
// errors of the launch plan and of holder.Start.
func (h *Harness) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	launch, err := h.spec.Plan(&c, hookCommand(h.hold))
	if err != nil {
		return nil, err
	}
	facts := Facts{Home: home(&c), Workdir: c.Workdir, Conversation: c.Conversation, Started: time.Now(),
		Account: accountPath(c.Dir)}
	status, err := holder.Start(ctx, h.hold, launch)
	if err != nil {
		return nil, err
	}
	extra, err := json.Marshal(facts)
	if err != nil {
		return nil, err
	}
	return h.open(coleo.Handle{
		Harness: h.spec.Name, Arm: c.Arm, Generation: c.Generation, Nonce: c.Nonce, Dir: c.Dir, Workdir: c.Workdir,
		Holder: status.Holder, Process: status.Process, Conversation: c.Conversation, Extra: extra,
	}, facts, status, true)
}

// Attach reopens the session of a handle. Its holder must prove that it is the one in the
// handle; Attach returns the errors of Prove.
func (h *Harness) Attach(_ context.Context, handle coleo.Handle) (coleo.Session, error) {
	facts := Facts{Workdir: handle.Workdir}
	if len(handle.Extra) > 0 {
		if err := json.Unmarshal(handle.Extra, &facts); err != nil {
			return nil, fmt.Errorf("read the handle of arm %s: %w", handle.Arm, err)
		}
	}
	facts.Conversation = handle.Conversation
	status, err := Prove(handle)
	if err != nil {
		return nil, err
	}
	return h.open(handle, facts, status, false)
}

// Prove compares a handle with the status that its holder reports and with the running
// processes, and returns that status. The error is EUnproven when they differ, and
// EUnavailable when the holder is not there.
func Prove(h coleo.Handle) (holder.Status, error) {
	client, err := holder.Dial(h.Dir, h.Nonce)
	if err != nil {
		return holder.Status{}, err
	}
	defer client.Close()
	s, err := client.Status()
	if err != nil {
		return s, err
	}
	return s, compare(h, s)
}

func compare(h coleo.Handle, s holder.Status) error {
	switch {
	case s.Arm != h.Arm || s.Generation != h.Generation || s.Nonce != h.Nonce:
		return coleo.Errorf(coleo.EUnproven, "the holder in %s keeps %s generation %d, not %s generation %d", h.Dir,
			s.Arm, s.Generation, h.Arm, h.Generation)
	case s.Holder != h.Holder || s.Process != h.Process:
		return coleo.Errorf(coleo.EUnproven, "the holder in %s keeps another process than arm %s had", h.Dir, h.Arm)
	case s.Exit == nil && !process.Same(h.Process):
		return coleo.Errorf(coleo.EUnproven, "process %d of arm %s is not the one that was started", h.Process.PID, h.Arm)
	}
	return nil
}

// Read classifies one picture by the screen rules alone, as a session does when it first
// sees it. Tests and recordings use it.
func (h *Harness) Read(s coleo.Screen) coleo.Reading { return h.Explain(s).Reading }

// Explain is Read with the evidence: the witnesses and the rows that matched.
func (h *Harness) Explain(s coleo.Screen) coleo.Explanation {
	v := h.spec.read(newFrame(s, &h.spec.Composer))
	now := RecordingStart()
	return coleo.Explanation{
		Reading: coleo.Reading{State: v.state, Rule: v.rule, Since: now, Known: v.state != "", Detail: v.detail,
			Dialog: v.dialog},
		Now:       now,
		Witnesses: []coleo.Witness{{Name: "screen", State: v.state, Rule: v.rule, Detail: v.detail, Time: now}},
		Rows:      v.rows, Screen: s,
	}
}
