package merge_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace"
)

var (
	randomKills = flag.Int("random-kills", 6, "how many kills at random moments of the whole life of a worktree")
	killSeed    = flag.Uint64("kill-seed", 0, "seed of the random moments; 0 takes the time")
)

// lives is the life of one worktree after another, in which each step is killed at a random moment.
type lives struct {
	*stage
	random *rand.Rand
	id     string
	dir    string // the person's work folder, in which base is checked out

	times  map[string]time.Duration // how long each step takes
	kills  map[string]int           // how often each step was killed
	ended  int                      // how many steps ended before their kill
	number int                      // of the life
	// commits lists every commit that was made, the stashes too. Each must stay reachable.
	commits []string
}

// start does a step in another process, and kills that process. It reports whether the step ended
// before. In the first life, no step is killed.
func (l *lives) start(t task) (ended bool) {
	l.Helper()
	t.Dir, t.Environ = l.trees.Dir, l.Environ
	t.Arm.ID, t.Arm.Name, t.Arm.From = l.id, "fix", l.Repo
	text, err := json.Marshal(t)
	l.Check(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperFor + "=" + string(text), "PATH=" + os.Getenv("PATH")}
	if l.number == 0 {
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			l.Fatalf("%s: %v\n%s", t.Step, err, out)
		}
		l.times[t.Step] = max(l.times[t.Step], time.Since(began))
		return true
	}
	whole := l.random.IntN(2) == 0
	after := time.Duration(l.random.Int64N(int64(l.times[t.Step])))
	if l.KillAfter(cmd, whole, after) {
		l.ended++
		return true
	}
	l.kills[t.Step]++
	l.quiet()
	return false
}

// quiet waits until no git of a killed process runs, and deletes the locks that a killed git has left,
// as git tells its user to do.
func (l *lives) quiet() {
	l.Helper()
	_, unlock, err := l.trees.LockRepository(l.Context(), filepath.Join(l.Repo, ".git"))
	l.Check(err)
	defer unlock()
	l.Check(l.trees.Rename(l.Context(), l.id, "fix")) // it waits for the lock of the worktree
	l.DropLocks()
}

// kill kills a step, and sometimes the prune after it. Then a prune mends everything.
func (l *lives) kill(t task) {
	l.Helper()
	if l.start(t); l.random.IntN(3) == 0 || l.number == 0 {
		l.start(task{Step: "prune"})
	}
	prune := task{Step: "prune", Dir: l.trees.Dir, Environ: l.Environ}
	l.Check(prune.do())
	l.nothingLost(t.Step)
}

// nothingLost checks that each commit can be reached, and that the person's work folders are whole.
func (l *lives) nothingLost(step string) {
	l.Helper()
	reached := strings.Fields(l.Git(l.Repo, "rev-list", "--reflog", "--all"))
	for _, id := range l.commits {
		if !slices.Contains(reached, id) {
			l.Fatalf("life %d, %s: the commit %s is lost", l.number, step, id)
		}
	}
	if got := l.Git(l.dir, "status", "--porcelain", "--ignored"); got != "?? own\n!! x.ignored" {
		l.Fatalf("life %d, %s: the person's folder has %q", l.number, step, got)
	}
	all, err := l.trees.List()
	l.Check(err)
	for _, w := range all {
		if w.Status != workspace.Ready {
			l.Fatalf("life %d, %s: prune has left a worktree that is %s", l.number, step, w.Status)
		}
	}
	if len(all) == 0 {
		if left := l.Git(l.Repo, "worktree", "list"); strings.Count(left, "\n") != 1 {
			l.Fatalf("life %d, %s: a worktree is left:\n%s", l.number, step, left)
		}
	}
}

// there returns the arm's worktree, and whether it exists.
func (l *lives) there() (workspace.Workspace, bool) {
	l.Helper()
	w, known, err := l.trees.Of(l.id)
	l.Check(err)
	return w, known
}

// must does a step, if a kill has prevented it.
func (l *lives) must(t task) {
	l.Helper()
	t.Dir, t.Environ = l.trees.Dir, l.Environ
	t.Arm.ID, t.Arm.Name, t.Arm.From = l.id, "fix", l.Repo
	l.Check(t.do())
}

// work gives the worktree work of all kinds: a commit, a stash, staged, changed, untracked and
// ignored files.
func (l *lives) work(w workspace.Workspace) {
	l.Helper()
	name := fmt.Sprintf("life-%d", l.number)
	l.commits = append(l.commits, l.commit(w, name, "committed\n", "add "+name))
	l.Write(filepath.Join(w.Path, name), "stashed\n")
	l.Git(w.Path, "stash", "-q")
	l.commits = append(l.commits, l.Git(w.Path, "rev-parse", "refs/stash"))
	l.uncommitted(w, name)
}

