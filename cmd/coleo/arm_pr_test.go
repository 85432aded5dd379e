package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/workspace/pull"
	"coleo.dev/workspace/pull/fakegh"
)

// onGitHub gives the project of mergeable a remote with a GitHub address. In truth, git uses a
// local bare repository, `upstream`, and gh is a fake program.
func (w *world) onGitHub(dir string) (gh fakegh.Folder, upstream string) {
	w.t.Helper()
	upstream = w.path("github/owner/project.git")
	w.git(dir, "init", "-q", "--bare", upstream)
	w.git(dir, "remote", "add", "origin", "git@github.com:owner/project.git")
	w.git(dir, "config", "--global", "url."+w.path("github")+"/.insteadOf", "git@github.com:")
	gh = fakegh.Folder(w.path("fakegh"))
	bin, err := gh.Install("gh")
	w.check(err)
	for i, entry := range w.env {
		if path, is := strings.CutPrefix(entry, "PATH="); is {
			w.env[i] = "PATH=" + bin + ":" + path
		}
	}
	return gh, upstream
}

func TestM28AnArmsBranchBecomesAPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, arm := w.mergeable()
	gh, upstream := w.onGitHub(dir)
	w.inTree(arm.Workdir, "new", "new\n")
	w.check(os.WriteFile(filepath.Join(arm.Workdir, "rest"), []byte("rest\n"), 0o600))
	if e := w.fails(5, "arm", "pr", "one"); e.Code != coleo.EConflict || !strings.Contains(e.Message,
		"1 untracked file (sub/rest): nothing was pushed; --commit") || len(gh.Calls()) > 0 {
		t.Errorf("uncommitted work: %+v", e)
	}
	o := decode[pull.Opened](w, "arm", "pr", "one", "--commit", "the rest", "--title", "a title", "--draft")
	if o.Number != 1 || !o.Made || o.Base != "topic" || w.git(upstream, "show", "coleo/one:sub/rest") != "rest" ||
		gh.Pulls()[0].Title != "a title" || !gh.Pulls()[0].Draft {
		t.Errorf("the result is %+v, of %+v", o, gh.Pulls())
	}
	if out := w.must("arm", "pr", "one"); !strings.Contains(out, "Pushed coleo/one: up to date") ||
		!strings.Contains(out, "exists already") || !strings.Contains(out, "https://github.com/pull/1") {
		t.Errorf("the second call says %s", out)
	}
	out := w.must("arm", "status", "one")
	if !strings.Contains(out, "Pull request:    1 into topic: https://github.com/pull/1") {
		t.Errorf("arm status says %s", out)
	}
	if out := w.must("arm", "pr", "one", "--base", "other"); !strings.Contains(out, "It still merges into ") {
		t.Errorf("another base for the same pull request: %s", out)
	}
	if e := w.fails(5, "arm", "pr", "one", "--base", "coleo/one"); e.Code != coleo.EConflict {
		t.Errorf("into itself: %+v", e)
	}
}

func TestM28CommentsOfAPullRequestReachTheArmOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, arm := w.mergeable()
	gh, _ := w.onGitHub(dir)
	w.inTree(arm.Workdir, "new", "new\n")
	w.must("arm", "pr", "one")
	word := conformance.Nonce()
	w.check(gh.Answer("repos/owner/project/issues/1/comments?per_page=100&page=1", []map[string]any{{"id": 5, "body": word,
		"author_association": "OWNER", "user": map[string]string{"login": "boss"}}}))
	for range 2 {
		if out := decode[pull.Watched](w, "arm", "watch-pr", "one", "--every", "1s"); out.End != pull.EndGreen {
			t.Errorf("the watch ended with %+v", out)
		}
	}
	starts := w.events("one", coleo.EventRunStart)
	if len(starts) != 1 || !strings.Contains(string(starts[0].Payload), word) {
		t.Errorf("the arm got %d prompts", len(starts))
	}
}
