package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder/process"
	"coleo.dev/host/armfolder"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/choosing"
	"coleo.dev/host/judge"
	"coleo.dev/host/lease"
	"coleo.dev/host/metering"
	"coleo.dev/store"
)

// arm is an arm of this host, with its live session if it has one.
//
// A goroutine that needs several of the arm's locks takes them in this order: starting, typing,
// delivering, interrupting, adding, writing, mu. The parts of the arm, such as its meter, have
// locks of their own. A part that holds its own lock takes none of the arm's locks. Only three
// locks of parts have a place in the order:
//
//   - Chooser.changing, the lock of choices, is taken after delivering and before writing.
//   - Meter.stops, the lock of meter, is taken before interrupting.
//   - The lock of driving is taken before mu and before the lock of door.
type arm struct {
	host *Host

	// The parts of the arm.
	lease   lease.Lease       // the right to type by hand
	meter   *metering.Meter   // counts the arm's model calls, and enforces its budgets
	choices *choosing.Chooser // carries out a user's orders about the mode and the model
	dialogs *judge.Dialogs    // judges the approval dialogs by the arm's policy
	driving armfolder.Lock    // this process's lock on the arm's folder
	door    doorway
	sight   processSight
	errors  turnErrors

	// Each of these locks is held for a whole action. They guard no fields.
	starting   sync.Mutex   // held during a start, an attach or an end, so that only one of these runs
	typing     sync.RWMutex // read-locked while an order types; write-locked during a move to another host
	delivering sync.Mutex   // held while a prompt is sent, so that only one is sent at a time
	// interrupting is held during an interrupt. takeSettled, which ends a run, holds it too. So no run
	// ends before it is known whether the interrupt has typed a key.
	interrupting sync.Mutex
	adding       sync.Mutex // held while a prompt with a client's id is added to the queue
	// writing is held while the record is written to the database or to the arm's folder. So an
	// older record never overwrites a newer one.
	writing sync.Mutex

	mu     sync.Mutex      // guards all fields below
	record store.ArmRecord // its ID never changes, and is also read without mu

	// The session.
	session     coleo.Session      // nil if this host agent has no live session of the arm
	harness     coleo.Harness      // the harness object that started the session or attached to it
	rules       string             // the text that noteRules has recorded last; empty if there is none
	followEnded chan struct{}      // closed when the goroutine that follows the session has ended
	unfollow    context.CancelFunc // ends the goroutines that follow the session and send prompts from the queue
	reading     coleo.Reading
	// settledCursor is the place of the newest state in the session's list of changes, if this state is
	// idle, error or dead. Otherwise it is 0.
	settledCursor coleo.Cursor

	// The runs and the queue.
	run *coleo.Receipt // the newest open run; nil if no run is open; the older open runs are in record
	// interrupted is when the last key of an interrupt was pressed; zero if there was no interrupt
	interrupted time.Time
	late        []work // reported work of the agent CLI whose run has not begun yet
	sending     queueSending
	watched     chan struct{} // closed when the arm may have changed; nil if nobody waits for a change

	// The life of the arm.
	busy    bool   // true while the arm is being started, attached to or ended
	done    bool   // the host agent is ending the arm, because its work is done
	gone    bool   // another host has taken the arm, or the arm was removed
	blocked string // the reason why the arm cannot continue; "" if it can
	silent  bool   // the host agent could not attach to the arm, and tries again
	asleep  bool   // the arm's holder was stopped by a signal when the host agent tried to attach
}

// newArm returns an arm with the given record. The arm has no session yet.
func (h *Host) newArm(record store.ArmRecord) *arm {
	a := &arm{host: h, record: record}
	a.meter, a.choices, a.dialogs = h.newMeter(a), h.newChooser(a), h.newDialogs(a)
	return a
}