func (l *lives) uncommitted(w workspace.Workspace, name string) {
	l.Helper()
	l.Write(filepath.Join(w.Path, name), fmt.Sprintf("staged %d\n", l.random.Int()))
	l.Git(w.Path, "add", name)
	l.Write(filepath.Join(w.Path, name), fmt.Sprintf("changed %d\n", l.random.Int()))
	l.Write(filepath.Join(w.Path, name+"-new"), fmt.Sprintf("untracked %d\n", l.random.Int()))
	l.Write(filepath.Join(w.Path, "env.ignored"), fmt.Sprintf("ignored %d\n", l.random.Int()))
}

func (l *lives) life() {
	l.Helper()
	l.kill(task{Step: "make"})
	if _, there := l.there(); !there {
		l.must(task{Step: "make"})
	}
	w, _ := l.there()
	l.work(w)
	l.merging(w)
	l.uncommitted(w, fmt.Sprintf("after-%d", l.number))
	files, staged := l.Files(w.Path), l.Git(w.Path, "ls-files", "--stage")
	same := func(step string) {
		l.Helper()
		if !l.Same("the worktree, "+step, l.Files(w.Path), files) || l.Git(w.Path, "ls-files", "--stage") != staged {
			l.Fatalf("this was life %d", l.number)
		}
	}
	l.kill(task{Step: "remove"})
	if _, there := l.there(); there {
		same("not removed")
		l.must(task{Step: "remove"})
	}
	l.kill(task{Step: "restore"})
	if _, there := l.there(); !there {
		l.must(task{Step: "restore"})
	}
	same("restored")
	l.must(task{Step: "remove"})
	l.Git(l.Repo, "branch", "-q", "-M", w.Branch, fmt.Sprintf("old-%d", l.number))
}

// merging kills a merge of the arm's work, and then merges what is left.
func (l *lives) merging(w workspace.Workspace) {
	l.Helper()
	files, base := l.Files(w.Path), l.Git(l.Repo, "rev-parse", "base")
	wish := changes.MergeWish{Commit: "the rest", UpdateCheckout: true, Way: []changes.MergeWay{changes.WayMerge,
		changes.WaySquash, changes.WayRebase}[l.number%3]}
	l.kill(task{Step: "merge", Arm: w, Wish: wish})
	if !l.Same("the worktree, merged", l.Files(w.Path), files) {
		l.Fatalf("this was life %d", l.number)
	}
	now := l.Git(l.Repo, "rev-parse", "base")
	if now == base {
		l.merged(w, wish)
		now = l.Git(l.Repo, "rev-parse", "base")
	}
	name := fmt.Sprintf("life-%d", l.number)
	for _, path := range []string{name, name + "-new"} {
		if got := l.show(now, path); got+"\n" != files[path].Content {
			l.Fatalf("life %d: the merge has %q in %s, want %q", l.number, got, path, files[path].Content)
		}
	}
	l.commits = append(l.commits, now, l.Git(w.Path, "rev-parse", "HEAD"))
}

// TestM28KillsAtRandomMomentsLoseNothing kills the making, the merging, the pruning, the removal and
// the restoring of worktrees at random moments. A failed run tells its seed.
func TestM28KillsAtRandomMomentsLoseNothing(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-kill-seed %d", seed)
	s := newStage(t)
	l := &lives{stage: s, random: rand.New(rand.NewPCG(seed, 0)), id: s.ArmID("fix"), dir: s.checkedOut(),
		times: map[string]time.Duration{}, kills: map[string]int{}}
	s.Write(filepath.Join(l.dir, "own"), "untracked\n")
	s.Write(filepath.Join(l.dir, "x.ignored"), "ignored\n")
	l.commits = []string{s.Git(s.Repo, "rev-parse", "refs/stash"), s.Git(s.Repo, "rev-parse", "main")}
	stash := s.Git(s.Repo, "stash", "list")
	person, owned := s.Files(s.Repo), s.Owned()
	delete(owned, "refs")
	delete(owned, ".git/logs/refs/stash") // the arm stashes too
	total := func() (n int) {
		for _, k := range l.kills {
			n += k
		}
		return n
	}
	for ; total() < *randomKills; l.number++ {
		l.life()
		now := s.Owned()
		delete(now, "refs")
		delete(now, ".git/logs/refs/stash")
		if !s.Same("the main work folder", s.Files(s.Repo), person) || !s.Same("the main git folder", now, owned) ||
			!strings.HasSuffix(s.Git(s.Repo, "stash", "list"), strings.TrimPrefix(stash, "stash@{0}")) {
			t.Fatalf("this was life %d", l.number)
		}
	}
	s.Git(s.Repo, "fsck", "--no-dangling")
	t.Logf("%d kills in %d lives: %v; %d steps had ended before their kill", total(), l.number, l.kills, l.ended)
}
