package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

var at = time.Date(2026, 5, 1, 12, 0, 0, 0, time.Local)

// colourless returns a text without its colours.
func colourless(text string) string {
	var s pty.Stripper
	return string(s.Strip([]byte(text)))
}

// event returns an event of a run with a payload.
func event(kind coleo.EventKind, turn int, payload any) coleo.Event {
	raw, _ := json.Marshal(payload)
	return coleo.Event{Run: "r", Arm: "a", Time: at, Turn: turn, Kind: kind, Payload: raw}
}

// TestEachEventIsALine: each line must fit into 80 columns, unless a text is long.
func TestEachEventIsALine(t *testing.T) {
	t.Parallel()
	exit := 1
	p := &printer{calls: map[string]string{}}
	var got []string
	for _, e := range []coleo.Event{
		event(coleo.EventSpawned, 0, coleo.Handle{Harness: "h", Workdir: "/w", Process: coleo.Identity{PID: 7}}),
		event(coleo.EventRunStart, 0, coleo.Receipt{Text: "why does\n  the build fail?"}),
		event(coleo.EventState, 0, coleo.Change{Reading: coleo.Reading{State: coleo.Processing, Rule: "spinner"}}),
		event(coleo.EventTurn, 1, coleo.Turn{Model: "m1"}),
		event(coleo.EventThinking, 1, coleo.Thinking{Block: coleo.Block{Text: "hm"}}),
		event(coleo.EventAssistantText, 1, coleo.AssistantText{Block: coleo.Block{Text: "I \x1b[31mlook\x1b[0m\a."}}),
		event(coleo.EventToolStart, 1, coleo.ToolCall{ID: "c1", Name: "bash", Command: "ls -la"}),
		event(coleo.EventToolStart, 1, coleo.ToolCall{ID: "c2", Name: "read", Files: []string{"a.go"}}),
		event(coleo.EventToolStart, 1, coleo.ToolCall{ID: "c3", Name: "find", Arguments: []byte(`{"q":1}`)}),
		event(coleo.EventToolStart, 1, coleo.ToolCall{ID: "c4", Name: "find", Malformed: &coleo.Malformed{Error: "no end"}}),
		event(coleo.EventToolProgress, 1, coleo.ToolProgress{ID: "c1", Output: "total 0"}),
		event(coleo.EventToolEnd, 1, coleo.ToolEnd{ID: "c1", Outcome: coleo.ToolSuccess}),
		event(coleo.EventToolEnd, 1, coleo.ToolEnd{ID: "c2", Outcome: coleo.ToolDenied, Reason: "by a rule"}),
		event(coleo.EventToolEnd, 1, coleo.ToolEnd{ID: "c9", Outcome: coleo.ToolError}),
		event(coleo.EventDecision, 0, coleo.Decided{Dialog: coleo.Dialog{Title: "Run?", Subject: "ls"},
			Decision: coleo.Decision{Choice: coleo.ChoiceApprove}}),
		event(coleo.EventSubagentStart, 1, coleo.SubagentStart{ID: "s1", Type: "search", Task: "find it"}),
		event(coleo.EventSubagentEnd, 1, coleo.SubagentEnd{ID: "s1", Outcome: coleo.ToolSuccess}),
		event(coleo.EventFileChanged, 1, coleo.FileChanged{Path: "a.go"}),
		event(coleo.EventUsage, 12, coleo.ReplyUsage{Usage: coleo.Usage{Input: 9, Cached: 4, Output: 2}}),
		event(coleo.EventCompaction, 0, coleo.Compaction{Before: 900, After: 80}),
		event(coleo.EventMode, 0, coleo.ModeChanged{From: "plan", To: "build"}),
		event(coleo.EventModel, 0, coleo.ModelChanged{To: "m2"}),
		event(coleo.EventTasks, 2, coleo.TasksUpdated{Tasks: []coleo.Task{{Text: "one", Status: coleo.TaskDone},
			{Text: "two", Status: coleo.TaskRunning}}}),
		event(coleo.EventShellInput, 0, coleo.ShellInput{Command: "make"}),
		event(coleo.EventShellProgress, 0, coleo.ShellProgress{Output: "cc"}),
		event(coleo.EventShellOutput, 0, coleo.ShellOutput{Output: "no rule", ExitCode: &exit}),
		event(coleo.EventError, 0, coleo.Problem{Text: "overloaded"}),
		event(coleo.EventInfo, 0, coleo.Remark{Text: "an update is there"}),
		{Time: at, Arm: "a", Kind: coleo.EventUsage, Payload: []byte(`7`)},
		event(coleo.EventRunEnd, 0, coleo.RunEnd{Status: coleo.Idle, Outcome: coleo.OutcomeFinished, Answer: "It works."}),
		event(coleo.EventStopped, 0, coleo.Reading{Rule: "killed"}),
		event(coleo.EventMerge, 0, coleo.MergeChange{Step: coleo.MergeDone, Way: "merge", Branch: "coleo/a", Into: "main"}),
		event(coleo.EventMerge, 0, coleo.MergeChange{Step: coleo.MergeDone, Repo: "lib", Way: "merge", Branch: "coleo/a",
			Into: "main"}),
		event("newer", 0, coleo.Note{Text: "said"}),
	} {
		got = append(got, colourless(p.line("a-rather-long-name", e)))
	}
	want := strings.Split(strings.Trim(`
12:00:00 a-rather-long…     arm.spawned     h in /w, process 7
12:00:00 a-rather-long…     run_start       why does the build fail?
12:00:00 a-rather-long…     state           processing spinner
12:00:00 a-rather-long…   1 turn            m1
12:00:00 a-rather-long…   1 thinking        hm
12:00:00 a-rather-long…   1 assistant_text  I look.
12:00:00 a-rather-long…   1 tool_call_start bash: ls -la
12:00:00 a-rather-long…   1 tool_call_start read: a.go
12:00:00 a-rather-long…   1 tool_call_start find: {"q":1}
12:00:00 a-rather-long…   1 tool_call_start find: malformed arguments: no end
12:00:00 a-rather-long…   1 tool_progress   bash: ls -la total 0
12:00:00 a-rather-long…   1 tool_call_end   bash: ls -la → success
12:00:00 a-rather-long…   1 tool_call_end   read: a.go → denied by a rule
12:00:00 a-rather-long…   1 tool_call_end   c9 → error
12:00:00 a-rather-long…     approval        approve: Run? ls
12:00:00 a-rather-long…   1 subagent_start  search find it
12:00:00 a-rather-long…   1 subagent_end    s1 → success
12:00:00 a-rather-long…   1 file_changed    a.go
12:00:00 a-rather-long…  12 usage           9 sent (4 from a cache), 2 received
12:00:00 a-rather-long…     compaction      900 → 80 tokens
12:00:00 a-rather-long…     mode            plan → build
12:00:00 a-rather-long…     model           → m2
12:00:00 a-rather-long…   2 task_updated    1 of 2 done two
12:00:00 a-rather-long…     shell_input     make
12:00:00 a-rather-long…     shell_progress  cc
12:00:00 a-rather-long…     shell_output    exit 1: no rule
12:00:00 a-rather-long…     error           overloaded
12:00:00 a-rather-long…     info            an update is there
12:00:00 a-rather-long…     usage           (unreadable)
12:00:00 a-rather-long…     run_end         finished It works.
12:00:00 a-rather-long…     arm.stopped     killed
12:00:00 a-rather-long…     merge           done merge coleo/a into main
12:00:00 a-rather-long…     merge           done merge lib: coleo/a into main
12:00:00 a-rather-long…     newer           said`, "\n"), "\n")
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			t.Errorf("line %d is\n%s", i, got[i])
		}
	}
	if len(p.calls) != 2 { // the calls c3 and c4 have not ended
		t.Errorf("the printer remembers the calls %v", p.calls)
	}
}

