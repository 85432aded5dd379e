package host

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/fakeagent"
)

// numbered is the schema of the checked prompts in these tests.
const numbered = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`

// With these rules, the fake agent CLI answers the first prompt with words, and the retry with
// JSON. It takes some time for each answer, so that a test can do something meanwhile.
var firstBadThenGood = []fakeagent.Rule{
	{Contains: "cannot be used", Do: []string{"pause 300ms", `say {"n": 2}`}},
	{Contains: "Count", Do: []string{"pause 1s", "say many"}}, // leaves a test time to do something
}

// tellingArm starts an arm whose agent CLI writes its answers to a file.
func (s *stage) tellingArm(rules []fakeagent.Rule) string {
	s.t.Helper()
	spec, err := os.ReadFile("../cmd/coleo/testdata/fake.toml")
	s.check(err)
	text := strings.Replace(string(spec), `name = "fake"`, `name = "telling"`, 1) + `
[transcript]
file = "work-*/` + fakeagent.RecordFile + `"
prompt = "kind=prompted"
answer = "kind=said"
text = "text"
`
	s.check(os.WriteFile(s.path("harnesses/telling.toml"), []byte(text), 0o600))
	work := s.path("work-ada")
	s.check(os.MkdirAll(work, 0o700))
	raw, err := json.Marshal(fakeagent.Script{Rules: rules})
	s.check(err)
	s.check(os.WriteFile(filepath.Join(work, fakeagent.ScriptFile), raw, 0o600))
	o := s.order("ada")
	o.Harness = "telling"
	o.Config.Workdir, o.Config.Profile, o.Config.Home = work, coleo.ProfileHermetic, s.dir
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	return id
}

func countOrder(id string, retries int) bus.PromptOrder {
	o := promptOrder(id, "Count.")
	o.Prompt.Check = &coleo.Check{Schema: json.RawMessage(numbered), Retries: retries}
	return o
}

// payloads returns the payloads of the arm's events of the given kind.
func payloads[T any](s *stage, id string, kind coleo.EventKind) (out []T) {
	s.t.Helper()
	for _, e := range s.events(id, kind) {
		var p T
		s.check(json.Unmarshal(e.Payload, &p))
		out = append(out, p)
	}
	return out
}

// kindsOf returns the kinds of a run's events, in order.
func (s *stage) kindsOf(run string) (out []coleo.EventKind) {
	s.t.Helper()
	all, _ := s.readLog()
	for _, e := range all {
		if e.Run == run && !e.Kind.IsWork() && e.Kind != coleo.EventState {
			out = append(out, e.Kind)
		}
	}
	return out
}

// checkTwoRuns checks that a prompt and its retry have each arrived once, and that the second
// answer fits the schema.
func (s *stage) checkTwoRuns(id string) {
	s.t.Helper()
	s.awaitRuns(id, 2)
	starts, checks := payloads[coleo.Receipt](s, id, coleo.EventRunStart), payloads[coleo.Validated](s, id,
		coleo.EventOutputValidated)
	retries := payloads[coleo.Retry](s, id, coleo.EventOutputRetry)
	if got := s.prompted("ada"); len(got) != 2 || !strings.HasPrefix(got[0], "Count.") ||
		!strings.HasPrefix(got[1], "Your last answer") {
		s.t.Fatalf("the agent CLI was prompted %q, want the prompt and one retry", got)
	}
	if len(checks) != 2 || checks[0].OK || !checks[1].OK || string(checks[1].Answer) != `{"n":2}` {
		s.t.Errorf("the checks are %+v, want one that does not fit and {\"n\":2}", checks)
	}
	if len(retries) != 1 || retries[0].Run != starts[1].ID || retries[0].Attempt != 1 {
		s.t.Errorf("the retries are %+v, want one with the run %s", retries, starts[1].ID)
	}
	if c := starts[1].Check; c == nil || c.RetryOf != starts[0].ID || starts[1].SpecHash != starts[0].SpecHash ||
		len(starts[0].SpecHash) != 64 {
		s.t.Errorf("the second run is %+v, want one that belongs to %+v", starts[1], starts[0])
	}
	ends := s.ends(id)
	if first, second := ends[starts[0].ID], ends[starts[1].ID]; first.Retry != starts[1].ID || first.Validated.OK ||
		second.Retry != "" || !second.Validated.OK {
		s.t.Errorf("the ends are %+v", ends)
	}
}

func TestR9ABadAnswerIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.tellingArm(firstBadThenGood)
	run := must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 1))
	behind := s.followUp(id, "say behind")
	s.awaitPrompted("ada", slices.Concat(s.prompted("ada")[:1], []string{s.awaitRetry(), "say behind"})...)
	s.awaitRuns(id, 3)
	want := []coleo.EventKind{coleo.EventRunStart, coleo.EventOutputValidated, coleo.EventOutputRetry, coleo.EventRunEnd}
	if got := s.kindsOf(run.ID); !slices.Equal(got, want) {
		t.Errorf("the first run has %v, want %v", got, want)
	}
	if starts := payloads[coleo.Receipt](s, id, coleo.EventRunStart); starts[2].ID != behind || starts[2].Check != nil ||
		starts[2].SpecHash == starts[0].SpecHash || len(starts[2].SpecHash) != 64 {
		t.Errorf("the prompt behind the retry began the run %+v", starts[2])
	}
	if checks := s.events(id, coleo.EventOutputValidated); len(checks) != 2 {
		t.Errorf("%d answers were checked, want two", len(checks))
	}
}

// awaitRetry waits until Coleo has asked the model again, and returns the prompt.
func (s *stage) awaitRetry() string {
	s.t.Helper()
	s.until("the model is asked again", func() bool { return len(s.prompted("ada")) > 1 })
	return s.prompted("ada")[1]
}

func TestR9RetriesEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.tellingArm([]fakeagent.Rule{{Do: []string{"pause 300ms", `say {"n": "many"}`}}})
	must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 2))
	s.awaitRuns(id, 3)
	s.checkNothingSent(id, "ada", 3)
	for i, c := range payloads[coleo.Validated](s, id, coleo.EventOutputValidated) {
		if c.OK || c.Path != "/n" {
			t.Errorf("check %d is %+v", i, c)
		}
	}
	retries := payloads[coleo.Retry](s, id, coleo.EventOutputRetry)
	if len(retries) != 2 || retries[0].Left != 1 || retries[1].Left != 0 || retries[1].Attempt != 2 {
		t.Errorf("the retries are %+v, want two", retries)
	}
	must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 0))
	s.awaitRuns(id, 4)
	s.checkNothingSent(id, "ada", 4)
}

// TestR9ARetryOutlivesKills kills the host agent at each step between a bad answer and the run of
// the retry.
func TestR9ARetryOutlivesKills(t *testing.T) {
	t.Parallel()
	for what, kill := range map[string]func(s *stage, id string){
		"during the turn": func(s *stage, _ string) { s.halt(); s.awaitSaid("many"); s.start() },
		"while the end of the run is written": func(s *stage, _ string) {
			s.check(s.db.Close()) // for the database, this is the moment of the kill
			s.awaitSaid("many")
			s.restart()
		},
		"when the retry is in the queue": func(s *stage, id string) {
			s.hijack(id, func(real coleo.Session) coleo.Session { return &refusingSession{Session: real} })
			s.awaitRuns(id, 1)
			s.restart()
		},
		"when the retry has arrived": func(s *stage, id string) {
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session { return &cutSession{real, s.db, false} })
			s.awaitRuns(id, 1)
			s.awaitState(id, coleo.Idle)
			s.stopDuring(a, session)
			s.restart()
		},
		"during the turn of the retry": func(s *stage, _ string) { s.awaitRetry(); s.restart() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.tellingArm(firstBadThenGood)
			must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 1))
			kill(s, id)
			s.checkTwoRuns(id)
			s.restart() // the next host agent must not ask again
			s.checkTwoRuns(id)
		})
	}
}

// awaitSaid waits until the agent CLI has given an answer.
func (s *stage) awaitSaid(text string) {
	s.t.Helper()
	s.until("the agent CLI says "+text, func() bool {
		list, err := fakeagent.ReadRecord(filepath.Join(s.path("work-ada"), fakeagent.RecordFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.t.Fatal(err)
		}
		return slices.ContainsFunc(list, func(e fakeagent.Entry) bool {
			return e.Kind == fakeagent.Said && e.Text == text
		})
	})
}

// TestR9ARetryThatIsCutOffIsToldAsLost kills the host agent before it types the retry. The retry
// must be recorded as lost, and must not be typed again.
func TestR9ARetryThatIsCutOffIsToldAsLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.tellingArm(firstBadThenGood)
	var real coleo.Session
	s.hijack(id, func(its coleo.Session) coleo.Session { // from now on, only stopDuring sends the queue
		real = its
		return &otherSession{its}
	})
	must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 1))
	s.awaitRuns(id, 1)
	s.awaitState(id, coleo.Idle)
	a, session := s.hijack(id, func(coleo.Session) coleo.Session { return &cutSession{real, s.db, true} })
	s.stopDuring(a, session)
	s.restart()
	s.until("the retry is told as lost", func() bool { return len(s.events(id, coleo.EventPromptLost)) == 1 })
	if q := s.queue(id, coleo.QueueOrder{}); q.Paused == "" || len(s.prompted("ada")) != 1 {
		t.Errorf("the queue is %+v after %q", q, s.prompted("ada"))
	}
}

// otherSession wraps a real session. The host agent does not recognize it as the session through
// which it sends the queue.
type otherSession struct{ coleo.Session }

// TestR9ATurnThatDidNotFinishIsNotChecked has a turn that was interrupted, and a turn whose agent CLI has
// ended. Coleo must not check their answers against the schema, and must not ask again.
func TestR9ATurnThatDidNotFinishIsNotChecked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.tellingArm([]fakeagent.Rule{{Do: []string{"pause 10m"}}})
	must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 1))
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 1)
	must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 1))
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 2)
	for run, end := range s.ends(id) {
		if end.Outcome == coleo.OutcomeFinished || end.Validated != nil || end.Retry != "" {
			t.Errorf("run %s ended with %+v", run, end)
		}
	}
	if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) > 0 || len(s.events(id, coleo.EventOutputValidated)) > 0 {
		t.Errorf("the queue is %+v, and %v were checked", q, s.events(id, coleo.EventOutputValidated))
	}
}

// TestR9AnAnswerOfTwoPromptsIsNoAnswerToTheFirst sends a second prompt during the turn of the first
// one. The common answer must not count as the answer to the first prompt.
func TestR9AnAnswerOfTwoPromptsIsNoAnswerToTheFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.tellingArm([]fakeagent.Rule{{Contains: "Count", Do: []string{"pause 2s", "say many"}},
		{Do: []string{"pause 300ms", `say {"n": 1}`}}})
	first := must[coleo.Receipt](s, bus.OpChecked, countOrder(id, 1))
	o := countOrder(id, 1)
	o.Prompt.Text = "Now."
	second := must[coleo.Receipt](s, bus.OpChecked, o)
	s.awaitRuns(id, 2)
	ends := s.ends(id)
	if end := ends[first.ID]; end.Validated == nil || end.Validated.OK || end.Retry != "" {
		t.Errorf("the first run ended with %+v", end)
	}
	if end := ends[second.ID]; end.Validated == nil || !end.Validated.OK {
		t.Errorf("the second run ended with %+v", end)
	}
	s.checkNothingSent(id, "ada", 2)
}

func TestR9AnInputThatDoesNotFitIsNotTyped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.tellingArm([]fakeagent.Rule{{Do: []string{"pause 300ms", `say {"n": 1}`}}})
	o := countOrder(id, 1)
	o.Prompt.Check.Input, o.Prompt.Check.InputSchema = json.RawMessage(`{"n":"x"}`), json.RawMessage(numbered)
	s.refused(coleo.EInvalid, bus.OpChecked, o)
	o.Prompt.Check.Input = json.RawMessage(`{"n":3}`)
	o.Prompt.Check.Schema = json.RawMessage(`{"$ref":"#"}`)
	s.refused(coleo.EInvalid, bus.OpChecked, o)
	if got := s.prompted("ada"); len(got) > 0 {
		t.Fatalf("the agent CLI was prompted %q", got)
	}
	o.Prompt.Check.Schema = json.RawMessage(numbered)
	run := must[coleo.Receipt](s, bus.OpChecked, o)
	s.awaitRuns(id, 1)
	checks := payloads[coleo.Validated](s, id, coleo.EventInputValidated)
	events := s.events(id, coleo.EventInputValidated)
	if len(checks) != 2 || checks[0].OK || checks[0].Path != "/n" || events[0].Run != "" || !checks[1].OK ||
		events[1].Run != run.ID {
		t.Errorf("the inputs: %+v of the runs %+v", checks, events)
	}
	if got := s.kindsOf(run.ID); len(got) < 2 || got[0] != coleo.EventRunStart || got[1] != coleo.EventInputValidated {
		t.Errorf("the run has %v", got)
	}
	if got := s.prompted("ada"); len(got) != 1 || !strings.Contains(got[0], `{"n":3}`) ||
		!strings.Contains(got[0], numbered) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}

func TestR9AnAgentCLIThatTellsNoAnswersIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.refused(coleo.EUnsupported, bus.OpChecked, countOrder(id, 1))
	o := promptOrder(id, "say one")
	o.Prompt.Check = &coleo.Check{Input: json.RawMessage(`[1]`)} // a check of the input alone is possible
	must[coleo.Receipt](s, bus.OpChecked, o)
	s.awaitRuns(id, 1)
	if got := s.prompted("ada"); len(got) != 1 {
		t.Errorf("the agent CLI was prompted %q, want once", got)
	}
}

// TestR9ARunThatIsCheckedMovesWithItsArm moves an arm from host local to a host agent during a
// turn. The host agent must check the answer and ask again.
func TestR9ARunThatIsCheckedMovesWithItsArm(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.tellingArm([]fakeagent.Rule{firstBadThenGood[0], {Do: []string{"pause 1s", "say many"}}})
	first := must[coleo.Receipt](local, bus.OpChecked, countOrder(id, 1))
	s.moveToHostAgent(local, id)
	s.until("both runs have ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 2 })
	checks, retries := payloads[coleo.Validated](s, id, coleo.EventOutputValidated), payloads[coleo.Receipt](s, id,
		coleo.EventRunStart)
	if len(checks) != 2 || checks[0].OK || !checks[1].OK || len(retries) != 1 || retries[0].Check.RetryOf != first.ID ||
		retries[0].SpecHash != first.SpecHash || len(local.events(id, coleo.EventOutputValidated)) > 0 {
		t.Errorf("the checks are %+v, and the retries %+v", checks, retries)
	}
	if got := s.prompted("ada"); len(got) != 2 {
		t.Errorf("the agent CLI was prompted %q, want the prompt and one retry", got)
	}
}
