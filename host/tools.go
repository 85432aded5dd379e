package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/door"
	"coleo.dev/holder/process"
	"coleo.dev/host/armfolder"
	"coleo.dev/host/choosing"
	"coleo.dev/host/toolcalls"
	"coleo.dev/localsocket"
	"coleo.dev/store"
)

// doorway is the arm's door, the socket through which the arm calls Coleo's own tools. If the arm
// has tools, the door is open while this process drives the arm.
type doorway struct {
	mu   sync.Mutex // guards the fields below
	door *door.Door // nil if the door is closed
	path string     // the path of the open door
}

// open opens the door at a path, unless it is already open there. It creates the folder of the
// path.
func (d *doorway) open(path string, arm armfolder.Folder, v visitor) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.door != nil && d.path == path:
		return nil
	case d.door != nil: // the door is open at another path, because an earlier start was in another sandbox
		_ = d.door.Close()
		d.door = nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.Chmod(string(arm), 0o700)
	}
	if err != nil {
		return err
	}
	admit := func(p localsocket.Peer) error { return process.OutsideOtherArms(p.PID, v.arm) }
	opened, err := door.Open(path, admit, v)
	if err != nil {
		return err
	}
	d.door, d.path = opened, path
	return nil
}

// close closes the door. Waiting calls then end without a result.
func (d *doorway) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.door == nil {
		return
	}
	_ = d.door.Close()
	d.door = nil
}

// moveWait is how long a tool call waits for an arm that is moving between two hosts. When the arms
// of host local move to a host agent, the last one arrives within seconds. The wait must be shorter
// than the time that agent CLIs allow a call.
const moveWait = 20 * time.Second

// newDispatcher returns the dispatcher that carries out the calls of the arms' tools.
func (h *Host) newDispatcher() *toolcalls.Dispatcher {
	return &toolcalls.Dispatcher{DB: h.DB, Write: h.writeTools, Arm: h.toolFacts, Arms: otherArms{h}, Now: h.Now,
		MoveWait: moveWait}
}

// writeTools writes the changes that a tool call makes. On a full disk, it refuses them. There is one exception: if
// the end of an arm causes the changes, they wait until the disk has room.
func (h *Host) writeTools(ctx context.Context, c store.ToolChange, events ...coleo.Event) error {
	p := intended
	if s := c.Suspension; c.Release || s != nil && s.Decision == nil && !s.Waits() {
		p = happened
	}
	if err := h.write(ctx, p, diskWrite{events: events, tools: &c}); err != nil {
		return coleo.Errorf(coleo.EUnavailable, "nothing was done, because it could not be recorded: %w", err)
	}
	return nil
}

