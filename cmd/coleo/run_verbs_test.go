package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
)

// runList is the JSON that run list prints.
type runList struct {
	Runs []coleo.Run `json:"runs"`
}

func TestRunsAreListedAndTold(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if out := f.must("run", "list"); out != "No runs.\n" {
		t.Errorf("without runs, run list says %q", out)
	}
	f.checkAnswer("first")
	f.checkAnswer("second")
	list := decode[runList](f.world, "run", "list", f.name).Runs
	if len(list) != 2 || list[0].Answer != "second" || list[1].Answer != "first" || list[0].ArmName != f.name ||
		list[0].Outcome != coleo.OutcomeFinished || list[0].Open || list[0].Harness != "fake" {
		t.Fatalf("run list = %+v", list)
	}
	id := list[1].ID
	if out := f.must("run", "list", "--limit", "1"); !strings.Contains(out, list[0].ID[:8]) ||
		strings.Contains(out, id[:8]) || !strings.Contains(out, "older runs: --before ") {
		t.Errorf("run list --limit 1 says\n%s", out)
	}
	if out := f.must("run", "show", id[:8]); strings.Count(out, "\n") != 10 || !strings.Contains(out, id) ||
		!strings.Contains(out, "finished after") || !strings.Contains(out, "Answer:   (may be incomplete) first\n") {
		t.Errorf("run show says\n%s", out)
	}
	if out := f.must("__complete", "run", "show", id[:3]); !strings.HasPrefix(out, id[:8]+"\tone: say first") {
		t.Errorf("a shell is offered %q", out)
	}
	f.fails(4, "run", "show", "nothing")
	f.fails(4, "run", "list", "nobody")
	f.fails(2, "run", "list", "--outcome", "fine")
	f.fails(2, "run", "events", id, "--arm", f.name)
	f.fails(2, "run", "events", "--kind", "weather")
	out := f.must("run", "events", id[:8])
	if lines := strings.Split(strings.TrimSpace(out), "\n"); !strings.Contains(lines[0], "run_start") ||
		!strings.Contains(lines[len(lines)-1], "run_end         finished first") {
		t.Errorf("run events says\n%s", out)
	}
	if followed := f.must("run", "events", id[:8], "--follow"); followed != out { // stops at the end of the run
		t.Errorf("run events --follow says\n%s\nwithout --follow\n%s", followed, out)
	}
	var end struct{ Cursor string }
	stored := strings.Split(strings.TrimSpace(f.must("--json", "run", "events", id)), "\n")
	f.check(json.Unmarshal([]byte(stored[len(stored)-1]), &end))
	if out := f.must("run", "events", id, "--follow", "--from", end.Cursor); out != "" { // the run has ended before
		t.Errorf("run events --follow --from the end of the run says\n%s", out)
	}
	if out := f.must("run", "events", id, "-f", "--kind", "run_start"); strings.Count(out, "\n") != 1 {
		t.Errorf("run events --follow --kind run_start says\n%s", out)
	}
}

// TestM21AllEventsAreFollowedAcrossARestartOfServe: a program that follows all arms must receive
// each event once. That includes the events that happen while serve is down.
func TestM21AllEventsAreFollowedAcrossARestartOfServe(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("before")
	cmd := f.command("run", "events", "--follow", "--json", "--from", "0")
	out := &lines{}
	cmd.Stdout = out
	f.check(cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	until(t, "the first run is printed", func() bool { return strings.Contains(out.text(), `"run_end"`) })
	f.kill9(f.onlyProcess("serve"))
	f.must("up")
	f.checkAnswer("after")
	ends := func() int { return strings.Count(out.text(), `"kind":"run_end"`) }
	until(t, "the second run is printed", func() bool { return ends() == 2 })
	var printed bytes.Buffer
	keys := map[string]bool{}
	text := out.text()
	for line := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var e struct {
			Cursor string
			coleo.Event
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Cursor == "" || keys[e.Cursor] {
			t.Fatalf("the line %q (%v) is no event, or came before", line, err)
		}
		keys[e.Cursor] = true
		printed.WriteString(line)
	}
	if stored := f.must("--json", "run", "events"); !strings.HasPrefix(stored, printed.String()) {
		t.Errorf("followed:\n%s\nread later:\n%s", printed.String(), stored)
	}
}
