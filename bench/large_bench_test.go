package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/host/diffs"
	"coleo.dev/workspace"
)

// These constants are the highest values that the benchmark accepts in a large repository.
const (
	worktreeBar = 1.2  // time to make a worktree, divided by the time of git worktree add
	contentBar  = 1.2  // time of a diff, divided by the time of the git commands with the same output
	plainBar    = 1.2  // time of a diff, divided by the time of git diff alone
	watchBar    = 0.01 // processor time of following all arms while nothing changes, divided by the elapsed time
)

const (
	largeFiles   = 100_000
	largeArms    = 5
	largeChanged = 200
	diffRounds   = 15
	watchTime    = 20 * time.Second
	// watchPatience is how long a follower may take to report one change.
	watchPatience = time.Minute
)

// BenchmarkLarge makes a repository of 100,000 files and five arms, each with a worktree. It compares
// making a worktree with git worktree add, and a diff of 200 changed files with git. It also measures
// what following all arms costs while nothing changes. The compared operations take turns, so that other
// programs slow both.
func BenchmarkLarge(b *testing.B) {
	for b.Loop() {
		s := newLarge(b)
		s.worktrees()
		s.change()
		s.compareDiffs()
		s.follow()
	}
}

// large is the repository and its arms.
type large struct {
	*testing.B
	dir, repo string
	environ   []string
	trees     workspace.Workspaces
	made      []workspace.Workspace
	diffs     *diffs.Diffs
}

func newLarge(b *testing.B) *large {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	ok(b, err)
	s := &large{B: b, dir: dir, repo: filepath.Join(dir, "repo"), environ: []string{"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}}
	s.git(dir, "init", "-q", "-b", "main", s.repo)
	var stream bytes.Buffer
	stream.WriteString("commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 0\n")
	for i := range largeFiles {
		text := fmt.Sprintf("file %d\nwith lines\n", i)
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", largeName(i), len(text), text)
	}
	cmd := s.command(s.repo, "fast-import", "--quiet")
	cmd.Stdin = &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git fast-import: %v\n%s", err, out)
	}
	s.trees = workspace.Workspaces{Dir: filepath.Join(dir, "state"), Environ: s.environ, Now: time.Now}
	s.diffs = &diffs.Diffs{Environ: s.environ, Scratch: filepath.Join(dir, "scratch"), Now: time.Now,
		Log: slog.New(slog.DiscardHandler)}
	b.Cleanup(s.diffs.Close)
	return s
}

// largeName returns the name of file number i. There are 50 files in each of 2,000 folders.
func largeName(i int) string { return fmt.Sprintf("d%d/e%d/f%d", i%100, i/100%20, i) }

func (s *large) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, s.environ
	return cmd
}

// git runs git, and returns its duration and its output.
func (s *large) git(dir string, args ...string) (time.Duration, string) {
	s.Helper()
	began := time.Now()
	out, err := s.command(dir, args...).CombinedOutput()
	if err != nil {
		s.Fatalf("git %q: %v\n%.500s", args, err, out)
	}
	return time.Since(began), string(out)
}

// worktrees makes the worktree of each arm, and equally many by git worktree add. The two take turns. No worktree is
// deleted, because ext4 does not use an inode again for 5 to 35 seconds after a deletion. While ext4 searches for an
// older inode, new files take up to 20 times as long (Linux 6).
func (s *large) worktrees() {
	s.Helper()
	var ratios []float64
	for i := range largeArms {
		theirs := func() time.Duration {
			name := fmt.Sprintf("theirs%d", i)
			took, _ := s.git(s.repo, "worktree", "add", "-q", "-b", name, filepath.Join(s.dir, name), "main")
			return took
		}
		ours := func() time.Duration {
			began := time.Now()
			id := fmt.Sprintf("arm%d", i)
			w, err := s.trees.Make(s.Context(), workspace.Order{ID: id, Name: id, Folder: s.repo})
			took := time.Since(began)
			ok(s.B, err)
			s.made = append(s.made, w)
			return took
		}
		var a, b time.Duration
		if i%2 == 0 {
			a, b = ours(), theirs()
		} else {
			b, a = theirs(), ours()
		}
		ratios = append(ratios, a.Seconds()/b.Seconds())
	}
	bar(s.B, "worktree-per-git", ratios, worktreeBar)
}

func (s *large) arm(i int) diffs.Arm { return diffs.Arm{ID: s.made[i].ID, Folder: s.made[i].Path} }

