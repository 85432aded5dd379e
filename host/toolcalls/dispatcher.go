// Package toolcalls carries out the calls of Coleo's own tools. With them, an arm's model asks
// questions, claims files, and keeps a list of its tasks.
//
// The Dispatcher of a host agent keeps its state in host.db. If something must survive a kill, the
// Dispatcher stores it before anybody is notified. For example, a question of the model is stored
// as a suspension, which waits for an answer. One transaction writes the suspension, its event, and
// the key of its call. After a kill of the host agent or of the tool server, the agent CLI can make
// the same call again. The call then waits for the same answer, and the user is asked only once.
//
// The package does not know sockets or MCP. Package door delivers the calls, and package armtools
// describes the tools to agent CLIs.
package toolcalls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/door"
	"coleo.dev/store"
)

// Facts is what the Dispatcher needs to know about an arm.
type Facts struct {
	Name    string
	Harness string
	Workdir string
	Run     string   // the newest open run; "" if none is open
	Prompt  string   // the prompt of the newest open run
	Tools   []string // the names of the tools that the arm has

	// Config is the configuration of the arm's start. Permissions contains all permission modes
	// that the arm's agent CLI may have now.
	Config      coleo.SpawnConfig
	Permissions []coleo.PermissionMode
}

// Dispatcher carries out the tool calls of all arms of a host. It is safe for concurrent use.
type Dispatcher struct {
	DB *store.HostDB
	// Write writes a change and its events, after all earlier writes of the host agent. On a full
	// disk, it writes nothing and returns an error.
	Write func(ctx context.Context, c store.ToolChange, events ...coleo.Event) error
	// Arm returns the Facts of a live arm. It returns an error if the arm has ended.
	Arm  func(id string) (Facts, error)
	Arms Arms
	Now  func() time.Time
	// MoveWait is how long a call waits for a subarm or a parent that is moving between two hosts.
	MoveWait time.Duration

	mu      sync.Mutex               // held while a call reads and changes the state of the tools
	answers map[string]chan struct{} // by the id of a suspension; each channel is closed when its suspension changes
	beats   map[string]string        // the text of the last heartbeat that the arm's model has reported, by the arm's id
}

// tool carries out one tool for an arm. The caller holds d.mu.
type tool func(d *Dispatcher, ctx context.Context, c call) (string, error)

// call is one call of a tool.
type call struct {
	arm   string
	facts Facts
	key   string
	tool  string
	input json.RawMessage
	late  bool // the call has already waited as long as it may for arms that are moving
}

// tools contains the tools that answer at once.
var tools = map[string]tool{
	coleo.ToolTaskWrite:    (*Dispatcher).taskWrite,
	coleo.ToolTaskUpdate:   (*Dispatcher).taskUpdate,
	coleo.ToolTaskComplete: (*Dispatcher).taskComplete,
	coleo.ToolTaskCheck:    (*Dispatcher).taskCheck,
	coleo.ToolHeartbeat:    (*Dispatcher).heartbeat,
	coleo.ToolShareNote:    (*Dispatcher).shareNote,
	coleo.ToolStatusReport: (*Dispatcher).statusReport,
	coleo.ToolInstructions: (*Dispatcher).instructions,
	coleo.ToolClaimFile:    (*Dispatcher).claimFile,
	coleo.ToolConflicts:    (*Dispatcher).checkConflicts,
	coleo.ToolListArms:     (*Dispatcher).listArms,
}

// Call carries out a call of a tool for an arm, and returns the text for the model. Before Call
// waits for an answer, it passes the id of the suspension to the function `waiting`. Before it
// waits for a subarm, it passes the subarm's name. If ctx ends first, Call returns ctx's error, and
// the suspension continues to wait.
//
// If the call has the same key as an earlier call, it has the result of that call.
//
// A call that concerns a subarm or a parent waits for up to d.MoveWait while that arm is moving
// between two hosts. After that time, list_arms reports that the arm is moving, and other calls
// return EBusy.
func (d *Dispatcher) Call(ctx context.Context, arm string, q door.Request, waiting func(id string)) (string, error) {
	text, on, err := d.beginTogether(ctx, arm, q)
	switch {
	case err != nil:
		return "", err
	case on.subarm.ID != "":
		return d.awaitSubarm(ctx, arm, q, on.subarm, waiting)
	case on.suspension == "":
		return text, nil
	}
	waiting(on.suspension)
	s, err := d.await(ctx, on.suspension)
	if err != nil {
		return "", err
	}
	return answerText(s)
}

// awaitSubarm waits for a subarm. If the subarm moves to another host meanwhile, awaitSubarm begins
// the call again.
func (d *Dispatcher) awaitSubarm(ctx context.Context, arm string, q door.Request, r Relative,
	waiting func(id string)) (string, error) {
	waiting(r.Name)
	for {
		// Elsewhere means here that the subarm has ended. For a subarm that is moving, beginTogether has
		// returned an error.
		if r.Elsewhere {
			return fmt.Sprintf("The subarm %s has ended. It ran on another host, so its last answer is not known here.",
				r.Name), nil
		}
		text, err := d.Arms.Await(ctx, r.ID)
		if coleo.ErrorCode(err) != coleo.ENotFound {
			return text, err
		}
		_, on, err := d.beginTogether(ctx, arm, q)
		if err != nil {
			return "", err
		}
		r = on.subarm
	}
}

