package host

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder/process"
	"coleo.dev/store"
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
	for _, a := range h.allArms() {
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

// windowTimeout bounds the wait for a window that the host agent opens by itself.
const windowTimeout = time.Minute

// If a start has a window, withWindow puts the arm's present name into the window's configuration.
func (a *arm) withWindow(harness coleo.Harness, c coleo.SpawnConfig) coleo.SpawnConfig {
	if harness.Info().Capabilities.Window {
		place := placeOf(c.Window, a.name())
		c.Window = &place
	}
	return c
}

// placeOf returns a place with the name of an arm.
func placeOf(given *coleo.WindowPlace, arm string) coleo.WindowPlace {
	var place coleo.WindowPlace
	if given != nil {
		place = *given
	}
	place.Name = arm
	return place
}

// openWindow opens the arm's window. It returns EUnsupported if the arm's harness shows no
// window, and otherwise the errors of coleo.Windowed.
func (h *Host) openWindow(ctx context.Context, o bus.WindowOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	s, err := a.liveSession()
	if err != nil {
		return nil, err
	}
	shown, ok := s.(coleo.Windowed)
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "the harness of arm %s shows no window of its own", a.name())
	}
	return nil, a.showWindow(ctx, shown, o.Place)
}

// showWindow opens the window of a session at a place. Without a place, it uses the place of the
// arm's start.
func (a *arm) showWindow(ctx context.Context, s coleo.Windowed, given *coleo.WindowPlace) error {
	if given == nil {
		a.mu.Lock()
		given = a.record.Spec.Window
		a.mu.Unlock()
	}
	place := placeOf(given, a.name())
	return s.OpenWindow(ctx, place, coleo.WindowEnviron(a.host.Environ, place))
}

// showMissing is for a session that this host agent has just attached to. It opens the window if
// nobody has begun to open it. The host agent that started the session was killed before it could
// do that.
func (a *arm) showMissing(s coleo.Session) {
	shown, ok := s.(coleo.Windowed)
	if !ok || shown.Window().State != "" {
		return
	}
	a.host.runs.Go(func() {
		ctx, cancel := context.WithTimeout(a.host.ctx, windowTimeout)
		defer cancel()
		if err := a.showWindow(ctx, shown, nil); err != nil && ctx.Err() == nil {
			a.host.Log.Warn("open the window of an arm", "arm", a.name(), "error", err)
		}
	})
}

// endedBefore reports whether the agent CLI of a record had ended before its holder ended. If it
// had ended by itself, a reboot has not ended the arm. If a signal from outside had ended it, the
// shutdown before a reboot was the cause.
func endedBefore(r *store.ArmRecord, now coleo.Reading) bool {
	if r.Status != coleo.StatusStopped || now.Rule != coleo.RuleHolderGone && now.Rule != coleo.RuleReboot {
		return false
	}
	switch r.Rule {
	case coleo.RuleProcess, coleo.RuleNoConversation:
		return true
	}
	return r.Rule == coleo.RuleTerminated && now.Rule == coleo.RuleHolderGone
}

// rebooted reports whether the machine was rebooted after the handle was made.
func rebooted(h coleo.Handle) bool {
	me, err := process.Identify(1)
	return err == nil && me.BootID != "" && me.BootID != h.Holder.BootID
}
