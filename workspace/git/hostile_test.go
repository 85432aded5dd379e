package git_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
)

// stage is a repository with a submodule. An attacker has changed files in it.
type stage struct {
	*gittest.Stage
	marks   string // folder in which each started program of the attacker makes a file
	program git.Program
}

// withSubmodule is a repository with a submodule, and with two branches that change the same file.
var withSubmodule = gittest.Template{Fill: func(s *gittest.Stage) {
	sub := filepath.Join(s.Root, "sub")
	s.Git(s.Root, "init", "-q", sub)
	s.Write(filepath.Join(sub, "in-sub"), "1\n")
	s.Git(sub, "add", ".")
	s.Git(sub, "commit", "-qm", "sub")
	s.Write("file", "one\ntwo\nthree\n")
	s.Write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	s.Git(s.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
	s.Git(s.Repo, "config", "-f", ".gitmodules", "submodule.sub.ignore", "none") // overrides diff.ignoreSubmodules
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "1")
	s.Git(s.Repo, "checkout", "-qb", "other")
	s.Write("file", "ONE\ntwo\nthree\n")
	s.Git(s.Repo, "commit", "-qam", "2")
	s.Git(s.Repo, "checkout", "-q", "main")
	s.Write("file", "one\ntwo\nTHREE\n")
	s.Git(s.Repo, "commit", "-qam", "3")
	s.Write("file", "stashed\n")
	s.Git(s.Repo, "stash", "-q")
}}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: withSubmodule.New(t)}
	s.marks = filepath.Join(s.Root, "marks")
	s.Check(os.Mkdir(s.marks, 0o700))
	// These variables also apply in submodules, whose configuration the tests replace.
	s.Environ = append(s.Environ, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b")
	var err error
	s.program, err = git.Find(s.Environ, "")
	s.Check(err)
	return s
}

// mark returns a command that leaves a mark. It reads and prints nothing.
func (s *stage) mark(name string) string { return "touch " + filepath.Join(s.marks, name) + " #" }

// traps returns a configuration in which each key that can start a program starts one that leaves a
// mark.
func (s *stage) traps() string {
	var b strings.Builder
	set := func(section string, pairs ...string) {
		fmt.Fprintf(&b, "[%s]\n", section)
		for i := 0; i < len(pairs); i += 2 {
			fmt.Fprintf(&b, "\t%s = %q\n", pairs[i], pairs[i+1])
		}
	}
	hooks := filepath.Join(s.Root, "hooks")
	s.hooks(hooks, "hooksPath")
	attributes := filepath.Join(s.Root, "attributes")
	s.Write(attributes, "* filter=evil diff=evil merge=evil\n")
	set("core", "fsmonitor", s.mark("fsmonitor"), "hooksPath", hooks, "pager", s.mark("pager"), "editor", s.mark("editor"),
		"askPass", s.mark("askpass"), "sshCommand", s.mark("ssh"), "gitProxy", s.mark("proxy"),
		"alternateRefsCommand", s.mark("alternates"), "attributesFile", attributes, "excludesFile", attributes)
	set("sequence", "editor", s.mark("sequence"))
	set("diff", "external", s.mark("external"), "submodule", "diff")
	set(`diff "evil"`, "textconv", s.mark("textconv"), "cachetextconv", "true")
	set(`filter "evil"`, "clean", s.mark("clean"), "smudge", s.mark("smudge"), "required", "true")
	set(`merge "evil"`, "driver", s.mark("driver"), "name", "evil")
	set("commit", "gpgSign", "true")
	set("merge", "verifySignatures", "true")
	set("log", "showSignature", "true")
	set("gpg", "program", s.script("gpg"))
	set("credential", "helper", "!"+s.mark("credential"))
	set("interactive", "diffFilter", s.mark("difffilter"))
	set("uploadpack", "packObjectsHook", s.mark("packobjects"))
	set("submodule", "recurse", "true")
	set(`submodule "sub"`, "update", "!"+s.mark("subupdate"))
	set("protocol", "allow", "always")
	set(`protocol "ext"`, "allow", "always")
	set(`remote "origin"`, "url", "ext::sh -c touch% "+filepath.Join(s.marks, "ext"), "promisor", "true",
		"partialclonefilter", "blob:none", "fetch", "+refs/heads/*:refs/remotes/origin/*")
	set("alias", "status", "!"+s.mark("alias"), "diff", "!"+s.mark("alias"))
	set("pager", "status", s.mark("pager"), "log", s.mark("pager"), "stash", s.mark("pager"))
	set("rebase", "autoStash", "true")
	set("rerere", "enabled", "true")
	return b.String()
}

