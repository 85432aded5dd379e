package graph

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// logs returns the number of random logs for each check. With -short, the number is smaller.
func logs() uint64 {
	if testing.Short() {
		return 10
	}
	return 30
}

func reduce(log []coleo.Event) Graph {
	var g Graph
	for _, e := range log {
		g = Reduce(g, e)
	}
	return g
}

func document(t *testing.T, g Graph) string {
	t.Helper()
	raw, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestG1EveryPrefixOfALogIsAGraphOfItsOwn checks three properties:
//   - The graph of each prefix of a log is valid.
//   - A later event does not change an earlier graph.
//   - A replay of the log gives the same graph.
func TestG1EveryPrefixOfALogIsAGraphOfItsOwn(t *testing.T) {
	t.Parallel()
	for seed := range logs() {
		log := newMaker(seed).valid()
		graphs, texts := []Graph{{}}, []string{document(t, Graph{})}
		for i, e := range log {
			g := Reduce(graphs[i], e)
			if err := Valid(g); err != nil {
				t.Fatalf("seed %d, after event %d (%s): %v", seed, i+1, e.Kind, err)
			}
			graphs, texts = append(graphs, g), append(texts, document(t, g))
		}
		for i, g := range graphs {
			if document(t, g) != texts[i] {
				t.Fatalf("seed %d: the graph after %d events has changed", seed, i)
			}
		}
		if !reflect.DeepEqual(reduce(log), graphs[len(log)]) {
			t.Fatalf("seed %d: the replay differs", seed)
		}
	}
}

func TestG1AnEventThatIsKnownChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range logs() {
		m := newMaker(seed)
		log := m.valid()
		g := reduce(log)
		for range 20 {
			e := log[m.IntN(len(log))]
			if !reflect.DeepEqual(Reduce(g, e), g) {
				t.Fatalf("seed %d: event %d changes the graph again", seed, e.Seq)
			}
		}
		again := slices.Concat(log[:len(log)/2], log[:len(log)/3], log[len(log)/4:])
		if document(t, reduce(again)) != document(t, g) {
			t.Fatalf("seed %d: a log that is read from the beginning again gives another graph", seed)
		}
	}
}

func TestAWrongLogGivesASoundGraph(t *testing.T) {
	t.Parallel()
	wrong := uint64(0)
	for seed := range logs() {
		log := newMaker(seed).hostile()
		g := Graph{}
		for i, e := range log {
			was := document(t, g)
			next := Reduce(g, e)
			if i%7 == 0 && document(t, g) != was {
				t.Fatalf("seed %d: event %d (%s) changed the graph before it", seed, i, e.Kind)
			}
			g = next
		}
		if faults := g.findFaults(); len(faults) > 0 {
			t.Fatalf("seed %d: %v", seed, faults)
		}
		if Valid(g) != nil {
			wrong++
		}
		if !reflect.DeepEqual(reduce(log), g) {
			t.Fatalf("seed %d: the replay differs", seed)
		}
		_, _ = g.Text(), g.Dot()
	}
	if wrong < logs()/2 {
		t.Errorf("Valid found a fault in %d of %d wrong logs", wrong, logs())
	}
}

// events returns a log of one arm and one run with the given kinds and payloads.
func events(run string, work ...any) []coleo.Event {
	m := newMaker(1)
	e := coleo.Event{Arm: "a", Run: run}
	for _, w := range work {
		switch w := w.(type) {
		case coleo.Receipt:
			m.put(coleo.Event{Arm: "a", Run: run, Kind: coleo.EventRunStart}, w)
		case coleo.RunEnd:
			m.put(coleo.Event{Arm: "a", Run: run, Kind: coleo.EventRunEnd}, w)
		case coleo.Decided:
			m.put(coleo.Event{Arm: "a", Kind: coleo.EventDecision}, w)
		case coleo.Change:
			m.put(coleo.Event{Arm: "a", Run: run, Kind: coleo.EventState}, w)
		case coleo.Turn:
			e.Turn++
			m.work(e, w)
		case coleo.Work:
			m.work(e, w)
		}
	}
	return m.log
}

