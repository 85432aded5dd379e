// Package choosing carries out what a user chooses for a running arm: its mode and its model. It
// also switches a new session to the mode that a user ordered earlier.
//
// It does not decide which modes exist or which model is good: see coleo.ModeSwitcher and
// modelresolver.
package choosing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
	"coleo.dev/waitfor"
)

// Config is what a Chooser needs from its arm and from the host agent.
type Config struct {
	Session func() (coleo.Session, error) // returns the live session, or EExited
	// BeginTyping returns EBusy if another caller has the arm's lease, the right to type by hand. The
	// caller must call `end` when it has finished typing.
	BeginTyping func(lease string) (end func(), err error)
	Interrupt   func(ctx context.Context) (coleo.Interruption, error)
	Record      func() store.ArmRecord // returns a copy of the arm's record
	// Change and Intend change the record, and write it with the events. Change is for something
	// that has happened, and Intend is for something that is about to happen. On a full disk, only
	// Intend fails.
	Change, Intend func(ctx context.Context, fn func(*store.ArmRecord) []coleo.Event) error
	KeepFile       func() // writes the record to the arm's folder
	// Background runs the function in the background. The arm does not move to another host
	// meanwhile.
	Background func(func(ctx context.Context))
	Ended      func() <-chan struct{} // returns a channel that is closed when the host agent ends
	Now        func() time.Time
	Log        *slog.Logger
}

// Chooser changes the mode and the model of one arm. It is safe for concurrent use.
type Chooser struct {
	Config

	changing sync.Mutex // held during a change of the mode or the model, so that only one change runs at a time

	mu sync.Mutex // guards the fields below; while it is held, no other lock is taken
	// unconfirmed means that the session is possibly not in the ordered mode, because the session
	// is new or was just attached to.
	unconfirmed bool
	// switching means that a switch of the mode is running. If the mode changes during the switch,
	// the switch has caused the change.
	switching bool
	seen      coleo.Cursor  // the cursor of the session's newest change that is in the log
	moved     chan struct{} // closed and replaced when `seen` changes; nil if nobody waits
}

// SwitchMode switches an arm to another mode. It first stores the order, so that the next host
// agent completes the order if this one is killed. Then it takes these steps:
//
//   - It interrupts the turn, if the order says so.
//   - It stores the model of the present mode.
//   - It switches the mode.
//   - It sets the model of the new mode.
func (ch *Chooser) SwitchMode(ctx context.Context, o bus.ModeOrder) (bus.ModeReport, error) {
	s, err := ch.Session()
	if err != nil {
		return bus.ModeReport{}, err
	}
	end, err := ch.BeginTyping("")
	if err != nil {
		return bus.ModeReport{}, err
	}
	defer end()
	m, err := ch.allowedMode(s, o.ModeOrder)
	if err != nil {
		return bus.ModeReport{}, err
	}
	if o.Interrupt {
		if _, err := ch.Interrupt(ctx); err != nil {
			return bus.ModeReport{}, err
		}
	}
	if !m.Switchable {
		return ch.instruct(ctx, m)
	}
	ch.changing.Lock()
	defer ch.changing.Unlock()
	was := ch.Chosen()
	left := s.State().Mode
	if err := ch.choose(ctx, func(c *coleo.Chosen) { c.Mode = m.ID }); err != nil {
		return bus.ModeReport{}, err
	}
	done, err := ch.pressMode(ctx, s, m.ID)
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		err = ch.takeBack(ctx, m.ID, ModeOf(was), err)
		return bus.ModeReport{ModeSwitch: done, Chosen: ch.Chosen()}, err
	}
	if left != "" && left != m.ID {
		ch.takeModelOf(ctx, s, left, m, &done)
	}
	return bus.ModeReport{ModeSwitch: done, Chosen: ch.Chosen()}, nil
}

// takeBack replaces a failed order with the mode that was ordered before, and returns the cause of
// the failure. If the disk is full, it takes back the order in memory now, and on the disk later.
// The error says so, because the order would come back if this host agent were killed before that
// write.
func (ch *Chooser) takeBack(ctx context.Context, ordered, before string, cause error) error {
	back := func(c *coleo.Chosen) { c.Mode = before }
	stored := ch.choose(ctx, back)
	if stored == nil {
		return cause
	}
	ch.Log.Error("take back an order for a mode", "arm", ch.Record().Name, "error", stored)
	if err := ch.chosenNow(ctx, back); err != nil {
		ch.Log.Error("take back an order for a mode later", "arm", ch.Record().Name, "error", err)
	}
	told := *coleo.Errorf(coleo.ErrorCode(cause), "%w", cause)
	if e := new(coleo.Error); errors.As(cause, &e) {
		told = *e
	}
	told.Message = fmt.Sprintf("%s; the order for the mode %s is taken back in memory, but not yet on the disk (%v): if "+
		"the host agent ends before there is room, the next one switches arm %s to this mode", cause, ordered, stored,
		ch.Record().Name)
	return &told
}