// script makes a program that leaves a mark, and returns its path.
func (s *stage) script(name string) string {
	path := filepath.Join(s.Root, "programs", name)
	s.Write(path, "#!/bin/sh\ntouch "+filepath.Join(s.marks, name)+"\n")
	s.Check(os.Chmod(path, 0o700))
	return path
}

func (s *stage) hooks(dir, mark string) {
	for _, name := range []string{"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
		"prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push",
		"reference-transaction", "post-rewrite", "post-index-change", "fsmonitor-watchman", "pre-auto-gc",
		"sendemail-validate"} {
		s.Write(filepath.Join(dir, name), "#!/bin/sh\ntouch "+filepath.Join(s.marks, mark)+"\n")
		s.Check(os.Chmod(filepath.Join(dir, name), 0o700))
	}
}

// fired returns the names of the programs that have run since the last call.
func (s *stage) fired() []string {
	s.Helper()
	entries, err := os.ReadDir(s.marks)
	s.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		s.Check(os.Remove(filepath.Join(s.marks, e.Name())))
	}
	return names
}

// plant puts the traps into the repository, and into its submodule.
func (s *stage) plant(place string) {
	s.Helper()
	dotGit := filepath.Join(s.Repo, ".git")
	config, traps := filepath.Join(dotGit, "config"), s.traps()
	elsewhere := filepath.Join(s.Root, "included")
	switch place {
	case "config":
		s.Append(config, traps)
	case "config.worktree":
		s.Append(config, "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n")
		s.Write(filepath.Join(dotGit, "config.worktree"), traps)
	case "include.path":
		s.Write(elsewhere, traps)
		s.Append(config, "[include]\n\tpath = "+elsewhere+"\n")
	case "includeIf":
		s.Write(elsewhere, traps)
		s.Append(config, "[includeIf \"gitdir:/\"]\n\tpath = "+elsewhere+"\n")
	}
	s.hooks(filepath.Join(dotGit, "hooks"), "hooks")
	s.Append(filepath.Join(dotGit, "modules", "sub", "config"), strings.ReplaceAll(traps, s.marks+"/", s.marks+"/sub-"))
	s.Write("sub/in-sub", "2\n")
	s.Write("sub/.gitattributes", "* filter=evil diff=evil\n")
	// The attacker also makes two more repositories with traps in the work folder. One of them is bare.
	s.Git(s.Repo, "init", "-q", "nested")
	s.Append(filepath.Join(s.Repo, "nested/.git/config"), strings.ReplaceAll(traps, s.marks+"/", s.marks+"/nested-"))
	s.Write("nested/x", "x")
	s.Git(s.Repo, "init", "-q", "--bare", "bare")
	s.Append(filepath.Join(s.Repo, "bare/config"), strings.ReplaceAll(traps, s.marks+"/", s.marks+"/bare-"))
	s.Check(os.MkdirAll(filepath.Join(s.Repo, ".git/rr-cache"), 0o700))
	s.Write("file", "changed\n")
	s.Write("new", "new\n")
	s.fired()
}

var places = []string{"config", "config.worktree", "include.path", "includeIf"}

// operation is something that Coleo does with git.
type operation struct {
	name string
	run  func(context.Context, *stage, *git.Repo) error
}

