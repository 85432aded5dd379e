//go:build !sqlite_fts5 && !fts5

package thread_test

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/thread"
)

func TestWithoutFullTextSearchASearchSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conversation(uuid(1), "/work", noon, "first", "one")
	s.fill()
	_, err := s.index.Search(t.Context(), thread.Query{ThreadFilter: coleo.ThreadFilter{Words: "first"}})
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "-tags sqlite_fts5") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("Search = %v", err)
	}
	if got := s.messages(uuid(1)); len(got) != 2 {
		t.Errorf("messages %q", got)
	}
}
