package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/script"
)

// project commits a script and other files in the project.
func (s *stage) project(path, text string, others ...string) {
	s.Helper()
	s.Write(path, text)
	s.Check(os.Chmod(filepath.Join(s.Repo, path), 0o755))
	for n := 0; n < len(others); n += 2 {
		s.Write(others[n], others[n+1])
		s.Check(os.Chmod(filepath.Join(s.Repo, others[n]), 0o755))
	}
	s.Git(s.Repo, "add", "-f", ".")
	s.Git(s.Repo, "commit", "-qm", "scripts")
}

// trusts makes the user trust the present version of a script of the project.
func (s *stage) trusts(path string) script.Script {
	s.Helper()
	found, _, _, err := s.trees.Script(s.Context(), s.Repo, "", path)
	s.Check(err)
	s.Check(s.trees.Scripts.Trusts.Trust(found, found.Hash))
	return found
}

// refused tries to make a worktree. The attempt must fail with the code and the message, and leave
// nothing behind.
func (s *stage) refused(name string, code coleo.Code, want string, change ...func(*workspace.Order)) string {
	s.Helper()
	o := workspace.Order{ID: s.ArmID(name), Name: name, Folder: s.Repo}
	for _, fn := range change {
		fn(&o)
	}
	_, err := s.trees.Make(s.Context(), o)
	if coleo.ErrorCode(err) != code || !strings.Contains(err.Error(), want) {
		s.Errorf("make %s: %v, want %s with %q", name, err, code, want)
		return ""
	}
	s.nothingLeft()
	return err.Error()
}

func noSetup(o *workspace.Order) { o.NoSetup = true }

func TestM28ASetUpRunsOnlyIfItIsTrusted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.project(script.Setup, "#!/bin/sh\nmkdir -p build/deep\nprintf made > build/deep/one\nprintf $API_KEY$COLEO_BRANCH "+
		"> .env\n")
	s.refused("one", coleo.EForbidden, "is not trusted")
	if w := s.made("none", noSetup); isThere(filepath.Join(w.Path, "build")) {
		t.Error("--no-setup ran the set-up")
	}
	first := s.trusts(script.Setup)
	if first.Why == "" {
		t.Error("printf can start nothing, but is not on the list") // the list contains only a few commands
	}
	w := s.made("one")
	if data, err := os.ReadFile(filepath.Join(w.Path, ".env")); string(data) != "coleo/one" {
		t.Errorf("the set-up has written %q, %v: it must get no key", data, err)
	}
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
		t.Errorf("what the set-up has made is unsaved: %v, %v", u, err)
	}
	s.Write(filepath.Join(w.Path, "build/deep/two"), "mine")
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || len(u.Ignored) != 1 || u.Ignored[0] != "build/deep/two" {
		t.Errorf("a file beside what the set-up has made: %v, %v", u, err)
	}
	s.Check(os.Remove(filepath.Join(w.Path, "build/deep/two")))
	s.Write(filepath.Join(w.Path, ".env"), "changed!!")
	if err := s.trees.Check(t.Context(), w.ID); coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(),
		".env") {
		t.Errorf("a changed file of the set-up: %v", err)
	}

	// The set-up uses printf, so its hash covers all files of the project, and this change needs a new approval.
	s.Write("file", "changed\n")
	s.Git(s.Repo, "commit", "-qam", "more")
	w2 := workspace.Order{ID: s.ArmID("two"), Name: "two", Folder: s.Repo}
	if _, err := s.trees.Make(t.Context(), w2); coleo.ErrorCode(err) != coleo.EForbidden || !strings.Contains(err.Error(),
		"has changed") &&
		!strings.Contains(err.Error(), "some have changed") {
		t.Errorf("a changed repository: %v", err)
	}
	found, _, _, err := s.trees.Script(t.Context(), s.Repo, "", script.Setup)
	s.Check(err)
	s.Check(s.trees.Scripts.Trusts.Trust(found, found.NamedHash))
	s.Write("file", "changed again\n")
	s.Git(s.Repo, "commit", "-qam", "more")
	s.made("two")
}

// TestM28ATrustIsForOneRepository copies a repository with its trusted set-up. The copy's set-up must
// not be trusted.
func TestM28ATrustIsForOneRepository(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.project(script.Setup, "#!/bin/sh\ntouch .env\n")
	s.trusts(script.Setup)
	other := s.Repo + "-other"
	s.Git(s.Root, "clone", "-q", s.Repo, other)
	o := workspace.Order{ID: s.ArmID("x"), Name: "x", Folder: other}
	if _, err := s.trees.Make(t.Context(), o); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("the same set-up in another repository: %v", err)
	}
	s.Check(s.trees.Distrust(t.Context(), s.Repo, script.Setup))
	s.refused("one", coleo.EForbidden, "is not trusted")
}