func TestG2PiecesAreTheWholeText(t *testing.T) {
	t.Parallel()
	log := events("r", coleo.Receipt{}, coleo.Turn{},
		coleo.AssistantText{Block: coleo.Block{ID: "b1", Text: "Hel"}},
		coleo.AssistantText{Block: coleo.Block{ID: "b2", Text: "other"}},
		coleo.AssistantText{Block: coleo.Block{ID: "b1", Text: "lo", Done: true}})
	n, ok := reduce(log).Node("r/b1")
	if !ok || n.Text.Text != "Hello" || n.Text.Pieces != 2 || !n.Text.Done || n.Turn != 1 {
		t.Errorf("r/b1 = %+v, %v", n.Text, ok)
	}
	short, _ := reduce(log[:3]).Node("r/b1")
	if short.Text.Text != "Hel" || short.Text.Done {
		t.Errorf("after the first piece r/b1 = %+v", short.Text)
	}
}

func TestG4OutcomesAndOrphans(t *testing.T) {
	t.Parallel()
	code := 2
	g := reduce(events("r", coleo.Receipt{}, coleo.Turn{},
		coleo.ToolCall{ID: "1", Name: "bash"}, coleo.ToolCall{ID: "2", Name: "bash"}, coleo.ToolCall{ID: "3", Name: "bash"},
		coleo.ToolCall{ID: "4", Name: "bash"},
		coleo.ToolEnd{ID: "1", Outcome: coleo.ToolSuccess, Output: "fine"},
		coleo.ToolEnd{ID: "2", Outcome: coleo.ToolDenied, Reason: "no"},
		coleo.ToolEnd{ID: "3", Outcome: coleo.ToolError, Reason: "broke", ExitCode: &code},
		coleo.RunEnd{Status: coleo.Idle}))
	for id, want := range map[string]Result{
		"r/1": {Status: coleo.ToolSuccess, Output: "fine"}, "r/2": {Status: coleo.ToolDenied, Reason: "no"},
		"r/3": {Status: coleo.ToolError, Error: "broke", ExitCode: &code},
	} {
		if n, _ := g.Node(id); n.Call == nil || !reflect.DeepEqual(*n.Call.Result, want) || n.Call.Orphan {
			t.Errorf("%s = %+v", id, n.Call)
		}
	}
	if n, _ := g.Node("r/4"); n.Call.Result != nil || !n.Call.Orphan || !n.End.IsZero() {
		t.Errorf("the call without an end is %+v", n.Call)
	}
	if n, _ := g.Node("r"); !slices.Equal(n.Prompt.Orphans, []string{"r/4"}) {
		t.Errorf("the run's orphans are %v", n.Prompt.Orphans)
	}
}

func TestG6MalformedArgumentsAreKept(t *testing.T) {
	t.Parallel()
	g := reduce(events("r", coleo.Receipt{}, coleo.Turn{},
		coleo.ToolCall{ID: "1", Malformed: &coleo.Malformed{Error: "end of input", Raw: `{"a`}}))
	n, _ := g.Node("r/1")
	want := `{"__toolParseError":true,"parseError":"end of input","rawArguments":"{\"a"}`
	if string(n.Call.Arguments) != want {
		t.Errorf("arguments = %s", n.Call.Arguments)
	}
}

func TestG3ProgressIsCountedUntilTheEnd(t *testing.T) {
	t.Parallel()
	log := events("r", coleo.Receipt{}, coleo.Turn{}, coleo.ToolCall{ID: "1"},
		coleo.ToolProgress{ID: "1", Output: "12345"},
		coleo.ToolProgress{ID: "1", Output: "678"}, coleo.ToolEnd{ID: "1", Outcome: coleo.ToolSuccess})
	if n, _ := reduce(log[:4]).Node("r/1"); n.Call.Progress != 5 || n.Call.Result != nil || n.Call.Orphan {
		t.Errorf("while it runs the call is %+v", n.Call)
	}
	if n, _ := reduce(log).Node("r/1"); n.Call.Progress != 8 || n.Call.Result == nil {
		t.Errorf("at its end the call is %+v", n.Call)
	}
}

