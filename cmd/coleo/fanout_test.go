package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

// fanArm is the JSON that fan-out show prints about one arm.
type fanArm struct {
	Arm, Harness, Branch, Worktree, Outcome string
	Need                                    coleo.Need
	Runs                                    int
	Changes                                 *struct {
		Files        int
		LinesAdded   int `json:"lines_added"`
		LinesDeleted int `json:"lines_deleted"`
	}
}

// fanOut is the JSON that fan-out prints.
type fanOut struct {
	ID   string `json:"fanout"`
	Base string
	Arms []struct {
		Arm, Run string
		Started  bool
		Unknown  bool
		Error    *coleo.Error
	}
	Table []fanArm
}

// fanned runs fan-out, which must exit with the given code.
func (w *world) fanned(code int, args ...string) fanOut {
	w.t.Helper()
	var out fanOut
	r := w.run(append([]string{"--json", "fan-out"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != code {
		w.t.Fatalf("%v\nwant exit %d and JSON: %v", r, code, err)
	}
	return out
}

// compared returns the table of a fan-out.
func (w *world) compared(id string, more ...string) map[string]fanArm {
	w.t.Helper()
	table := decode[struct{ Arms []fanArm }](w, append([]string{"fan-out", "show", id}, more...)...)
	out := map[string]fanArm{}
	for _, a := range table.Arms {
		out[a.Arm] = a
	}
	return out
}

func TestAFanOutGivesOneTaskToSeveralArms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project() + "/sub"
	head := w.git(dir, "rev-parse", "HEAD")
	out := w.fanned(0, "-n", "3", "--harness", "fake", "-w", dir, "--label", "team=a", "--wait", "say $(date) 'x'")
	if len(out.Arms) != 3 || len(out.Table) != 3 || out.Base != head {
		t.Fatalf("fan-out prints %+v", out)
	}
	trees := map[string]bool{}
	for i, a := range out.Table {
		made := w.arm(a.Arm)
		if a.Need != coleo.NeedIdle || a.Runs != 1 || a.Outcome != "finished" || made.Labels.String() !=
			"fanout="+out.ID+",team=a" ||
			!strings.HasPrefix(a.Arm, "fan-"+out.ID+"-fake-") || out.Arms[i].Run == "" {
			t.Errorf("the arm is %+v with the labels %s", a, made.Labels)
		}
		if run := w.must("run", "show", out.Arms[i].Run, "--answer"); run != "$(date) 'x'\n" {
			t.Errorf("the answer is %q", run)
		}
		if a.Changes == nil || a.Changes.Files != 2 || w.git(made.Workdir, "rev-parse", "HEAD") != head {
			t.Errorf("the changes are %+v", a.Changes) // want 2 files: the fake agent CLI's record and environment
		}
		trees[a.Worktree] = true
	}
	if len(trees) != 3 {
		t.Errorf("the worktrees are %v", trees)
	}
	if text := w.must("fan-out", "show", out.ID); !strings.Contains(text, "unknown") ||
		!strings.Contains(text, "FILES  LINES") {
		t.Errorf("fan-out show prints\n%s", text)
	}
	if text := w.must("fan-out", "list"); !strings.Contains(text, out.ID+"  "+out.Table[0].Arm) {
		t.Errorf("fan-out list prints\n%s", text)
	}
	kept, other, third := out.Table[0], out.Table[1], out.Table[2]
	w.fails(4, "fan-out", "keep", out.ID, "nobody")
	w.fails(4, "fan-out", "show", "none")
	w.must("arm", "prompt", third.Arm, "pause 60s")
	e := w.fails(5, "fan-out", "keep", out.ID, kept.Arm)
	for _, want := range []string{"nothing was removed", third.Arm + " is working", other.Arm + " has 2 untracked files",
		"--force"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("the refusal says nothing of %q: %s", want, e.Message)
		}
	}
	if now := w.compared(out.ID); len(now) != 3 || now[other.Arm].Need != coleo.NeedIdle ||
		now[third.Arm].Need != coleo.NeedWorking {
		t.Errorf("after the refusal: %+v", now)
	}
	w.check(os.WriteFile(filepath.Join(other.Worktree, "mine"), []byte("unsaved\n"), 0o600))
	if text := w.must("fan-out", "keep", out.ID, kept.Arm, "--force"); !strings.Contains(text,
		"coleo workspace restore "+other.Arm) ||
		!strings.Contains(text, kept.Arm+"  kept     "+kept.Worktree) {
		t.Errorf("fan-out keep prints\n%s", text)
	}
	if now := w.compared(out.ID); len(now) != 1 || now[kept.Arm].Need != coleo.NeedIdle {
		t.Errorf("at the end: %+v", now)
	}
	if _, err := os.Stat(other.Worktree); err == nil {
		t.Errorf("%s is still there", other.Worktree)
	}
	w.must("workspace", "restore", other.Arm)
	if data, err := os.ReadFile(filepath.Join(other.Worktree, "mine")); string(data) != "unsaved\n" {
		t.Errorf("restored, the file has %q, %v", data, err)
	}
}

func TestAFanOutSaysWhichArmsWereNotStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project() + "/sub"
	w.template("say", sayTemplate)
	broken, err := os.ReadFile(w.path("config/harnesses/fake.toml"))
	w.check(err)
	w.write("config/harnesses/gone.toml", strings.Replace(strings.Replace(string(broken), `name = "fake"`,
		`name = "gone"`, 1), `command = "fakeagent"`, `command = "no-such-program"`, 1))
	for want, args := range map[string][]string{
		"needs a task":               {},
		"no harness \"none\"":        {"--harness", "none", "x"},
		"at least 2 arms (one for":   {"-n", "1", "--harness", "fake,gone", "x"},
		"at least 1 arm":             {"-n", "0", "--harness", "fake", "x"},
		"and at most 20":             {"-n", "21", "--harness", "fake", "x"},
		"named twice":                {"--harness", "fake,fake", "x"},
		"Coleo sets the label":       {"--harness", "fake", "--label", "fanout=x", "x"},
		"needs the argument word":    {"--template", "say"},
		"is not a commit in":         {"--harness", "fake", "--base", "none", "x"},
		"is not in a git repository": {"--harness", "fake", "-w", w.dir, "x"},
		"the argument word (what is": {"--template", "say", "-n", "2"},
	} {
		full := append([]string{"--json", "fan-out", "-w", dir}, args...)
		if r := w.run(full...); r.code == 0 || !strings.Contains(r.err, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%v\nwant an error with %q", r, want)
		}
	}
	out := w.fanned(3, "--harness", "fake,gone", "-w", dir, "--wait", "say hello")
	if !out.Arms[0].Started || out.Arms[0].Error != nil || out.Arms[1].Started || out.Arms[1].Unknown ||
		out.Arms[1].Error == nil {
		t.Errorf("fan-out prints %+v", out)
	}
	if len(out.Table) != 1 || out.Table[0].Runs != 1 {
		t.Errorf("the table is %+v", out.Table)
	}
	text := w.run("fan-out", "--harness", "fake,gone", "-w", dir, "say hello")
	if text.code != 3 || !strings.Contains(text.out, "-gone  no       ") || !strings.Contains(text.out, "not installed") {
		t.Errorf("fan-out prints %v", text)
	}
	if none := w.fanned(3, "--harness", "gone", "-w", dir, "--wait", "x"); none.Arms[0].Started || len(none.Table) != 0 {
		t.Errorf("without any arm, fan-out prints %+v", none)
	}
	if r := w.run("fan-out", "--harness", "gone", "-w", dir, "x"); strings.Contains(r.out, "fan-out show") {
		t.Errorf("without any arm, fan-out offers a comparison: %v", r)
	}
	first := w.git(dir, "rev-parse", "HEAD")
	w.git(dir, "branch", "old")
	w.git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "second")
	w.template("say", "base = \"old\"\n"+sayTemplate)
	two := w.fanned(0, "--template", "say", "--arg", "word=hey", "-n", "2", "-w", dir, "--wait")
	if len(two.Table) != 2 || two.Base != first {
		t.Errorf("from a template, fan-out prints %+v, want the base %s", two, first)
	}
	for _, a := range two.Table {
		if a.Harness != "fake" || a.Runs != 1 || w.arm(a.Arm).Labels["kind"] != "say" {
			t.Errorf("from a template: %+v", a)
		}
	}
}

