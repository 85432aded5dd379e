package api

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/display"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

const testToken = "a-token-of-the-tests-0123456789"

// scriptedBrain is a fake brain with two arms. Its methods call the functions and return the values
// that a test has set. A method that is not written here panics, because the embedded Brain is nil.
type scriptedBrain struct {
	Brain
	fail      error // the error that every call returns, if it is not nil
	prompt    func(ctx context.Context, p coleo.Prompt, lease string) (coleo.Receipt, error)
	interrupt func(ctx context.Context) error
	respond   func(dialog coleo.Fingerprint, d coleo.Decision) error
	spawn     func(r wire.SpawnRequest) (wire.SpawnReply, error)
	output    func(ctx context.Context, from int64) (coleo.Output, error)
	waited    func(d time.Duration) // called by Output with the time that Output may wait
	input     func(lease string, data []byte) error
	resize    func(cols, rows int) error
	lease     func(r wire.LeaseRequest) (coleo.Lease, error)
	wait      func(ctx context.Context, states []coleo.State) (coleo.Arm, error)
	events    func(f wire.EventFilter) ([]coleo.Event, string, error)
	subscribe func(ctx context.Context) iter.Seq[wire.Update]
	follow    func(ctx context.Context, f wire.EventFilter, beat time.Duration) (iter.Seq[wire.Update], error)
	runs      func(f wire.RunFilter) ([]coleo.Run, string, error)
	displays  chan display.Snapshot  // the snapshots that Displays yields
	after     atomic.Pointer[string] // the cursor that the last call of Subscribe received
	full      error                  // the error of BeginAudit, if it is not nil
	mu        sync.Mutex
	list      []coleo.Audit // in the order in which they were recorded
}

func (b *scriptedBrain) Display(ctx context.Context, arm string) (display.Snapshot, error) {
	a, err := b.Arm(ctx, arm)
	return display.Snapshot{Arm: a.ID, Text: "shown"}, err
}