func TestG8ARunHasItsUsageAndItsErrors(t *testing.T) {
	t.Parallel()
	log := events("r", coleo.Receipt{Text: "p"}, coleo.Turn{}, coleo.ReplyUsage{Usage: coleo.Usage{Input: 10, Output: 1}},
		coleo.Problem{Text: "overloaded"}, coleo.ReplyUsage{Usage: coleo.Usage{Input: 5, Output: 2}},
		coleo.RunEnd{Status: coleo.Failed, Answer: "no"})
	g := reduce(log)
	n, _ := g.Node("r")
	if p := n.Prompt; p.Usage == nil || p.Usage.Input != 15 || p.Usage.Output != 3 ||
		!slices.Equal(p.Errors, []string{"overloaded"}) ||
		p.Outcome != coleo.OutcomeFailed || p.Answer != "no" || n.End.IsZero() {
		t.Errorf("the run is %+v with %+v", p, p.Usage)
	}
	if early, _ := reduce(log[:3]).Node("r"); early.Prompt.Usage.Input != 10 || early.Prompt.Errors != nil {
		t.Errorf("after its first reply the run is %+v", early.Prompt)
	}
}

func TestG9ACommandOfTheUser(t *testing.T) {
	t.Parallel()
	code := 3
	log := events("r", coleo.Receipt{}, coleo.ShellInput{ID: "1", Command: "ls"},
		coleo.ShellProgress{ID: "1", Output: "ab"},
		coleo.ShellOutput{ID: "1", Output: "abc", Errors: "oh", ExitCode: &code, Millis: 7})
	if n, _ := reduce(log[:3]).Node("r/shell:1"); n.Shell.Done || n.Shell.Progress != 2 ||
		!strings.Contains(n.line(), "runs") {
		t.Errorf("while it runs the command is %+v", n.Shell)
	}
	n, _ := reduce(log).Node("r/shell:1")
	if s := n.Shell; !s.Done || s.Output != "abc" || s.Errors != "oh" || *s.ExitCode != 3 || s.Millis != 7 ||
		s.Truncated ||
		!strings.Contains(n.line(), "! ls → exit code 3") {
		t.Errorf("at its end the command is %+v: %s", s, n.line())
	}
	if Valid(reduce(append(log, log[3]))) != nil || Valid(reduce(log[:1])) != nil {
		t.Error("a log that is read twice is not valid")
	}
	if Valid(reduce(events("r", coleo.Receipt{}, coleo.ShellOutput{ID: "1"}))) == nil {
		t.Error("the end of an unknown command is valid")
	}
}

func TestG5TheSameIdInTwoRunsIsTwoNodes(t *testing.T) {
	t.Parallel()
	m := newMaker(1)
	for _, run := range []string{"r1", "r2"} {
		e := coleo.Event{Arm: "a", Run: run, Kind: coleo.EventRunStart}
		m.put(e, coleo.Receipt{})
		m.work(e, coleo.ToolCall{ID: "1", Name: run})
	}
	g := reduce(m.log)
	for _, run := range []string{"r1", "r2"} {
		if n, ok := g.Node(run + "/1"); !ok || n.Call.Name != run {
			t.Errorf("%s/1 = %+v", run, n)
		}
		if part := g.Of(run).Document(); len(part.Nodes) != 3 || len(part.Edges) != 3 {
			t.Errorf("the part of %s has %d nodes and %d edges", run, len(part.Nodes), len(part.Edges))
		}
	}
}

func TestValidNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	call, end := coleo.ToolCall{ID: "1"}, coleo.ToolEnd{ID: "1", Outcome: coleo.ToolSuccess}
	skipped := events("r", coleo.Receipt{}, coleo.Turn{}, coleo.Turn{})
	skipped[2].Turn = 3
	for want, log := range map[string][]coleo.Event{
		"not run_start":          events("r", coleo.Turn{}),
		"second run_start":       events("r", coleo.Receipt{}, coleo.Receipt{}),
		"after its run_end":      events("r", coleo.Receipt{}, coleo.RunEnd{}, call),
		"has not begun":          events("r", coleo.Receipt{}, end),
		"ends again":             events("r", coleo.Receipt{}, call, end, end),
		"begins again":           events("r", coleo.Receipt{}, call, call),
		"turn 3 follows turn 1":  skipped,
		"the outcome \"\"":       events("r", coleo.Receipt{}, call, coleo.ToolEnd{ID: "1"}),
		"after its last piece":   events("r", coleo.Receipt{}, block(true), block(false)),
		"missing or unreadable":  {{Host: "h", Seq: 1, Arm: "a", Run: "r", Kind: coleo.EventRunStart}},
		"subagent \"1\" ends":    events("r", coleo.Receipt{}, coleo.SubagentEnd{ID: "1"}),
		"\"x\", which has not b": events("r", coleo.Receipt{}, coleo.FileChanged{Path: "f", Call: "x"}),
	} {
		if err := Valid(reduce(log)); err == nil || !strings.Contains(err.Error(), want) || coleo.ErrorCode(err) !=
			coleo.EInvalid {
			t.Errorf("Valid = %v, want %q", err, want)
		}
	}
}

func block(done bool) coleo.AssistantText {
	return coleo.AssistantText{Block: coleo.Block{ID: "b", Text: "x", Done: done}}
}

func TestTheTreeOfARun(t *testing.T) {
	t.Parallel()
	g := reduce(events("r", coleo.Receipt{Text: "fix\nit"}, coleo.Turn{Model: "m"}, block(true),
		coleo.ToolCall{ID: "1", Name: "bash", Kind: coleo.ToolExecute, Command: "make \x1b[1mtest"}, dialog(""),
		coleo.ToolEnd{ID: "1", Outcome: coleo.ToolError, Reason: "no rule"}))
	want := "arm a\n└─ run r is open: \"fix it\"\n   ├─ turn 1 m\n   │  ├─ text: \"x\"\n" +
		"   │  └─ bash: make [1mtest → error \"no rule\" in "
	if got := g.Text(); !strings.HasPrefix(got, want) ||
		!strings.Contains(got, `approval: approve "May I?", for call 1 (by its order)`) {
		t.Errorf("Text = %s\nwant %s", got, want)
	}
	dot := g.Dot()
	for _, want := range []string{`"r" -> "r/turn:1" [label="caused"]`, `[label="answered by order"]`} {
		if !strings.Contains(dot, want) {
			t.Errorf("Dot lacks %s:\n%s", want, dot)
		}
	}
}

func BenchmarkReduceALongRun(b *testing.B) {
	log := longLog(100_000)
	for b.Loop() {
		reduce(log)
	}
}

func longLog(n int) []coleo.Event {
	m := newMaker(1)
	e := coleo.Event{Arm: "a", Run: "r", Turn: 0}
	m.put(coleo.Event{Arm: "a", Run: "r", Kind: coleo.EventRunStart}, coleo.Receipt{})
	for len(m.log) < n {
		e.Turn++
		m.work(e, coleo.Turn{})
		m.texts(e)
		m.ends(e, m.calls(e))
	}
	return m.log
}

// line is an event with any payload, even an invalid one.
type line struct {
	coleo.Event
	Payload string `json:"payload"`
}

func FuzzReduce(f *testing.F) {
	for seed := range uint64(5) {
		var lines []line
		for _, e := range newMaker(seed).hostile() {
			lines = append(lines, line{e, string(e.Payload)})
		}
		raw, err := json.Marshal(lines)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var lines []line
		if json.Unmarshal(raw, &lines) != nil {
			return
		}
		var g Graph
		for _, l := range lines {
			l.Event.Payload = json.RawMessage(l.Payload)
			g = Reduce(g, l.Event)
		}
		if faults := g.findFaults(); len(faults) > 0 {
			t.Error(faults)
		}
		if _, err := json.Marshal(g); err != nil {
			t.Error(err)
		}
		_, _, _ = g.Text(), g.Dot(), Valid(g)
	})
}
