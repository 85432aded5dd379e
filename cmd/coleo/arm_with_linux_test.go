package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/changes"
)

func TestM28AnArmInASandboxHasACloneOfEachRepository(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	dir, library, arm := w.withLibrary("--sandbox", "bwrap")
	f := &fake{world: w, name: "one", workdir: arm.Workdir}
	for _, argv := range [][]string{
		{"sh", "-c", "cd project; echo mine > file; git commit -qam mine"},
		{"sh", "-c", "cd library; echo mine > code; git commit -qam mine; echo rest > rest"},
	} {
		if out, err := f.inside(arm.Workdir, argv...); err != nil {
			t.Fatalf("%q inside: %v\n%s", argv, err, out)
		}
	}
	for _, path := range []string{dir, library} {
		if out, err := f.inside("/", "ls", path); err == nil {
			t.Errorf("inside there is %s:\n%s", path, out)
		}
	}
	if out := w.must("arm", "diff", "one", "--stat"); !strings.Contains(out, "project/file") ||
		!strings.Contains(out, "library/code") || !strings.Contains(out, "library/rest") {
		t.Errorf("the diff is\n%s", out)
	}
	m := decode[changes.Merged](w, "arm", "merge", "one", "--repo", "library", "--commit", "the rest")
	if got := w.git(library, "show", "topic:code", "topic:rest"); got != "mine\nrest" || m.Committed == "" {
		t.Errorf("the branch has %q; the merge is %+v", got, m)
	}
	w.must("arm", "merge", "one")
	if got := w.git(dir, "show", "topic:file"); got != "mine" {
		t.Errorf("the branch has %q", got)
	}
	w.must("arm", "kill", "one")
	again := w.must("arm", "spawn", "-n", "one", "--harness", "fake")
	if now := w.arm("one"); now.Workdir != arm.Workdir {
		t.Errorf("after a restart, the arm works in %s: %s", now.Workdir, again)
	}
	w.must("arm", "kill", "one")
	w.forgetFake(arm.Workdir)
	for _, path := range []string{"project/new", "library/new"} {
		w.check(os.WriteFile(filepath.Join(arm.Workdir, path), []byte("new\n"), 0o600))
	}
	w.must("arm", "remove", "one", "--force")
	if out := w.must("workspace", "kept"); !strings.Contains(out, dir+"/.git") || !strings.Contains(out, library+"/.git") {
		t.Errorf("kept is\n%s", out)
	}
}
