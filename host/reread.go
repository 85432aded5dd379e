package host

import (
	"context"
	"time"

	"coleo.dev"
)

// rereadEvery is the time between two checks whether the user's harnesses have changed.
// It is short enough for a user who edits a harness. A check takes a few microseconds.
// The host agent checks only while arms run.
const rereadEvery = 2 * time.Second

// rereader knows which changes of the user's harnesses the arms have already got.
type rereader struct {
	revision int  // the revision of the registry that the arms have got
	again    bool // some arm was too busy to change to the new description
}

// The host's method reread gives the changed descriptions of the user's harnesses to the running
// arms. If a description is bad, the arms keep the old one, and an event records the error.
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

// The arm's method reread gives the newest description of the arm's harness to the arm's session.
// It returns false if the session was busy, so that the caller must try again.
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
		return true // if the description was deleted, the arm keeps the old one
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
	a.noteRules(ctx, "the description of "+harness+" has changed: the arm uses the new one now")
	return true
}

// noteRules records the result of a change of the arm's harness. It does not record the same text
// twice in a row.
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
		a.host.Log.Error("record a change of rules", "arm", name, "error", err)
	}
}
