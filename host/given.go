package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/checked"
	"coleo.dev/host/armfolder"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/choosing"
	"coleo.dev/host/worktree"
	"coleo.dev/store"
)

// envOf returns the environment variables that an order gives to an arm. If the order says that
// they are the variables of another arm, envOf reads that arm's stored variables. It returns nil if
// this host does not have that arm.
func (h *Host) envOf(o bus.SpawnOrder) (map[string]string, error) {
	if o.EnvOf == "" {
		return o.Env, nil
	}
	h.mu.Lock()
	a := h.arms[o.EnvOf]
	h.mu.Unlock()
	if a == nil {
		return nil, nil
	}
	return a.folder().Env(a.name())
}

// startedAs returns an arm's start configuration, without secrets and without the data that belong
// to a single start.
func startedAs(c coleo.SpawnConfig) *coleo.SpawnConfig {
	c.Arm, c.Generation, c.Nonce, c.Dir, c.Env, c.Environ = "", 0, "", "", nil, nil
	return &c
}

// scriptedAddr is the address of an arm's scripted model. All arms use the same port, because each
// arm with a scripted model has its own network namespace.
const scriptedAddr = "127.0.0.1:4180"

// scriptedHome is the HOME of an arm with the scripted model, below the arm's folder.
const scriptedHome = "home"

// withModel prepares the configuration of an arm with the scripted model for a start. It returns
// any other configuration unchanged. One command starts the scripted model and then the agent CLI,
// which has no network and its own HOME. The arm's record says only that the arm uses the scripted
// model. So withModel computes the command, the profile, HOME and the endpoint again at each start.
func (a *arm) withModel(c coleo.SpawnConfig) (coleo.SpawnConfig, error) {
	if !c.Scripted() {
		return c, nil
	}
	if len(a.host.ScriptedModel) == 0 {
		return c, coleo.Errorf(coleo.EUnsupported, "this host agent has no scripted model: nothing was started")
	}
	home := a.folder().File(scriptedHome)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return c, fmt.Errorf("make the HOME of arm %s: %w", a.name(), err)
	}
	wrap := append(slices.Clone(a.host.ScriptedModel), "--addr", scriptedAddr)
	if script := a.folder().File(armfolder.ScriptFile); exists(script) {
		wrap = append(wrap, "--script", script)
	}
	c.Wrap = append(append(wrap, "--"), c.Wrap...)
	c.OwnNetwork = true
	c.Profile, c.Home, c.Endpoint = coleo.ProfileHermetic, home, "http://"+scriptedAddr
	return c, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// withFiles returns the text of a prompt with its files. It names a file in the agent CLI's own
// way, if the harness knows one. It returns EInvalid if a path is not absolute, or if a file is
// missing or not readable. The agent CLI may still not find a file that is deleted later.
func (a *arm) withFiles(p coleo.Prompt) (string, error) {
	if len(p.Files) == 0 {
		return p.Text, nil
	}
	for _, path := range p.Files {
		if err := checkFile(path); err != nil {
			return "", err
		}
	}
	way := ""
	if harness, err := a.host.Registry.Get(a.recordNow().Harness); err == nil {
		way = harness.Info().Attach
	}
	return attach(way, p), nil
}

// plainPath matches the paths that every agent CLI accepts without quotes.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// attach returns the text of a prompt with its files. `way` is the form in which the agent CLI
// names a file, or "". Files in that form come before the text. If a file's name came last, the
// cursor would be directly after it. The agent CLI could then offer a menu of files, and ENTER
// would choose from the menu.
func attach(way string, p coleo.Prompt) string {
	if way == "" || slices.ContainsFunc(p.Files, func(f string) bool { return !plainPath.MatchString(f) }) {
		return p.Text + "\n\nAttached files: " + strings.Join(p.Files, ", ")
	}
	var names []string
	for _, f := range p.Files {
		names = append(names, strings.ReplaceAll(way, "{path}", f))
	}
	return strings.Join(names, " ") + "\n" + p.Text
}

