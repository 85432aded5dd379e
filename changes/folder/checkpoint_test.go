package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/changes/folder"
)

const arm = "arm1"

// keep makes a checkpoint, and fails if Keep returns an existing one.
func (s *stage) keep(f *folder.Folder, note folder.Note) changes.Checkpoint {
	s.Helper()
	if note.Reason == "" {
		note.Reason = changes.AfterTurn
	}
	note.Time = now
	c, made, err := f.Keep(s.Context(), arm, note)
	s.Check(err)
	if !made {
		s.Fatalf("no checkpoint was made; the newest is %+v", c)
	}
	return c
}

func (s *stage) restore(f *folder.Folder, n int) changes.Restored {
	s.Helper()
	r, err := f.Restore(s.Context(), arm, n, folder.Note{Time: now}, func() error { return nil })
	s.Check(err)
	return r
}

// TestARestoreGivesTheFilesBackToTheByte makes changes of all kinds between checkpoints, and
// restores the checkpoints. The files must have their exact former bytes. The index, the stash and
// the refs must not change.
func TestARestoreGivesTheFilesBackToTheByte(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("stashed", "1\n")
	s.Write("private", "1\n")
	s.commit("zero")
	s.Write("stashed", "2\n")
	s.git("stash", "-q")
	s.everything()
	untouched := s.untouched()
	f := s.open()
	one := s.keep(f, folder.Note{Run: "run 1"})
	was := s.tree(s.Repo)
	// These are the changes of a turn.
	for name, text := range map[string]string{"unstaged": "again\n", "untracked": "again\n", "kept": "crlf\r\n",
		"made": "x", "deep/er/made": "x", "becomes-link/made": "x", "a\nmade\xff": "x"} {
		if name == "becomes-link/made" {
			s.remove("becomes-link")
		}
		s.Write(name, text)
	}
	s.remove("crlf")
	s.remove("folder")
	s.Write("folder", "a file now")
	s.Check(os.Chmod(filepath.Join(s.Repo, "committed"), 0o755))
	s.link("made", "binary")
	s.Write("ignored", "not touched")
	then := s.tree(s.Repo)
	r := s.restore(f, one.N)
	s.Same("the folder", s.tree(s.Repo), was)
	if len(r.Left) > 0 || r.Before != one.N+1 || len(r.Deleted) != 5 {
		t.Errorf("restored %+v", r)
	}
	s.restore(f, r.Before)
	s.Same("the folder", s.tree(s.Repo), then)
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "ignored")); string(raw) != "not touched" {
		t.Errorf("the ignored file is %q", raw)
	}
	s.Same("the repository", s.untouched(), untouched)
	list, err := f.Checkpoints(t.Context(), arm)
	s.Check(err)
	var reasons []string
	for i, c := range list {
		if reasons = append(reasons, c.Reason); c.N != i || !c.Time.Equal(now) || c.Commit == "" || c.Parent == "" {
			t.Errorf("checkpoint %d is %+v", i, c)
		}
	}
	if got := strings.Join(reasons, ", "); got != "turn, before restore, restore, restore" || list[0].Run != "run 1" ||
		*list[2].From != 0 {
		t.Errorf("the checkpoints are %s: %+v", got, list)
	}
}

func TestACheckpointIsMadeOnlyAfterAChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("f", "1\n")
	s.base = s.commit("base")
	f := s.open()
	first := s.keep(f, folder.Note{Reason: changes.AtStart})
	if c, made, err := f.Keep(t.Context(), arm, folder.Note{Time: now}); err != nil || made || c.N != first.N {
		t.Errorf("without a change: %+v, %v, %v", c, made, err)
	}
	s.Write("f", "2\n")
	second := s.keep(f, folder.Note{Run: "r"})
	d, err := f.DiffCheckpoint(t.Context(), arm, second.N, changes.DiffRequest{})
	s.Check(err)
	if len(d.Files) != 1 || !strings.Contains(string(d.Patch), "-1\n+2\n") || d.Base != first.Commit {
		t.Errorf("the diff of the second checkpoint is %+v\n%s", d, d.Patch)
	}
	if d, err := f.DiffCheckpoint(t.Context(), arm, first.N, changes.DiffRequest{}); err != nil || len(d.Files) != 0 {
		t.Errorf("the diff of the first checkpoint is %+v, %v", d, err)
	}
	if _, err := f.DiffCheckpoint(t.Context(), arm, 9, changes.DiffRequest{}); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the diff of no checkpoint: %v", err)
	}
	if other, err := f.Checkpoints(t.Context(), "arm2"); err != nil || len(other) != 0 {
		t.Errorf("another arm has %v, %v", other, err)
	}
	s.Check(f.Forget(t.Context(), arm))
	if refs := s.git("for-each-ref", "refs/coleo"); refs != "" {
		t.Errorf("after Forget there is %s", refs)
	}
}

// TestWhatWasIgnoredIsNeverDeleted: an arm removes a secret file's name from .gitignore. A restore
// must still not delete the secret file.
func TestWhatWasIgnoredIsNeverDeleted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write(".gitignore", "ignored\n")
	s.commit("base")
	s.Write("ignored", "a secret\n")
	f := s.open()
	first := s.keep(f, folder.Note{})
	s.Write(".gitignore", "")
	s.Write("made", "x")
	r := s.restore(f, first.N)
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "ignored")); string(raw) != "a secret\n" || len(r.Left) != 1 {
		t.Errorf("the secret file is %q; restored %+v", raw, r)
	}
	// The file "notes" was not ignored at the time of the checkpoint, but is ignored now. The restore must keep
	// the file's content before it overwrites the file.
	s.Write("notes", "1\n")
	second := s.keep(f, folder.Note{})
	s.Write(".gitignore", "ignored\nnotes\n")
	s.Write("notes", "2\n")
	r = s.restore(f, second.N)
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "notes")); string(raw) != "1\n" {
		t.Errorf("notes are %q", raw)
	}
	s.restore(f, r.Before)
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "notes")); string(raw) != "2\n" {
		t.Errorf("after the undo, notes are %q", raw)
	}
}