// Only a trusted version of the set-up may run. One version is on an arm's branch, and another one was written
// into the work folder. Neither of these two may run.
func TestM28TheSetUpIsNeverTheArms(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.project(script.Setup, "#!/bin/sh\ntouch .env\n./tool\n", "tool", "#!/bin/sh\ntrue\n")
	if found := s.trusts(script.Setup); found.Why != "" || len(found.Files) != 2 {
		t.Errorf("the set-up is %+v", found)
	}
	s.Git(s.Repo, "checkout", "-qb", "arms")
	s.project(".coleo/setup", "#!/bin/sh\ntouch .env\n./tool\n", "tool", "#!/bin/sh\ntouch build\n")
	s.Git(s.Repo, "checkout", "-q", "main")
	s.refused("one", coleo.EForbidden, "tool is not the same", branch("arms"))
	s.Write(script.Setup, "#!/bin/sh\ntouch planted\n")
	if w := s.made("two"); isThere(filepath.Join(w.Path, "planted")) || !isThere(filepath.Join(w.Path, ".env")) {
		t.Error("the set-up came from the work folder")
	}
}

// TestTheSetUpIsNeverThatOfAPullRequest: anybody can write a pull request, so its set-up must not run.
func TestTheSetUpIsNeverThatOfAPullRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.project(script.Setup, "#!/bin/sh\ntouch .env\n")
	s.trusts(script.Setup)
	contribute(s.Stage)
	s.withPull("git@github.com:owner/project.git", "refs/pull/12/head")
	contributor := filepath.Join(s.Root, "contributor")
	if w := s.made("one", branch("pr/12")); !isThere(filepath.Join(w.Path, ".env")) {
		t.Error("the project's set-up did not run")
	}
	_, err := s.trees.Remove(t.Context(), s.ArmID("one"), false)
	s.Check(err)
	s.Write(filepath.Join(contributor, script.Setup), "#!/bin/sh\ntouch .env planted\n")
	s.Git(contributor, "commit", "-qam", "planted")
	s.Git(contributor, "push", "-q", "origin", "HEAD:refs/pull/13/head")
	s.refused("two", coleo.EForbidden, ".coleo/setup is not the same", branch("pr/13"))
	s.Git(s.Repo, "rm", "-q", script.Setup)
	s.Git(s.Repo, "commit", "-qm", "no set-up")
	if w := s.made("three", branch("pr/13")); isThere(filepath.Join(w.Path, ".env")) {
		t.Error("the set-up of the pull request ran")
	}
}

func TestM28AnAttributeCannotChangeATrustedScript(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.project(script.Setup, "#!/bin/sh\ntouch .env\n", ".gitattributes", ".coleo/setup working-tree-encoding=UTF-7\n")
	s.trusts(script.Setup)
	s.project(script.Setup, "#!/bin/sh\ntouch .env\n", ".gitattributes", ".coleo/setup ident eol=crlf text\n")
	s.refused("one", coleo.EForbidden, "checked out with another content")
}

func TestM28ASetUpThatFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.project(script.Setup, "#!/bin/sh\nsetsid sleep 1000 &\nfor i in 1 2 3; do echo line $i; done; echo '\033[31mno "+
		"package' >&2\nexit 7\n")
	before := s.Person()
	s.trusts(script.Setup)
	said := s.refused("one", coleo.EInternal, "exit status 7")
	for _, want := range []string{"line 3", "?[31mno package", s.trees.SetupOutput(s.ArmID("one")),
		"the worktree was removed again"} {
		if !strings.Contains(said, want) {
			t.Errorf("the error says nothing of %q: %s", want, said)
		}
	}
	if pids := marked(s.ArmID("one")); len(pids) > 0 {
		t.Errorf("processes of the set-up are left: %v", pids)
	}
	s.Same("the main work folder", s.Person(), before)

	s.project(script.Setup, "#!/bin/sh\nsetsid sleep 1000 &\nsleep 1000\n")
	s.trusts(script.Setup)
	s.trees.Scripts.Timeout = 300 * time.Millisecond
	s.refused("two", coleo.ETimeout, "took longer than 300ms")
	if pids := marked(s.ArmID("two")); len(pids) > 0 {
		t.Errorf("processes of the set-up are left: %v", pids)
	}
}

