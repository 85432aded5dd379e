package terminal

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

// A prompt is found in the transcript in whatever form that shows it, and nothing else is
// taken for it.
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
		f := &frame{screen: coleo.Screen{Cols: 40}, rows: append(c.rows, "---", "> "),
			composer: &composerView{top: len(c.rows)}}
		if got := f.echoes(c.prompt); got != c.want {
			t.Errorf("%s: the echo of %q in %q is %t, want %t", name, c.prompt, c.rows, got, c.want)
		}
	}
}

// Codex draws "❤️" as one cell and a blank. Read as two cells, it left the end of the
// previous prompt after the empty composer's hint. The composer then seemed to hold text
// for ever, and each further prompt was refused.
func TestAComposerIsEmptyBehindEmoji(t *testing.T) {
	t.Parallel()
	cast, spec := castFrom(t, "testdata/recordings/codex-sizes/0.169.0-emoji.cast.gz"), builtinSpec(t, "codex")
	start := time.Unix(0, 0)
	r := newReader(spec, cast.Cols, cast.Rows, start, func(coleo.Change) {})
	held := false
	for _, e := range cast.Events {
		if e.Kind != pty.CastOutput {
			continue
		}
		now := start.Add(e.At)
		for p := []byte(e.Data); len(p) > 0; {
			p = p[r.feed(p, now):]
		}
		r.look(now.Add(quiet))
		held = held || r.frame.holds("1\ufe0f\u20e3é 2\ufe0f\u20e3é and ☀\ufe0fz ✈\ufe0fq ❤\ufe0fr", &spec.Composer)
	}
	if !held {
		t.Error("the prompt was never seen in the composer")
	}
	if c := r.frame.composer; c == nil || !c.empty {
		t.Errorf("at the end the composer is %+v, want an empty one", c)
	}
}
