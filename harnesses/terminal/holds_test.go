package terminal

import "testing"

func TestAComposerThatCutsRowsWithTabsHoldsTheText(t *testing.T) {
	t.Parallel()
	cuts := Composer{TabCut: true}
	for what, tt := range map[string]struct {
		shown, text string
		want        bool
	}{
		"one row, its end is cut":            {"say    x 'so'    x go", "say\tx 'so'\tx go `code`", true},
		"two rows, both cut":                 {"say    x one two thr\nfour    x five si", "say\tx one two three four\tx five six", true},
		"more is missing than tabs push out": {"say    x", "say\tx and a good deal more than that", false},
		"rows in another order":              {"four    x five si\nsay    x one two thr", "say\tx one two three four\tx five six", false},
		"the last line has none":             {"say    x one\nand mo", "say\tx one\nand more", false},
		"a line is not there yet":            {"say    x one tw", "say\tx one two\nand\tmore", false},
		"another text":                       {"something else", "say\tx one two", false},
		"nothing":                            {"", "say\tx", false},
	} {
		if got := cuts.endsLike(tt.shown, tt.text); got != tt.want {
			t.Errorf("%s: %v, want %v", what, got, tt.want)
		}
		if whole := (&Composer{}); tt.want && whole.endsLike(tt.shown, tt.text) {
			t.Errorf("%s: taken for whole where rows are not cut", what)
		}
	}
}