// marked returns the processes of an arm's script.
func marked(id string) (pids []int) {
	all, _ := os.ReadDir("/proc")
	for _, process := range all {
		if pid, err := strconv.Atoi(process.Name()); err == nil && isMarked(pid, id) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isMarked reports whether a process is one of an arm's script.
func isMarked(pid int, id string) bool {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return strings.Contains(string(data), "COLEO_ARM=script-"+id+"/")
}

// TestM28AKillInASetUpLeavesNoProcess kills the process that makes a worktree while the set-up runs. The guard,
// a second process, must then end the set-up. In the second case, the guard is killed too, and the next prune
// must end the set-up.
func TestM28AKillInASetUpLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		s := newStage(t)
		s.project(script.Setup, "#!/bin/sh\necho x > .env\nsetsid sleep 1000 &\nsleep 1000\n")
		s.trusts(script.Setup)
		root := s.Root
		id := s.ArmID("fix")
		making := exec.Command(os.Args[0])
		making.Env = []string{helperFor + "=make " + root, "PATH=" + os.Getenv("PATH")}
		s.Check(making.Start())
		tree := filepath.Join(s.trees.Dir, "trees", "project-fix")
		own := func() (found []int) { // only the processes in this worktree
			for _, pid := range marked(id) {
				if at, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd"); strings.HasPrefix(at, tree) {
					found = append(found, pid)
				}
			}
			return found
		}
		await(t, "the set-up runs", func() bool { return len(own()) >= 3 })
		before := own()
		runs := func(pid int) bool { return isMarked(pid, id) }
		pids := []int{making.Process.Pid}
		if together {
			for _, pid := range gittest.Children(making.Process.Pid) {
				pids = append(pids, pid)
				break // kills the guard too
			}
		}
		for _, pid := range pids {
			s.Check(syscall.Kill(pid, syscall.SIGKILL))
		}
		_ = making.Wait()
		if !together {
			await(t, "the guard has ended the set-up", func() bool { return !slices.ContainsFunc(before, runs) })
		}
		done, err := s.trees.Prune(t.Context(), func(workspace.Workspace) bool { return true })
		if err != nil || len(done) != 1 || !done[0].Mended {
			t.Errorf("prune: %+v, %v", done, err)
		}
		if slices.ContainsFunc(before, runs) {
			t.Errorf("of the processes %v, some are left", before)
		}
		s.nothingLeft()
	}
}

func await(t *testing.T, what string, fn func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !fn(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}

func TestM28ACheckRunsOnTheGivenTree(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	common := filepath.Join(s.Repo, ".git")
	tree := func() string { return s.Git(s.Repo, "rev-parse", "HEAD^{tree}") }
	run := func(base, tree string) error {
		return s.trees.CheckTree(t.Context(), common, base, tree, s.ArmID("one"))
	}
	s.Check(run(s.Rev(s.Repo, "HEAD"), tree())) // there is no check
	s.project(script.Check, "#!/bin/sh\ncmp file sub/want\n", "sub/want", "good\n")
	base := s.Rev(s.Repo, "HEAD")
	if err := run(base, tree()); coleo.ErrorCode(err) != coleo.EForbidden || !strings.Contains(err.Error(),
		"trust --check") {
		t.Errorf("an untrusted check: %v", err)
	}
	s.trusts(script.Check)
	if err := run(base, tree()); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("a check that fails: %v", err)
	}
	s.Git(s.Repo, "checkout", "-qb", "arms")
	s.Write("file", "good\n")
	s.Git(s.Repo, "commit", "-qam", "good")
	if err := run(base, tree()); err == nil || !strings.Contains(err.Error(), "file is not the same") {
		t.Errorf("the work of an arm in a file that the check names: %v", err)
	}
	s.project(script.Check, "#!/bin/sh\ntrue\n")
	if err := run(base, tree()); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("the check of an arm: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.trees.Dir, "tmp", "check-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestM28ASetUpMayFillAFolderOfASubmodule: a set-up can make files in a submodule's folder. These files and
// copied files must not count as unsaved.
func TestM28ASetUpMayFillAFolderOfASubmodule(t *testing.T) {
	t.Parallel()
	s := newLibraryStage(t)
	s.project(script.Setup, "#!/bin/sh\nprintf made > lib/inner/a.out\n")
	s.trusts(script.Setup)
	s.Write("lib/b.out", "the person's own\n")
	s.trees.Copy = []string{"lib/b.out"}
	w := s.made("fix")
	if files := s.Files(w.Path); files["lib/inner/a.out"].Content != "made" ||
		files["lib/b.out"].Content != "the person's own\n" {
		t.Errorf("the submodule lacks a file: %v", files)
	}
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
		t.Errorf("what the set-up has made is unsaved: %v, %v", u, err)
	}
	s.Write(w.Path+"/lib/inner/a.out", "changed")
	s.Write(w.Path+"/lib/b.out", "changed\n")
	u, err := s.trees.Unsaved(t.Context(), w)
	want := "the submodule lib with 1 ignored file (b.out); the submodule lib/inner with 1 ignored file (a.out)"
	if err != nil || u.String() != want {
		t.Errorf("the worktree has %v, %v; want %s", u, err, want)
	}
}
