package host

import (
	"context"
	"time"

	"coleo.dev"
)

// rereadEvery is how often the user's harnesses are looked at for changes, while
// arms run: soon enough for who edits one, and a look costs some microseconds.
const rereadEvery = 2 * time.Second

// rereader is what the host agent knows of the user's harnesses.
type rereader struct {
	revision int  // of the registry when they were brought to the arms
	again    bool // an arm could not take them
}

// reread brings what the user has written to the arms that run, if it has
// changed. What is wrong changes nothing for them, and is told.
func (h *Host) reread(ctx context.Context) {
	revision := h.Registry.Revision()
	if revision == h.rules.revision && !h.rules.again {
		return
	}
	h.rules = rereader{revision: revision}
	for _, a := range h.all() {
		if !a.reread(ctx) {
			h.rules.again = true
		}
	}
}

// reread has the arm's session go by the newest description of its harness, and
// tells whether it need not try again.
func (a *arm) reread(ctx context.Context) bool {
	a.mu.Lock()
	session, by, harness := a.session, a.harness, a.record.Harness
	a.mu.Unlock()
	if session == nil {
		return true
	}
	if wrong := a.host.Registry.Wrong(harness); wrong != nil {
		a.noteRules(ctx, wrong.Error())
		return true
	}
	newest, err := a.host.Registry.Get(harness)
	reloader, can := session.(coleo.Reloader)
	if err != nil || newest == by || !can {
		return true // if none describes it any more, the last one stays
	}
	switch err := reloader.Reload(newest); coleo.ErrorCode(err) {
	case "":
	case coleo.EBusy:
		return false
	default:
		a.noteRules(ctx, err.Error())
		return true
	}
	a.mu.Lock()
	a.harness, a.rules = newest, ""
	a.mu.Unlock()
	a.noteRules(ctx, "the description of "+harness+" has changed: the arm is read and typed into by it now")
	return true
}

// noteRules writes down what became of a change of the arm's harness, once.
func (a *arm) noteRules(ctx context.Context, what string) {
	a.mu.Lock()
	same, id, name := a.rules == what, a.record.ID, a.record.Name
	a.rules = what
	a.mu.Unlock()
	if same {
		return
	}
	a.host.Log.Warn("the harness of an arm has changed", "arm", name, "note", what)
	if err := a.host.append(ctx, event(id, coleo.EventRules, coleo.Note{Text: what})); err != nil {
		a.host.Log.Error("write down a change of rules", "arm", name, "error", err)
	}
}
