package terminal

import "testing"

// The shown text is what Gemini CLI 0.61.0 draws.
func TestAComposerThatGarblesTabsHoldsTheText(t *testing.T) {
	t.Parallel()
	const (
		text  = "nonce93a16ed571\tx `code`\tx <b> <b> \\n \"quoted\" \"quoted\"\tx\tx 'so' $HOME $HOME\tx 'so' <b> 'so' $HOME \\n 100% \"quoted\"\tx\tx $HOME"
		shown = "nonce93a16ed571    x `code`    x <b> <b> \\n \"quoted\" \"quoted\"    x    x 'so' $HOME $HOME    x 'so' <b> 'so' $HOME \\n\n$HOME quoted\"    x    x"
	)
	garbles := Composer{TabGarbles: true}
	if !garbles.endsLike(shown, text) {
		t.Error("the text is not seen")
	}
	if (&Composer{}).endsLike(shown, text) {
		t.Error("it is taken for whole where tabs are drawn as they are")
	}
	for what, tt := range map[string][2]string{
		"another text":       {"something else that is long enough", "say\tx one two"},
		"nothing":            {"", "say\tx"},
		"without a tab":      {"say one two three four five six", "say one two three four five six seven"},
		"not even the start": {"say    x one", "say\tx one two three four five six"},
	} {
		if garbles.endsLike(tt[0], tt[1]) {
			t.Errorf("%s: it is taken for the text", what)
		}
	}
}