// The command fan-out is killed while it starts its arms. The label of the fan-out must still
// select the started arms. When an arm asks something, `fan-out --wait` must stop waiting.
func TestAKilledFanOutLeavesArmsWithItsLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project() + "/sub"
	w.must("up")
	cmd := w.command("fan-out", "-n", "2", "--harness", "fake", "-w", dir, "--wait", "dialog rm -r /")
	w.check(cmd.Start())
	var id string
	until(t, "an arm of the fan-out is there", func() bool {
		found := decode[struct{ Fanouts map[string][]string }](w, "fan-out", "list").Fanouts
		for key := range found {
			id = key
		}
		return id != ""
	})
	w.check(cmd.Process.Kill())
	_ = cmd.Wait()
	// The kill can cut off the start of an arm. Coleo then completes the start, or removes the arm.
	until(t, "no start is open", func() bool {
		r := w.run("--json", "fan-out", "show", id)
		return r.code == 0 && !strings.Contains(r.out, "initializing") || strings.Contains(r.err, "no arm has the label")
	})
	out := w.fanned(0, "-n", "2", "--harness", "fake", "-w", dir, "--wait", "dialog rm -r /")
	for _, a := range out.Table {
		if a.Need != coleo.NeedsYou {
			t.Errorf("an arm that asks is %+v", a)
		}
	}
	if e := w.fails(5, "fan-out", "keep", out.ID, out.Table[0].Arm); !strings.Contains(e.Message,
		out.Table[1].Arm+" asks something") {
		t.Errorf("keep while one asks: %+v", e)
	}
}

// TestASuccessorBelongsToItsFanOut: an arm of a fan-out can hand its task to a successor, also by itself at a limit.
// The successor then does the task, so it must be compared, waited for and kept, together with the first arm. The
// worktree belongs to the first arm.
func TestASuccessorBelongsToItsFanOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	out := w.fanned(0, "-n", "2", "--harness", "fake", "-w", w.project(), "--wait", "say x")
	first, other := out.Table[0], out.Table[1]
	w.must("arm", "handover", first.Arm, "--to", "fake", "-n", "next")
	if now := w.compared(out.ID, "--wait"); len(now) != 3 || now["next"].Runs != 1 || now["next"].Outcome != "finished" {
		t.Errorf("after the hand-over: %+v", now)
	}
	if text := w.must("fan-out", "keep", out.ID, "next", "--force"); !strings.Contains(text, "kept     "+first.Worktree) {
		t.Errorf("fan-out keep prints\n%s", text)
	}
	if now := w.compared(out.ID); len(now) != 2 || now["next"].Arm == "" || now[first.Arm].Arm == "" {
		t.Errorf("at the end: %+v", now)
	}
	if _, err := os.Stat(first.Worktree); err != nil {
		t.Errorf("the folder in which the successor works: %v", err)
	}
	if _, err := os.Stat(other.Worktree); err == nil {
		t.Errorf("%s is still there", other.Worktree)
	}
}