// takeCheck checks the input of a prompt, and adds the input and the schema of the answer to the
// prompt's text. It returns the check for the prompt's run, or nil if the prompt has none. After
// one of these errors, the caller must type nothing:
//
//   - EInvalid if a schema is wrong, or if the input does not fit. If the input does not fit, takeCheck also appends an
//     event.
//   - EUnsupported if only the screen shows the answer, because then it cannot be checked.
func (a *arm) takeCheck(ctx context.Context, p *coleo.Prompt) (*coleo.Check, error) {
	if p.Check == nil {
		return nil, nil
	}
	if len(p.Check.Schema) > 0 {
		harness, err := a.host.Registry.Get(a.recordNow().Harness)
		if err == nil {
			err = tellsAnswers(harness, a.name())
		}
		if err != nil {
			return nil, err
		}
	}
	input, err := checked.Accept(*p.Check)
	if err != nil {
		if input.Error != "" {
			err = errors.Join(err, a.host.append(ctx, armrecord.Event(a.record.ID, coleo.EventInputValidated, input)))
		}
		return nil, err
	}
	p.Text = checked.Text(p.Text, p.Check)
	kept := *p.Check
	kept.Input = nil // the prompt's text contains the input now
	return &kept, nil
}

// tellsAnswers returns EUnsupported if only the screen shows the answers of the agent CLI.
func tellsAnswers(harness coleo.Harness, arm string) error {
	if t, ok := harness.(coleo.AnswerReporter); ok && t.ReadsAnswers() {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "an answer of arm %s cannot be checked, because only the screen shows it, "+
		"which may lack a part: nothing was typed", arm)
}

// specHash returns the SpecHash for the receipt of a new run. `asked` is the prompt as the caller
// wrote it. If the run only asks the model again for a valid answer, it has the hash of the first
// run.
func (a *arm) specHash(c *coleo.Check, asked string) string {
	if c != nil && c.SpecHash != "" {
		return c.SpecHash
	}
	a.mu.Lock()
	spec := checked.Spec{Harness: a.record.Harness, Model: choosing.ModelOf(a.record), Args: a.record.Spec.Args,
		Mode: a.reading.Mode}
	if spec.Mode == "" {
		spec.Mode = string(a.record.Spec.PermissionMode)
	}
	a.mu.Unlock()
	if c != nil {
		spec.Asked = &checked.Asked{Prompt: asked, Schema: c.Schema, InputSchema: c.InputSchema}
	}
	return checked.Hash(spec)
}

// hasHad reports whether the arm has already received the prompt with this id. A client that has
// received no answer repeats its order, and the arm must not get the prompt a second time. The
// prompt's run has the same id, so hasHad also finds a prompt whose run has ended. hasHad returns
// EConflict if the prompt has left the queue without a run.
//
// hasHad looks in the log and in the arm's folder. The log keeps the events of an arm for a month,
// and only on one host. The folder has the prompts that the arm had on earlier hosts. The caller
// holds the lock adding.
func (a *arm) hasHad(ctx context.Context, id string) (bool, error) {
	a.writing.Lock() // keeps the record and the log unchanged while both are read below
	defer a.writing.Unlock()
	r := a.recordNow()
	if hasPrompt(&r, id) {
		return true, nil
	}
	var e coleo.Event
	had := false
	err := a.host.write(ctx, intended, diskWrite{}) // writes the events that wait for room on the disk
	if err == nil {
		e, had, err = a.host.DB.NewestOfPrompt(ctx, r.ID, id)
	}
	if err != nil {
		return false, coleo.Errorf(coleo.EUnavailable, "nothing was added, because nobody knows whether arm %s has had "+
			"the prompt %s: %w", r.Name, id, err)
	}
	step, err := lastStep(e)
	if err == nil && !had {
		var past armfolder.Past
		past, err = a.folder().ReadPast()
		var p armfolder.PastPrompt
		p, had = past[id]
		step = p.Step
	}
	if err != nil || !had || step == "" {
		return had, err
	}
	return false, leftQueue(step, r.Name, id)
}

// lastStep returns the step that an event about a prompt of the queue records. It returns "" if the
// event records that the prompt's run has begun.
func lastStep(e coleo.Event) (coleo.QueueStep, error) {
	if e.Kind != coleo.EventQueue {
		return "", nil
	}
	var c coleo.QueueChange
	if err := json.Unmarshal(e.Payload, &c); err != nil {
		return "", fmt.Errorf("read the event %d about a prompt: %w", e.Seq, err)
	}
	return c.Step, nil
}

