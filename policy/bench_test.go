package policy

import (
	"testing"
	"time"

	"coleo.dev/policy/commandline"
)

// BenchmarkDecide divides the time of a decision by the time to parse the same line. The result should be below
// 20, so that nobody notices the decision.
func BenchmarkDecide(b *testing.B) {
	w := newWorkspace(b)
	lines := []string{"cat a.go", "grep -n package a.go | head -5", "sed -n '1,20p' a.go && wc -l *.go",
		"for f in *.go; do head -3 \"$f\"; done", "go test ./... 2>&1 | tail -20", "rm -rf build"}
	scopes := []Scope{user(PresetRead, rule("go test *", Allow), rule("rm *", Deny))}
	none := func(string) ([]string, error) { return nil, nil }
	var parsing, deciding time.Duration
	for b.Loop() {
		begin := time.Now()
		for _, line := range lines {
			_, _ = commandline.Parse(line, commandline.Bash, w.Root, none)
		}
		middle := time.Now()
		for _, line := range lines {
			Decide(scopes, nil, w, Request{Tool: "Bash", Category: Execute, Command: line, Shell: commandline.Bash, Dir: w.Root})
		}
		parsing, deciding = parsing+middle.Sub(begin), deciding+time.Since(middle)
	}
	b.ReportMetric(float64(deciding)/float64(parsing), "x-parsing")
}