func (h *Host) newChooser(a *arm) *choosing.Chooser {
	return &choosing.Chooser{Config: choosing.Config{
		Session: a.liveSession, BeginTyping: a.beginTyping, Interrupt: a.interrupt, Record: a.recordNow,
		Change: a.change, Intend: a.intend, KeepFile: a.fileOrLog,
		Background: func(do func(ctx context.Context)) {
			h.runs.Go(func() {
				a.typing.RLock()
				defer a.typing.RUnlock()
				do(h.ctx)
			})
		},
		Ended: func() <-chan struct{} { return h.ctx.Done() }, Now: h.Now, Log: h.Log}}
}

func (h *Host) newDialogs(a *arm) *judge.Dialogs {
	return &judge.Dialogs{Config: judge.Config{
		Rules: h.Policy, Background: h.runs.Go,
		Judged: func(p coleo.PolicyDecision) {
			if h.Judged != nil {
				h.Judged(p)
			}
		},
		Arm: func(s coleo.Session) judge.Arm {
			r := a.recordNow()
			return judge.Arm{ID: r.ID, Start: r.Generation, Config: r.Spec, Thread: s.Handle().Conversation,
				Environ:      func() ([]string, error) { return process.Environ(s.Handle().Process) },
				Repositories: func() ([]string, error) { return h.repositories(r.Workdir) }}
		},
		Answer: func(ctx context.Context, p coleo.PolicyDecision, d coleo.Decision) error {
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.respondBy(ctx, bus.RespondOrder{Arm: a.record.ID, Dialog: p.Dialog, Decision: d}, p.Rule)
		},
		Record: func(ctx context.Context, p coleo.PolicyDecision) {
			if err := h.append(ctx, armrecord.RunEvent(a.record.ID, a.openRun(), coleo.EventPolicy, p)); err != nil {
				h.Log.Error("record the decision of a policy", "arm", a.name(), "error", err)
			}
		}}}
}

// recordNow returns a copy of the arm's record.
func (a *arm) recordNow() store.ArmRecord {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record
}

// liveSession returns the live session. It returns EExited if the arm has none, and ENotFound if
// another host has taken the arm.
func (a *arm) liveSession() (coleo.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return nil, coleo.Errorf(coleo.ENotFound, "no arm called %q on this host: it has moved to another one",
			a.record.Name)
	}
	if a.session == nil {
		return nil, coleo.Errorf(coleo.EExited, "arm %s has no live session: 'coleo arm recover %s' recovers it",
			a.record.Name, a.record.Name)
	}
	return a.session, nil
}

// folder returns the folder with all files of the arm.
func (a *arm) folder() armfolder.Folder { return armfolder.Of(a.host.Dir, a.record.ID) }

// holdSession stores a session and starts to follow it. The caller also passes the harness that has
// started the session or attached to it.
func (a *arm) holdSession(s coleo.Session, by coleo.Harness) {
	a.mu.Lock()
	a.harness, a.rules = by, ""
	a.session, a.reading, a.settledCursor, a.followEnded = s, s.State(), 0, make(chan struct{})
	a.choices.NewSession(choosing.Unconfirmed(&a.record))
	dead := a.followEnded
	following, unfollow := context.WithCancel(a.host.ctx)
	a.unfollow = unfollow
	nudge := make(chan struct{}, 1)
	a.sending.nudge, a.sending.tried = nudge, 0
	a.sending.changes++
	a.mu.Unlock()
	a.host.runs.Go(func() { a.sendQueue(following, s, nudge) })
	a.host.runs.Go(func() {
		defer close(dead)
		defer unfollow()
		a.follow(a.host.ctx, following, s)
	})
}

// follow writes the changes of a session to the event log. It stops when the session or the context
// `following` ends. The writes use the context `ctx`, so a write that is already running still
// completes.
func (a *arm) follow(ctx, following context.Context, s coleo.Session) {
	for change, err := range s.Changes(following, 0) {
		if err != nil {
			a.host.Log.Error("follow arm", "arm", a.name(), "error", err)
			return
		}
		if err := a.note(ctx, s, change); err != nil && ctx.Err() == nil {
			a.host.Log.Error("record a change", "arm", a.name(), "error", err)
		}
		a.choices.Noted(change.Cursor)
		a.dialogs.Consider(following, s, change)
		a.meter.StopTurn(false)
		if change.Reading.State == coleo.Idle {
			a.choices.RestoreMode(s)
		}
		a.allowRetry()
		if change.Reading.State == coleo.Dead {
			a.onAgentEnd(s)
			return
		}
		if following.Err() != nil {
			return
		}
	}
}

