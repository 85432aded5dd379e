package merge_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
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
	"coleo.dev/workspace/gittest"
)

var (
	randomKills = flag.Int("random-kills", 6, "how many kills at random moments of the whole life of a worktree")
	killSeed    = flag.Uint64("kill-seed", 0, "seed of the random moments; 0 takes the time")
)

// home is a repository from which the arms have worktrees.
type home struct {
	repo string
	dir  string // the person's work folder, in which the branch `into` is checked out
	into string // the branch into which the work is merged
	// commits contains every commit that was made, including stashes. Each must stay reachable.
	commits []string
}

// lives carries out the whole life of an arm's worktrees many times, and kills each step at a random moment. In
// some lives, the arm has worktrees of two repositories.
type lives struct {
	*stage
	random *rand.Rand
	id     string
	homes  []*home

	times   map[string]time.Duration // how long each step takes without a kill
	kills   map[string]int           // how often each step was killed
	ended   int                      // how many steps ended before their kill came
	number  int                      // the number of the present life
	several bool                     // in this life, the arm has worktrees of both repositories
}

// measured returns how many lives only measure the times of the steps. A life is one run through all steps. Normally
// these are two lives: one with one repository, and one with two. With -short, it is one life with two repositories.
func measured() int {
	if testing.Short() {
		return 1
	}
	return 2
}

// name returns the key of a step in the maps `times` and `kills`. Steps with several repositories have other
// keys, because they take longer.
func (l *lives) name(step string) string {
	if l.several {
		step += " of several"
	}
	return step
}

// filled adds to a task the values that all tasks of this life share.
func (l *lives) filled(t task) task {
	t.Dir, t.Environ = l.trees.Dir, l.Environ
	if t.Step != "merge" {
		t.Arm = workspace.Workspace{ID: l.id, Name: "fix", From: l.Repo}
	}
	if l.several {
		t.With = []string{l.homes[1].repo}
	}
	return t
}

// start carries out a step in another process, and kills that process.
func (l *lives) start(t task) {
	l.Helper()
	text, err := json.Marshal(l.filled(t))
	l.Check(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperFor + "=" + string(text), "PATH=" + os.Getenv("PATH")}
	name := l.name(t.Step)
	if l.number < measured() {
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			l.Fatalf("%s: %v\n%s", t.Step, err, out)
		}
		l.times[name] = max(l.times[name], time.Since(began))
		return
	}
	whole := l.random.IntN(2) == 0
	after := time.Duration(l.random.Int64N(int64(l.times[name])))
	if l.KillAfter(cmd, whole, after) {
		l.ended++
		return
	}
	l.kills[name]++
	l.quiet()
}

// quiet waits until no git of a killed process is running. Then it deletes the locks that a killed git has left, as
// git's error message advises.
func (l *lives) quiet() {
	l.Helper()
	for _, h := range l.homes {
		_, unlock, err := l.trees.LockRepository(l.Context(), filepath.Join(h.repo, ".git"))
		l.Check(err)
		defer unlock()
	}
	l.Check(l.trees.Rename(l.Context(), l.id, "fix")) // waits for the lock of the worktree
	l.DropLocks()
	l.Check(filepath.WalkDir(filepath.Join(l.homes[1].repo, ".git"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			return os.Remove(path)
		}
		return nil
	}))
}

// kill kills a step, and sometimes also the step "prune" after it. Then it carries out "prune" without a kill,
// which must complete or undo everything.
func (l *lives) kill(t task) {
	l.Helper()
	if l.start(t); l.random.IntN(3) == 0 || l.number < measured() {
		l.start(task{Step: "prune"})
	}
	l.must(task{Step: "prune"})
	l.nothingLost(t.Step)
}

// must carries out a step without a kill.
func (l *lives) must(t task) {
	l.Helper()
	l.Check(l.filled(t).do())
}

// nothingLost checks that each commit is reachable, and that the person's work folders are unchanged.
func (l *lives) nothingLost(step string) {
	l.Helper()
	all, err := l.trees.List()
	l.Check(err)
	for _, w := range all {
		if w.Status != workspace.Ready {
			l.Fatalf("life %d, %s: prune has left a worktree that is %s", l.number, step, w.Status)
		}
	}
	for _, h := range l.homes {
		reached := strings.Fields(l.Git(h.repo, "rev-list", "--reflog", "--all"))
		for _, id := range h.commits {
			if !slices.Contains(reached, id) {
				l.Fatalf("life %d, %s: the commit %s of %s is lost", l.number, step, id, h.repo)
			}
		}
		if got := l.Git(h.dir, "status", "--porcelain", "--ignored"); got != "?? own\n!! x.ignored" {
			l.Fatalf("life %d, %s: the person's folder %s has %q", l.number, step, h.dir, got)
		}
		owned := 1
		if h.dir != h.repo {
			owned = 2
		}
		if left := l.Git(h.repo, "worktree", "list"); len(all) == 0 && strings.Count(left, "\n")+1 != owned {
			l.Fatalf("life %d, %s: a worktree is left:\n%s", l.number, step, left)
		}
	}
}

