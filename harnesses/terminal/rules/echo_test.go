package rules

import (
	"testing"

	"coleo.dev"
)

// A prompt must be found in each form in which a transcript shows it, and no other text may be
// treated as the prompt.
func TestAPromptIsFoundInTheTranscript(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		rows   []string
		want   bool
	}{
		"code without its marks": {"n9af1 'so' `code` <b>\tx `code`",
			[]string{"❯ n9af1 'so' code <b>    x", "  code"}, true},
		"broken within a word":         {"a prompt that is long", []string{"❯ a prompt th", "  at is long"}, true},
		"behind an empty line":         {"\n\nthe second line", []string{"❯ something else"}, false},
		"the line behind an empty one": {"\n\nthe second line", []string{"❯", "  the second line"}, true},
		"pictures alone":               {"🎉🎉", []string{"❯ 🎉🎉"}, true},
		"other pictures":               {"🎉🎉", []string{"❯ 👍"}, false},
		"marks alone":                  {"***", []string{"❯ hello"}, false},
		"another prompt":               {"n9af1 one", []string{"❯ n9af2 one"}, false},
		"its end alone": {"begin\nwhat is at its very end, far below",
			[]string{"  what is at its very end, far below"}, true},
	} {
		f := &Picture{Screen: coleo.Screen{Cols: 40}, rows: append(c.rows, "---", "> "),
			Composer: &ComposerView{top: len(c.rows)}}
		if got := f.Echoes(c.prompt); got != c.want {
			t.Errorf("%s: the echo of %q in %q is %t, want %t", name, c.prompt, c.rows, got, c.want)
		}
	}
}
