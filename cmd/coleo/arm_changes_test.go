package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// commit commits all changes in a folder.
func (w *world) commit(dir, text string) {
	w.t.Helper()
	w.git(dir, "add", "-A")
	w.git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", text)
}

// repository makes a work folder for the fake agent CLI that is a git repository.
func (w *world) repository(name string, script fakeagent.Script) string {
	w.t.Helper()
	dir := w.workdir(name, script)
	w.write("work-"+name+"/.gitignore", fakeScript+"\n"+fakeRecord+"\n"+fakeEnviron+"\nignored\n")
	w.write("work-"+name+"/file", "one\n")
	w.git(dir, "init", "-q", "-b", "main")
	w.commit(dir, "base")
	w.git(dir, "tag", "start")
	return dir
}

// checkpoints waits until an arm has the given number of checkpoints, and returns them.
func (w *world) checkpoints(name string, number int) []changes.Checkpoint {
	w.t.Helper()
	var list []changes.Checkpoint
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if list = decode[[]changes.Checkpoint](w, "arm", "checkpoint", "list", name); len(list) >= number {
			return list
		}
	}
	w.t.Fatalf("arm %s has the checkpoints %+v, want %d", name, list, number)
	return nil
}

// TestAnArmsChangesAreShownAndUndone: git must be able to apply the diff since the arm's start.
// Each turn that changed something must have a checkpoint. A person must be able to restore a
// checkpoint, and to undo the restore.
func TestAnArmsChangesAreShownAndUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.repository("one", fakeagent.Script{})
	w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", "fake")
	if list := w.checkpoints("one", 1); list[0].Reason != changes.AtStart || list[0].N != 0 {
		t.Fatalf("the first checkpoint is %+v", list)
	}
	if out := w.must("arm", "diff", "one", "--stat"); out != "Nothing has changed.\n" {
		t.Errorf("arm diff --stat printed %q", out)
	}
	turn := func(text string) string {
		t.Helper()
		return decode[coleo.RunEnd](w, "arm", "prompt", "one", "--wait", "say "+text).Answer
	}
	w.write("work-one/file", "two\n")
	w.write("work-one/new", "\x00\x1b[31mnew\xff\n")
	turn("first")
	list := w.checkpoints("one", 2)
	if list[1].Reason != changes.AfterTurn || list[1].Run == "" {
		t.Errorf("after the turn, the checkpoints are %+v", list)
	}
	w.commit(dir, "a commit of the arm")
	w.write("work-one/file", "three\n")
	w.write("work-one/later", "x\n")
	turn("second")
	w.checkpoints("one", 3)
	for path, want := range map[string]string{"later": "", "latre": "note: arm one has changed nothing in latre\n"} {
		if r := w.run("arm", "diff", "one", path); r.code != 0 || r.err != want {
			t.Errorf("%v\nwant the note %q", r, want)
		}
		if r := w.run("arm", "comment", "one", path+":1", "why?"); r.code != 0 || r.err != want {
			t.Errorf("%v\nwant the note %q", r, want)
		}
	}
	turn("third, which changes nothing")

	d := decode[changes.Diff](w, "arm", "diff", "one")
	if d.Base != w.git(dir, "rev-parse", "start") || d.Root != dir || len(d.Files) != 3 || !d.Files[0].Committed {
		t.Errorf("the diff is %+v", d)
	}
	patch := w.must("arm", "diff", "one", "--binary")
	copied := w.path("copied")
	w.git(dir, "clone", "-q", "--branch", "start", dir, copied)
	apply := exec.Command("git", "apply")
	apply.Dir, apply.Env, apply.Stdin = copied, w.env, strings.NewReader(patch)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
	}
	for _, name := range []string{"file", "new", "later"} {
		if got, want := w.read("copied/"+name), w.read("work-one/"+name); got != want || want == "" {
			t.Errorf("%s is %q after git apply, want %q", name, got, want)
		}
	}
	if out := w.must("arm", "diff", "one", "file", "--stat"); !strings.Contains(out,
		"modified  file  +1 -1  (committed, not staged)") ||
		!strings.Contains(out, "1 file, 1 line added, 1 deleted") {
		t.Errorf("arm diff --stat printed\n%s", out)
	}
	if out := w.must("arm", "diff", "one", "--why", "file"); !strings.Contains(out,
		"# no call is known that changed the file") {
		t.Errorf("arm diff --why printed\n%s", out)
	}
	if out := w.must("arm", "checkpoint", "diff", "one", "2"); !strings.Contains(out, "-two\n+three\n") {
		t.Errorf("arm checkpoint diff printed\n%s", out)
	}
	w.restores(dir)
	w.must("arm", "kill", "one")
	w.must("arm", "remove", "one")
	if refs := w.git(dir, "for-each-ref", "refs/coleo"); refs != "" {
		t.Errorf("a removed arm leaves the refs %s", refs)
	}
}

