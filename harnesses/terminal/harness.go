package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/launch"
	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/record"
	"coleo.dev/sandbox/container"
)

// Harness drives the agent CLI that its Spec describes. It implements coleo.Harness.
type Harness struct {
	spec   *rules.Spec
	hooks  Hooks
	holder []string // the command that starts a holder
	shared *Shared
}

// Shared contains the data that all harnesses of a host agent share.
type Shared struct {
	floods        *Floods
	records       *record.Watcher
	conversations takenConversations
}

// NewShared returns a Shared that no session uses yet.
func NewShared() *Shared {
	return &Shared{floods: NewFloods(), records: record.NewWatcher(),
		conversations: takenConversations{by: map[string]*session{}, senders: map[*session]bool{}}}
}

// Records returns the Watcher of all records.
func (s *Shared) Records() *record.Watcher { return s.records }

var (
	_ coleo.Harness        = (*Harness)(nil)
	_ coleo.Recorder       = (*Harness)(nil)
	_ coleo.Settable       = (*Harness)(nil)
	_ coleo.AskCatalogue   = (*Harness)(nil)
	_ coleo.ModeLister     = (*Harness)(nil)
	_ coleo.LoginChecker   = (*Harness)(nil)
	_ coleo.AnswerReporter = (*Harness)(nil)
)

// Facts contains what Hooks can know about a session.
type Facts struct {
	Home         string    `json:"home"`
	Folder       string    `json:"folder,omitempty"` // see record.Source.Named
	Workdir      string    `json:"workdir"`
	Conversation string    `json:"-"`
	Started      time.Time `json:"started"`
	Account      string    `json:"account,omitempty"` // path of the file with the used tokens; see launch.AccountPath
	Version      string    `json:"version,omitempty"` // version of the agent CLI; "" if unknown
	Fork         bool      `json:"fork,omitempty"`    // true if the conversation began as a copy of another one
	// Args is true if the user has added arguments to the command line. They can contain a prompt.
	Args bool `json:"args,omitempty"`
	// Mine reports whether a conversation that was written at the given time is the session's own. It is false for
	// the conversation of another program in the same work folder. If Mine is nil, every conversation counts.
	Mine func(id string, written time.Time) bool `json:"-"`
}

// Hooks contains Go code for questions that a Spec cannot answer. Each field can be nil.
type Hooks struct {
	// Conversation returns the id of a conversation that the agent CLI began by itself, or "" if
	// the id is not known yet. It skips the conversations for which f.Mine returns false.
	Conversation func(ctx context.Context, f Facts) (string, error)
	// Answer returns the answer to a prompt from the agent CLI's own channel. If the text of the
	// answer is empty, the session reads the screen instead.
	Answer func(ctx context.Context, f Facts, r coleo.Receipt) (coleo.Answer, error)
	// Usage returns the usage of the conversation from the agent CLI's own record. It returns a
	// zero Usage before the first turn.
	Usage func(ctx context.Context, f Facts) (coleo.Usage, error)
	// Record is the agent CLI's own record of a conversation. If Open is nil, Coleo cannot follow
	// any record.
	Record record.Source
	// Threads lists the agent CLI's conversations. Record can then read each of them. Threads is nil if Coleo
	// cannot list the conversations.
	Threads record.Catalogue
}

// New returns a harness. holdCommand is the command that starts a holder: `coleo hold --stdin`, with the
// path of the running program in place of `coleo`.
func New(spec *rules.Spec, hooks Hooks, holdCommand []string, shared *Shared) *Harness {
	return &Harness{spec: spec, hooks: hooks, holder: holdCommand, shared: shared}
}

// WithPack returns a copy of the harness that uses the rules of the Spec, and also the newer rules of the
// pack `p`. If `p` is nil, the copy has no pack.
func (h *Harness) WithPack(p *rules.Pack) *Harness {
	return New(h.spec.WithPack(p), h.hooks, h.holder, h.shared)
}

// Info describes the harness as its Spec does.
func (h *Harness) Info() coleo.Info { return h.spec.Info() }

// Conversations describes how to find, list and read the agent CLI's conversations.
func (h *Harness) Conversations() record.Conversations {
	return record.Conversations{Source: h.hooks.Record, List: h.hooks.Threads}
}