// allowedMode returns the mode of an order. It returns an error if the arm must not carry out the
// order.
func (ch *Chooser) allowedMode(s coleo.Session, o coleo.ModeOrder) (coleo.Mode, error) {
	switcher, ok := s.(coleo.ModeSwitcher)
	if !ok {
		return coleo.Mode{}, coleo.Errorf(coleo.EUnsupported, "the harness of arm %s knows no modes", ch.Record().Name)
	}
	list := switcher.Modes()
	m, err := coleo.ModeByID(list, o.Mode, ch.Record().Name)
	if err != nil {
		return m, err
	}
	return m, coleo.MayFollow(list, s.State().Mode, m, o.Allow)
}

// instruct stores the instructions of a mode for the next prompt, and records the mode in the log.
func (ch *Chooser) instruct(ctx context.Context, m coleo.Mode) (bus.ModeReport, error) {
	from := ""
	err := ch.Intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		from = r.Trace.Mode
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.Unsaid = m.Instructions })
		return Record(r, coleo.ModeChanged{To: m.ID}, ch.Now())
	})
	if err != nil {
		return bus.ModeReport{}, err
	}
	ch.KeepFile()
	return bus.ModeReport{ModeSwitch: coleo.ModeSwitch{From: from, To: m.ID, Instructions: true}, Chosen: ch.Chosen()},
		nil
}

// pressMode makes the session switch to a mode, and waits until the log has the change.
func (ch *Chooser) pressMode(ctx context.Context, s coleo.Session, id string) (coleo.ModeSwitch, error) {
	ch.mu.Lock()
	ch.switching = true
	ch.mu.Unlock()
	done, err := s.(coleo.ModeSwitcher).SwitchMode(ctx, id)
	ch.awaitNoted(s)
	ch.mu.Lock()
	ch.switching = false
	if err == nil {
		ch.unconfirmed = false
	}
	ch.mu.Unlock()
	return done, err
}

// notedTimeout is the longest time that an order waits until the log has the changes of a session.
// Usually a change is in the log within milliseconds. On a full disk, that can take longer.
const notedTimeout = 5 * time.Second

// awaitNoted waits until the log has every change that the session had when awaitNoted was called. It
// gives up after notedTimeout, or when the session ends.
func (ch *Chooser) awaitNoted(s coleo.Session) {
	newest := waitfor.NewestCursor(s)
	limit := time.NewTimer(notedTimeout)
	defer limit.Stop()
	for {
		live, _ := ch.Session()
		ch.mu.Lock()
		if ch.seen >= newest || live != s {
			ch.mu.Unlock()
			return
		}
		if ch.moved == nil {
			ch.moved = make(chan struct{})
		}
		moved := ch.moved
		ch.mu.Unlock()
		select {
		case <-moved:
		case <-limit.C:
			return
		case <-ch.Ended():
			return
		}
	}
}

// Noted records that the log has a change of the session.
func (ch *Chooser) Noted(c coleo.Cursor) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.seen = c; ch.moved != nil {
		close(ch.moved)
		ch.moved = nil
	}
}

// ShowMode stores in the arm's record which mode the screen shows, and returns the events. If
// nobody has ordered the change of the mode, ShowMode drops the earlier order, so that a later
// start does not undo the change.
func (ch *Chooser) ShowMode(r *store.ArmRecord, c coleo.Change) []coleo.Event {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	next, events := r.Trace.ShowMode(c.Reading.Mode, c.Time.UTC())
	r.Trace = next
	ordered := ModeOf(r.Spec.Chosen)
	switch {
	case c.Reading.Mode == ordered:
		ch.unconfirmed = false
	case ordered != "" && !ch.unconfirmed && !ch.switching:
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.Mode = "" })
	}
	return ofArm(r.ID, events)
}

// Unconfirmed reports whether a new session of an arm is possibly not in the ordered mode. It
// returns true after a start, and if a host agent was killed during a switch of the mode. It
// returns false once the screen has shown the ordered mode, because any later change is somebody's
// own choice.
func Unconfirmed(r *store.ArmRecord) bool {
	ordered := ModeOf(r.Spec.Chosen)
	return ordered != "" && r.Trace.Shown != ordered
}

// NewSession prepares ch for a session that was just started or attached to. `unconfirmed` says
// whether the session is possibly not in the ordered mode.
func (ch *Chooser) NewSession(unconfirmed bool) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.unconfirmed, ch.seen = unconfirmed, 0
}

// orderedMode returns the mode that a user has ordered, if the session is possibly not in it.
// Otherwise it returns "".
func (ch *Chooser) orderedMode() string {
	ch.mu.Lock()
	unconfirmed := ch.unconfirmed
	ch.mu.Unlock()
	if !unconfirmed {
		return ""
	}
	return ModeOf(ch.Chosen())
}

