package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// oldBuild is the path of an earlier build of coleo, from which the test upgrades. By default, the
// test builds the present version twice, with different version numbers.
var oldBuild = flag.String("old", "", "the program of an earlier coleo")

// buildAs builds this program with the given version number.
func buildAs(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coleo")
	cmd := exec.Command("go", "build", "-ldflags", "-X coleo.dev/cmd/coleo/executable.Version="+version, "-o", path,
		"coleo.dev/cmd/coleo")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", version, err, out)
	}
	return path
}

// install replaces bin/coleo by another program, as an update does.
func (w *world) install(program string) {
	w.t.Helper()
	w.check(link(program, w.path("bin/coleo.new")))
	w.check(os.Rename(w.path("bin/coleo.new"), w.path("bin/coleo")))
}

func TestArmsLiveThroughAnUpgrade(t *testing.T) {
	t.Parallel()
	skipIfShort(t) // must come before the build
	older := *oldBuild
	if older == "" {
		older = buildAs(t, "0.1-old")
	}
	newer := buildAs(t, "0.2-new")
	for name, leave := range map[string]func(*world){
		"stopped in order": func(w *world) { w.must("down") },
		"killed":           func(w *world) { w.kill9(w.onlyProcess("serve")); w.kill9(w.onlyProcess("agent")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.install(older)
			f := w.spawnFake("one")
			f.upgrades(newer, leave)
		})
	}
}

// upgrades replaces the program coleo while the arm is working. Afterwards the arm must still have
// the same process and the same holder, and all commands must work with it.
func (f *fake) upgrades(newer string, leave func(*world)) {
	f.t.Helper()
	holders := f.processesOf("hold")
	r := decode[coleo.Receipt](f.world, "arm", "prompt", f.name,
		"slow "+strings.Repeat("word ", 40)+"for 3s\nsay the-end")
	f.install(newer)
	leave(f.world)
	f.must("up")
	if now := f.arm(f.name); now.PID != f.pid || now.Generation != 1 || !runs(f.pid) {
		f.t.Errorf("after the upgrade: process %d of generation %d, before it %d of 1", now.PID, now.Generation, f.pid)
	}
	if end := f.awaitRun(r.ID); !strings.Contains(end.Answer, "the-end") || end.Status != coleo.Idle {
		f.t.Errorf("the run over the upgrade ended with %+v", end)
	}
	if now := f.processesOf("hold"); len(holders) != 1 || len(now) != 1 || now[0] != holders[0] {
		f.t.Errorf("holders before %v, after %v; want the same one", holders, now)
	}
	f.checkAnswer("something-else")
	d := f.asks("rm -rf build")
	f.must("arm", "approve", f.name, "--dialog", string(d.Fingerprint))
	f.wait(f.name, coleo.Idle)
	if got := f.texts(fakeagent.Prompted); len(got) != 3 {
		f.t.Errorf("the agent CLI was prompted %q, want three prompts", got)
	}
	next := f.spawnFake("two") // the second arm has a holder of the new version
	next.checkAnswer("new")
	f.must("arm", "kill", f.name)
	if runs(f.pid) {
		f.t.Errorf("process %d outlived the arm's end", f.pid)
	}
}
