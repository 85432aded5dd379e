package diffs

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
)

// stage is a repository with a commit, and the Diffs of an arm that works in it.
type stage struct {
	*testing.T
	diffs Diffs
	arm   Arm
	log   strings.Builder
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, arm: Arm{ID: "arm1", Folder: filepath.Join(t.TempDir(), "repo")}}
	s.diffs = Diffs{Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Scratch: filepath.Join(t.TempDir(), "scratch"), Now: time.Now, Log: slog.New(slog.NewTextHandler(&s.log, nil))}
	if err := os.Mkdir(s.arm.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q")
	s.write("file", "1\n")
	s.git("add", "-A")
	s.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base")
	return s
}

func (s *stage) git(args ...string) {
	s.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.arm.Folder, s.diffs.Environ
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (s *stage) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.arm.Folder, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// A caller receives a large diff in several pieces. Together, the pieces must be the whole diff. After the last
// piece, the diff is dropped.
func TestALargeDiffComesInPieces(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	line := strings.Repeat("x", 99) + "\n"
	s.write("large", strings.Repeat(line, 50_000))
	var data []byte
	o, pieces := bus.DiffOrder{}, 0
	for {
		p, err := s.diffs.Diff(t.Context(), s.arm, o)
		if err != nil || len(p.Data) > pieceSize {
			t.Fatalf("piece %d has %d bytes, %v", pieces, len(p.Data), err)
		}
		data, pieces = append(data, p.Data...), pieces+1
		if o.ID, o.From = p.ID, len(data); len(data) >= p.Total {
			break
		}
	}
	var d changes.Diff
	if err := json.Unmarshal(data, &d); err != nil || len(d.Files) != 1 || pieces < 3 || strings.Count(string(d.Patch),
		"+"+line) != 50_000 {
		t.Errorf("%d pieces, %d files, %v", pieces, len(d.Files), err)
	}
	if _, err := s.diffs.Diff(t.Context(), s.arm, o); coleo.ErrorCode(err) != coleo.EStale {
		t.Errorf("a piece after the last one: %v, want EStale", err)
	}
}

// Callers that read only the first piece of a diff must take a limited amount of memory.
func TestManyDiffsAreNotKept(t *testing.T) {
	t.Parallel()
	var d Diffs
	d.Now = time.Now
	for range 3 * mostRead {
		d.firstPiece(make([]byte, pieceSize+1))
	}
	if n := len(d.read); n > mostRead {
		t.Errorf("%d diffs are kept, want at most %d", n, mostRead)
	}
}

// After a checkpoint of a folder that is too large, there are no more checkpoints. The log must say
// so once.
func TestAFolderThatIsTooLargeIsKeptNoMore(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for i := range 11 {
		path := filepath.Join(s.arm.Folder, "large"+string(rune('a'+i)))
		s.write(filepath.Base(path), "")
		if err := os.Truncate(path, 49<<20); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s.diffs.Keep(t.Context(), s.arm, changes.AfterTurn, "run")
	}
	if text := s.log.String(); strings.Count(text, "gets no more checkpoints") != 1 ||
		!strings.Contains(text, "more than 500 MB") {
		t.Errorf("the log has %s", text)
	}
}

func TestWithoutARepositoryNothingIsKeptOrLogged(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.arm.Folder = t.TempDir()
	s.diffs.Keep(t.Context(), s.arm, changes.AfterTurn, "run")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.diffs.Keep(ended, s.arm, changes.AfterTurn, "run")
	if s.log.Len() > 0 {
		t.Errorf("the log has %s", s.log.String())
	}
	if err := s.diffs.Forget(t.Context(), s.arm); err != nil {
		t.Errorf("Forget = %v", err)
	}
}

// An arm starts while a checkpoint of another arm is made, which can take long. The arm's first commit must
// belong to its changes.
func TestTheBaseOfAnArmDoesNotWaitForOtherCheckpoints(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.diffs.keeping.Lock() // a checkpoint of another arm is made
	kept := make(chan struct{})
	go func() { defer close(kept); s.diffs.Keep(t.Context(), s.arm, changes.AtStart, "") }()
	ref := filepath.Join(s.arm.Folder, ".git/refs/coleo/base", s.arm.ID)
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ref); err == nil {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Error("the base is not stored before the other checkpoint has ended")
			break
		}
	}
	s.write("file", "2\n")
	s.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "the arm's first commit")
	s.diffs.keeping.Unlock()
	<-kept
	p, err := s.diffs.Diff(t.Context(), s.arm, bus.DiffOrder{})
	var d changes.Diff
	if err == nil {
		err = json.Unmarshal(p.Data, &d)
	}
	if err != nil || len(d.Files) != 1 {
		t.Errorf("the arm has changed %+v, %v; want one file", d.Files, err)
	}
}