// waitsOn is what a call waits for. The zero value means that the call has a result at once.
type waitsOn struct {
	suspension string // the id
	subarm     Relative
}

// beginTogether is like begin. If the call concerns an arm that is moving between two hosts,
// beginTogether first waits until that arm has come to this host. It waits at most for d.MoveWait.
func (d *Dispatcher) beginTogether(ctx context.Context, arm string, q door.Request) (string, waitsOn, error) {
	waited, stop := context.WithTimeout(ctx, d.MoveWait)
	defer stop()
	for {
		arrived := d.Arms.Arrived()
		late := waited.Err() != nil
		text, on, err := d.begin(ctx, arm, q, late)
		if late || !errors.Is(err, errMoving) {
			return text, on, err
		}
		select {
		case <-arrived:
		case <-waited.Done():
		}
		if ctx.Err() != nil {
			return "", waitsOn{}, ctx.Err()
		}
	}
}

// begin carries out a call that has a result at once. For any other call, it returns what the call
// waits for. If the call concerns an arm that is moving, begin does nothing and returns errMoving.
// `late` is true if the call has already waited for that arm. list_arms then has a result in spite
// of the move.
func (d *Dispatcher) begin(ctx context.Context, arm string, q door.Request,
	late bool) (text string, on waitsOn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	facts, err := d.Arm(arm)
	if err != nil {
		return "", on, err
	}
	c := call{arm: arm, facts: facts, key: q.Key, tool: q.Tool, input: q.Arguments, late: late}
	if !slices.Contains(facts.Tools, c.tool) {
		return "", on, coleo.Errorf(coleo.EUnsupported, "the arm has no tool %q", short(c.tool))
	}
	before, known, err := d.DB.ToolCall(ctx, arm, c.key)
	if err != nil || known {
		return before.Text, waitsOn{suspension: before.Suspension}, err
	}
	if do, at := tools[c.tool]; at {
		text, err = do(d, ctx, c)
		return text, on, err
	}
	switch c.tool {
	case coleo.ToolAwaitAnswer:
		on, err = d.takeUp(ctx, c)
	case coleo.ToolAwaitArm:
		on.subarm, err = d.awaitedSubarm(c)
	default:
		on.suspension, err = d.suspend(ctx, c)
	}
	return "", on, err
}

// answerAtOnce writes the change of a call that has a result at once, and returns the text for the
// model.
func (d *Dispatcher) answerAtOnce(ctx context.Context, c call, change store.ToolChange, text string,
	work ...coleo.Work) (string, error) {
	change.Arm, change.Call = c.arm, &store.ToolCall{Key: c.key, Text: text}
	var events []coleo.Event
	for _, w := range work {
		events = append(events, d.event(c.arm, c.facts.Run, w))
	}
	return text, d.Write(ctx, change, events...)
}

// event returns the event about work that a tool call has reported.
func (d *Dispatcher) event(arm, run string, w coleo.Work) coleo.Event {
	payload, err := json.Marshal(w)
	if err != nil {
		payload = nil // impossible, because all payloads are plain structs of this module
	}
	return coleo.Event{Arm: arm, Run: run, Kind: coleo.KindOf(w), Source: coleo.SourceMCP, Time: d.Now().UTC(),
		Payload: payload}
}

// Ended withdraws the open suspensions of an ended arm, and releases the files that the arm has
// claimed.
func (d *Dispatcher) Ended(ctx context.Context, arm string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.beats, arm)
	list, err := d.DB.Suspensions(ctx, arm, false)
	if err != nil {
		return err
	}
	// This list contains no approved requests. Whoever carries out an approved request also settles it.
	for _, s := range list {
		s.AnsweredAt = d.Now().UTC()
		if err := d.settle(ctx, s); err != nil {
			return err
		}
	}
	claims, err := d.DB.Claims(ctx, "")
	if err == nil && slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Arm == arm }) {
		err = d.Write(ctx, store.ToolChange{Arm: arm, Release: true})
	}
	return err
}

// Tasks returns an arm's list of tasks.
func (d *Dispatcher) Tasks(ctx context.Context, arm string) ([]coleo.Task, error) {
	t, err := d.DB.Tasks(ctx, arm)
	return t.Tasks, err
}

// read decodes the arguments of a call. It returns EInvalid for arguments of the wrong type.
func (c call) read(into any) error {
	if len(c.input) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.input, into); err != nil {
		return coleo.Errorf(coleo.EInvalid, "the arguments of %s are wrong: %v", c.tool, err)
	}
	return nil
}

// short shortens a word from a caller, for use in messages.
func short(word string) string {
	const most = 64 // bytes
	if len(word) > most {
		return word[:most] + "…"
	}
	return word
}