// SettleMode switches a new session to the mode that a user ordered earlier. It types nothing if
// the session is already in that mode, or if nobody has ordered a mode.
func (ch *Chooser) SettleMode(ctx context.Context, s coleo.Session) error {
	ch.changing.Lock()
	defer ch.changing.Unlock()
	id := ch.orderedMode()
	if _, ok := s.(coleo.ModeSwitcher); !ok || id == "" {
		return nil
	}
	_, err := ch.pressMode(ctx, s, id)
	if code := coleo.ErrorCode(err); code == coleo.ENotFound || code == coleo.EUnsupported {
		ch.Log.Warn("the harness has no longer the mode that was ordered", "arm", ch.Record().Name, "mode", id, "error", err)
		return ch.choose(ctx, func(c *coleo.Chosen) { c.Mode = "" })
	}
	return err
}

// RestoreMode calls SettleMode in the background when a session becomes idle for the first time. If
// the call fails, the next prompt calls SettleMode again and reports the error.
func (ch *Chooser) RestoreMode(s coleo.Session) {
	if ch.orderedMode() == "" {
		return
	}
	ch.Background(func(ctx context.Context) {
		end, err := ch.BeginTyping("")
		if err != nil {
			return
		}
		defer end()
		if err := ch.SettleMode(ctx, s); err != nil {
			ch.Log.Warn("switch to the mode that was ordered before", "arm", ch.Record().Name, "error", err)
		}
	})
}

// WithInstructions returns the text of a prompt. If a mode has instructions for the next prompt, it
// puts them before the text.
func (ch *Chooser) WithInstructions(text string) string {
	if c := ch.Chosen(); c != nil && c.Unsaid != "" {
		return c.Unsaid + afterInstructions + text
	}
	return text
}

// afterInstructions stands between the instructions of a mode and the text of a prompt.
const afterInstructions = "\n\n"

// ForgetInstructions removes the instructions of a mode after they were sent with a prompt. The text of the
// prompt is `sent`, which WithInstructions has returned. Instructions that somebody has ordered since then stay.
func (ch *Chooser) ForgetInstructions(ctx context.Context, sent string) {
	said := func(c *coleo.Chosen) bool {
		return c != nil && c.Unsaid != "" && strings.HasPrefix(sent, c.Unsaid+afterInstructions)
	}
	if !said(ch.Chosen()) {
		return
	}
	if err := ch.chosenNow(context.WithoutCancel(ctx), func(c *coleo.Chosen) {
		if said(c) {
			c.Unsaid = ""
		}
	}); err != nil {
		ch.Log.Error("forget instructions that were sent", "arm", ch.Record().Name, "error", err)
	}
}

// AsChosen returns the configuration for a start with the chosen model and mode. Some modes have a
// permission mode, with which the agent CLI can start directly in that mode. AsChosen then sets
// this permission mode, so that Coleo need not press a key after the start. There are two
// exceptions:
//
//   - AsChosen never changes the permission mode "all".
//   - If the user must confirm the chosen mode, AsChosen does not set its permission mode. Coleo
//     then presses the key of the mode after the start.
func (ch *Chooser) AsChosen(h coleo.Harness, c coleo.SpawnConfig) coleo.SpawnConfig {
	c.Provider, c.Model = c.ModelOf()
	lister, ok := h.(coleo.ModeLister)
	if !ok || ModeOf(c.Chosen) == "" || c.PermissionMode == coleo.PermissionAll {
		return c
	}
	m, err := coleo.ModeByID(lister.Modes(), c.Chosen.Mode, ch.Record().Name)
	if err == nil && m.Permission != "" && !m.Confirm {
		c.PermissionMode = m.Permission
	}
	return c
}

// choose stores a new choice of the user. On a full disk it fails.
func (ch *Chooser) choose(ctx context.Context, change func(*coleo.Chosen)) error {
	err := ch.Intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Spec.Chosen = r.Spec.Chosen.Change(change)
		return nil
	})
	if err == nil {
		ch.KeepFile()
	}
	return err
}

// chosenNow is like choose, but for something that has already happened. On a full disk the change
// is written later.
func (ch *Chooser) chosenNow(ctx context.Context, change func(*coleo.Chosen)) error {
	err := ch.Change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Spec.Chosen = r.Spec.Chosen.Change(change)
		return nil
	})
	if err == nil {
		ch.KeepFile()
	}
	return err
}

// Chosen returns what a user has chosen for the arm, or nil.
func (ch *Chooser) Chosen() *coleo.Chosen { return ch.Record().Spec.Chosen }

// ModeOf returns the mode that a user has ordered, or "".
func ModeOf(c *coleo.Chosen) string {
	if c == nil {
		return ""
	}
	return c.Mode
}
