//go:build sqlite_fts5 || fts5

package thread_test

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/thread"
)

// search fills the index and searches it.
func (s *stage) search(f coleo.ThreadFilter) []thread.Row {
	s.t.Helper()
	s.fill()
	rows, err := s.index.Search(s.t.Context(), thread.Query{ThreadFilter: f})
	s.check(err)
	return rows
}

func (s *stage) searchError(words string) error {
	_, err := s.index.Search(s.t.Context(), thread.Query{ThreadFilter: coleo.ThreadFilter{Words: words}})
	return err
}

// marked returns the snippet of a thread, with brackets around the words that match.
func marked(r thread.Row) string {
	var out strings.Builder
	for _, p := range r.Match {
		if p.Match {
			out.WriteString("[" + p.Text + "]")
		} else {
			out.WriteString(p.Text)
		}
	}
	return out.String()
}

func TestM6ThreadsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conversation(uuid(1), "/work/a", noon, "Why does the parser fail?",
		"The parser has no Café token. The parser needs a café.")
	s.conversation(uuid(2), "/work/b", noon.Add(time.Hour), "Write a test",
		"It is about a long text in which one word says café and many other words say something else, so that it is a "+
			"worse match than a short text is")
	s.conversation(uuid(3), "/work/b", noon, "unrelated", "nothing")
	rows := s.search(coleo.ThreadFilter{Words: "cafe"})
	if ids(rows) != uuid(1)+" "+uuid(2) || rows[0].Rank >= rows[1].Rank {
		t.Errorf("cafe: %+v", rows)
	}
	if got := marked(rows[0]); got != "The parser has no [Café] token. The parser needs a [café]." {
		t.Errorf("the snippet is %q", got)
	}
	for words, want := range map[string]string{
		"parser fail":       uuid(1),
		"parser nowhere":    "",
		`"does the parser"`: uuid(1),
		`"parser does"`:     "",
		"unrel*":            uuid(3),
		"unrel":             "",
		"a-test":            uuid(2), // as the phrase "a test"
		"test-a":            "",
	} {
		if got := ids(s.search(coleo.ThreadFilter{Words: words})); got != want {
			t.Errorf("%q finds %q, want %q", words, got, want)
		}
	}
	for _, f := range []coleo.ThreadFilter{{Project: "/work/b"}, {Since: noon.Add(time.Minute)}} {
		f.Words = "café"
		if got := ids(s.search(f)); got != uuid(2) {
			t.Errorf("%+v finds %s", f, got)
		}
	}
	if got := ids(s.search(coleo.ThreadFilter{Words: "café", Harness: "codex"})); got != "" {
		t.Errorf("codex has %s", got)
	}
	if rows := s.search(coleo.ThreadFilter{Words: "café", Limit: 1}); ids(rows) != uuid(1) {
		t.Errorf("the best match is %s", ids(rows))
	}
}

// TestWordsOfASearchAreNoExpression: the words of a search that are FTS5 operators must be searched
// as plain words.
func TestWordsOfASearchAreNoExpression(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conversation(uuid(1), "/work", noon, `x AND (y OR NOT z) NEAR "q" col: ^ + - * '; DROP TABLE threads --`)
	s.fill()
	for _, words := range []string{"AND", "x AND y", "(y OR", "NOT", `"`, `"q`, "col:", "'; DROP TABLE threads --",
		"NEAR(x y)", "^x", "x + y", "text:x", "{text}: x", "x\x00y", strings.Repeat("y ", 2000), `""""x`} {
		if err := s.searchError(words); err != nil && coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%.40q: %v", words, err)
		}
	}
	for _, words := range []string{"", "  ", "*", "--", `" "`} {
		if err := s.searchError(words); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%q: %v, want %s", words, err, coleo.EInvalid)
		}
	}
	if got := ids(s.search(coleo.ThreadFilter{Words: "'; DROP TABLE threads --"})); got != uuid(1) {
		t.Errorf("found %q", got)
	}
}

func TestASearchSeesWhatIsNewAndForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conversation(uuid(1), "/work", noon, "the old needle")
	if got := ids(s.search(coleo.ThreadFilter{Words: "old needle"})); got != uuid(1) {
		t.Fatalf("found %q", got)
	}
	s.conversation(uuid(1), "/work", noon, "another prompt", "with a new needle")
	if got := ids(s.search(coleo.ThreadFilter{Words: "old"})); got != "" {
		t.Errorf("a text that is gone is found in %s", got)
	}
	if got := ids(s.search(coleo.ThreadFilter{Words: "new needle"})); got != uuid(1) {
		t.Errorf("the new text: found %q", got)
	}
	s.check(s.index.Delete(t.Context(), s.one(uuid(1)), false))
	if got := ids(s.search(coleo.ThreadFilter{Words: "needle", Hidden: true})); got != "" {
		t.Errorf("a deleted thread is found: %s", got)
	}
}
