package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder/process"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
	"coleo.dev/waitfor"
)

// rereadEvery is the time between two checks whether the user's harnesses have changed. It is short
// enough for a user who edits a harness. A check takes a few microseconds, and the host agent
// checks only while arms run.
const rereadEvery = 2 * time.Second

// rereader records which changes of the user's harnesses the arms have already received.
type rereader struct {
	revision int  // the arms were given all changes up to this revision of the registry
	again    bool // try again, because an arm was too busy to take over a new description
}

// The host's method reread gives the changed descriptions of the user's harnesses to the running
// arms. If a description has an error, the arms keep the old one, and an event records the error.
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
// It returns false if the session was busy. The caller must then try again.
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
		return true // nothing to do: an arm whose description was deleted keeps the old one
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
	if err := a.host.append(ctx, armrecord.Event(id, coleo.EventRules, coleo.Note{Text: what})); err != nil {
		a.host.Log.Error("record a change of rules", "arm", name, "error", err)
	}
}

// windowTimeout limits the wait for a window that the host agent opens by itself. A terminal
// program can be slow on a loaded machine.
const windowTimeout = time.Minute

// withWindow puts the arm's present name into the window's configuration, if the harness has
// windows.
func (a *arm) withWindow(harness coleo.Harness, c coleo.SpawnConfig) coleo.SpawnConfig {
	if harness.Info().Capabilities.Window {
		place := placeOf(c.Window, a.name())
		c.Window = &place
	}
	return c
}

// placeOf returns a copy of the given place with the name of an arm.
func placeOf(given *coleo.WindowPlace, arm string) coleo.WindowPlace {
	var place coleo.WindowPlace
	if given != nil {
		place = *given
	}
	place.Name = arm
	return place
}

// openWindow opens the arm's window. It returns EUnsupported if the arm's harness has no windows.
// It also returns the errors of coleo.Windowed.
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

// showWindow opens the window of a session at the given place. Without a place, it uses the place
// from the arm's start.
func (a *arm) showWindow(ctx context.Context, s coleo.Windowed, given *coleo.WindowPlace) error {
	if given == nil {
		a.mu.Lock()
		given = a.record.Spec.Window
		a.mu.Unlock()
	}
	place := placeOf(given, a.name())
	return s.OpenWindow(ctx, place, coleo.WindowEnviron(a.host.Environ, place))
}

// showMissing opens the session's window, unless somebody has already begun to open it. It is called after
// this host agent has attached to a session. The window is missing if an earlier host agent was killed
// after it had started the session and before it opened the window.
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

// endedBefore reports whether the agent CLI ended for a reason of its own before its holder ended.
// If a signal ended the agent CLI before a reboot, the signal came from the shutdown, so
// endedBefore returns false.
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

// hasRebooted reports whether the machine was rebooted since the handle was created.
func hasRebooted(h coleo.Handle) bool {
	me, err := process.Identify(1)
	return err == nil && me.BootID != "" && me.BootID != h.Holder.BootID
}

// adopt attaches to a session that an earlier host agent started. The holder of the
// session must prove its identity.
func (a *arm) adopt(ctx context.Context) error {
	done, err := a.beginHere()
	if err != nil {
		return err
	}
	defer done()
	if _, err := a.liveSession(); err == nil {
		return nil
	}
	err = a.attach(ctx)
	if coleo.ErrorCode(err) == coleo.EInternal { // for example too many open files, so Host.beat tries again
		a.mu.Lock()
		a.silent = true
		a.mu.Unlock()
	}
	return err
}

// attach is adopt for a caller that has locked the arm by beginHere.
func (a *arm) attach(ctx context.Context) error {
	a.mu.Lock()
	handle, record := a.record.Handle, a.record
	a.mu.Unlock()
	if handle == nil {
		return coleo.Errorf(coleo.EExited, "arm %s has never run", record.Name)
	}
	if err := a.lockOwnFolder(); err != nil {
		return err
	}
	harness, err := a.host.Registry.Get(record.Harness)
	if err != nil {
		return err
	}
	asleep := process.Look(handle.Holder) == process.Stopped
	a.mu.Lock()
	a.asleep = asleep
	a.mu.Unlock()
	if asleep { // a stopped holder cannot reply, so do not try to attach
		return a.noteUnattached(ctx, *handle, coleo.Errorf(coleo.ETimeout, "%s", silenceReason(*handle)))
	}
	a.openDoorAgain()
	s, err := harness.Attach(ctx, *handle)
	if err != nil {
		return a.noteUnattached(ctx, *handle, err)
	}
	if c, ok := s.(coleo.TurnContinuer); ok && record.Run != nil && !record.Run.Interrupted {
		c.ContinueTurn(*record.Run)
	}
	a.noteBlocked(ctx, "")
	a.mu.Lock()
	a.silent = false
	if a.run = nil; record.Run != nil {
		run := *record.Run
		run.Cursor = 0 // a cursor counts the changes of one session object, and `s` is a new object
		a.run = &run
	}
	a.mu.Unlock()
	if err := a.host.append(ctx, armrecord.Event(record.ID, coleo.EventReattached, *handle)); err != nil {
		return errors.Join(err, s.Close())
	}
	a.fileOrLog()
	a.meter.RecallContext(ctx)
	// While it is locked, no prompt is sent. Otherwise resolve could take a new prompt for an earlier one with the same
	// text.
	a.delivering.Lock()
	defer a.delivering.Unlock()
	a.holdSession(s, harness)
	a.showMissing(s)
	awaitReading(ctx, s)
	a.resolve(ctx, s, record.Intended)
	return nil
}