func one(args ...string) operation {
	return operation{strings.Join(args, " "), func(ctx context.Context, _ *stage, r *git.Repo) error {
		_, err := r.Output(ctx, args...)
		return err
	}}
}

// onPrivateIndex stages everything in an index of Coleo's own, and commits it.
func onPrivateIndex(ctx context.Context, s *stage, r *git.Repo) error {
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(s.TempDir(), "index"), "GIT_AUTHOR_NAME=c", "GIT_AUTHOR_EMAIL=c@d",
		"GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@d"}
	out, err := r.Output(ctx, "ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, c := range []git.Call{
		{Args: []string{"read-tree", "HEAD"}},
		{Args: []string{"update-index", "-z", "--add", "--remove", "--stdin"}, Stdin: strings.NewReader(string(out))},
		{Args: []string{"diff-index", "-p", "--binary", "HEAD"}},
		{Args: []string{"write-tree"}},
	} {
		c.Env = env
		if out, err = r.Run(ctx, c); err != nil {
			return err
		}
	}
	out, err = r.Run(ctx, git.Call{Args: []string{"commit-tree", strings.TrimSpace(string(out)), "-p", "HEAD", "-m",
		"kept"}, Env: env})
	if err != nil {
		return err
	}
	_, err = r.Output(ctx, "update-ref", "--create-reflog", "refs/coleo/kept/x", strings.TrimSpace(string(out)))
	return err
}

// worktree makes a worktree, checks files out in it, and reads its status.
func worktree(ctx context.Context, s *stage, r *git.Repo) error {
	w, err := r.AddWorktree(git.Worktree{ID: "arm", Path: filepath.Join(s.TempDir(), "w"), Head: "refs/heads/other"})
	if err != nil {
		return err
	}
	at, err := s.program.OpenAt(ctx, w.Path, w.Git)
	if err != nil {
		return err
	}
	defer at.Close()
	for _, args := range [][]string{{"reset", "--hard", "-q"}, {"status", "--porcelain=v2", "-z"}} {
		if _, err := at.Output(ctx, args...); err != nil {
			return err
		}
	}
	return os.RemoveAll(w.Git)
}

// operations uses every command on the list of allowed commands.
var operations = []operation{
	one("status", "--porcelain=v2", "-z", "-uall", "--ignored"),
	one("diff"), one("diff", "HEAD"), one("diff", "main", "other"), one("diff", "--stat", "HEAD"),
	one("diff-files", "-p"), one("diff-index", "-p", "HEAD"), one("diff-tree", "-p", "main", "other"),
	one("log", "-p", "main"), one("show", "main"), one("stash", "list", "-z"),
	one("for-each-ref"), one("ls-files", "-z", "-m", "-o", "-d"), one("ls-tree", "-rz", "HEAD"),
	one("check-ignore", "-v", "new"), one("check-attr", "-a", "file"),
	one("hash-object", "-w", "file"), one("rev-list", "--all", "--not", "--remotes"), one("rev-parse", "HEAD"),
	{"a commit by a private index", onPrivateIndex},
	{"an object that is not there", func(ctx context.Context, _ *stage, r *git.Repo) error {
		_, _ = r.Output(ctx, "cat-file", "-p", strings.Repeat("1", 40)) // git asks a promisor remote
		return nil
	}},
	{"a commit by fast-import", func(ctx context.Context, _ *stage, r *git.Repo) error {
		text := "commit refs/coleo/kept/y\ncommitter a <a@b> 1 +0000\ndata 1\nx\nfrom refs/heads/main\ndeleteall\ndone\n"
		_, err := r.Run(ctx, git.Call{Args: []string{"fast-import", "--quiet", "--done"}, Stdin: strings.NewReader(text)})
		return err
	}},
	{"a worktree", worktree},
	{"pack-objects and index-pack", func(ctx context.Context, s *stage, r *git.Repo) error {
		empty := s.TempDir()
		s.Git(s.Root, "init", "-q", "--object-format="+r.ObjectFormat(), empty)
		other, err := s.program.Open(ctx, empty)
		if err != nil {
			return err
		}
		defer other.Close()
		if err := other.Bring(ctx, r, []string{s.Rev(s.Repo, "other")}); err != nil {
			return err
		}
		s.Append(filepath.Join(empty, ".git", "config"), s.traps())
		if other, err = s.program.Open(ctx, empty); err != nil {
			return err
		}
		defer other.Close()
		return other.Bring(ctx, r, []string{s.Rev(s.Repo, "main")})
	}},
	one("merge-tree", "--write-tree", "main", "other"),
	one("branch", "-f", "third", "main"), one("symbolic-ref", "HEAD"), one("update-ref", "refs/heads/x", "main"),
	one("reset", "--hard"), one("reset", "--hard", "other"), one("reset", "--hard", "main"), one("reset", "--soft",
		"other"),
	one("reset", "--hard", "main"), one("show-ref"), one("merge-base", "main", "other"),
	one("check-ref-format", "--branch", "x"), one("cat-file", "blob", "main:file"),
	one("checkout-index", "-f", "-a"), one("read-tree", "-u", "-m", "HEAD", "other"), one("read-tree", "--reset", "-u",
		"main"),
}