func (b *scriptedBrain) Displays(ctx context.Context) iter.Seq[display.Snapshot] {
	return func(yield func(display.Snapshot) bool) {
		for {
			select {
			case s := <-b.displays:
				if !yield(s) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (b *scriptedBrain) Graph(_ context.Context, run string) (graph.Document, error) {
	return graph.Document{Nodes: []graph.Node{{ID: run}}, Edges: []graph.Edge{}}, b.fail
}

func (b *scriptedBrain) Why(_ context.Context, q wire.WhyQuestion) (graph.Answer, error) {
	return graph.Answer{Path: strings.Join(q.Paths, " "), Line: q.Line, Text: q.Text, Certainty: graph.Wrote}, b.fail
}

func (b *scriptedBrain) BeginAudit(_ context.Context, one coleo.Audit) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full != nil {
		return 0, b.full
	}
	one.ID, one.Result = int64(len(b.list)+1), coleo.AuditOpen
	b.list = append(b.list, one)
	return one.ID, nil
}

func (b *scriptedBrain) EndAudit(_ context.Context, id int64, result coleo.AuditResult, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list[id-1].Result, b.list[id-1].Error = result, why
	return nil
}

func (b *scriptedBrain) Audits(context.Context, coleo.AuditFilter) ([]coleo.Audit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.list)
	slices.Reverse(out)
	return out, nil
}

func testArms() []coleo.Arm {
	idle := coleo.Arm{ID: "a1", Name: "octavia", Harness: "h", State: coleo.Idle, Status: coleo.StatusIdle}
	asks := coleo.Arm{ID: "a2", Name: "nautilus", Harness: "h", State: coleo.WaitingApproval, Status: coleo.StatusBusy}
	idle.Labels, asks.Labels = coleo.Labels{"team": "a"}, coleo.Labels{"team": "b"}
	return []coleo.Arm{idle, asks}
}

func (b *scriptedBrain) Arms(context.Context, bool) ([]coleo.Arm, error) { return testArms(), b.fail }

func (b *scriptedBrain) Arm(_ context.Context, arm string) (coleo.Arm, error) {
	for _, a := range testArms() {
		if a.ID == arm || a.Name == arm {
			return a, b.fail
		}
	}
	return coleo.Arm{}, coleo.Errorf(coleo.ENotFound, "no arm called %q", arm)
}

func (b *scriptedBrain) Spawn(_ context.Context, r wire.SpawnRequest) (wire.SpawnReply, error) {
	return b.spawn(r)
}

func (b *scriptedBrain) Memo(_ context.Context, arm string) (wire.Memo, error) {
	return wire.Memo{Value: json.RawMessage(`"of ` + arm + `"`)}, b.fail
}

func (b *scriptedBrain) SetMemo(_ context.Context, _ string, value json.RawMessage) (wire.Memo, error) {
	return wire.Memo{Value: value}, b.fail
}

func (b *scriptedBrain) PatchMemo(_ context.Context, _ string, patch json.RawMessage) (wire.Memo, error) {
	return wire.Memo{Schema: patch}, b.fail
}

func (b *scriptedBrain) Recover(ctx context.Context, arm string, r wire.RecoverRequest) (wire.SpawnReply, error) {
	a, err := b.Arm(ctx, arm)
	return wire.SpawnReply{Recovered: true, RecoveryMode: coleo.RecoveryReattached, Arm: a, Model: r.Model}, err
}

func (b *scriptedBrain) Kill(ctx context.Context, arm string) (coleo.Arm, error) {
	return b.Arm(ctx, arm)
}

func (b *scriptedBrain) Rename(ctx context.Context, arm, name string) (coleo.Arm, error) {
	a, err := b.Arm(ctx, arm)
	a.Name = name
	return a, err
}

func (b *scriptedBrain) Label(ctx context.Context, arm string, change coleo.LabelChange) (coleo.Arm, error) {
	a, err := b.Arm(ctx, arm)
	a.Labels = change.Set
	return a, err
}

func (b *scriptedBrain) Remove(ctx context.Context, arm string, force bool) (wire.Removed, error) {
	_, err := b.Arm(ctx, arm)
	return wire.Removed{Dropped: 3, Kept: fmt.Sprint(force)}, err
}

func (b *scriptedBrain) Queue(_ context.Context, arm string, o coleo.QueueOrder) (coleo.QueueReport, error) {
	return coleo.QueueReport{ID: o.ID, Queue: coleo.Queue{Paused: o.Why, Entries: []coleo.Queued{
		{ID: arm, Text: fmt.Sprint(o.Step, " ", o.Text, " to ", o.To), Files: o.Files, By: o.By}}}}, b.fail
}

func (b *scriptedBrain) Steer(_ context.Context, _ string, p coleo.Prompt) (coleo.Steering, error) {
	return coleo.Steering{How: coleo.SteerInterrupted, Interruption: &coleo.Interruption{Pressed: []string{"ESCAPE"}},
		Receipt: coleo.Receipt{Text: p.Text + fmt.Sprint(p.Interrupt, p.Files)}}, b.fail
}

func (b *scriptedBrain) Abort(context.Context, string) (coleo.Aborted, error) {
	return coleo.Aborted{Interruption: coleo.Interruption{Pressed: []string{"ESCAPE"}, State: coleo.Idle},
		Queue: &coleo.QueueState{Length: 2, Paused: "aborted"}}, b.fail
}

func (b *scriptedBrain) Interrupt(ctx context.Context, arm string) (coleo.Interruption, error) {
	out := coleo.Interruption{Was: coleo.Processing, Pressed: []string{"ESCAPE"}, State: coleo.Idle, Rule: "composer"}
	if b.interrupt != nil {
		return out, b.interrupt(ctx)
	}
	_, err := b.Arm(ctx, arm)
	return out, err
}

func (b *scriptedBrain) Prompt(ctx context.Context, _ string, p coleo.Prompt, lease string) (coleo.Receipt, error) {
	return b.prompt(ctx, p, lease)
}

func (b *scriptedBrain) Modes(ctx context.Context, arm string) (wire.Modes, error) {
	a, err := b.Arm(ctx, arm)
	return wire.Modes{Mode: "plan", List: []coleo.Mode{{ID: a.Name}}}, err
}

func (b *scriptedBrain) SwitchMode(ctx context.Context, arm string, o coleo.ModeOrder) (coleo.ModeSwitch, error) {
	_, err := b.Arm(ctx, arm)
	return coleo.ModeSwitch{From: fmt.Sprint(o.Allow, o.Interrupt), To: o.Mode}, err
}

func (b *scriptedBrain) SwitchModel(ctx context.Context, arm string, o coleo.ModelOrder) (coleo.ModelSwitch, error) {
	_, err := b.Arm(ctx, arm)
	return coleo.ModelSwitch{From: string(o.Scope), To: o.Model, Restarted: o.Restart}, err
}

func (b *scriptedBrain) Compact(ctx context.Context, arm string) (coleo.Receipt, error) {
	_, err := b.Arm(ctx, arm)
	return coleo.Receipt{ID: "r1", Text: coleo.CompactText, Compact: true}, err
}

func (b *scriptedBrain) Respond(_ context.Context, _ string, dialog coleo.Fingerprint, d coleo.Decision,
	_ string) error {
	return b.respond(dialog, d)
}

func (b *scriptedBrain) Suspensions(_ context.Context, arm string) ([]coleo.Suspension, error) {
	return []coleo.Suspension{{ID: "q-1", Arm: arm, Kind: coleo.SuspensionPlan, Text: "work"}}, b.fail
}

func (b *scriptedBrain) AnswerSuspension(_ context.Context, arm, id string, d coleo.Decision,
	by string) (coleo.Suspension, error) {
	return coleo.Suspension{ID: id, Arm: arm, Decision: &d, By: by}, b.fail
}

func (b *scriptedBrain) Tasks(context.Context, string) ([]coleo.Task, error) { return nil, b.fail }

func (b *scriptedBrain) Usage(context.Context, string) (coleo.Usage, error) {
	return coleo.Usage{Input: 40, Output: 2, Source: "transcript"}, nil
}

func (b *scriptedBrain) Explain(context.Context, string) (coleo.Explanation, error) {
	return coleo.Explanation{Reading: coleo.Reading{State: coleo.Idle, Rule: "composer"}}, b.fail
}

func (b *scriptedBrain) Record(_ context.Context, _ string, _ int, from int64) (coleo.Recording, error) {
	return coleo.Recording{Offset: from, Next: from + 2, Until: from + 2,
		Events: []coleo.RecordedEvent{{Data: []byte("hi")}}}, b.fail
}

func (b *scriptedBrain) Screen(_ context.Context, _ string, at time.Time, history int) (coleo.Screen, error) {
	if history > 0 {
		return coleo.Screen{Cols: 80, Rows: 24, History: []string{fmt.Sprint("line ", history)},
			Lines: []string{"hello", ""}}, b.fail
	}
	if !at.IsZero() {
		return coleo.Screen{Cols: 80, Rows: 24, Lines: []string{at.Format(time.RFC3339)}}, b.fail
	}
	return coleo.Screen{Cols: 80, Rows: 24, Lines: []string{"hello"}}, b.fail
}

func (b *scriptedBrain) Output(ctx context.Context, _ string, from int64, wait time.Duration) (coleo.Output, error) {
	if b.waited != nil {
		b.waited(wait)
	}
	return b.output(ctx, from)
}

func (b *scriptedBrain) Input(_ context.Context, _ string, lease string, data []byte) error {
	return b.input(lease, data)
}

func (b *scriptedBrain) Resize(_ context.Context, _, _ string, cols, rows int) error {
	return b.resize(cols, rows)
}

func (b *scriptedBrain) Lease(_ context.Context, _ string, r wire.LeaseRequest) (coleo.Lease, error) {
	return b.lease(r)
}

func (b *scriptedBrain) WaitArm(ctx context.Context, _ string, states []coleo.State) (coleo.Arm, error) {
	return b.wait(ctx, states)
}

func (b *scriptedBrain) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	if run == "never-whole" {
		<-ctx.Done()
		return coleo.RunEnd{}, ctx.Err()
	}
	return coleo.RunEnd{Status: coleo.Idle, Answer: "4"}, b.fail
}

func (b *scriptedBrain) Events(_ context.Context, f wire.EventFilter) ([]coleo.Event, string, error) {
	return b.events(f)
}

func (b *scriptedBrain) Runs(_ context.Context, f wire.RunFilter) ([]coleo.Run, string, error) {
	return b.runs(f)
}

func (b *scriptedBrain) FindRun(_ context.Context, id string) (coleo.Run, error) {
	return coleo.Run{ID: id + "-whole"}, b.fail
}

func (b *scriptedBrain) WholeFilter(_ context.Context, f wire.EventFilter) (wire.EventFilter, error) {
	if f.Arm == "nobody" {
		return f, coleo.Errorf(coleo.ENotFound, "no arm called %q", f.Arm)
	}
	return f, nil
}

func (b *scriptedBrain) Follow(ctx context.Context, f wire.EventFilter, beat time.Duration) (iter.Seq[wire.Update],
	error) {
	return b.follow(ctx, f, beat)
}

func (b *scriptedBrain) Subscribe(ctx context.Context, after string) (iter.Seq[wire.Update], error) {
	if after == "bad" {
		return nil, coleo.Errorf(coleo.EInvalid, "no cursor")
	}
	b.after.Store(&after)
	return b.subscribe(ctx), nil
}

func (b *scriptedBrain) Hosts(context.Context) ([]coleo.HostInfo, error) {
	return []coleo.HostInfo{{Host: coleo.Host{ID: "h1"}, Live: true}, {Host: coleo.Host{ID: "h2"}}}, b.fail
}

func (b *scriptedBrain) Models(context.Context) (wire.Models, error) {
	return wire.Models{Models: []wire.Model{{Model: "m9"}}, Logins: []coleo.Login{{Harness: "h9"}}}, nil
}

func (b *scriptedBrain) Providers(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"providers":[{"id":"p"}],"connected":["p"]}`), b.fail
}

func (b *scriptedBrain) Harnesses(context.Context) ([]coleo.Info, error) {
	return []coleo.Info{{Name: "h", Capabilities: coleo.Capabilities{Approval: true}}}, b.fail
}