// adoptSilent attaches to sessions whose holders a signal had stopped and which now run again. It does
// the same if such a holder has died. It does not try other holders that did not reply, because Host.beat
// tries those every 30 s.
func (h *Host) adoptSilent() {
	for _, a := range h.allArms() {
		a.mu.Lock()
		handle, woken := a.record.Handle, a.silent && a.asleep
		a.mu.Unlock()
		if woken && handle != nil && process.Look(handle.Holder) != process.Stopped {
			a.adoptLate()
		}
	}
}

// adoptLate attaches to a session whose holder did not reply earlier and replies now. If the holder has
// died instead, adoptLate records the end of the arm.
func (a *arm) adoptLate() {
	a.mu.Lock()
	silent := a.silent && a.record.Desired == coleo.DesiredRunning
	a.silent = false
	a.mu.Unlock()
	if !silent {
		return
	}
	a.host.runs.Go(a.adoptOrLog)
}

// adoptOrLog is like adopt, but logs an error instead of returning it.
func (a *arm) adoptOrLog() {
	if err := a.adopt(a.host.ctx); err != nil {
		a.host.Log.Warn("reattach to an arm", "arm", a.name(), "error", err)
	}
}

// readingTimeout is how long an attach waits until the screen has been read for the first time. A
// stable screen is read within this time. For an agent CLI that is still starting, the attach
// continues without a reading.
const readingTimeout = 2 * time.Second

// awaitReading waits until the session's screen has been read. A caller that sees the arm as
// attached can then use it at once.
func awaitReading(ctx context.Context, s coleo.Session) {
	ctx, cancel := context.WithTimeout(ctx, readingTimeout)
	defer cancel()
	_, _ = waitfor.State(ctx, s, coleo.Idle, coleo.Processing, coleo.Executing, coleo.WaitingApproval, coleo.Failed,
		coleo.Dead)
}

// noteUnattached records that the host agent cannot attach to a session:
//
//   - If the holder is dead, noteUnattached ends the remaining processes of the arm.
//   - If the holder exists but does not reply, Host.beat tries again every 30 s.
//   - If the holder could not prove its identity, noteUnattached leaves the arm alone.
func (a *arm) noteUnattached(ctx context.Context, handle coleo.Handle, cause error) error {
	reading := coleo.Reading{State: coleo.Dead, Rule: coleo.RuleHolderGone, Since: time.Now().UTC(), Known: true,
		Detail: cause.Error()}
	switch coleo.ErrorCode(cause) {
	case coleo.EUnavailable:
		if left := sweepStart(handle.Arm, handle.Nonce); len(left) > 0 {
			reading.Rule, reading.Detail = coleo.RuleOrphaned,
				fmt.Sprintf("processes %v are left and could not be ended", left)
		}
		if hasRebooted(handle) && reading.Rule != coleo.RuleOrphaned {
			reading.Rule, reading.Detail = coleo.RuleReboot, "stopped (host rebooted)"
		}
	case coleo.EUnproven:
		reading.Rule = coleo.RuleUnproven
	case coleo.ETimeout:
		return errors.Join(cause, a.awaitAnswer(ctx, handle))
	default:
		return cause
	}
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if before := r.Rule; endedBefore(r, reading) {
			reading.Rule, reading.Detail = before, ""
		}
		a.reading, a.run, a.silent = reading, nil, false
		r.Status, r.State, r.Rule = coleo.StatusStopped, coleo.Dead, reading.Rule
		return append(armrecord.EndAllRuns(r, reading), armrecord.Event(r.ID, coleo.EventStopped, reading))
	})
	if err != nil {
		return err
	}
	a.keepPastOrLog(ctx)
	return cause
}

// awaitAnswer records that the holder of the arm does not reply yet. The state of the arm is then
// unknown.
func (a *arm) awaitAnswer(ctx context.Context, handle coleo.Handle) error {
	now := time.Now().UTC()
	reading := coleo.Reading{State: coleo.Initializing, Rule: "holder silent", Since: now}
	a.noteBlocked(ctx, silenceReason(handle))
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		from := r.State
		a.reading, a.silent = reading, true
		r.Status, r.State, r.Rule = coleo.StatusStarting, reading.State, reading.Rule
		return []coleo.Event{armrecord.Event(r.ID, coleo.EventState,
			coleo.Change{Time: now, Kind: coleo.ChangeState, Reading: reading, From: from})}
	})
}