// change changes 200 files in the worktree of the first arm. Some changes are unstaged and some staged,
// and some files are untracked or binary.
func (s *large) change() {
	s.Helper()
	in := s.arm(0)
	s.diffs.Keep(s.Context(), in, changes.AtStart, "") // stores the commit at which the arm's work begins
	kinds := 4
	var staged []string
	for i := range largeChanged {
		name, text := largeName(i*(largeFiles/largeChanged)), fmt.Sprintf("file %d\nchanged\n", i)
		switch i % kinds {
		case 1:
			staged = append(staged, name)
		case 2:
			name = fmt.Sprintf("d%d/new%d", i, i)
		case 3:
			text = fmt.Sprintf("\x00\x01binary %d", i)
		}
		path := filepath.Join(in.Folder, name)
		ok(s.B, os.MkdirAll(filepath.Dir(path), 0o700))
		ok(s.B, os.WriteFile(path, []byte(text), 0o600))
	}
	s.git(in.Folder, append([]string{"add", "--"}, staged...)...)
}

// compareDiffs compares one of Coleo's diffs with git. No single git command outputs the same content
// without writing the index: git diff HEAD omits untracked files, and git status prints only their names.
//
// So the comparison uses three commands: git status, git diff HEAD, and git hash-object, which reads the
// untracked files once. A second ratio compares with git diff HEAD alone.
func (s *large) compareDiffs() {
	s.Helper()
	in := s.arm(0)
	var ours, content, plain []float64
	var untracked string
	for round := range diffRounds + 1 {
		status, out := s.git(in.Folder, "status", "--porcelain=v2", "-z", "--untracked-files=all")
		untracked = ""
		for entry := range strings.SplitSeq(out, "\x00") {
			if name, is := strings.CutPrefix(entry, "? "); is {
				untracked += name + "\n"
			}
		}
		diff, _ := s.git(in.Folder, "diff", "--binary", "HEAD")
		began := time.Now()
		hash := s.command(in.Folder, "hash-object", "--stdin-paths")
		hash.Stdin = strings.NewReader(untracked)
		ok(s.B, hash.Run())
		same := status + diff + time.Since(began)
		alone, _ := s.git(in.Folder, "diff", "HEAD")
		began = time.Now()
		if n := s.diff(in); n != largeChanged {
			s.Fatalf("the diff has %d files, want %d", n, largeChanged)
		}
		took := time.Since(began)
		if round == 0 {
			s.ReportMetric(float64(took.Milliseconds()), "first-diff-ms") // includes copying the index
			continue
		}
		ours, content = append(ours, took.Seconds()), append(content, same.Seconds())
		plain = append(plain, alone.Seconds())
	}
	p50 := func(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
	s.ReportMetric(p50(plain)*1000, "git-diff-ms")
	bar(s.B, "diff-per-same-content", []float64{p50(ours) / p50(content)}, contentBar)
	bar(s.B, "diff-per-git-diff", []float64{p50(ours) / p50(plain)}, plainBar)
}

func (s *large) diff(a diffs.Arm) int {
	s.Helper()
	p, err := s.diffs.Diff(s.Context(), a, bus.DiffOrder{})
	ok(s.B, err)
	return len(s.read(p).Files)
}

func (s *large) read(p bus.Piece) changes.Diff {
	s.Helper()
	var d changes.Diff
	ok(s.B, json.Unmarshal(p.Data, &d))
	return d
}

// follow follows all arms. It measures the processor time while nothing changes, and then how soon a
// change is reported.
func (s *large) follow() {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	told := make(chan struct{}, largeArms)
	request := changes.DiffRequest{Wait: time.Hour}
	for i := range largeArms {
		p, err := s.diffs.Diff(ctx, s.arm(i), bus.DiffOrder{Request: changes.DiffRequest{Wait: time.Hour}})
		ok(s.B, err)
		request.Since = s.read(p).Mark
		order := bus.DiffOrder{Request: request}
		go func() {
			if _, err := s.diffs.Diff(ctx, s.arm(i), order); err == nil {
				told <- struct{}{}
			}
		}()
	}
	before := processorTime()
	select {
	case <-told:
		s.Fatal("a change was told, and there was none")
	case <-time.After(watchTime):
	}
	share := (processorTime() - before).Seconds() / watchTime.Seconds()
	bar(s.B, "watch-cpu-share", []float64{share}, watchBar)
	began := time.Now()
	ok(s.B, os.WriteFile(filepath.Join(s.made[largeArms-1].Path, largeName(1)), []byte("changed\n"), 0o600))
	select {
	case <-told:
		s.ReportMetric(float64(time.Since(began).Milliseconds()), "told-after-ms")
	case <-time.After(watchPatience):
		s.Errorf("a change was not told within %s", watchPatience)
	}
}

// processorTime returns the processor time of this process and of its git processes that have ended.
func processorTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
