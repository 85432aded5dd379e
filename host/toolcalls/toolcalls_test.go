package toolcalls

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/door"
	"coleo.dev/store"
)

// fakeArms is a list of arms that do not run. A test changes the list.
type fakeArms struct {
	mu        sync.Mutex
	relatives []Relative
	arrived   chan struct{}
	looks     chan struct{} // receives a value when a call waits for an arrival; never full in a test
	delivered []coleo.Queued
	db        *store.HostDB
}

func (f *fakeArms) Relatives(string) []Relative {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Relative(nil), f.relatives...)
}

func (f *fakeArms) Arrived() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks <- struct{}{}
	return f.arrived
}

// arrives replaces the list of arms, and wakes the calls that wait for an arrival.
func (f *fakeArms) arrives(list ...Relative) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.relatives = list
	close(f.arrived)
	f.arrived = make(chan struct{})
}

func (f *fakeArms) Living() int { return 0 }

func (f *fakeArms) Await(_ context.Context, id string) (string, error) { return "answer of " + id, nil }

func (f *fakeArms) Deliver(ctx context.Context, _ string, e coleo.Queued, c store.ToolChange,
	events ...coleo.Event) error {
	f.delivered = append(f.delivered, e)
	return f.db.ChangeTools(ctx, c, events...)
}

// bench is a Dispatcher with a real database, and with the arms ada and bob.
type bench struct {
	*testing.T
	*Dispatcher
	arms  *fakeArms
	calls int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db, err := store.OpenHost(filepath.Join(t.TempDir(), "host.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b := &bench{T: t, arms: &fakeArms{arrived: make(chan struct{}), looks: make(chan struct{}, 100),
		db: db}}
	b.restart(db)
	return b
}

// restart gives the database to a new dispatcher, as the next host agent does.
func (b *bench) restart(db *store.HostDB) {
	b.Dispatcher = &Dispatcher{DB: db, Write: db.ChangeTools, Arms: b.arms, Now: time.Now, MoveWait: time.Minute,
		Arm: func(id string) (Facts, error) {
			return Facts{Name: strings.TrimPrefix(id, "arm-"), Workdir: "/w", Run: "r1", Prompt: "do it",
				Tools: coleo.ArmTools()}, nil
		}}
}

// call calls a tool for an arm. Each call has another key.
func (b *bench) call(arm, tool, arguments string) (string, error) {
	b.calls++
	return b.Call(b.Context(), arm, door.Request{Key: fmt.Sprint("key ", b.calls), Tool: tool,
		Arguments: json.RawMessage(arguments)}, func(id string) { b.Errorf("%s waits on %s", tool, id) })
}

// reply is the result of a call that waits.
type reply struct {
	text string
	err  error
}

// ask begins a call that waits. It returns what the call waits for, and a channel for the reply.
func (b *bench) ask(ctx context.Context, arm, key, tool, arguments string) (on string, later <-chan reply) {
	b.Helper()
	waits, out := make(chan string, 1), make(chan reply, 1)
	dispatcher := b.Dispatcher
	go func() {
		text, err := dispatcher.Call(ctx, arm, door.Request{Key: key, Tool: tool, Arguments: json.RawMessage(arguments)},
			func(id string) { waits <- id })
		out <- reply{text, err}
	}()
	select {
	case on = <-waits:
	case r := <-out:
		b.Fatalf("%s did not wait: %q, %v", tool, r.text, r.err)
	}
	return on, out
}

func (b *bench) kinds() (list []coleo.EventKind) {
	b.Helper()
	events, err := b.DB.Events(b.Context(), 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range events {
		list = append(list, e.Kind)
	}
	return list
}

func TestATaskIsWrittenChangedAndCompleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ tool, arguments, want string }{
		{coleo.ToolTaskWrite, `{"tasks":[{"text":" read "},{"text":"write","status":"in_progress"}]}`,
			"t1 [pending] read\nt2 [in_progress] write"},
		{coleo.ToolTaskUpdate, `{"id":"t1","text":"read it all"}`, "t1 [pending] read it all"},
		{coleo.ToolTaskComplete, `{"id":"t2"}`, "t2 [completed] write"},
		{coleo.ToolTaskCheck, `{}`, "1 tasks are not completed:\nt1 [pending] read it all"},
		{coleo.ToolTaskWrite, `{"tasks":[{"text":"again"}]}`, "t3 [pending] again"},
		{coleo.ToolTaskComplete, `{"id":"t3"}`, "t3 [completed] again"},
		{coleo.ToolTaskCheck, `{}`, "All tasks are completed."},
	} {
		if text, err := b.call("arm-ada", c.tool, c.arguments); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %q, %v; want %q", c.tool, c.arguments, text, err, c.want)
		}
	}
	for arguments, code := range map[string]coleo.Code{`{"id":"t1"}`: coleo.ENotFound, `[]`: coleo.EInvalid,
		`{"id":"t3","status":"done"}`: coleo.EInvalid} {
		if _, err := b.call("arm-ada", coleo.ToolTaskUpdate, arguments); coleo.ErrorCode(err) != code {
			t.Errorf("task_update %s: %v, want %s", arguments, err, code)
		}
	}
	if list, err := b.Tasks(t.Context(), "arm-bob"); len(list) != 0 || err != nil {
		t.Errorf("another arm has the tasks %v, %v", list, err)
	}
	if n := len(b.kinds()); n != 5 {
		t.Errorf("the log has %d events, want one for each change", n)
	}
}

func TestACallThatComesAgainChangesNothingAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	q := door.Request{Key: "k1", Tool: coleo.ToolTaskWrite, Arguments: json.RawMessage(`{"tasks":[{"text":"once"}]}`)}
	first, err := b.Call(t.Context(), "arm-ada", q, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.restart(b.DB)
	if again, err := b.Call(t.Context(), "arm-ada", q, nil); err != nil || again != first || len(b.kinds()) != 1 {
		t.Errorf("the same call again = %q, %v, with %d events; want %q once", again, err, len(b.kinds()), first)
	}
}

func TestACallThatComesAgainAsksNobodyAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const question = `{"question":"Which?","options":["red","blue"]}`
	first, cancel := context.WithCancel(t.Context())
	id, cut := b.ask(first, "arm-ada", "k1", coleo.ToolAskUser, question)
	cancel()
	if r := <-cut; r.err == nil {
		t.Errorf("a call that was cut off = %q", r.text)
	}
	b.restart(b.DB)
	again, sameKey := b.ask(t.Context(), "arm-ada", "k1", coleo.ToolAskUser, question)
	other, sameWords := b.ask(t.Context(), "arm-ada", "k2", coleo.ToolAskUser, question)
	if again != id || other != id {
		t.Errorf("the calls wait on %s, %s and %s, want one question", id, again, other)
	}
	if _, err := b.Answer(t.Context(), "arm-bob", id, "eve", coleo.Decision{Choice: coleo.ChoiceAnswer,
		Option: 2}); err == nil {
		t.Error("the question was answered for another arm")
	}
	if _, err := b.Answer(t.Context(), "arm-ada", id, "eve", coleo.Decision{Choice: coleo.ChoiceAnswer,
		Option: 2}); err != nil {
		t.Fatal(err)
	}
	for _, later := range []<-chan reply{sameKey, sameWords} {
		if r := <-later; r.err != nil || r.text != "The user chooses: blue." {
			t.Errorf("the model got %q, %v", r.text, r.err)
		}
	}
	_, err := b.Answer(t.Context(), "arm-ada", id, "eve", coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 1})
	if coleo.ErrorCode(err) != coleo.EStale {
		t.Errorf("a second answer: %v, want %s", err, coleo.EStale)
	}
	if n := len(b.kinds()); n != 2 {
		t.Errorf("the log has %d events, want the question and its answer", n)
	}
}

func TestTheEndOfAnArmWithdrawsWhatItHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.call("arm-ada", coleo.ToolClaimFile, `{"file_path":"a.go","claim_type":"write"}`); err != nil {
		t.Fatal(err)
	}
	_, err := b.call("arm-bob", coleo.ToolClaimFile, `{"file_path":"/w/a.go","claim_type":"write"}`)
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "arm ada has claimed it (write)") {
		t.Errorf("a claim on a file of another arm: %v", err)
	}
	_, later := b.ask(t.Context(), "arm-ada", "k1", coleo.ToolSubmitPlan, `{"plan":"all of it"}`)
	if err := b.Ended(t.Context(), "arm-ada"); err != nil {
		t.Fatal(err)
	}
	if r := <-later; coleo.ErrorCode(r.err) != coleo.EExited {
		t.Errorf("the question of an ended arm = %q, %v", r.text, r.err)
	}
	if _, err := b.call("arm-bob", coleo.ToolClaimFile, `{"file_path":"/w/a.go","claim_type":"write"}`); err != nil {
		t.Errorf("a claim after the end of the other arm: %v", err)
	}
}