// Settings returns the settings that users may have chosen, as the Spec describes them.
func (h *Harness) Settings() []coleo.Setting {
	var out []coleo.Setting
	for _, s := range h.spec.Settings {
		out = append(out, coleo.Setting{Name: s.Name, Doc: s.Doc, Refused: s.Refused})
	}
	return out
}

// WithSetting returns a harness that starts the agent CLI with the named setting.
func (h *Harness) WithSetting(name string) (coleo.Harness, error) {
	for _, s := range h.spec.Settings {
		if s.Name == name {
			return h.withPart(s.Part()), nil
		}
	}
	return nil, coleo.Errorf(coleo.ENotFound, "%s has no setting %q", h.spec.Name, name)
}

// withPart returns a copy of the harness that starts the agent CLI with one more part: arguments, variables
// and files.
func (h *Harness) withPart(p rules.Part) *Harness {
	spec := *h.spec
	spec.Launch.Parts = append(slices.Clone(spec.Launch.Parts), p)
	return New(&spec, h.hooks, h.holder, h.shared)
}

// Modes returns the modes of the agent CLI, as the Spec describes them.
func (h *Harness) Modes() []coleo.Mode { return h.spec.ModeList() }

// secretNames matches the names of variables that contain a key.
var secretNames = regexp.MustCompile(`(KEY|KEY_ID|TOKEN|SECRET|CREDENTIALS)$`)

// Login reports whether the environment contains a key for the agent CLI, or HOME contains the
// agent CLI's login. A variable can name another folder for the login. Login reads no file, and returns no secret.
func (h *Harness) Login(environ []string) coleo.Login {
	out := coleo.Login{Harness: h.spec.Name}
	home, records := "", h.hooks.Record
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "HOME":
			home = value
		case name == records.FolderEnv && filepath.IsAbs(value): // another path is below the work folder of an arm
			records = records.In(value)
		}
		mine := slices.ContainsFunc(h.spec.Launch.CredentialsEnv, func(own string) bool {
			return own == name || strings.HasSuffix(own, "_") && strings.HasPrefix(name, own)
		})
		if mine && value != "" && secretNames.MatchString(name) {
			out.Env = append(out.Env, name)
		}
	}
	for _, file := range h.spec.Launch.CredentialsFiles {
		path := records.PathOf(home, file)
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() {
			if path == filepath.Join(home, file) {
				path = file
			}
			out.Files = append(out.Files, path)
		}
	}
	slices.Sort(out.Env)
	out.LoggedIn = len(out.Env)+len(out.Files) > 0
	return out
}

// Asks returns the actions that the agent CLI asks about, as the Spec lists them.
func (h *Harness) Asks() []coleo.Ask { return slices.Clone(h.spec.Asks) }

// QuietTools returns the tools that never ask for permission, as the Spec lists them.
func (h *Harness) QuietTools() map[string]string { return maps.Clone(h.spec.QuietTools) }

// WithAsk returns a harness for the [[asks]] table with this name. The harness starts the agent CLI
// with the arguments, variables and files of that table.
func (h *Harness) WithAsk(name string) (coleo.Harness, error) {
	for _, a := range h.spec.Asks {
		if a.Name == name {
			return h.withPart(rules.Part{Args: a.Args, Env: a.Env, Files: a.Files}), nil
		}
	}
	return nil, coleo.Errorf(coleo.ENotFound, "%s has no [[asks]] called %q", h.spec.Name, name)
}

// Spawn starts the agent CLI under a new holder and returns its session. It returns the
// errors of launch.Plan and of holder.Start.
func (h *Harness) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	plan, err := launch.Plan(h.spec, &c, launch.HookCommand(h.holder))
	if err != nil {
		return nil, err
	}
	facts := Facts{Home: launch.Home(&c), Folder: launch.NamedFolder(plan, h.hooks.Record.FolderEnv),
		Workdir: c.Workdir, Conversation: c.Conversation, Started: time.Now(),
		Account: launch.AccountPath(c.Dir), Version: launch.Version(h.spec, &c), Fork: c.Fork != "", Args: len(c.Args) > 0}
	if err := h.checkContainer(ctx, &c); err != nil {
		return nil, err
	}
	status, err := holder.Start(ctx, h.holder, plan)
	if err != nil {
		return nil, err
	}
	extra, err := json.Marshal(facts)
	if err != nil {
		return nil, err
	}
	return h.open(coleo.Handle{
		Harness: h.spec.Name, Arm: c.Arm, Generation: c.Generation, Nonce: c.Nonce, Dir: c.Dir, Workdir: c.Workdir,
		Holder: status.Holder, Process: status.Process, Conversation: c.Conversation, Sandbox: c.Sandbox,
		Extra: extra,
	}, facts, status, true)
}

