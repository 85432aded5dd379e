package choosing

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

var modes = []coleo.Mode{
	{ID: "ask", Switchable: true, Permission: coleo.PermissionAsk},
	{ID: "plan", Switchable: true, Permission: coleo.PermissionPlan, DefaultModel: "p/thinker"},
	{ID: "bold", Switchable: true, Permission: coleo.PermissionAll, Confirm: true},
	{ID: "review", Instructions: "Only review."},
}

// fakeSession is a session whose agent CLI changes its mode and its model at once.
type fakeSession struct {
	coleo.Session // nil, because the tests call no other method

	mu      sync.Mutex
	mode    string
	changes []coleo.Change
	between string // a mode that the screen shows during a switch to another mode; "" if none
	refuse  error  // the error that the next order for a mode or a model returns
	model   string // the model that was set last
	follow  func(coleo.Change)
	typed   []string
}

func (f *fakeSession) Handle() coleo.Handle { return coleo.Handle{Conversation: "c1"} }
func (f *fakeSession) Modes() []coleo.Mode  { return modes }
func (f *fakeSession) State() coleo.Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	return coleo.Reading{State: coleo.Idle, Mode: f.mode}
}

func (f *fakeSession) Changes(context.Context, coleo.Cursor) iter.Seq2[coleo.Change, error] {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.changes)
	return func(yield func(coleo.Change, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// show makes the screen show modes, one after another. The log follows in the background.
func (f *fakeSession) show(list ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var changes []coleo.Change
	for _, mode := range list {
		f.mode = mode
		c := coleo.Change{Cursor: coleo.Cursor(len(f.changes) + 1), Kind: coleo.ChangeMode, Time: time.Now(),
			Reading: coleo.Reading{State: coleo.Idle, Mode: mode}}
		f.changes, changes = append(f.changes, c), append(changes, c)
	}
	go func() {
		for _, c := range changes {
			f.follow(c)
		}
	}()
}

func (f *fakeSession) SwitchMode(_ context.Context, id string) (coleo.ModeSwitch, error) {
	f.typed = append(f.typed, id)
	from := f.State().Mode
	switch {
	case f.refuse != nil:
		return coleo.ModeSwitch{}, f.refuse
	case from != id && f.between != "":
		f.show(f.between, id)
	case from != id:
		f.show(id)
	}
	return coleo.ModeSwitch{From: from, To: id}, nil
}

func (f *fakeSession) SetModel(_ context.Context, model string) error {
	if f.refuse == nil {
		f.model = model
	}
	return f.refuse
}

// bench is the Chooser of one arm, with the arm's record in a real database.
type bench struct {
	*testing.T
	*Chooser
	db      *store.HostDB
	session *fakeSession
	writing sync.Mutex
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db, err := store.OpenHost(filepath.Join(t.TempDir(), "host.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b := &bench{T: t, db: db, session: &fakeSession{mode: "ask"}}
	err = db.PutArm(t.Context(), store.ArmRecord{ID: "a1", Name: "ada", Harness: "h", Desired: coleo.DesiredRunning,
		Status: coleo.StatusIdle, State: coleo.Idle, Workdir: "/w", Provider: "p", Model: "m", CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	b.Chooser = &Chooser{Config: Config{
		Session: func() (coleo.Session, error) { return b.session, nil }, Record: b.record, Change: b.write,
		BeginTyping: func(string) (func(), error) { return func() {}, nil }, Intend: b.write, KeepFile: func() {},
		Interrupt:  func(context.Context) (coleo.Interruption, error) { return coleo.Interruption{}, nil },
		Background: func(do func(context.Context)) { do(t.Context()) },
		Ended:      t.Context().Done, Now: time.Now, Log: slog.New(slog.DiscardHandler)}}
	b.session.follow = b.follow
	return b
}

func (b *bench) record() store.ArmRecord {
	r, err := b.db.Arm(context.Background(), "a1")
	if err != nil {
		b.Error(err)
	}
	return r
}

func (b *bench) write(ctx context.Context, fn func(*store.ArmRecord) []coleo.Event) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	r := b.record()
	events := fn(&r)
	return b.db.PutArm(ctx, r, events...)
}

// follow writes a change of the session to the log, as the host agent does.
func (b *bench) follow(c coleo.Change) {
	err := b.write(context.Background(), func(r *store.ArmRecord) []coleo.Event { return b.ShowMode(r, c) })
	if err != nil {
		b.Error(err)
	}
	b.Noted(c.Cursor)
}

// showed makes the screen show a mode that nobody has ordered, and waits until the log has the
// change.
func (b *bench) showed(mode string) {
	b.session.show(mode)
	b.awaitNoted(b.session)
}

// logged returns the changes of modes and models in the log, in order.
func (b *bench) logged() (list []string) {
	b.Helper()
	events, err := b.db.Events(b.Context(), 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range events {
		switch w, _ := coleo.DecodeWork(e); w := w.(type) {
		case coleo.ModeChanged:
			list = append(list, "mode "+w.To)
		case coleo.ModelChanged:
			list = append(list, "model "+w.To)
		}
	}
	return list
}

func (b *bench) switchMode(o coleo.ModeOrder) (bus.ModeReport, error) {
	return b.SwitchMode(b.Context(), bus.ModeOrder{Arm: "a1", ModeOrder: o})
}

func (b *bench) switchModel(model string, scope coleo.ModelScope) (bus.ModelReport, error) {
	return b.SwitchModel(b.Context(), bus.ModelOrder{Arm: "a1", ModelOrder: coleo.ModelOrder{Model: model, Scope: scope}})
}

func TestAModeHasItsModelAndTheModeBeforeKeepsIts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, err := b.switchMode(coleo.ModeOrder{Mode: "plan"})
	if err != nil || r.From != "ask" || r.To != "plan" || r.Model != "p/thinker" || r.Chosen.Mode != "plan" {
		t.Fatalf("to plan: %+v, %v", r, err)
	}
	if r, err = b.switchMode(coleo.ModeOrder{Mode: "ask"}); err != nil || r.Model != "p/m" {
		t.Errorf("back to ask: %+v, %v; want the model that the mode had", r, err)
	}
	want := []string{"mode plan", "model p/thinker", "mode ask", "model p/m"}
	if got := b.logged(); !slices.Equal(got, want) {
		t.Errorf("the log says %q, want %q", got, want)
	}
	if kept := map[string]string{"plan": "p/thinker", "ask": "p/m"}; !reflect.DeepEqual(b.Chosen().Modes, kept) {
		t.Errorf("the modes have the models %v, want %v", b.Chosen().Modes, kept)
	}
}

func TestAnOrderThatFailsIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	b.session.refuse = coleo.Errorf(coleo.ETimeout, "the screen does not show it")
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "ask"}); coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("the order = %v, want the session's error", err)
	}
	if mode := ModeOf(b.Chosen()); mode != "plan" {
		t.Errorf("after an order that failed, the ordered mode is %q, want the one before", mode)
	}
	for name, c := range map[string]struct {
		order coleo.ModeOrder
		code  coleo.Code
	}{
		"a mode that does not exist": {coleo.ModeOrder{Mode: "nope"}, coleo.ENotFound},
		"a mode that must be agreed": {coleo.ModeOrder{Mode: "bold"}, coleo.EInvalid},
	} {
		typed := len(b.session.typed)
		if _, err := b.switchMode(c.order); coleo.ErrorCode(err) != c.code || len(b.session.typed) != typed {
			t.Errorf("%s: %v, and the session got %v", name, err, b.session.typed)
		}
	}
}

func TestAModeWithoutAKeyComesWithTheNextPrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, err := b.switchMode(coleo.ModeOrder{Mode: "review"})
	if err != nil || !r.Instructions || len(b.session.typed) != 0 {
		t.Errorf("to review: %+v, %v; typed %v", r, err, b.session.typed)
	}
	if text := b.WithInstructions("look"); text != "Only review.\n\nlook" {
		t.Errorf("the next prompt is %q", text)
	}
	b.ForgetInstructions(t.Context(), b.WithInstructions("look"))
	if text := b.WithInstructions("look"); text != "look" {
		t.Errorf("the prompt after that is %q", text)
	}
}