func TestNoProgramOfAHostileRepositoryRuns(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.plant(place)
			r, err := s.program.Open(t.Context(), s.Repo)
			s.Check(err)
			defer r.Close()
			if names := s.fired(); len(names) > 0 {
				t.Errorf("opening the repository ran %v", names)
			}
			for _, o := range operations {
				if err := o.run(t.Context(), s, r); err != nil && git.ExitCode(err) != 1 {
					t.Errorf("%s: %v", o.name, err)
				}
				if names := s.fired(); len(names) > 0 {
					t.Errorf("%s ran %v", o.name, names)
				}
			}
		})
	}
}

// TestEachCommandOnTheListIsTested: `operations` must contain every command on the list of commands that Coleo
// may run.
func TestEachCommandOnTheListIsTested(t *testing.T) {
	t.Parallel()
	// These commands have no operation of their own. They run as a part of other operations.
	tested := map[string]bool{"write-tree": true, "commit-tree": true, "update-index": true, "fast-import": true,
		"index-pack": true}
	for _, o := range operations {
		words := strings.Fields(o.name)
		tested[words[0]] = true
		tested[strings.Join(words[:min(len(words), 2)], " ")] = true
	}
	for _, name := range git.Commands() {
		if !tested[name] {
			t.Errorf("git %s may run, and no test shows that it starts no program", name)
		}
	}
}

// TestTheTrapsOfTheHostileRepositoryWork runs plain git, which must start the programs. Otherwise a
// trap that never works would look as if Coleo had prevented it.
func TestTheTrapsOfTheHostileRepositoryWork(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.plant(place)
			var all []string
			for _, args := range [][]string{{"status"}, {"diff"}, {"--no-pager", "-c", "diff.external=", "log", "-p",
				"--textconv"}, {"add", "-A"}, {"cat-file", "-p", strings.Repeat("1", 40)}, {"commit", "-m", "x"},
				{"commit-tree", "-S", "-m", "x", "HEAD^{tree}"},
				{"-c", "commit.gpgSign=false", "commit", "--no-verify", "-qm", "x"},
				{"worktree", "add", "-f", filepath.Join(s.TempDir(), "w"), "other"},
				{"-c", "merge.verifySignatures=false", "-c", "commit.gpgSign=false", "merge", "other"}} {
				_, _ = s.Try(s.Repo, args...)
				all = append(all, s.fired()...)
			}
			for _, name := range []string{"fsmonitor", "external", "clean", "smudge", "hooksPath", "gpg", "driver", "ext",
				"sub-clean", "sub-fsmonitor"} {
				if !slices.Contains(all, name) {
					t.Errorf("plain git did not run %s, only %v", name, slices.Compact(slices.Sorted(slices.Values(all))))
				}
			}
		})
	}
}