func TestACallAboutAnArmThatMovesWaitsForIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	here, away := Relative{ID: "arm-kid", Name: "ada.kid"}, Relative{ID: "arm-kid", Name: "ada.kid", Elsewhere: true}
	b.arms.relatives = []Relative{away}
	done := make(chan reply, 1)
	on := make(chan string, 1)
	go func() {
		text, err := b.Call(t.Context(), "arm-ada", door.Request{Key: "k1", Tool: coleo.ToolAwaitArm},
			func(name string) { on <- name })
		done <- reply{text, err}
	}()
	<-b.arms.looks
	b.arms.arrives(away) // another arm has arrived, and the subarm is still moving
	<-b.arms.looks
	if len(done) != 0 || len(on) != 0 {
		t.Fatal("the call did not wait until the subarm was here")
	}
	b.arms.arrives(here)
	if r := <-done; r.err != nil || r.text != "answer of arm-kid" || <-on != "ada.kid" {
		t.Errorf("await_arm = %q, %v", r.text, r.err)
	}
	b.MoveWait = 0
	b.arms.arrives(away)
	_, err := b.call("arm-ada", coleo.ToolAwaitArm, `{"name":"ada.kid"}`)
	if coleo.ErrorCode(err) != coleo.EBusy {
		t.Errorf("await_arm for an arm that does not come: %v, want %s", err, coleo.EBusy)
	}
	text, err := b.call("arm-ada", coleo.ToolListArms, `{}`)
	if err != nil || !strings.Contains(text, "ada.kid (subarm): moving between two hosts") {
		t.Errorf("list_arms = %q, %v", text, err)
	}
}

func TestAMessageIsDeliveredOnlyAfterItWasApproved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.arms.relatives = []Relative{{ID: "arm-boss", Name: "boss", Parent: true}}
	id, later := b.ask(t.Context(), "arm-ada", "k1", coleo.ToolMessageArm, `{"to":"parent","text":"ready"}`)
	if len(b.arms.delivered) != 0 {
		t.Errorf("before the approval, %+v was delivered", b.arms.delivered)
	}
	if _, err := b.Answer(t.Context(), "arm-ada", id, "eve", coleo.Decision{Choice: coleo.ChoiceApprove}); err != nil {
		t.Fatal(err)
	}
	if list := b.arms.delivered; len(list) != 1 || list[0].ID != id || list[0].By != "arm ada" ||
		!strings.Contains(list[0].Text, "ready") {
		t.Errorf("delivered: %+v", list)
	}
	if r := <-later; r.err != nil || !strings.HasPrefix(r.text, "The message is in the queue of the arm boss") {
		t.Errorf("the model got %q, %v", r.text, r.err)
	}
}

func TestAnArmCallsOnlyTheToolsThatItHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.Arm
	b.Arm = func(id string) (Facts, error) {
		f, err := facts(id)
		f.Tools = []string{coleo.ToolTaskCheck}
		return f, err
	}
	if _, err := b.call("arm-ada", coleo.ToolHeartbeat, `{"status":"x"}`); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("a tool that the arm lacks: %v, want %s", err, coleo.EUnsupported)
	}
	if _, err := b.call("arm-ada", coleo.ToolTaskCheck, `{}`); err != nil {
		t.Errorf("a tool that the arm has: %v", err)
	}
}

// A question that allows several answers must have options. Without options, nobody could answer it on the
// dashboard.
func TestSeveralAnswersNeedOptions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, arguments := range []string{`{"question":"Which?","multiple":true}`,
		`{"question":"Which?","multiple":true,"options":[]}`} {
		_, err := b.call("arm-ada", coleo.ToolAskUser, arguments)
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "multiple needs options") {
			t.Errorf("ask_user %s: %v, want EInvalid", arguments, err)
		}
	}
}

// Two arms reach the same file by different paths, because a folder is a symbolic link. The file need not exist.
func TestAClaimHoldsForEveryPathOfTheFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	claim := func(arm, path string) error {
		_, err := b.call(arm, coleo.ToolClaimFile, fmt.Sprintf(`{"file_path":%q,"claim_type":"write"}`, path))
		return err
	}
	if err := claim("arm-ada", filepath.Join(folder, "new", "a.go")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(link, "new", "a.go")
	if err := claim("arm-bob", path); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a claim on the same file by another path: %v", err)
	}
	text, err := b.call("arm-bob", coleo.ToolConflicts, fmt.Sprintf(`{"file_path":%q}`, path))
	if err != nil || !strings.Contains(text, "arm ada has claimed it") {
		t.Errorf("the conflicts of the same file by another path: %q, %v", text, err)
	}
}