func TestANewSessionIsBroughtIntoTheOrderedModeOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	b.session = &fakeSession{mode: "ask", follow: b.follow}
	b.NewSession(true)
	b.showed("ask")
	if mode := ModeOf(b.Chosen()); mode != "plan" {
		t.Fatalf("the first picture of a new session has dropped the order: %q", mode)
	}
	b.RestoreMode(b.session)
	b.RestoreMode(b.session)
	if !slices.Equal(b.session.typed, []string{"plan"}) {
		t.Errorf("the new session was switched to %v, want plan once", b.session.typed)
	}
	b.showed("ask")
	if mode := ModeOf(b.Chosen()); mode != "" {
		t.Errorf("a person has changed the mode, and the order is still %q", mode)
	}
	r := b.record()
	if Unconfirmed(&r) {
		t.Error("the next session is brought back into a mode that a person has left")
	}
}

func TestAModeOnTheWayToTheOrderedOneTakesNothingBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.session.between = "bold"
	r, err := b.switchMode(coleo.ModeOrder{Mode: "plan"})
	if err != nil || r.Chosen.Mode != "plan" {
		t.Errorf("to plan by way of bold: %+v, %v; want the order to stay", r.Chosen, err)
	}
	if got := b.logged(); !slices.Equal(got, []string{"mode bold", "mode plan", "model p/thinker"}) {
		t.Errorf("the log says %q", got)
	}
}