// there returns the arm's worktrees. If `some` is false, it checks their number: none, or one for each
// repository of this life.
func (l *lives) there(some bool) []workspace.Workspace {
	l.Helper()
	all, err := l.trees.Group(l.id)
	l.Check(err)
	want := 1
	if l.several {
		want = 2
	}
	if !some && len(all) != 0 && len(all) != want {
		l.Fatalf("life %d: there are %d worktrees: %+v", l.number, len(all), all)
	}
	return all
}

// homeOf returns the repository of a worktree.
func (l *lives) homeOf(w workspace.Workspace) *home {
	for _, h := range l.homes {
		if w.Common == filepath.Join(h.repo, ".git") {
			return h
		}
	}
	l.Fatalf("the worktree of no repository: %+v", w)
	return nil
}

// work makes work of all kinds in the worktree: a commit, a stash, and staged, changed, untracked and ignored
// files.
func (l *lives) work(w workspace.Workspace) {
	l.Helper()
	name, h := fmt.Sprintf("life-%d", l.number), l.homeOf(w)
	h.commits = append(h.commits, l.commit(w, name, "committed\n", "add "+name))
	l.Write(filepath.Join(w.Path, name), "stashed\n")
	l.Git(w.Path, "stash", "-q")
	h.commits = append(h.commits, l.Rev(w.Path, "refs/stash"))
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

// again deletes the folder of one worktree or of all. Then it makes the worktrees again: first with a kill, and
// then without one. Each worktree must have its old branch again.
func (l *lives) again(all []workspace.Workspace) {
	l.Helper()
	which, heads := l.random.IntN(len(all)+1), map[string]string{}
	for n, w := range all {
		h := l.homeOf(w)
		heads[w.ID] = l.commit(w, fmt.Sprintf("early-%d", l.number), "committed\n", "early")
		h.commits = append(h.commits, heads[w.ID])
		if which == n || which == len(all) {
			l.Check(os.RemoveAll(w.Path))
		}
	}
	l.kill(task{Step: "make"})
	l.must(task{Step: "make"})
	now := l.there(false)
	for n, w := range all {
		if now[n].ID != w.ID || now[n].Branch != w.Branch || now[n].Path != w.Path || l.Rev(w.Path, "HEAD") != heads[w.ID] {
			l.Fatalf("life %d: made again, %+v is %+v", l.number, w, now[n])
		}
	}
}

// contents is what the worktrees contain.
type contents struct {
	files  map[string]map[string]gittest.File
	staged map[string]string
}

func (l *lives) contents(all []workspace.Workspace) contents {
	l.Helper()
	c := contents{map[string]map[string]gittest.File{}, map[string]string{}}
	for _, w := range all {
		c.files[w.ID], c.staged[w.ID] = l.Files(w.Path), l.Git(w.Path, "ls-files", "--stage")
	}
	return c
}

// same checks that worktrees have the same contents as before.
func (l *lives) same(step string, all []workspace.Workspace, before contents) {
	l.Helper()
	now := l.contents(all)
	for _, w := range all {
		if !l.Same("the worktree in "+w.Path+", "+step, now.files[w.ID], before.files[w.ID]) ||
			now.staged[w.ID] != before.staged[w.ID] {
			l.Fatalf("this was life %d", l.number)
		}
	}
}

func (l *lives) life() {
	l.Helper()
	l.several = testing.Short() || l.number == 1 || l.number >= measured() && l.random.IntN(2) == 0
	l.kill(task{Step: "make"})
	if len(l.there(false)) == 0 {
		l.must(task{Step: "make"})
	}
	all := l.there(false)
	l.again(all)
	for _, w := range all {
		l.work(w)
	}
	for _, w := range all {
		l.merging(w)
	}
	for _, w := range all {
		l.uncommitted(w, fmt.Sprintf("after-%d", l.number))
	}
	before := l.contents(all)
	l.kill(task{Step: "remove"})
	l.same("not removed", l.there(true), before)
	l.must(task{Step: "remove"})
	l.kill(task{Step: "restore"})
	l.must(task{Step: "restore"})
	if now := l.there(false); len(now) != len(all) {
		l.Fatalf("life %d: %d worktrees are restored", l.number, len(now))
	}
	l.same("restored", all, before)
	l.must(task{Step: "remove"})
	for _, w := range all {
		l.Git(l.homeOf(w).repo, "branch", "-q", "-M", w.Branch, fmt.Sprintf("old-%d", l.number))
	}
}

// merging kills a merge of the arm's work in one repository, and then merges the rest.
func (l *lives) merging(w workspace.Workspace) {
	l.Helper()
	h := l.homeOf(w)
	files, base := l.Files(w.Path), l.Rev(h.repo, h.into)
	request := changes.MergeRequest{Commit: "the rest", UpdateCheckout: true, Way: []changes.MergeWay{changes.WayMerge,
		changes.WaySquash, changes.WayRebase}[l.number%3]}
	l.kill(task{Step: "merge", Arm: w, Request: request})
	if !l.Same("the worktree, merged", l.Files(w.Path), files) {
		l.Fatalf("this was life %d", l.number)
	}
	now := l.Rev(h.repo, h.into)
	if now == base {
		l.merged(w, request)
		now = l.Rev(h.repo, h.into)
	}
	name := fmt.Sprintf("life-%d", l.number)
	for _, path := range []string{name, name + "-new"} {
		if got := l.Git(h.repo, "show", now+":"+path); got+"\n" != files[path].Content {
			l.Fatalf("life %d: the merge has %q in %s, want %q", l.number, got, path, files[path].Content)
		}
	}
	h.commits = append(h.commits, now, l.Rev(w.Path, "HEAD"))
}

// library makes a second repository, in which the person has main checked out.
func (l *lives) library() *home {
	l.Helper()
	dir := filepath.Join(l.Root, "library")
	l.Git(l.Root, "init", "-q", dir)
	l.Write(filepath.Join(dir, ".gitignore"), "*.ignored\n")
	l.Git(dir, "add", ".")
	l.Git(dir, "commit", "-qm", "first")
	return &home{repo: dir, dir: dir, into: "main", commits: []string{l.Rev(dir, "main")}}
}

// total returns the number of kills, and how many of them were in lives with several repositories.
func (l *lives) total() (all, several int) {
	for name, n := range l.kills {
		all += n
		if strings.HasSuffix(name, " of several") {
			several += n
		}
	}
	return all, several
}

// TestM28KillsAtRandomMomentsLoseNothing kills the making, the second making, the merging, the pruning, the removal
// and the restoring of worktrees at random moments. It uses one and two repositories, and with -short only two. A
// failed run prints its seed.
func TestM28KillsAtRandomMomentsLoseNothing(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-kill-seed %d", seed)
	s := newStage(t)
	l := &lives{stage: s, random: rand.New(rand.NewPCG(seed, 0)), id: s.ArmID("fix"),
		times: map[string]time.Duration{}, kills: map[string]int{}}
	l.homes = []*home{{repo: s.Repo, dir: s.checkedOut(), into: "base", commits: []string{
		s.Rev(s.Repo, "refs/stash"), s.Rev(s.Repo, "main")}}, l.library()}
	for _, h := range l.homes {
		s.Write(filepath.Join(h.dir, "own"), "untracked\n")
		s.Write(filepath.Join(h.dir, "x.ignored"), "ignored\n")
	}
	stash := s.Git(s.Repo, "stash", "list")
	owns := func() map[string]gittest.File {
		owned := s.Owned()
		delete(owned, "refs")
		delete(owned, ".git/logs/refs/stash") // skipped, because the arm stashes too
		return owned
	}
	person, owned := s.Files(s.Repo), owns()
	for ; ; l.number++ {
		if all, several := l.total(); all >= gittest.Repeats(*randomKills) && several >= gittest.Repeats(*randomKills)/2 {
			break
		}
		l.life()
		if !s.Same("the main work folder", s.Files(s.Repo), person) || !s.Same("the main git folder", owns(), owned) ||
			!strings.HasSuffix(s.Git(s.Repo, "stash", "list"), strings.TrimPrefix(stash, "stash@{0}")) {
			t.Fatalf("this was life %d", l.number)
		}
	}
	for _, h := range l.homes {
		s.Fsck(h.repo)
	}
	all, several := l.total()
	t.Logf("%d kills in %d lives, %d of several repositories: %v; %d steps had ended before their kill", all, l.number,
		several, l.kills, l.ended)
}