// kinds maps each kind of change to the kind of its event.
var kinds = map[coleo.ChangeKind]coleo.EventKind{
	coleo.ChangeState:        coleo.EventState,
	coleo.ChangeUnrecognised: coleo.EventUnrecognised,
	coleo.ChangeDisagreement: coleo.EventWitness,
	coleo.ChangeLapse:        coleo.EventWitness,
	coleo.ChangeBlind:        coleo.EventWitness,
	coleo.ChangeRedraw:       coleo.EventWitness,
	coleo.ChangePrompt:       coleo.EventPromptLost,
	coleo.ChangeConversation: coleo.EventConversation,
	coleo.ChangeWindow:       coleo.EventWindow,
}

func (a *arm) note(ctx context.Context, s coleo.Session, c coleo.Change) error {
	if c.Reading.Rule == coleo.RuleHolderGone && a.recordNow().Desired == coleo.DesiredStopped {
		// Coleo itself has ordered this end, so the end of the holder is no loss.
		c.Reading.Rule = coleo.RuleProcess
	}
	switch c.Kind {
	case coleo.ChangeTurn:
		return a.openOther(ctx, s, c)
	case coleo.ChangeWork:
		return a.noteWork(ctx, work{c.Record, c.Work})
	case coleo.ChangeMode:
		return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
			a.reading = c.Reading
			return a.choices.ShowMode(r, c)
		})
	default:
	}
	// A loss with a screen is about another prompt: SendPrompt has returned it as an error, and its caller removes that
	// prompt.
	if c.Kind == coleo.ChangePrompt && c.Screen == nil {
		if err := a.forgetUnsettled(ctx, c.Note); err != nil {
			return err
		}
	}
	c.Output = outputOf(s)
	var payload any = c
	if c.Kind == coleo.ChangeConversation {
		payload = coleo.Note{Text: c.Note, Port: s.Handle().Port}
		a.keepHandle(ctx, s)
	}
	e := armrecord.Event(a.record.ID, kinds[c.Kind], payload)
	e.Time = c.Time.UTC()
	a.mu.Lock()
	if a.run != nil {
		e.Run = a.run.ID
	}
	a.reading = c.Reading
	if c.Kind == coleo.ChangeState {
		a.settledCursor = 0
		if st := c.Reading.State; st == coleo.Idle || st == coleo.Failed || st == coleo.Dead {
			a.settledCursor = c.Cursor
		}
	}
	a.mu.Unlock()
	err := a.host.append(ctx, e)
	a.endRun(ctx, s) // even after an error, because no later change may come that would end the run
	return errors.Join(err, a.observe(ctx, s, c))
}

// observe updates the arm's record after a change. The record contains only the newest change; all
// changes are in the event log.
func (a *arm) observe(ctx context.Context, s coleo.Session, c coleo.Change) error {
	a.mu.Lock()
	a.record.Status, a.record.State, a.record.Rule = coleo.StatusOf(c.Reading.State), c.Reading.State, c.Reading.Rule
	a.record.LastActivity, a.record.LastOutput = c.Time.UTC(), outputOf(s)
	seen := store.Observed{
		Status: a.record.Status, State: a.record.State, Rule: a.record.Rule,
		LastActivity: a.record.LastActivity, LastOutput: a.record.LastOutput, LastHeartbeat: a.host.Now().UTC(),
	}
	a.mu.Unlock()
	return a.host.DB.Observe(ctx, a.record.ID, seen)
}

func outputOf(s coleo.Session) time.Time {
	if t, ok := s.(coleo.OutputTimer); ok {
		return t.LastOutput().UTC()
	}
	return time.Time{}
}