// TestEachKindHasASummary: the printer has a case for each kind of event. If a case is missing, the
// printer prints nothing of the event's payload.
func TestEachKindHasASummary(t *testing.T) {
	t.Parallel()
	p := &printer{calls: map[string]string{}}
	for _, kind := range coleo.EventKinds() {
		if !kind.IsWork() {
			continue
		}
		e := event(kind, 0, map[string]any{"id": "said", "text": "said", "model": "said", "name": "said", "output": "said",
			"type": "said", "path": "said", "to": "said", "command": "said", "input_tokens": 77, "before_tokens": 77,
			"tasks": []coleo.Task{{Text: "said", Status: coleo.TaskRunning}}})
		if text, _ := p.summary(e); !strings.Contains(text, "said") && !strings.Contains(text, "77") {
			t.Errorf("a %s is summed up as %q", kind, text)
		}
	}
}

func TestARunIsToldInTenLines(t *testing.T) {
	t.Parallel()
	r := coleo.Run{ID: "1a2b3c4d-5e6f", ArmName: "fix", Harness: "h", Started: at, Ended: at.Add(90 * time.Second),
		Status: coleo.Idle, Outcome: coleo.OutcomeFinished, Origin: coleo.OriginHand, Prompt: "why?\nsay",
		Answer: strings.Repeat("long ", 100), Whole: true, Model: "m", Turns: 3, Calls: 5, Denied: 1, Failed: 2, Files: 4,
		Events: 31, Usage: coleo.Usage{Input: 100, Cached: 40, Output: 7, Cost: 0.25}, Orphans: []string{"c"}}
	got := colourless(describeRun(r, at.Add(time.Hour), 80))
	want := `Run:      1a2b3c4d-5e6f
Arm:      fix (h)
Prompt:   why? say
Began:    2026-05-01 12:00:00, 1h 0m ago, typed by hand
Ended:    finished after 1m, idle
Turns:    3, model m
Calls:    5, 1 denied, 2 failed, 1 not ended; 4 changes of files
Tokens:   100 sent (40 from a cache), 7 received; $0.2500
Answer:   long long long long long long long long long long long long long long 
Events:   31: coleo run events 1a2b3c4d
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	open := coleo.Run{ID: "x", Open: true, Started: at}
	got = colourless(describeRun(open, at.Add(time.Minute), 0))
	if !strings.Contains(got, "Ended:    open, 1m so far\n") {
		t.Errorf("an open run is told as\n%s", got)
	}
}

func TestRunsAreATable(t *testing.T) {
	t.Parallel()
	list := []coleo.Run{
		{ID: "1a2b3c4d-5e6f", ArmName: "fix", Open: true, Started: at, Prompt: strings.Repeat("very ", 20) + "long"},
		{ID: "2a2b3c4d-5e6f", ArmName: "a-rather-long-name", Started: at, Ended: at.Add(time.Second), Calls: 12, Failed: 2,
			Outcome: coleo.OutcomeInterrupted, Prompt: "short"},
		{ID: "3", Compact: true},
	}
	got := colourless(runTable(list, at.Add(2*time.Minute), 80))
	want := `RUN       ARM             AGE  TOOK  OUTCOME      CALLS       PROMPT
1a2b3c4d  fix             2m   2m    open         0           very very very ve…
2a2b3c4d  a-rather-long…  2m   1s    interrupted  12 (2 bad)  short
3                         n/a  -     unknown      0           (shortens the con…
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := runTable(nil, at, 80); got != "No runs.\n" {
		t.Errorf("no runs = %q", got)
	}
}

func TestSinceIsATimeOrAnAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{"": {}, "2h": at.Add(-2 * time.Hour), "-5m": at.Add(-5 * time.Minute),
		"2026-01-02T15:04:05Z": time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)} {
		if got, err := parseSince(text, at); err != nil || !got.Equal(want) {
			t.Errorf("--since %s = %v (%v), want %v", text, got, err, want)
		}
	}
	if _, err := parseSince("yesterday", at); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("--since yesterday = %v", err)
	}
}

func TestTheListShowsTheWholeNameOfAnArmOfAFanOut(t *testing.T) {
	t.Parallel()
	const name = "fan-quekh4-claude-code"
	list := []coleo.Run{{ID: "1a2b3c4d5e6f", ArmName: name}}
	for width, whole := range map[int]bool{0: true, 140: true, 60: false} {
		if got := runTable(list, time.Now(), width); strings.Contains(got, name) != whole {
			t.Errorf("the list of %d columns shows %s", width, got)
		}
	}
}
