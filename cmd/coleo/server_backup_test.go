package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

// prompted makes an arm answer a prompt, and returns the id of the run.
func (f *fake) prompted(word string) string {
	f.t.Helper()
	r := decode[coleo.Receipt](f.world, "arm", "prompt", f.name, "say "+word)
	if end := f.awaitRun(r.ID); !strings.Contains(end.Answer, word) {
		f.t.Fatalf("the run ended with %+v, want the answer %q", end, word)
	}
	return r.ID
}

// damage overwrites a database with junk, except its first page.
func (w *world) damage(name string) {
	w.t.Helper()
	f, err := os.OpenFile(w.path(name), os.O_RDWR, 0)
	w.check(err)
	defer f.Close()
	info, err := f.Stat()
	w.check(err)
	junk := strings.Repeat("damage! ", 512)
	for at := int64(4096); at+4096 <= info.Size(); at += 4096 {
		_, err := f.WriteAt([]byte(junk), at)
		w.check(err)
	}
}

func TestABackupOfWhatRunsIsPutBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	before := f.prompted("before")
	file := f.path("backup.tar.gz")
	own := map[string]string{"config/templates/mine.toml": "harness = \"fake\"\n", "config/policy.toml": "# mine\n"}
	f.check(os.MkdirAll(f.path("config/templates"), 0o700))
	for name, text := range own {
		f.check(os.WriteFile(f.path(name), []byte(text), 0o600))
	}
	f.must("backup", file)
	after := f.prompted("after")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the backup is %v, %v; want a file for its owner alone", info, err)
	}
	f.fails(5, "backup", file)
	if left, _ := filepath.Glob(f.path(".coleo-backup-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	f.must("down")
	for _, db := range []string{"serve.db", "host.db"} {
		for _, side := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(f.path("state/" + db + side))
		}
	}
	f.check(os.Remove(f.path("config/harnesses/fake.toml")))
	for name := range own {
		f.check(os.Remove(f.path(name)))
	}
	if out, err := exec.Command("tar", "-xzf", file, "-C", f.dir).CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v\n%s", err, out)
	}
	for name, text := range own {
		if got, err := os.ReadFile(f.path(name)); err != nil || string(got) != text {
			t.Errorf("%s comes back as %q (%v)", name, got, err)
		}
	}
	for _, secret := range []string{"token", "bus.key"} {
		out, err := exec.Command("tar", "-tzf", file).Output()
		if f.check(err); strings.Contains(string(out), secret) {
			t.Errorf("the backup holds %s:\n%s", secret, out)
		}
	}
	f.must("up")
	if log := f.read("state/logs/agent.log"); !strings.Contains(log, "put back from a backup") {
		t.Errorf("the host agent does not know that its database was put back:\n%s", log)
	}
	if end := f.awaitRun(before); !strings.Contains(end.Answer, "before") {
		t.Errorf("the run before the backup ended with %+v", end)
	}
	if now := f.arm(f.name); now.PID != f.pid || !runs(f.pid) {
		t.Errorf("the arm has process %d, want %d, which ran on (run %s was after the backup)", now.PID, f.pid, after)
	}
	f.prompted("again")
}

func TestADamagedDatabaseIsToldAndMadeAnew(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"serve.db", "host.db"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			run := f.prompted("before")
			f.must("down")
			if out := f.must("repair"); !strings.Contains(out, "sound") {
				t.Errorf("repair of sound databases says %q", out)
			}
			f.damage("state/" + db)
			if r := f.run("up"); r.code == 0 || !strings.Contains(r.err, "coleo repair") ||
				!strings.Contains(r.err, db) {
				t.Errorf("%v\nwant that %s is damaged, and the command that mends it", r, db)
			}
			f.must("down")
			f.must("repair")
			if kept, _ := filepath.Glob(f.path("state/" + db + ".damaged-*")); len(kept) == 0 {
				t.Error("the damaged database is gone")
			}
			f.must("up")
			until(t, "the arm is known by its name", func() bool { return f.run("arm", "status", f.name).code == 0 })
			f.wait(f.name, coleo.Idle)
			if now := f.arm(f.name); now.PID != f.pid || !runs(f.pid) {
				t.Errorf("the arm has process %d, want %d", now.PID, f.pid)
			}
			if end := f.awaitRun(run); !strings.Contains(end.Answer, "before") {
				t.Errorf("the run before ended with %+v", end)
			}
			f.prompted("again")
		})
	}
}
