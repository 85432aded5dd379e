package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/conformance"
	"coleo.dev/workspace/pull"
)

func TestM28EachRepositoryOfAnArmIsMergedForItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, library, arm := w.withLibrary()
	inLibrary := filepath.Join(arm.Workdir, "library")
	const unchanged = "nothing new in its repositories project and library"
	if e := w.fails(5, "arm", "merge", "one"); !strings.Contains(e.Message, unchanged) {
		t.Errorf("nothing is changed: %+v", e)
	}
	w.inTree(inLibrary, "code", "changed\n")
	m := decode[changes.Merged](w, "arm", "merge", "one", "--dry-run")
	if m.Repo != "library" || m.Into != "topic" || len(m.Files) != 1 || m.Files[0].Path != "code" {
		t.Errorf("the only one with changes: %+v", m)
	}
	w.check(os.WriteFile(filepath.Join(arm.Workdir, "project", "new"), []byte("new\n"), 0o600))
	before := w.git(library, "rev-parse", "topic") + w.git(dir, "rev-parse", "topic")
	for _, args := range [][]string{
		{"arm", "merge", "one"}, {"arm", "merge", "one", "--commit", "all"}, {"arm", "pr", "one"},
	} {
		if e := w.fails(5, args...); !strings.Contains(e.Message, "has changed project and library") ||
			!strings.Contains(e.Message, "--repo NAME") {
			t.Errorf("%q: %+v", args, e)
		}
	}
	if e := w.fails(2, "arm", "merge", "one", "--repo", "other"); !strings.Contains(e.Message, "but project and library") {
		t.Errorf("a repository that is none: %+v", e)
	}
	if now := w.git(library, "rev-parse", "topic") + w.git(dir, "rev-parse", "topic"); now != before {
		t.Fatal("a refused merge has moved a branch")
	}
	if out := w.must("arm", "merge", "one", "--repo", "library"); !strings.Contains(out,
		"Merged library: coleo/one into topic") {
		t.Errorf("the merge says %s", out)
	}
	m = decode[changes.Merged](w, "arm", "merge", "one", "--commit", "the rest")
	if m.Repo != "project" || m.Committed == "" {
		t.Errorf("the other one: %+v", m)
	}
	if got := w.git(library, "show", "topic:code") + w.git(dir, "show", "topic:new"); got != "changednew" {
		t.Errorf("the branches have %q", got)
	}
	var repos []string
	for _, e := range w.events("one", coleo.EventMerge) {
		var c coleo.MergeChange
		w.check(json.Unmarshal(e.Payload, &c))
		repos = append(repos, string(c.Step)+" "+c.Repo)
	}
	if want := []string{"began library", "done library", "began project", "done project"}; !slices.Equal(repos, want) {
		t.Errorf("the log has the merges %q, want %q", repos, want)
	}
}

func TestM28ConflictsInOneOfSeveralRepositoriesSayWhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	_, library, arm := w.withLibrary()
	w.inTree(filepath.Join(arm.Workdir, "library"), "code", "changed\n")
	w.git(library, "checkout", "-q", "topic")
	w.inTree(library, "code", "otherwise\n")
	w.git(library, "checkout", "-q", "away")
	if r := w.run("arm", "merge", "one"); r.code != 5 || !strings.Contains(r.out, "library: coleo/one cannot be merged") ||
		!strings.Contains(r.out, "coleo arm merge one --repo library --ask-arm") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	if r := w.run("arm", "merge", "one", "--ask-arm"); r.code != 5 {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	prompts := w.events("one", coleo.EventRunStart)
	if len(prompts) != 1 || !strings.Contains(string(prompts[0].Payload), "In the repository library, your branch") {
		t.Errorf("the prompts are %+v", prompts)
	}
}

func TestM28APullRequestOfOneOfSeveralRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	_, library, arm := w.withLibrary()
	gh, upstream := w.onGitHub(library)
	w.inTree(filepath.Join(arm.Workdir, "library"), "code", "changed\n")
	w.inTree(filepath.Join(arm.Workdir, "project"), "file", "changed\n")
	o := decode[pull.Opened](w, "arm", "pr", "one", "--repo", "library", "--title", "a title")
	if o.Number != 1 || o.Base != "topic" || w.git(upstream, "show", "coleo/one:code") != "changed" ||
		len(gh.Pulls()) != 1 {
		t.Errorf("the result is %+v, of %+v", o, gh.Pulls())
	}
	if out := w.must("arm", "status", "one"); !strings.Contains(out, "Pull request:    1 into topic") {
		t.Errorf("arm status says %s", out)
	}
	word := conformance.Nonce()
	w.check(gh.Answer("repos/owner/project/issues/1/comments?per_page=100&page=1", []map[string]any{{"id": 5, "body": word,
		"author_association": "OWNER", "user": map[string]string{"login": "boss"}}}))
	if out := decode[pull.Watched](w, "arm", "watch-pr", "one", "--every", "1s"); out.End != pull.EndGreen {
		t.Errorf("the watch ended with %+v", out)
	}
	starts := w.events("one", coleo.EventRunStart)
	if len(starts) != 1 || !strings.Contains(string(starts[0].Payload), word) {
		t.Errorf("the arm got %d prompts", len(starts))
	}
}
