//go:build sqlite_fts5 || fts5

package thread_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/thread"
)

// Claude Code writes a second file with the same id if the conversation goes on in another folder. Serve has a second
// index beside the index of the host agent. If the conversation is deleted, neither index may keep a text of either
// file.
func TestADeletedConversationLeavesNoTextInAnyIndex(t *testing.T) {
	t.Parallel()
	s := newStage(t, "claude-code")
	s.conversation(uuid(1), "/work", noon, "the first needle", "one needle")
	s.conversation(uuid(1), "/elsewhere", noon.Add(time.Hour), "the second needle", "two needles")
	s.fill()
	first := s.index
	second, err := thread.Open(t.Context(), filepath.Join(s.state, "threads-local.db"),
		filepath.Join(s.state, "threads.json"))
	s.check(err)
	t.Cleanup(func() { second.Close() })
	s.index = second
	s.fill()
	s.index = first
	rows := s.list(coleo.ThreadFilter{ID: uuid(1), Hidden: true})
	if len(rows) != 2 || rows[0].Preview == "" || rows[0].Title == "" {
		t.Fatalf("the index has %+v", rows)
	}
	s.check(first.Delete(t.Context(), rows[0], false))
	s.conversation(uuid(1), "/elsewhere", noon.Add(2*time.Hour), "a later needle") // somebody continues it by hand
	for name, index := range map[string]*thread.Index{"its index": first, "the other index": second} {
		s.index = index
		for _, r := range s.list(coleo.ThreadFilter{ID: uuid(1), Hidden: true}) {
			if r.Preview != "" || r.Title != "" {
				t.Errorf("%s still has the text %q and the title %q", name, r.Preview, r.Title)
			}
		}
		if got := ids(s.search(coleo.ThreadFilter{Words: "needle*", Hidden: true})); got != "" {
			t.Errorf("%s still finds %s", name, got)
		}
	}
}

// SQLite leaves deleted rows in the file, unless it is told to overwrite them. A word also stays in the full-text index
// and in the log.
func TestADeletedConversationLeavesNoTextInTheFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t, "claude-code")
	s.conversation(uuid(1), "/work", noon, "the password is xylophone77", "I use xylophone77")
	s.conversation(uuid(2), "/work", noon, "hello", "hi")
	s.fill()
	s.conversation(uuid(1), "/work", noon, "the password is xylophone77", "I use xylophone77", "and zeppelin88")
	s.fill()
	found := func() (files []string) {
		for _, suffix := range []string{"", "-wal"} {
			raw, err := os.ReadFile(s.database() + suffix)
			s.check(err)
			if bytes.Contains(raw, []byte("ylophone77")) || bytes.Contains(raw, []byte("eppelin88")) {
				files = append(files, "threads.db"+suffix)
			}
		}
		return files
	}
	if len(found()) == 0 {
		t.Fatal("no file has the text before")
	}
	s.check(s.index.Delete(t.Context(), s.one(uuid(1)), false))
	if files := found(); len(files) > 0 {
		t.Errorf("the text is still in %q", files)
	}
	if got := ids(s.search(coleo.ThreadFilter{Words: "hello"})); got != uuid(2) {
		t.Errorf("the search for another conversation finds %q", got)
	}
}