// TestLineEndsAndFiltersAreAsTheyWere: git converts line ends and runs filters when it stores a
// file. A restore must still produce the file's exact former bytes.
func TestLineEndsAndFiltersAreAsTheyWere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.git("config", "--global", "filter.upper.smudge", "tr a-z A-Z")
	s.git("config", "--global", "filter.upper.clean", "tr A-Z a-z")
	s.Write(".gitattributes", "*.crlf text eol=crlf\n*.up filter=upper\n")
	s.Write("clean.crlf", "a\r\nb\r\n")
	s.Write("changed.crlf", "a\r\nb\r\n")
	s.Write("clean.up", "ABC\n")
	s.commit("base")
	s.Write("changed.crlf", "a\nb\r\n")
	f := s.open()
	was := s.tree(s.Repo)
	c := s.keep(f, folder.Note{})
	for _, name := range []string{"clean.crlf", "changed.crlf", "clean.up"} {
		s.Write(name, "other\n")
	}
	s.restore(f, c.N)
	s.Same("the folder", s.tree(s.Repo), was)
}

// TestARestoreThatIsNotReadyChangesNothing: the function that Restore calls before it changes files
// returns an error. Restore must return this error and change no file.
func TestARestoreThatIsNotReadyChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("f", "1\n")
	s.commit("base")
	f := s.open()
	c := s.keep(f, folder.Note{})
	s.Write("f", "2\n")
	busy := errors.New("busy")
	_, err := f.Restore(t.Context(), arm, c.N, folder.Note{Time: now}, func() error { return busy })
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "f")); !errors.Is(err, busy) || string(raw) != "2\n" {
		t.Errorf("Restore = %v, and the file is %q", err, raw)
	}
	if _, err := f.Restore(t.Context(), arm, 9, folder.Note{}, nil); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a restore of no checkpoint: %v", err)
	}
}

// TestLargeFilesAreLeftAlone: a checkpoint must leave out and name a file that is too large. A
// restore must not delete this file.
func TestLargeFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("f", "1\n")
	s.commit("base")
	f := s.open()
	s.Check(os.Truncate(s.touch("large"), folder.MaxKeptFile+1))
	c := s.keep(f, folder.Note{})
	if len(c.Left) != 1 || c.Left[0].Path != "large" {
		t.Fatalf("the checkpoint leaves %v", c.Left)
	}
	s.Write("large", "small by now")
	s.Write("f", "2\n")
	if r := s.restore(f, c.N); len(r.Left) != 1 || len(r.Deleted) != 0 {
		t.Errorf("restored %+v", r)
	}
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "large")); string(raw) != "small by now" {
		t.Errorf("the large file is %q", raw)
	}
}

func (s *stage) touch(name string) string {
	s.Helper()
	s.Write(name, "")
	return filepath.Join(s.Repo, name)
}

// TestTheBaseIsWhereTheWorkBegan: the base must be the commit at which the arm's work began, even
// after commits of the arm.
func TestTheBaseIsWhereTheWorkBegan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	f := s.open()
	base := func() string {
		t.Helper()
		b, err := f.Base(t.Context(), arm)
		s.Check(err)
		return b
	}
	s.Check(f.RememberBase(t.Context(), arm))
	s.Write("f", "0\n")
	s.keep(f, folder.Note{})
	first := s.commit("first")
	if got := base(); got != "" {
		t.Errorf("the work began before the first commit, and the base is %q", got)
	}
	s.Check(f.Forget(t.Context(), arm))
	if got := base(); got != first {
		t.Errorf("an arm without a record: the base is %q, want HEAD", got)
	}
	s.Check(f.RememberBase(t.Context(), arm))
	s.commit("second")
	s.Check(f.RememberBase(t.Context(), arm))
	if got := base(); got != first {
		t.Errorf("after a commit, the base is %q, want %q", got, first)
	}
	if _, err := f.Base(t.Context(), "../x"); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("an id that is none: %v", err)
	}
}

// TestOldCheckpointsGo exceeds MaxCheckpoints. The oldest checkpoints must be removed, except the
// first one.
func TestOldCheckpointsGo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("f", "0\n")
	s.commit("base")
	f := s.open()
	s.keep(f, folder.Note{Reason: changes.AtStart})
	commit := s.git("rev-parse", "refs/coleo/checkpoints/"+arm+"/0")
	var refs strings.Builder
	for n := 1; n <= folder.MaxCheckpoints; n++ {
		refs.WriteString("create refs/coleo/checkpoints/" + arm + "/" + strconv.Itoa(n) + " " + commit + "\n")
	}
	s.Write("refs", refs.String())
	s.git("-c", "alias.feed=!git update-ref --stdin < refs", "feed")
	s.keep(f, folder.Note{})
	list, err := f.Checkpoints(t.Context(), arm)
	s.Check(err)
	if len(list) != folder.MaxCheckpoints+1 || list[0].N != 0 || list[1].N != 2 || list[len(list)-1].N !=
		folder.MaxCheckpoints+1 {
		t.Errorf("%d checkpoints are left, from %d, %d to %d", len(list), list[0].N, list[1].N, list[len(list)-1].N)
	}
}
