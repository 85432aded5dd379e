package rules

import (
	"regexp"
	"strings"
	"testing"

	"coleo.dev"
)

// `shown` is how the composer of Gemini CLI 0.61.0 shows `text`, which contains tabs. Coleo must recognize the
// text.
func TestAComposerThatGarblesTabsHoldsTheText(t *testing.T) {
	t.Parallel()
	const (
		text = "nonce93a16ed571\tx `code`\tx <b> <b> \\n \"quoted\" \"quoted\"\tx\tx 'so' $HOME $HOME\tx 'so' <b> " +
			"'so' $HOME \\n 100% \"quoted\"\tx\tx $HOME"
		shown = "nonce93a16ed571    x `code`    x <b> <b> \\n \"quoted\" \"quoted\"    x    x 'so' $HOME $HOME    x " +
			"'so' <b> 'so' $HOME \\n\n$HOME quoted\"    x    x"
	)
	garbles := Composer{TabGarbles: true}
	if !garbles.endsLike(shown, text) {
		t.Error("the text is not seen")
	}
	if (&Composer{}).endsLike(shown, text) {
		t.Error("it is taken for whole where tabs are drawn as they are")
	}
	// A row with tabs can become wider than the agent CLI has counted. The end of such a row is lost.
	if one := "say    x    x    x    x and so on and on it goes, as"; !garbles.endsLike(one,
		"say\tx\tx\tx\tx and so on and on it goes, as said") {
		t.Error("one row that runs over is not seen")
	}
	const wrapped = "noncec6a8445311 'so' \\n \\n <b> <b> <b> 'so' 100%    x \"quoted\" `code` \"quoted\" \"quoted\" " +
		"\"quoted\" 100% \\n 'so'"
	if !garbles.endsLike(wrapped, strings.Replace(wrapped, "    ", "\t", 1)+" \"quoted\"") {
		t.Error("one row whose last word runs over is not seen")
	}
	for what, tt := range map[string][2]string{
		"another text":  {"something else that is long enough", "say\tx one two"},
		"nothing":       {"", "say\tx"},
		"without a tab": {"say one two three four five six", "say one two three four five six seven"},
		"more lost than tabs take": {"say    x and so on and on it goes, as",
			"say\tx and so on and on it goes, as said before"},
		"without its end":    {strings.TrimSuffix(shown, "$HOME quoted\"    x    x") + "100% quoted\"    x    x", text},
		"not even the start": {"say    x one", "say\tx one two three four five six"},
	} {
		if garbles.endsLike(tt[0], tt[1]) {
			t.Errorf("%s: it is taken for the text", what)
		}
	}
}

// A letter and its accent can be two characters in the prompt and one on the screen. Coleo must still
// recognize the prompt. The shown texts come from Claude Code 2.1.329.
func TestLettersWithMarksMayBeShownAsOne(t *testing.T) {
	t.Parallel()
	for text, tt := range map[string]struct {
		shown string
		want  bool
	}{
		"cafe\u0301 end":         {"caf\u00e9 end", true},
		"cafe\u0301 end ":        {"cafe\u0301 end", true},
		"e\u0301\u0302\u0303 it": {"\u00e9\u0302\u0303 it", true},
		"cafe\u0301 fin":         {"caf\u00e9 end", false},
		"cafe\u0301":             {"caf", false},
		"cafe\u0301s":            {"caf3s", false},
		"some cafe":              {"some caf\u00e9", false},
		"\u0301":                 {"", false},
	} {
		if got := (&Composer{}).endsLike(tt.shown, text); got != tt.want {
			t.Errorf("%q is seen in %q: %t, want %t", text, tt.shown, got, tt.want)
		}
	}
}

// While the composer shows a note in place of a paste, the paste must not count as taken.
func TestAFoldedPasteIsTakenOnceItsNoteIsGone(t *testing.T) {
	t.Parallel()
	c := &Composer{held: regexp.MustCompile(`\[Pasted Content \d+ chars\]`)}
	text := strings.Repeat("many words ", 200)
	for shown, want := range map[string]bool{"[Pasted Content 2200 chars]": false, "": true, "the next one": true} {
		f := &Picture{spec: c, Composer: &ComposerView{Text: shown, Empty: shown == ""}}
		if got := f.Released(text); got != want {
			t.Errorf("with %q in the composer it counts as taken: %t, want %t", shown, got, want)
		}
	}
}

// If somebody has moved the cursor up in a text of several rows, the rows below the cursor must
// still belong to the composer. Otherwise the next prompt would be joined to them.
func TestWhatIsBelowTheCursorIsInTheComposer(t *testing.T) {
	t.Parallel()
	spec := builtinSpec(t, "aider")
	for below, empty := range map[string]bool{"diff> two\ndiff>\ndiff> three": false, "": true, "a toolbar": true} {
		lines := append(append(make([]string, 0, 8), strings.Repeat("─", 40), "diff>"), strings.Split(below, "\n")...)
		f := NewPicture(coleo.Screen{Cols: 60, Rows: 8, Lines: lines, Cursor: [2]int{6, 1}, CursorVisible: true,
			Modes: map[string]bool{pasteMode: true}}, &spec.Composer)
		if f.Composer == nil || f.Composer.Empty != empty {
			t.Errorf("above %q the composer is %+v, want an empty one: %t", below, f.Composer, empty)
		}
	}
}
