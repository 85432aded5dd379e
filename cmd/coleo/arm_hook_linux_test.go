package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/hook"
)

// hookTable is a part of a harness. With it, Coleo reads reports from the hook of the fake agent
// CLI. The fake writes none, so the tests write the reports themselves.
const hookTable = `
[hook]
event = "event"
[[hook.report]]
event = "Tool"
state = "executing"
tool = "tool"
[[hook.report]]
event = "Prompt"
state = "processing"
prompt = "prompt"
[[hook.report]]
event = "Stop"
answer = "answer"
`

// newHooked starts an arm whose harness has a hook. It returns the path of the file to which the
// hook writes its reports.
func newHooked(t *testing.T) (f *fake, reports string) {
	t.Helper()
	w := newWorld(t, "")
	w.write("config/harnesses/fake.toml", w.read("config/harnesses/fake.toml")+hookTable)
	f = w.spawnFake("one")
	arm := f.arm("one")
	return f, hook.Path(w.path("state/arms/" + arm.ID + "/g1"))
}

func (f *fake) witness(name string) (coleo.Explanation, coleo.Witness) {
	f.t.Helper()
	x := decode[coleo.Explanation](f.world, "arm", "explain", f.name)
	if i := slices.IndexFunc(x.Witnesses, func(w coleo.Witness) bool { return w.Name == name }); i >= 0 {
		return x, x.Witnesses[i]
	}
	return x, coleo.Witness{}
}

// The hook reports "executing" while the screen shows an idle agent CLI and does not change. The
// arm must be executing at once. When a later screen contradicts the report, the report must no
// longer count, and the arm is idle again.
func TestAHookIsHeardWithoutAChangeOfTheScreen(t *testing.T) {
	t.Parallel()
	f, reports := newHooked(t)
	if out := f.must("hook", reports, `{"event":"Tool","tool":"Bash"}`); out != "" {
		t.Errorf("the hook said %q", out)
	}
	f.wait("one", coleo.Executing)
	x, claim := f.witness("hook")
	if x.Reading.Rule != "hook Tool" || claim.State != coleo.Executing || claim.Detail != "Bash" {
		t.Errorf("it reads %+v, and the hook said %+v", x.Reading, claim)
	}
	if late := x.Reading.Since.Sub(claim.Time); late > time.Second {
		t.Errorf("the report was heard after %s", late)
	} else {
		t.Logf("the report was heard after %s", late)
	}
	f.wait("one", coleo.Idle)
	if _, claim := f.witness("hook"); !claim.Lapsed {
		t.Errorf("it reads idle while the hook counts: %+v", claim)
	}
	out := f.must("arm", "explain", "one")
	for _, want := range []string{"idle for ", `by rule "composer"`, "WITNESS", "Tool (Bash)", "no, it has lapsed"} {
		if !strings.Contains(out, want) {
			t.Errorf("explain says nothing of %q:\n%s", want, out)
		}
	}
	f.checkAnswer("afterwards")
}

// Reports that arrive while no host agent runs must be read by the next host agent.
func TestWhatAHookReportsWhileNobodyListensIsKept(t *testing.T) {
	t.Parallel()
	f, reports := newHooked(t)
	f.kill9(f.onlyProcess("agent"))
	f.must("hook", reports, `{"event":"Prompt","prompt":"unheard"}`)
	f.must("up")
	until(t, "the report to be read", func() bool {
		_, claim := f.witness("hook")
		return claim.Rule == "Prompt"
	})
	f.must("hook", reports, `{"event":"Stop","answer":"nothing"}`)
	f.wait("one", coleo.Idle)
}

func TestAHookNeverFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, args := range [][]string{{}, {"/no/such/folder/x"}, {w.path("x"), "nonsense"}, {w.path("x"), "--help"},
		{w.path("x"), "{}", "more"}} {
		if r := w.run(append([]string{"hook"}, args...)...); r.code != 0 || r.out+r.err != "" {
			t.Errorf("%v, want nothing", r)
		}
	}
}
