package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestLogsAreWhatTheTerminalHasShown prints more lines than the terminal has rows. The logs must
// contain them all, while the arm runs and after its end, as text and as bytes.
func TestLogsAreWhatTheTerminalHasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.path("work-sh")
	w.check(os.Mkdir(dir, 0o700))
	w.must("arm", "spawn", "-n", "sh", "-w", dir, "--harness", "generic")
	w.must("arm", "prompt", "sh", "--wait",
		`for i in $(seq 1 500); do printf '\033[31mrow\033[1D\033[0mX %d\n' $i; done`)
	var want []string
	for _, n := range numbers(500) {
		want = append(want, "roX "+n)
	}
	logs := func(args ...string) []string {
		t.Helper()
		out := w.must(append([]string{"arm", "logs", "sh"}, args...)...)
		return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	}
	shows := func(when string) {
		t.Helper()
		lines := logs("-n", "1000")
		first := slices.Index(lines, want[0])
		if first < 0 || len(lines) < first+len(want) || !slices.Equal(lines[first:first+len(want)], want) {
			t.Errorf("%s the logs are %q", when, lines)
		}
	}
	shows("while it runs")
	if lines := logs("-n", "3"); len(lines) != 3 || lines[0] != "roX 499" || lines[1] != "roX 500" {
		t.Errorf("the last 3 lines are %q", lines)
	}
	if got := decode[struct{ Lines []string }](w, "arm", "logs", "sh", "-n", "3").Lines; len(got) != 3 ||
		got[1] != "roX 500" {
		t.Errorf("as JSON the last 3 lines are %q", got)
	}
	if raw := w.must("arm", "logs", "sh", "--raw"); !strings.Contains(raw, "row\x1b[1D\x1b[0mX 500") {
		t.Errorf("--raw does not print what was written: %q", raw[max(0, len(raw)-200):])
	}
	w.must("arm", "kill", "sh")
	shows("after its end")
	w.fails(2, "arm", "logs", "sh", "-n", "0")
}
