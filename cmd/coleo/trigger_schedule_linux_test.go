package main

import (
	"fmt"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// triggersOn is a part of config.toml that switches triggers on.
const triggersOn = "[triggers]\nenabled = true\n"

// boxedTemplate is a template with a sandbox, as triggers require.
const boxedTemplate = `harness = "fake"
sandbox = "bwrap"
labels = { trigger = "forged", team = "a" }
prompt = "say {{word}}"
[args.word]
description = "what is said"
default = "hello"
`

// triggerWorld returns a world with triggers and the template "boxed", and a work folder.
func triggerWorld(t *testing.T, config string) (w *world, dir string) {
	t.Helper()
	needBwrap(t)
	w = newWorld(t, config)
	w.template("boxed", boxedTemplate)
	return w, w.workdir("one", fakeagent.Script{})
}

// runsOf returns the entries of one kind in a trigger's history, newest first. A run is one of
// these kinds.
func (w *world) runsOf(name string, kind trigger.EntryKind) []trigger.Entry {
	w.t.Helper()
	var out []trigger.Entry
	for _, e := range decode[map[string][]trigger.Entry](w, "schedule", "history", name, "--limit", "1000")["history"] {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// untilRunsEnd waits until a trigger has the given number of runs and none of them is open.
func (w *world) untilRunsEnd(name string, count int) []trigger.Entry {
	w.t.Helper()
	var runs []trigger.Entry
	until(w.t, fmt.Sprintf("%d runs of %s have ended", count, name), func() bool {
		runs = w.runsOf(name, trigger.EntryRun)
		for _, e := range runs {
			if e.Open() {
				return false
			}
		}
		return len(runs) == count
	})
	return runs
}

// armsOf returns the arms that a trigger has started.
func (w *world) armsOf(name string) []coleo.Arm {
	w.t.Helper()
	return decode[map[string][]coleo.Arm](w, "arm", "list", "--all", "-l", "trigger="+name)["arms"]
}

func TestAScheduleStartsArmsInASandbox(t *testing.T) {
	t.Parallel()
	w, dir := triggerWorld(t, triggersOn)
	w.must("up")
	made := decode[wire.NewTrigger](w, "schedule", "add", "nightly", "--cron", "30 2 * * *", "--zone", "Europe/Berlin",
		"--template", "boxed", "-w", dir, "--arg", "word=good night", "--max-arms", "1")
	if made.Trigger.Next.IsZero() || !made.On || made.Secret != "" {
		t.Errorf("added: %+v", made)
	}
	w.must("schedule", "run-now", "nightly")
	run := w.untilRunsEnd("nightly", 1)[0]
	if run.State != trigger.RunStarted || !run.ByHand {
		t.Fatalf("the run is %+v", run)
	}
	arms := w.armsOf("nightly")
	if len(arms) != 1 || arms[0].Name != run.ArmName || arms[0].ID != run.Arm ||
		arms[0].Labels.String() != "team=a,trigger=nightly" || arms[0].Workdir != dir ||
		!strings.Contains(string(arms[0].Config), `"kind": "bwrap"`) {
		t.Fatalf("the arms are %+v", arms)
	}
	until(t, "the first prompt is answered", func() bool {
		return strings.Contains(w.run("arm", "last", run.ArmName).out, "good night")
	})
	if e := w.fails(5, "schedule", "run-now", "nightly"); !strings.Contains(e.Message, "1 live arms, and at most 1") {
		t.Errorf("another run: %+v", e)
	}
	w.must("arm", "kill", run.ArmName)
	w.must("schedule", "run-now", "nightly")
	w.untilRunsEnd("nightly", 2)
	if out := w.must("schedule", "list"); !strings.Contains(out, "02:30 Europe/Berlin") ||
		!strings.Contains(out, "1 of 1") {
		t.Errorf("schedule list says\n%s", out)
	}
	if out := w.must("schedule", "show", "nightly"); !strings.Contains(out, "run started") ||
		!strings.Contains(out, "by hand") || !strings.Contains(out, `"good night"`) {
		t.Errorf("schedule show says\n%s", out)
	}
	w.must("schedule", "remove", "nightly")
	w.fails(4, "schedule", "show", "nightly")
	if len(w.armsOf("nightly")) != 2 || len(w.runsOf("nightly", trigger.EntryRun)) != 2 {
		t.Error("the arms or the entries of the schedule went with it")
	}
}

// An arm in a sandbox must get a clone instead of a worktree, even if a schedule starts it.
func TestAScheduleStartsArmsInClones(t *testing.T) {
	t.Parallel()
	w, _ := triggerWorld(t, triggersOn)
	w.template("tree", strings.Replace(boxedTemplate, "prompt", "worktree = true\nprompt", 1))
	w.project()
	w.must("up")
	w.must("schedule", "add", "nightly", "--cron", "@daily", "--template", "tree", "-w", w.path("project/sub"))
	w.must("schedule", "run-now", "nightly")
	run := w.untilRunsEnd("nightly", 1)[0]
	if run.State != trigger.RunStarted {
		t.Fatalf("the run is %+v", run)
	}
	if out := w.must("arm", "status", run.ArmName); !strings.Contains(out, "a clone, branch coleo/"+run.ArmName) {
		t.Errorf("arm status says\n%s", out)
	}
	until(t, "the first prompt is answered", func() bool {
		return strings.Contains(w.run("arm", "last", run.ArmName).out, "hello")
	})
}

func TestWrongSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	w, dir := triggerWorld(t, "")
	w.template("open", strings.Replace(boxedTemplate, "bwrap", "none", 1))
	w.template("unsaid", strings.Replace(boxedTemplate, `sandbox = "bwrap"`, "", 1))
	w.template("silent", "harness = \"fake\"\nsandbox = \"bwrap\"\n")
	w.template("asking", strings.Replace(boxedTemplate, "default = \"hello\"\n", "", 1))
	w.must("up")
	good := []string{"--cron", "@daily", "--template", "boxed", "-w", dir}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{15, `add sandbox = "bwrap"`, []string{"n", "--cron", "@daily", "--template", "open", "-w", dir}},
		{15, `add sandbox = "bwrap"`, []string{"n", "--cron", "@daily", "--template", "unsaid", "-w", dir}},
		{2, "has no prompt", []string{"n", "--cron", "@daily", "--template", "silent", "-w", dir}},
		{2, "needs the argument word", []string{"n", "--cron", "@daily", "--template", "asking", "-w", dir}},
		{2, "no argument \"wrod\"", append([]string{"n", "--arg", "wrod=x"}, good...)},
		{4, "no template \"none\"", []string{"n", "--cron", "@daily", "--template", "none", "-w", dir}},
		{2, "--template NAME is missing", []string{"n", "--cron", "@daily"}},
		{2, "no time zone", append([]string{"n", "--zone", "Europe/Atlantis"}, good...)},
		{2, "cron expression \"\" is wrong", []string{"n", "--template", "boxed", "-w", dir}},
		{2, "cannot name a schedule", append([]string{"../n"}, good...)},
		{2, "expected number <= 20", append([]string{"n", "--max-arms", "21"}, good...)},
	} {
		if e := w.fails(c.code, append([]string{"schedule", "add"}, c.args...)...); !strings.Contains(e.Message, c.want) {
			t.Errorf("%q: %+v, want %q", c.args, e, c.want)
		}
	}
	if out := w.must("schedule", "list"); !strings.Contains(out, "No schedules.") {
		t.Errorf("schedule list says\n%s", out)
	}
	r := w.run(append([]string{"schedule", "add", "n"}, good...)...)
	if r.code != 0 || !strings.Contains(r.err, "triggers are off") {
		t.Errorf("while triggers are off: %v", r)
	}
	if e := w.fails(5, append([]string{"schedule", "add", "n"}, good...)...); !strings.Contains(
		e.Message, `called "n" already`) {
		t.Errorf("a second one with this name: %+v", e)
	}
	if e := w.fails(15, "schedule", "run-now", "n"); !strings.Contains(e.Message, "triggers are off") {
		t.Errorf("run-now while triggers are off: %+v", e)
	}
}

func TestMissedRunsAreToldAndMadeUpOnce(t *testing.T) {
	t.Parallel()
	w, dir := triggerWorld(t, triggersOn)
	w.must("up")
	w.must("schedule", "add", "up-again", "--cron", "0 * * * *", "--catch-up", "--template", "boxed", "-w", dir)
	w.must("schedule", "add", "lost", "--cron", "0 * * * *", "--template", "boxed", "-w", dir)
	// missedOf returns how many runs a schedule has missed. The two schedules have the same times, so
	// they must miss equally many runs, even if a real hour ends during the test.
	missedOf := func(name string) (count int) {
		for _, s := range decode[wire.Triggers](w, "schedule", "list").Triggers {
			if s.Name == name {
				count = s.Missed
			}
		}
		return count
	}
	before := missedOf("lost")
	if runs := append(w.runsOf("lost", trigger.EntryRun), w.runsOf("up-again", trigger.EntryRun)...); len(runs) > 0 {
		t.Skip("an hour has just begun")
	}
	w.kill9(w.onlyProcess("serve"))
	w.write("clock", "29h30m")
	w.must("up")
	run := w.untilRunsEnd("up-again", 1)[0]
	late := run.Time.Sub(run.Due)
	if run.State != trigger.RunStarted || late < 0 || late.Hours() >= 1 {
		t.Errorf("the run is %+v", run)
	}
	for _, name := range []string{"up-again", "lost"} {
		until(t, "the missed runs are told", func() bool { return missedOf(name) > before })
		missed := w.runsOf(name, trigger.EntryMissed)
		if len(missed) != 1 || missed[0].Count != missedOf(name) || missed[0].Count < 29 || missed[0].Count > 30 {
			t.Errorf("%s has missed %+v; the list says %d", name, missed, missedOf(name))
		}
	}
	if run.CatchUp && len(w.runsOf("lost", trigger.EntryRun)) > 0 {
		t.Error("a schedule without --catch-up made up for missed runs")
	}
	if out := w.must("schedule", "history", "up-again"); run.CatchUp &&
		!strings.Contains(out, "one run makes up for them") {
		t.Errorf("schedule history says\n%s", out)
	}
}
