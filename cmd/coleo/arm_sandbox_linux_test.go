package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/holder/process"
	"coleo.dev/sandbox"
	"coleo.dev/sandbox/limits"
	"coleo.dev/wire"
)

// needBwrap skips a test if no sandbox can be made here, unless COLEO_REQUIRE demands one.
func needBwrap(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("bwrap")
	if err == nil {
		return // if the machine forbids sandboxes, the test will fail and show that
	}
	if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "bwrap") {
		t.Fatal(err)
	}
	t.Skip(err, "; ", sandbox.Install)
}

// spawnBoxed starts an arm in a sandbox, with further flags of arm spawn.
func (w *world) spawnBoxed(name string, more ...string) *fake {
	w.t.Helper()
	dir := w.workdir(name, fakeagent.Script{})
	argv := append([]string{"arm", "spawn", "-n", name, "-w", dir, "--harness", "fake", "--sandbox", "bwrap"}, more...)
	return &fake{world: w, name: name, workdir: dir, pid: decode[wire.SpawnReply](w, argv...).PID}
}

// agentPID returns the process of the fake agent CLI, which is a descendant of the sandbox's
// process.
func (f *fake) agentPID() int {
	f.t.Helper()
	for _, p := range f.processes() {
		if filepath.Base(p.argv[0]) == "fakeagent" {
			return p.pid
		}
	}
	f.t.Fatal("the agent CLI does not run")
	return 0
}

// seesNothing checks which of the user's and Coleo's files the agent CLI's process can see. The
// check itself runs outside of the sandbox.
func (f *fake) seesNothing() {
	f.t.Helper()
	inside := func(path string) string { return fmt.Sprintf("/proc/%d/root%s", f.agentPID(), path) }
	for _, name := range []string{"config/config.toml", "home/.ssh/key"} {
		if _, err := os.Stat(inside(f.path(name))); !errors.Is(err, fs.ErrNotExist) {
			f.t.Errorf("inside there is %s (%v)", name, err)
		}
	}
	var seen []string // Coleo's files that the sandbox contains; a folder alone reveals nothing
	f.check(filepath.WalkDir(inside(f.path("state")), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			seen = append(seen, d.Name())
		}
		return err
	}))
	if slices.Sort(seen); !slices.Equal(seen, []string{"account.jsonl", "reports.jsonl", "wake"}) {
		f.t.Errorf("inside there are the files %q of Coleo", seen)
	}
	for _, path := range []string{f.workdir, f.path("home/.fake"), "/usr/bin/env"} {
		if _, err := os.Stat(inside(path)); err != nil {
			f.t.Errorf("inside %s is missing: %v", path, err)
		}
	}
	for _, kind := range []string{"pid", "user", "mnt", "ipc"} {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", f.agentPID(), kind))
		ours, _ := os.Readlink("/proc/self/ns/" + kind)
		if err != nil || theirs == ours {
			f.t.Errorf("the %s namespace is %s, %v; that outside is %s", kind, theirs, err, ours)
		}
	}
}

func TestAnArmInASandboxLivesAsOneOutside(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	w.check(os.MkdirAll(w.path("home/.ssh"), 0o700))
	w.write("home/.ssh/key", "secret")
	f := w.spawnBoxed("one")
	f.seesNothing()
	if arm, err := process.ArmOf(f.agentPID()); err != nil || arm != f.arm("one").ID {
		t.Errorf("the process belongs to %q, %v", arm, err)
	}
	for _, verb := range []string{"status", "list"} {
		args := []string{"arm", verb}
		if verb == "status" {
			args = append(args, "one")
		}
		if out := w.must(args...); !strings.Contains(out, "bwrap") {
			t.Errorf("arm %s does not tell the sandbox:\n%s", verb, out)
		}
	}
	if e := w.events("one", coleo.EventSpawned); len(e) != 1 || !strings.Contains(string(e[0].Payload), `"kind":"bwrap"`) {
		t.Errorf("the event of the start has %v", e)
	}
	pid := f.agentPID()
	for _, verb := range []string{"serve", "agent"} {
		w.kill9(w.onlyProcess(verb))
	}
	w.must("up")
	w.must("arm", "prompt", "one", "--wait", "hello")
	if now := f.agentPID(); now != pid {
		t.Errorf("after the kills the agent CLI is process %d, before %d", now, pid)
	}
	w.must("arm", "kill", "one")
	if runs(pid) || runs(f.pid) {
		t.Error("the agent CLI outlives the end of its arm")
	}
}

func TestASandboxStaysUntilAPersonTakesItAway(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	w.check(os.MkdirAll(w.path("home/.ssh"), 0o700))
	w.write("home/.ssh/key", "secret")
	f := w.spawnBoxed("one")
	w.must("arm", "kill", "one")
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir)
	f.seesNothing()
	w.kill9(w.onlyProcess("hold")) // the holder's guard then ends the arm
	until(t, "the arm has ended", func() bool { return f.arm("one").State == coleo.Dead })
	w.must("arm", "recover", "one")
	f.seesNothing()
	w.must("arm", "kill", "one")
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--sandbox", "none")
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", f.agentPID(), w.path("home/.ssh/key"))); err != nil {
		t.Errorf("without the sandbox, HOME is not there: %v", err)
	}
	if out := w.must("arm", "list"); strings.Contains(out, "SANDBOX") {
		t.Errorf("no arm has a sandbox:\n%s", out)
	}
}

func TestASandboxThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	dir := w.workdir("one", fakeagent.Script{})
	refused := func(want string, more ...string) {
		t.Helper()
		r := w.run(append([]string{"arm", "spawn", "-n", "one", "--harness", "fake"}, more...)...)
		if r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%v = %v; want %q", more, r, want)
		}
	}
	refused("needs an image", "-w", dir, "--sandbox", "docker")
	refused("needs an image", "-w", dir, "--sandbox", "podman")
	refused(`"jail" is not a sandbox`, "-w", dir, "--sandbox", "jail")
	refused("add --sandbox bwrap", "-w", dir, "--sandbox-net", "none")
	refused("contains your home folder", "-w", w.home, "--sandbox", "bwrap")
	refused("contains", "-w", w.dir, "--sandbox", "bwrap")
	refused("which of its files it needs", "-w", dir, "--sandbox", "bwrap", "--harness", "printer")
	refused("uses HTTP", "-w", dir, "--sandbox", "bwrap", "--harness", "opencode-api")
	if list := decode[map[string][]coleo.Arm](w, "arm", "list", "--all"); len(list["arms"]) != 0 {
		t.Errorf("there are arms: %+v", list)
	}
}

func TestASandboxWithoutNetworkHasLoopbackAlone(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	f := newWorld(t, "").spawnBoxed("one", "--sandbox-net", "none")
	if f.netOf(f.agentPID()) == f.netOf(os.Getpid()) {
		t.Error("the agent CLI has the network of the machine")
	}
	if out := f.must("arm", "status", "one"); !strings.Contains(out, "bwrap (no network)") {
		t.Errorf("the status does not tell it:\n%s", out)
	}
}

func TestTheStatusOfASandboxedArmSaysWhatKeepsItsLimits(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "[sandbox]\nlimit = \"memory=2G\"\n")
	by := func(list coleo.SandboxLimit) string {
		t.Helper()
		wanted, err := list.Parse()
		w.check(err)
		m, err := limits.Plan(wanted)
		w.check(err)
		return m.String()
	}
	told := func(when string, limit coleo.SandboxLimit) {
		t.Helper()
		if out := w.must("arm", "status", "one"); !strings.Contains(out, "limit: "+string(limit)) ||
			!strings.Contains(out, by(limit)) {
			t.Errorf("%s, the status does not have %s by %s:\n%s", when, limit, by(limit), out)
		}
	}
	f := w.spawnBoxed("one", "--sandbox-limit", "memory=1G")
	told("at first", "memory=1G")
	if e := w.events("one", coleo.EventSpawned); len(e) != 1 || !strings.Contains(string(e[0].Payload),
		`"limited_by":"`+by("memory=1G")+`"`) {
		t.Errorf("the event of the start has %v", e)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", f.agentPID()))
	w.check(err)
	if by("memory=1G") == "rlimit: memory of each process" && !strings.Contains(string(raw), "1073741824") {
		t.Errorf("the agent CLI has the limits\n%s", raw)
	}
	if holder, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", w.onlyProcess("hold"))); err != nil ||
		strings.Contains(string(holder), "1073741824") {
		t.Errorf("the holder has the limits of the arm:\n%s, %v", holder, err)
	}
	w.must("arm", "kill", "one")
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--sandbox", "bwrap")
	told("after another start", "memory=1G")
	w.must("arm", "kill", "one")
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--sandbox", "bwrap", "--sandbox-limit", "none")
	if out := w.must("arm", "status", "one"); strings.Contains(out, "Limits by") {
		t.Errorf("without limits, the status says:\n%s", out)
	}
	w.must("arm", "kill", "one")
	w.spawnBoxed("two")
	if out := w.must("arm", "status", "two"); !strings.Contains(out, "limit: memory=2G") {
		t.Errorf("a new arm has not the limit of config.toml:\n%s", out)
	}
}

func TestALimitThatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	w.must("up")
	dir := w.workdir("one", fakeagent.Script{})
	refusals := map[string][]string{
		"add --sandbox bwrap":                    {"--sandbox-limit", "memory=1G"},
		`"ram=1G" is none of memory=SIZE`:        {"--sandbox", "bwrap", "--sandbox-limit", "ram=1G"},
		"memory=1M is too little":                {"--sandbox", "bwrap", "--sandbox-limit", "memory=1M"},
		"pids=1 is not a number of processes":    {"--sandbox", "bwrap", "--sandbox-limit", "memory=1G,pids=1"},
		"cpus=none is not a number of processor": {"--sandbox", "bwrap", "--sandbox-limit", "cpus=none"},
	}
	if _, err := limits.Plan(coleo.SandboxLimits{CPUs: 1}); err != nil {
		refusals["the limit cpus cannot be enforced"] = []string{"--sandbox", "bwrap", "--sandbox-limit", "cpus=1"}
	}
	for want, flags := range refusals {
		r := w.run(append([]string{"arm", "spawn", "-n", "one", "--harness", "fake", "-w", dir}, flags...)...)
		if r.code == 0 || !strings.Contains(r.err, want) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%v = %v; want one line with %q", flags, r, want)
		}
	}
	if list := decode[map[string][]coleo.Arm](w, "arm", "list", "--all"); len(list["arms"]) != 0 {
		t.Errorf("there are arms: %+v", list)
	}
}
