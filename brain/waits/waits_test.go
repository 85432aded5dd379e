package waits

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// fleet is the arm "ada" in a real database. The test itself publishes the arm's updates.
type fleet struct {
	*Waits
	t    *testing.T
	db   *store.ServeDB
	news chan wire.Update
	seq  uint64
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, news: make(chan wire.Update, 10)}
	var err error
	f.db, err = store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	check(t, err)
	t.Cleanup(func() { check(t, f.db.Close()) })
	check(t, f.db.CreateArm(t.Context(), coleo.Arm{ID: "arm-1", Name: "ada", Harness: "h", AgentID: "h",
		Status: coleo.StatusBusy, State: coleo.Processing, Workdir: "/w", Generation: 1}))
	f.Waits = New(Config{DB: f.db, Find: f.db.Arm, Subscribe: f.subscribe, Ended: func() bool { return false },
		Confirms: func(context.Context, coleo.Arm) bool { return true },
		HostWord: func(host string) string { return "host agent " + host }})
	return f
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) subscribe(ctx context.Context) iter.Seq[wire.Update] {
	return func(yield func(wire.Update) bool) {
		for {
			select {
			case u := <-f.news:
				if !yield(u) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// set changes the row of the arm, and publishes it.
func (f *fleet) set(change func(*coleo.Arm)) {
	f.t.Helper()
	row, err := f.db.UpdateArm(f.t.Context(), "arm-1", func(row *coleo.Arm) error { change(row); return nil })
	check(f.t, err)
	f.news <- wire.Update{Arm: &row}
}

// log adds an event of the arm to serve's log, and publishes it.
func (f *fleet) log(kind coleo.EventKind, run string, payload any) {
	f.t.Helper()
	raw, err := json.Marshal(payload)
	check(f.t, err)
	f.seq++
	e := coleo.Event{Host: "h", Epoch: "e", Seq: f.seq, Kind: kind, Arm: "arm-1", Run: run, Payload: raw,
		Time: time.Now().UTC()}
	check(f.t, f.db.Project(f.t.Context(), []coleo.Event{e}))
	f.news <- wire.Update{Event: &e}
}

// soon returns a context that ends soon. A wait with it must end with ETimeout.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/10)
	t.Cleanup(cancel)
	return ctx
}

var idle = []coleo.State{coleo.Idle}

func TestAWaitEndsWithTheStateAndNotBefore(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	if _, err := f.WaitArm(soon(t), "ada", idle); coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("a wait for a state that the arm has not: %v, want %s", err, coleo.ETimeout)
	}
	f.set(func(row *coleo.Arm) { row.State, row.Status = coleo.Idle, coleo.StatusIdle })
	if arm, err := f.WaitArm(t.Context(), "ada", idle); err != nil || arm.State != coleo.Idle {
		t.Errorf("the wait ended with %s, %v", arm.State, err)
	}
}

// The host agent can have a newer state than the row, so the row alone must not end a wait.
func TestARowThatTheHostAgentDoesNotConfirmEndsNoWait(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.set(func(row *coleo.Arm) { row.State, row.Status = coleo.Idle, coleo.StatusIdle })
	f.config.Confirms = func(context.Context, coleo.Arm) bool { return false }
	_, err := f.WaitArm(soon(t), "ada", idle)
	if coleo.ErrorCode(err) != coleo.ETimeout || !strings.Contains(err.Error(), "host agent h has not confirmed it") {
		t.Errorf("the wait ended with %v", err)
	}
	asked := 0
	// as if the host agent's log reported, during the call, that the arm works again
	f.config.Confirms = func(context.Context, coleo.Arm) bool {
		if asked++; asked == 1 {
			f.set(func(row *coleo.Arm) { row.State, row.Status = coleo.Processing, coleo.StatusBusy })
		}
		return true
	}
	if _, err := f.WaitArm(soon(t), "ada", idle); coleo.ErrorCode(err) != coleo.ETimeout || asked == 0 {
		t.Errorf("a row that changes while it is confirmed: %v", err)
	}
}

func TestAWaitForAnArmThatEndsSaysSo(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.set(func(row *coleo.Arm) { row.State, row.Status = coleo.Dead, coleo.StatusStopped })
	if _, err := f.WaitArm(t.Context(), "ada", idle); coleo.ErrorCode(err) != coleo.EExited {
		t.Errorf("a wait for a stopped arm: %v, want %s", err, coleo.EExited)
	}
	f = newFleet(t)
	f.news <- wire.Update{Removed: "arm-1"}
	if _, err := f.WaitArm(t.Context(), "ada", idle); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a wait for a removed arm: %v, want %s", err, coleo.ENotFound)
	}
}

// A wait for waiting_approval must wait for the dialog, which is published a little later than the
// state.
func TestAWaitForAQuestionEndsWithItsDialog(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	states := []coleo.State{coleo.WaitingApproval}
	f.set(func(row *coleo.Arm) { row.State = coleo.WaitingApproval })
	if _, err := f.WaitArm(soon(t), "ada", states); coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("without the dialog: %v, want %s", err, coleo.ETimeout)
	}
	f.set(func(row *coleo.Arm) { row.Dialog = &coleo.Dialog{Title: "Run it?"} })
	if arm, err := f.WaitArm(t.Context(), "ada", states); err != nil || arm.Dialog == nil {
		t.Errorf("with the dialog: %+v, %v", arm.Dialog, err)
	}
}

func TestARunIsWaitedForBeforeAndAfterItsEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.log(coleo.EventRunStart, "run-1", coleo.Receipt{ID: "run-1"})
	if _, err := f.WaitRun(soon(t), "run-1"); coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("a run that goes on: %v, want %s", err, coleo.ETimeout)
	}
	f.log(coleo.EventRunEnd, "run-1", coleo.RunEnd{Status: coleo.Idle, Answer: "42"})
	for range 2 { // first from a published update, then from the log
		if end, err := f.WaitRun(t.Context(), "run-1"); err != nil || end.Answer != "42" {
			t.Errorf("the run has ended with %+v, %v", end, err)
		}
	}
	if _, err := f.WaitRun(t.Context(), "run-2"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a run that nobody began: %v, want %s", err, coleo.ENotFound)
	}
}

// A queued prompt has no run yet, but its run will get the prompt's id. A wait for this id must end
// when the prompt leaves the queue.
func TestAQueuedPromptIsWaitedForUntilItLeavesTheQueue(t *testing.T) {
	t.Parallel()
	for step, want := range map[coleo.QueueStep]coleo.Code{coleo.QueueRemoved: coleo.ENotFound,
		coleo.QueuePaused: coleo.EPromptLost} {
		f := newFleet(t)
		f.log(coleo.EventQueue, "", coleo.QueueChange{Step: coleo.QueueAdded, ID: "p1"})
		if _, err := f.WaitRun(soon(t), "p1"); coleo.ErrorCode(err) != coleo.ETimeout {
			t.Errorf("a prompt in the queue: %v, want %s", err, coleo.ETimeout)
		}
		f.log(coleo.EventQueue, "", coleo.QueueChange{Step: step, ID: "p1"})
		if _, err := f.WaitRun(t.Context(), "p1"); coleo.ErrorCode(err) != want {
			t.Errorf("a prompt that is %s: %v, want %s", step, err, want)
		}
	}
}