// keepHandle stores the session's handle after the handle has changed.
func (a *arm) keepHandle(ctx context.Context, s coleo.Session) {
	handle := s.Handle()
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Handle, r.Spec.Conversation = &handle, handle.Conversation
		return nil
	})
	if err != nil {
		a.host.Log.Error("keep the handle", "arm", a.name(), "error", err)
	}
	a.fileOrLog()
}

// change records something that has happened. It calls fn, which changes the arm's record and
// returns events. One transaction writes the record and the events. On a full disk, change writes
// them later. Changes reach the disk in the order of the calls. change holds mu during the call of
// fn, so fn can read the fields of the arm.
func (a *arm) change(ctx context.Context, fn func(*store.ArmRecord) []coleo.Event) error {
	return a.changeAndCount(ctx, nil, fn)
}

// intend is like change, but for something that the caller is about to do. If the write fails,
// intend restores the record and returns EUnavailable, and the caller must not begin.
func (a *arm) intend(ctx context.Context, fn func(*store.ArmRecord) []coleo.Event) error {
	return a.changeAs(ctx, intended, fn)
}

func (a *arm) changeAs(ctx context.Context, p purpose, fn func(*store.ArmRecord) []coleo.Event) error {
	return a.changeWith(ctx, p, diskWrite{}, fn)
}

// changeWith is like changeAs, but the same transaction also writes the tools and the cost in `w`. fn may
// still set the fields of w.tools, because changeWith reads them after fn has returned.
func (a *arm) changeWith(ctx context.Context, p purpose, w diskWrite,
	fn func(*store.ArmRecord) []coleo.Event) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if p == intended {
		// A write that waits for room on the disk writes the record as it is at that time. It must not write
		// a change that fails afterwards. So carry out the waiting writes before the change.
		if err := a.host.write(ctx, intended, diskWrite{}); err != nil {
			return nothingDone(err)
		}
	}
	if err := a.notGone(); err != nil {
		return err // the record would bring the arm back
	}
	a.mu.Lock()
	was := a.record
	events := fn(&a.record)
	changed := a.record
	a.mu.Unlock()
	w.events, w.put = events, a
	err := a.host.write(ctx, p, w)
	if err == nil || p != intended {
		a.notePast(events)
		a.wakeQueue() // after the change, it may be possible to send a prompt of the queue
		return err
	}
	a.undo(was, changed)
	return nothingDone(err)
}

// undo takes back a change of the arm's record that could not be written. `was` is the record
// before the change, and `changed` is the record after it. If observe has recorded newer activity
// since the change, undo keeps the newer state and activity.
func (a *arm) undo(was, changed store.ArmRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := a.record
	if a.record = was; !seen.LastActivity.Equal(changed.LastActivity) {
		a.record.Status, a.record.State, a.record.Rule = seen.Status, seen.State, seen.Rule
		a.record.LastActivity, a.record.LastOutput = seen.LastActivity, seen.LastOutput
	}
}

// onAgentEnd records the end of a session's agent CLI, and closes the session.
func (a *arm) onAgentEnd(s coleo.Session) {
	ctx := context.WithoutCancel(a.host.ctx)
	a.settleHidden(ctx, s)
	a.mu.Lock()
	reading := a.reading
	a.session = nil
	a.mu.Unlock()
	_ = s.Close()
	if err := a.host.appendAs(ctx, ending, armrecord.Event(a.record.ID, coleo.EventStopped, reading)); err != nil {
		a.host.Log.Error("record the end of a start", "arm", a.name(), "error", err)
	}
	a.keepPastOrLog(ctx)
	a.fileOrLog()
	a.unlockIfUnused()
	a.host.beatOf(a)
}

// letGo closes the session. The agent CLI continues to run.
func (a *arm) letGo() {
	a.mu.Lock()
	s := a.session
	a.session, a.silent = nil, false
	a.mu.Unlock()
	if s != nil {
		_ = s.Close()
	}
	a.unlockIfUnused()
}