// checkContainer checks that the container engine can run the image. It does nothing if the arm does not
// run in a container.
func (h *Harness) checkContainer(ctx context.Context, c *coleo.SpawnConfig) error {
	if !c.Sandbox.Container() {
		return nil
	}
	err := container.Usable(ctx, c.Sandbox.Kind, c.Environ)
	if err == nil {
		err = container.HasImage(ctx, c.Sandbox.Kind, c.Environ, c.Sandbox.Image)
	}
	if err != nil {
		return coleo.Errorf(coleo.ErrorCode(err), "%s was not started: %w", h.spec.Title, err)
	}
	return nil
}

// Attach reopens the session of a handle. The holder must prove that it belongs to this handle.
// Attach returns the errors of Prove.
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

// Prove compares a handle with the status that the holder reports, and with the running processes.
// It returns the status. The error is EUnproven if the handle names another holder or other
// processes, and EUnavailable if the holder does not exist.
func Prove(h coleo.Handle) (holder.Status, error) {
	client, err := holder.Dial(h.Dir, h.Nonce)
	if err != nil {
		return holder.Status{}, err
	}
	defer client.Close()
	for end := time.Now().Add(exitTime); ; {
		s, err := client.Status()
		if err != nil {
			return s, err
		}
		ended := s.Exit == nil && s.Process == h.Process && process.Look(h.Process) == process.Dead
		if !ended || time.Now().After(end) {
			return s, compare(h, s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// exitTime is how long a holder may take to notice the end of its program. A holder needs
// milliseconds, unless the machine is loaded.
const exitTime = 2 * time.Second

func compare(h coleo.Handle, s holder.Status) error {
	switch {
	case s.Arm != h.Arm || s.Generation != h.Generation || s.Nonce != h.Nonce:
		return coleo.Errorf(coleo.EUnproven, "the holder in %s keeps %s generation %d, not %s generation %d", h.Dir,
			s.Arm, s.Generation, h.Arm, h.Generation)
	case s.Holder != h.Holder || s.Process != h.Process:
		return coleo.Errorf(coleo.EUnproven, "the holder in %s runs another process than the process of arm %s", h.Dir, h.Arm)
	case s.Exit == nil && !process.Same(h.Process):
		return coleo.Errorf(coleo.EUnproven, "process %d of arm %s has ended or is "+
			"another one, and its holder has not seen an end", h.Process.PID, h.Arm)
	}
	return nil
}

// Read applies only the screen rules to one picture. A session would read the picture in the same way if it
// were the first one.
func (h *Harness) Read(s coleo.Screen) coleo.Reading { return h.Explain(s).Reading }

// Explain is like Read, but also returns the evidence: the rows that matched, and the witnesses, which are
// the sources of the reading. Here, the screen is the only one.
func (h *Harness) Explain(s coleo.Screen) coleo.Explanation { return reading.ExplainScreen(h.spec, s) }

// Replay reads a recording as a session would have read it, and calls the function `tell` with each
// change. See reading.Replay.
func (h *Harness) Replay(rec reading.Recording, tell func(coleo.Change)) (coleo.Explanation, time.Duration) {
	return reading.Replay(h.spec, rec, tell)
}

// Label returns in one line which states a recording goes through, and when. See reading.Label.
func (h *Harness) Label(rec reading.Recording) string { return reading.Label(h.spec, rec) }

// ScreenAt returns the screen at the given time, with a precision of 50 ms. The error is EInvalid
// if that time is in the future, or before the oldest screen that Coleo has kept.
func (h *Harness) ScreenAt(handle coleo.Handle, at time.Time) (coleo.Screen, error) {
	screen, err := past.ScreenAt(handle, at)
	if err != nil {
		return coleo.Screen{}, err
	}
	view := screen.View()
	view.History = screen.History(coleo.MostHistory)
	return view, nil
}

// Record returns the piece of a recording that begins at the given offset in bytes. See
// past.Record.
func (h *Harness) Record(handle coleo.Handle, from int64) (coleo.Recording, error) {
	return past.Record(handle, from)
}