// restores restores checkpoint 1 of the arm "one", and then undoes the restore.
func (w *world) restores(dir string) {
	w.t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	w.check(err)
	w.write("work-one/ignored", "ignored\n")
	w.must("arm", "prompt", "one", "hold 60s")
	w.wait("one", coleo.Processing, coleo.Executing)
	if e := w.fails(11, "arm", "checkpoint", "restore", "one", "1"); e.Code != coleo.EBusy ||
		!strings.Contains(e.Message, "no file was restored") {
		w.t.Errorf("a restore while the arm works: %+v", e)
	}
	w.must("arm", "kill", "one")
	r := decode[changes.Restored](w, "arm", "checkpoint", "restore", "one", "1")
	if w.read("work-one/file") != "two\n" || w.read("work-one/later") != "" || len(r.Deleted) != 1 || len(r.Written) != 1 {
		w.t.Errorf("after the restore, file is %q: %+v", w.read("work-one/file"), r)
	}
	if out := w.must("arm", "checkpoint", "restore", "one", "2"); !strings.Contains(out,
		"To undo this: coleo arm checkpoint restore one ") {
		w.t.Errorf("arm checkpoint restore printed %q", out)
	}
	if w.read("work-one/file") != "three\n" || w.read("work-one/later") != "x\n" || w.read("work-one/ignored") !=
		"ignored\n" {
		w.t.Error("the undo did not give the files back")
	}
	if now, err := os.ReadFile(filepath.Join(dir, ".git/index")); err != nil || string(now) != string(index) {
		w.t.Errorf("a restore changed the index: %v", err)
	}
}

func TestChangesOfAFolderWithoutARepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	reply := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "one", "-w", w.workdir("one", fakeagent.Script{}),
		"--harness", "fake")
	for _, verb := range [][]string{{"diff", "one"}, {"checkpoint", "list", "one"},
		{"checkpoint", "restore", "one", "1"}} {
		if e := w.fails(2, append([]string{"arm"}, verb...)...); e.Code != coleo.EUnsupported ||
			!strings.Contains(e.Message, "is not in a git repository") {
			t.Errorf("%v of %s: %+v", verb, reply.Arm.Name, e)
		}
	}
	for _, wrong := range [][]string{{"diff"}, {"diff", "one", "--stat", "--why"}, {"checkpoint", "restore", "one"},
		{"checkpoint", "restore", "one", "x"}} {
		if e := w.fails(2, append([]string{"arm"}, wrong...)...); e.Code != coleo.EInvalid {
			t.Errorf("%v: %+v", wrong, e)
		}
	}
}

// TestCommentsAreSentAsOnePrompt: a person comments lines of a diff, and sends all comments as one
// prompt. The comments must survive a restart of serve, and also a prompt that is refused. When the
// prompt has been sent, they must be gone.
func TestCommentsAreSentAsOnePrompt(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if e := f.fails(5, "arm", "comments", f.name, "--send"); e.Code != coleo.EConflict {
		t.Errorf("without comments: %+v", e)
	}
	if e := f.fails(2, "arm", "comment", f.name, "file", "x"); e.Code != coleo.EInvalid {
		t.Errorf("without a line: %+v", e)
	}
	f.must("arm", "comment", f.name, "a:b.go:12", "say first")
	f.must("arm", "comment", f.name, "c.go:3", "say second")
	f.must("down")
	f.must("up")
	if out := f.must("arm", "comments", f.name); out != "a:b.go:12: say first\nc.go:3: say second\n" {
		t.Errorf("arm comments printed %q", out)
	}
	f.wait(f.name, coleo.Idle)
	f.asks("make")
	if e := f.fails(6, "arm", "comments", f.name, "--send"); e.Code != coleo.EBlocked {
		t.Errorf("at an open dialog: %+v", e)
	}
	f.must("arm", "deny", f.name)
	f.wait(f.name, coleo.Idle)
	sent := decode[changes.Sent](f.world, "arm", "comments", f.name, "--send")
	if sent.Comments != 2 || sent.Receipt.ID == "" {
		t.Errorf("sent %+v", sent)
	}
	f.wait(f.name, coleo.Idle)
	if got := f.texts(fakeagent.Said); !slices.Contains(got, "first") || !slices.Contains(got, "second") {
		t.Errorf("the agent CLI got %q", got)
	}
	if out := f.must("arm", "comments", f.name); out != "No comments.\n" {
		t.Errorf("after the prompt, arm comments printed %q", out)
	}
}