func (h *Host) toolFacts(id string) (toolcalls.Facts, error) {
	a, err := h.arm(id)
	if err == nil {
		err = a.notGone()
	}
	if err != nil {
		return toolcalls.Facts{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f := toolcalls.Facts{Name: a.record.Name, Harness: a.record.Harness, Workdir: a.record.Spec.Workdir,
		Tools: a.record.Spec.Tools, Config: a.record.Spec, Permissions: a.permissions()}
	if a.record.Status == coleo.StatusStopped {
		return f, coleo.Errorf(coleo.EExited, "arm %s has ended", f.Name)
	}
	if a.run != nil {
		f.Run, f.Prompt = a.run.ID, a.run.Text
	}
	return f, nil
}

// doorPath returns the path of the arm's door. The door of a sandboxed arm is in a separate folder,
// because the sandbox shows this folder and not the arm's other files. The sandbox cannot show the
// socket alone, because the next host agent creates a new socket.
func (a *arm) doorPath() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.record.Spec.Sandbox.On() {
		return a.folder().File(filepath.Join("door", door.File))
	}
	return a.folder().File(door.File)
}

// withTools adds the MCP server with Coleo's tools to the configuration of a start, and opens the
// arm's door, the socket of these tools. If c.Tools is empty, it changes nothing. It does not
// change the arm's record, which contains only the names of the tools.
func (a *arm) withTools(c coleo.SpawnConfig) (coleo.SpawnConfig, error) {
	if len(c.Tools) == 0 {
		return c, nil
	}
	if len(a.host.ToolServer) == 0 {
		return c, coleo.Errorf(coleo.EUnsupported, "this host agent has no server for Coleo's tools: nothing was started")
	}
	if slices.ContainsFunc(c.MCPServers, func(m coleo.MCPServer) bool { return m.Name == coleo.ToolServer }) {
		return c, coleo.Errorf(coleo.EInvalid,
			"the name %s belongs to Coleo's own tools: give your MCP server another name", coleo.ToolServer)
	}
	if err := a.openDoor(); err != nil {
		return c, err
	}
	path := a.doorPath()
	if c.Sandbox.On() {
		c.Reached = append(slices.Clip(c.Reached), filepath.Dir(path))
	}
	argv := append(slices.Clone(a.host.ToolServer), "--door", path, "--tools", strings.Join(c.Tools, ","))
	c.MCPServers = append(slices.Clip(c.MCPServers), coleo.MCPServer{Name: coleo.ToolServer, Command: argv[0],
		Args: argv[1:], Allowed: c.Tools})
	return c, nil
}

// openDoor opens the arm's door, unless it is open. The caller has the lock on the arm's folder.
func (a *arm) openDoor() error {
	if err := a.door.open(a.doorPath(), a.folder(), visitor{a.host.dispatcher, a.record.ID}); err != nil {
		return fmt.Errorf("open the door of arm %s: %w", a.name(), err)
	}
	return nil
}

// openDoorAgain opens the door of an arm that an earlier host agent has started.
func (a *arm) openDoorAgain() {
	a.mu.Lock()
	none := len(a.record.Spec.Tools) == 0
	a.mu.Unlock()
	if none {
		return
	}
	if err := a.openDoor(); err != nil {
		a.host.Log.Error("its tools do not work", "arm", a.name(), "error", err)
	}
}

// visitor carries out the calls that come through the door of one arm.
type visitor struct {
	dispatcher *toolcalls.Dispatcher
	arm        string
}

// Call carries out one call.
func (v visitor) Call(ctx context.Context, q door.Request, waiting func(string)) (string, error) {
	return v.dispatcher.Call(ctx, v.arm, q, waiting)
}

// AnswerDelivered records that the result of a tool call has reached the model. If AnswerDelivered
// fails, the model may receive the result once more.
func (v visitor) AnswerDelivered(ctx context.Context, key string) {
	_ = v.dispatcher.AnswerDelivered(ctx, v.arm, key)
}

// restTools withdraws the questions and requests of an ended arm that still wait for an answer, and
// releases the files that the arm has claimed.
func (a *arm) restTools() {
	a.mu.Lock()
	over := !a.gone && a.record.Status == coleo.StatusStopped
	a.mu.Unlock()
	if !over {
		return
	}
	if err := a.host.dispatcher.Ended(context.WithoutCancel(a.host.ctx), a.record.ID); err != nil {
		a.host.Log.Error("withdraw what an ended arm has asked", "arm", a.name(), "error", err)
	}
}

// tidyTools calls restTools for the arms that ended while no host agent ran.
func (h *Host) tidyTools(ctx context.Context) {
	open, err := h.DB.Suspensions(ctx, "", false)
	claims, claimErr := h.DB.Claims(ctx, "")
	if err != nil || claimErr != nil {
		h.Log.Error("look for what ended arms have asked", "error", err, "claims", claimErr)
		return
	}
	ids := map[string]bool{}
	for _, s := range open {
		ids[s.Arm] = true
	}
	for _, c := range claims {
		ids[c.Arm] = true
	}
	for id := range ids {
		if a, err := h.arm(id); err == nil {
			a.restTools()
		}
	}
}

// permissions returns all permission modes that the arm's agent CLI may have now. They come from
// three places:
//
//   - the start of the agent CLI
//   - the mode that a user has chosen since the start
//   - the mode on the screen
//
// The caller holds mu.
func (a *arm) permissions() []coleo.PermissionMode {
	out := []coleo.PermissionMode{a.record.Spec.PermissionMode}
	lister, ok := a.harness.(coleo.ModeLister)
	if !ok {
		return out
	}
	for _, m := range lister.Modes() {
		if m.Permission != "" && (m.ID == choosing.ModeOf(a.record.Spec.Chosen) || m.ID == a.record.Trace.Shown) {
			out = append(out, m.Permission)
		}
	}
	return out
}

// answer answers a question or a request that an arm has sent with a tool.
func (h *Host) answer(ctx context.Context, o bus.AnswerOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	leave, err := a.stay() // a move deletes the arm's questions on this host, with their answers
	if err != nil {
		return nil, err
	}
	defer leave()
	return h.dispatcher.Answer(ctx, a.record.ID, o.ID, o.By, o.Decision)
}

// countRequests returns how many approved requests serve must carry out.
func (h *Host) countRequests() int {
	list, err := h.DB.Requests(context.WithoutCancel(h.ctx))
	if err != nil {
		h.Log.Error("look for approved requests of arms", "error", err)
	}
	return len(list)
}

// hasOpenSuspension reports whether one of the arm's questions or requests is unanswered. An arm
// that ends when its work is done must then wait. For an arm that does not end by itself, it
// returns false. If the suspensions cannot be read, it returns true.
func (a *arm) hasOpenSuspension(ctx context.Context) bool {
	a.mu.Lock()
	id, ends := a.record.ID, a.record.Spec.EndWhenDone
	a.mu.Unlock()
	if !ends {
		return false
	}
	list, err := a.host.DB.Suspensions(ctx, id, false)
	return err != nil || len(list) > 0
}

// settleRequestOf settles the request of another arm that has started the given arm, which is being removed. Serve may
// not have done so yet. It would then start the arm once more.
func (h *Host) settleRequestOf(ctx context.Context, r store.ArmRecord) {
	if r.Spec.Parent == "" || r.Handle == nil {
		return // a start that has failed: serve says why
	}
	ctx = context.WithoutCancel(ctx)
	list, err := h.DB.Requests(ctx)
	for _, s := range list {
		if s.Kind == coleo.SuspensionSubarm && s.Request.Arm == r.ID {
			err = errors.Join(err, h.dispatcher.Settle(ctx, s.ID, coleo.RequestOutcome{
				Text: "The subarm " + r.Name + " was started, and somebody has removed it since."}))
		}
	}
	if err != nil {
		h.Log.Error("settle the request for a removed subarm", "arm", r.Name, "error", err)
	}
}