func TestASessionThatIsInTheOrderedModeIsAskedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	b.session = &fakeSession{mode: "plan", follow: b.follow}
	b.NewSession(true)
	b.RestoreMode(b.session)
	b.RestoreMode(b.session)
	if !slices.Equal(b.session.typed, []string{"plan"}) {
		t.Errorf("the session was switched to %v, want plan once", b.session.typed)
	}
}

func TestAModeThatTheHarnessHasNoLongerIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	b.session = &fakeSession{mode: "ask", follow: b.follow, refuse: coleo.Errorf(coleo.ENotFound, "no such mode")}
	b.NewSession(true)
	if err := b.SettleMode(t.Context(), b.session); err != nil || ModeOf(b.Chosen()) != "" {
		t.Errorf("SettleMode = %v, and the ordered mode is %q", err, ModeOf(b.Chosen()))
	}
}

func TestAModelAppliesAsFarAsItWasOrdered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope    coleo.ModelScope
		had      coleo.Chosen
		refuse   error
		want     coleo.Chosen
		set      string // the model that the session was switched to
		pending  bool
		recorded string
	}{
		"the arm": {scope: coleo.ScopeArm, had: coleo.Chosen{Threads: map[string]string{"c1": "old", "c2": "kept"}},
			want: coleo.Chosen{Model: "p/new", Threads: map[string]string{"c2": "kept"}}, set: "p/new", recorded: "p/new"},
		"the arm in a mode with a model": {scope: coleo.ScopeArm, had: coleo.Chosen{Modes: map[string]string{"ask": "old"}},
			want: coleo.Chosen{Model: "p/new", Modes: map[string]string{"ask": "p/new"}}, set: "p/new", recorded: "p/new"},
		"the conversation": {scope: coleo.ScopeThread, had: coleo.Chosen{Model: "kept"},
			want: coleo.Chosen{Model: "kept", Threads: map[string]string{"c1": "p/new"}}, set: "p/new", recorded: "p/new"},
		"the next start": {scope: coleo.ScopeDefault,
			had:  coleo.Chosen{Mode: "ask", Modes: map[string]string{"ask": "old", "plan": "kept"}},
			want: coleo.Chosen{Mode: "ask", Model: "p/new", Modes: map[string]string{"plan": "kept"}}, pending: true,
			recorded: "p/m"},
		"an agent CLI that takes a model at its start": {scope: coleo.ScopeArm,
			refuse: coleo.Errorf(coleo.EUnsupported, "at the start"), want: coleo.Chosen{Model: "p/new"}, pending: true,
			recorded: "p/m"},
	} {
		b := newBench(t)
		b.session.refuse = c.refuse
		if err := b.choose(t.Context(), func(now *coleo.Chosen) { *now = c.had }); err != nil {
			t.Fatal(err)
		}
		r, err := b.switchModel("p/new", c.scope)
		got := *b.Chosen()
		got.Number = 0
		if err != nil || r.From != "p/m" || r.Pending != c.pending || !sameChoice(got, c.want) {
			t.Errorf("%s: %+v, %v; the arm has %+v, want %+v", name, r.ModelSwitch, err, got, c.want)
		}
		if b.session.model != c.set || ModelOf(b.record()) != c.recorded {
			t.Errorf("%s: the session got %q, and the record has %q", name, b.session.model, ModelOf(b.record()))
		}
	}
}

// sameChoice reports whether two choices are the same. An empty map is the same as no map.
func sameChoice(a, b coleo.Chosen) bool {
	for _, c := range []*coleo.Chosen{&a, &b} {
		for _, m := range []*map[string]string{&c.Modes, &c.Threads} {
			if len(*m) == 0 {
				*m = nil
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

// fakeHarness is a harness with modes.
type fakeHarness struct{ coleo.Harness }

func (fakeHarness) Modes() []coleo.Mode { return modes }

func TestAStartBeginsInTheChosenModeIfAPermissionModeDoesThat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		mode string
		has  coleo.PermissionMode
		want coleo.PermissionMode
	}{
		"no mode":                    {"", coleo.PermissionEdit, coleo.PermissionEdit},
		"plan":                       {"plan", coleo.PermissionAsk, coleo.PermissionPlan},
		"a mode that must be agreed": {"bold", coleo.PermissionAsk, coleo.PermissionAsk},
		"the permission mode all":    {"plan", coleo.PermissionAll, coleo.PermissionAll},
		"a mode that is gone":        {"nope", coleo.PermissionAsk, coleo.PermissionAsk},
	} {
		config := coleo.SpawnConfig{Provider: "p", Model: "m", PermissionMode: c.has,
			Chosen: &coleo.Chosen{Mode: c.mode, Model: "p/chosen"}}
		got := b.AsChosen(fakeHarness{}, config)
		if got.PermissionMode != c.want || got.Model != "chosen" {
			t.Errorf("%s: starts with %q and the model %q, want %q", name, got.PermissionMode, got.Model, c.want)
		}
	}
}
