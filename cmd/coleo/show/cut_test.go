package show

import "testing"

func TestALineThatDoesNotFitIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		cols int
		want string
	}{
		{"one two\nthree\n", 0, "one two\nthree\n"},
		{"one two\nthree\n", 7, "one two\nthree\n"},
		{"one two\nthree\n", 6, "one t…\nthree\n"},
		{"one two\nthree\n", 1, "…\n…\n"},
		{"日本語\n", 6, "日本語\n"},
		{"日本語\n", 5, "日本…\n"},
		{Red.Paint("red word") + "\n", 8, Red.Paint("red word") + "\n"},
		{Red.Paint("red word") + "\n", 4, Red.Paint("red") + "…\n"},
	} {
		if got := CutLines(c.text, c.cols); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.text, c.cols, got, c.want)
		}
	}
}
