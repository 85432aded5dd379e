package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// fake is an arm with the fake agent CLI.
type fake struct {
	*world
	name    string
	workdir string
	pid     int // process of the agent CLI
}

// workdir makes a work folder with a script for the fake agent CLI.
func (w *world) workdir(name string, script fakeagent.Script) string {
	w.t.Helper()
	dir := w.path("work-" + name)
	w.check(os.MkdirAll(dir, 0o700))
	raw, err := json.Marshal(script)
	w.check(err)
	w.check(os.WriteFile(filepath.Join(dir, fakeScript), raw, 0o600))
	return dir
}

// spawnFake starts an arm and waits until it is idle.
func (w *world) spawnFake(name string) *fake {
	w.t.Helper()
	dir := w.workdir(name, fakeagent.Script{})
	reply := decode[wire.SpawnReply](w, "arm", "spawn", "-n", name, "-w", dir, "--harness", "fake")
	if reply.Arm.State != coleo.Idle {
		w.t.Fatalf("spawned arm is %s, want idle", reply.Arm.State)
	}
	return &fake{world: w, name: name, workdir: dir, pid: reply.PID}
}

// newFake starts an arm in a new world.
func newFake(t *testing.T) *fake {
	t.Helper()
	return newWorld(t, "").spawnFake("one")
}

func (f *fake) record() []fakeagent.Entry {
	f.t.Helper()
	list, err := fakeagent.ReadRecord(filepath.Join(f.workdir, fakeRecord))
	f.check(err)
	return list
}

// received returns all bytes that have reached the agent CLI so far.
func (f *fake) received() string {
	var out []byte
	for _, e := range f.record() {
		out = append(out, e.Bytes...)
	}
	return string(out)
}

// texts returns the texts of all entries of one kind in the fake's record.
func (f *fake) texts(kind fakeagent.Kind) []string {
	var out []string
	for _, e := range f.record() {
		if e.Kind == kind {
			out = append(out, e.Text)
		}
	}
	return out
}

// environ returns the agent CLI's environment.
func (f *fake) environ() map[string]string {
	f.t.Helper()
	raw, err := os.ReadFile(filepath.Join(f.workdir, fakeEnviron))
	f.check(err)
	var list []string
	f.check(json.Unmarshal(raw, &list))
	out := map[string]string{}
	for _, kv := range list {
		name, value, _ := strings.Cut(kv, "=")
		out[name] = value
	}
	return out
}

// asks sends a prompt on which the fake opens a dialog, and waits for the dialog.
func (f *fake) asks(subject string) coleo.Dialog {
	f.t.Helper()
	f.must("arm", "prompt", f.name, "dialog "+subject)
	arm := f.wait(f.name, coleo.WaitingApproval)
	if arm.Dialog == nil || arm.Dialog.Subject != subject {
		f.t.Fatalf("dialog = %+v, want one about %q", arm.Dialog, subject)
	}
	return *arm.Dialog
}

// checkAnswer sends a prompt and checks that the answer is `word`.
func (f *fake) checkAnswer(word string) {
	f.t.Helper()
	end := decode[coleo.RunEnd](f.world, "arm", "prompt", f.name, "--wait", "say "+word)
	if end.Answer != word || end.Status != coleo.Idle {
		f.t.Fatalf("the answer to say %s is %+v", word, end)
	}
}

func pidOf(t *testing.T, text string) int {
	t.Helper()
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