// keepPast writes the arm's prompts into the arm's folder, for the next host that starts or takes
// the arm.
func (a *arm) keepPast(ctx context.Context) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if err := a.host.write(ctx, intended, diskWrite{}); err != nil { // writes the events that wait for room on the disk
		return err
	}
	last, err := a.host.DB.LastPrompts(ctx, a.record.ID)
	if err != nil {
		return err
	}
	past := armfolder.Past{}
	for id, e := range last {
		step, err := lastStep(e)
		if err != nil {
			return err
		}
		past[id] = armfolder.PastPrompt{Step: step, Time: e.Time}
	}
	return a.folder().AddPast(past, a.host.Now().Add(-store.HostBound.Age))
}

// keepPastOrLog is like keepPast, but logs an error instead of returning it. It is for an arm that
// has ended, because another host may start that arm next.
func (a *arm) keepPastOrLog(ctx context.Context) {
	if err := a.keepPast(ctx); err != nil {
		a.host.Log.Error("keep the prompts of an arm in its folder", "arm", a.name(), "error", err)
	}
}

// notePast records in the arm's folder what the given events say about prompts. When an arm ends or
// moves, keepPast writes all its prompts. But the agent CLI can end while no host runs, and then
// nobody calls keepPast. The caller holds the lock writing.
func (a *arm) notePast(events []coleo.Event) {
	for _, e := range events {
		id := ""
		switch e.Kind {
		case coleo.EventRunStart:
			var r coleo.Receipt
			// Only a prompt from the queue can have an id from a client, which the client may repeat. The id of
			// any other prompt is new.
			if json.Unmarshal(e.Payload, &r) == nil && r.FollowUp {
				id = e.Run
			}
		case coleo.EventQueue:
			var c coleo.QueueChange
			if json.Unmarshal(e.Payload, &c) == nil {
				id = c.ID
			}
		default:
		}
		if id == "" {
			continue
		}
		step, err := lastStep(e)
		if err == nil {
			err = a.folder().NotePast(id, armfolder.PastPrompt{Step: step, Time: e.Time})
		}
		if err != nil {
			a.host.Log.Error("note a prompt of an arm in its folder", "arm", a.name(), "error", err)
		}
	}
}

// leftQueue returns EConflict for a prompt that has left an arm's queue without a run. `step` says
// how it left the queue.
func leftQueue(step coleo.QueueStep, arm, id string) error {
	what := fmt.Sprintf("the prompt %s was in the queue of arm %s before, and has left it", id, arm)
	switch step {
	case coleo.QueueRemoved:
		what = fmt.Sprintf("the prompt %s was removed from the queue of arm %s", id, arm)
	case coleo.QueuePaused:
		what = fmt.Sprintf("nothing proves that the prompt %s has arrived at arm %s, and it is not sent again", id, arm)
	default:
	}
	return coleo.Errorf(coleo.EConflict, "%s: nothing was added; a new prompt needs a new id", what)
}

// hasPrompt reports whether the prompt with the given id is in the arm's queue, is being sent, or has
// begun a run that is open.
func hasPrompt(r *store.ArmRecord, id string) bool {
	is := func(p coleo.Receipt) bool { return p.ID == id }
	return isQueued(r, id) || armrecord.IsIntended(r, id) || slices.ContainsFunc(r.Earlier, is) ||
		r.Run != nil && is(*r.Run)
}

// readable is the mode of access(2) that checks whether a file can be read.
const readable = 4

func checkFile(path string) error {
	if !filepath.IsAbs(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return coleo.Errorf(coleo.EInvalid, "the attached file %q needs an absolute path without control characters", path)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return coleo.Errorf(coleo.EInvalid, "the attached %s is neither a file nor a folder", path) // opening it could block
	}
	if err == nil {
		err = syscall.Access(path, readable)
	}
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "the attached file cannot be read on the arm's machine: %w", err)
	}
	return nil
}

// worktree returns the Keeper of the arm's git worktree.
func (a *arm) worktree() worktree.Keeper {
	return worktree.Keeper{Trees: a.host.Workspaces, Arm: a.record.ID,
		Tell: func(ctx context.Context, kind coleo.EventKind, payload any) {
			if err := a.host.append(ctx, armrecord.Event(a.record.ID, kind, payload)); err != nil {
				a.host.Log.Warn("record what happens to the worktree of an arm", "arm", a.name(), "error", err)
			}
		},
		WorksIn:  func(folder string) string { return a.host.worksIn(folder, a.record.ID) },
		MakeRoom: a.host.DB.MakeRoom}
}
