package conformance

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

var (
	workOf = flag.String("work", "claude-code,codex,gemini,opencode",
		"harnesses whose work is held against the model's record")
	workKept = flag.String("work-kept", "",
		"existing folder that keeps the homes and the model's record, for new recordings")
)

const (
	// deedTimeout bounds one prompt. The slowest agent CLI takes 20 s.
	deedTimeout = 90 * time.Second
	// workTimeout is how long the record may lag behind the screen.
	workTimeout = 20 * time.Second
)

// deed is a prompt, and the outcomes of the calls that it leads to.
type deed struct {
	prompt string
	denies bool // the dialog is denied
	want   []coleo.ToolOutcome
}

// deeds are in the words of the scripted model. The denial is the last call, because some
// agent CLIs end the turn with it.
var deeds = []deed{
	{"together say two at once and also run touch one and also run touch two", false,
		[]coleo.ToolOutcome{coleo.ToolSuccess, coleo.ToolSuccess}},
	{"think of a file for 100ms", false, nil},
	{"write new.txt with new words", false, []coleo.ToolOutcome{coleo.ToolSuccess}},
	{"run touch three && exit 3", false, []coleo.ToolOutcome{coleo.ToolError}},
	{"use no_such_tool {\"a\":1}", false, []coleo.ToolOutcome{coleo.ToolError}},
	{"garble", false, []coleo.ToolOutcome{coleo.ToolError}},
	{"run touch four", true, []coleo.ToolOutcome{coleo.ToolDenied}},
}

// What a session tells of the work is what the model has done: each call once, with its
// name, id and outcome, and each text once.
func TestTheWorkThatIsToldIsTheModels(t *testing.T) {
	for name := range strings.SplitSeq(*workOf, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := workTrial(t, name)
			work := followWork(t, trial.Session)
			var want []coleo.ToolOutcome
			for _, d := range deeds {
				trial.do(t, d)
				want = append(want, d.want...)
			}
			last := "say " + Nonce()
			trial.do(t, deed{prompt: last})
			told := work.upTo(t, strings.TrimPrefix(last, "say "))
			checkCalls(t, trial.Model.Record(), told, want)
			checkTexts(t, trial.Model.Record(), told)
		})
	}
}

// workTrial starts an agent CLI. With the flag -work-kept, its files are kept.
func workTrial(t *testing.T, name string) *Trial {
	t.Helper()
	if *workKept == "" {
		return safetyTrial(t, name)
	}
	trial, err := newTrial(harnessOf(t, name), Config{
		Dir: *workKept, Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe}, Isolated: true,
		Keep: true,
	}, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := trial.close(); err != nil {
			t.Error(err)
		}
	})
	if err := trial.spawnIdle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return trial
}

// do sends the prompt of a deed, and answers all dialogs until the turn has ended.
func (t *Trial) do(tb testing.TB, d deed) {
	tb.Helper()
	ctx, cancel := patient(tb.Context(), deedTimeout)
	defer cancel()
	r, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: d.prompt})
	if err != nil {
		tb.Fatalf("%q: %v", d.prompt, err)
	}
	choice := coleo.Approve
	if d.denies {
		choice = coleo.Deny
	}
	for {
		reading, err := coleo.WaitForTurn(ctx, t.Session, r)
		if err != nil {
			tb.Fatalf("%q: %v", d.prompt, err)
		}
		if reading.State != coleo.WaitingApproval {
			return
		}
		r.Cursor = coleo.NewestCursor(t.Session)
		if err := t.Session.Respond(ctx, reading.Dialog.Fingerprint, coleo.Decision{Choice: choice}); err != nil {
			tb.Fatalf("%q: %v", d.prompt, err)
		}
	}
}

// followed has the work that a session has told.
type followed struct {
	mu      sync.Mutex
	list    []coleo.Activity
	changed chan struct{} // has a value after new work
}

// followWork follows the work of a session from its first change on, until the test ends.
func followWork(t *testing.T, s coleo.Session) *followed {
	t.Helper()
	f := &followed{changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range s.Changes(ctx, 0) {
			if err != nil {
				return
			}
			f.mu.Lock()
			f.list = append(f.list, c.Work...)
			f.mu.Unlock()
			select {
			case f.changed <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// upTo waits for a text of the model, and returns all work up to it.
func (f *followed) upTo(t *testing.T, text string) []coleo.Activity {
	t.Helper()
	ctx, cancel := patient(t.Context(), workTimeout)
	defer cancel()
	for {
		f.mu.Lock()
		list := slices.Clone(f.list)
		f.mu.Unlock()
		for i, a := range list {
			if said, ok := a.Work.(coleo.AssistantText); ok && said.Text == text {
				return list[:i+1]
			}
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
			t.Fatalf("the text %q is never told; %d pieces of work are", text, len(list))
		}
	}
}

// checkCalls compares the calls that were told with those that the model has made.
func checkCalls(t *testing.T, record []modelserver.Request, told []coleo.Activity, want []coleo.ToolOutcome) {
	t.Helper()
	var made []modelserver.Made
	for _, q := range record {
		made = append(made, q.Calls...)
	}
	var calls []coleo.ToolCall
	ends := map[string][]coleo.ToolEnd{}
	for _, a := range told {
		switch w := a.Work.(type) {
		case coleo.ToolCall:
			calls = append(calls, w)
		case coleo.ToolEnd:
			ends[w.ID] = append(ends[w.ID], w)
		}
	}
	if len(calls) != len(made) || len(made) != len(want) {
		t.Fatalf("%d calls are told: %+v; the model has made %d, and %d are wanted", len(calls), calls, len(made), len(want))
	}
	for i, c := range calls {
		// Gemini CLI puts the name before the id
		if m := made[i]; c.Name != m.Name || c.ID != m.ID && c.ID != m.Name+"__"+m.ID {
			t.Errorf("call %d is told as %+v, the model has made %+v", i+1, c, m)
		}
		if end := ends[c.ID]; len(end) != 1 || end[0].Outcome != want[i] {
			t.Errorf("the ends of call %d, %s, are %+v, want one with %q", i+1, c.Name, end, want[i])
		}
	}
}

// checkTexts compares the texts of the replies that were told with those that the model has sent.
func checkTexts(t *testing.T, record []modelserver.Request, told []coleo.Activity) {
	t.Helper()
	bare := func(text string) string { return strings.Join(strings.Fields(text), "") } // the blanks are the agent CLI's
	var want, got, replies []string
	for _, q := range record {
		if text := bare(textOf(q.Reply)); q.Side == "" && text != "" {
			want = append(want, text)
		}
	}
	texts := map[string]string{}
	for _, a := range told {
		if said, ok := a.Work.(coleo.AssistantText); ok {
			if !slices.Contains(replies, a.Reply) {
				replies = append(replies, a.Reply)
			}
			texts[a.Reply] += bare(said.Text)
		}
	}
	for _, r := range replies {
		got = append(got, texts[r])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the texts are told as %q, the model has sent %q", got, want)
	}
}
