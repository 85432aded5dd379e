package reading_test

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
)

// streams are recordings of long turns, in which a spinner turns ten times a second while text
// grows above the composer.
var streams = map[string]string{
	"gemini": "gemini-0.61.0/scen-a", "opencode": "opencode-1.18.33/tui3",
	"codex": "codex-0.169.0/bash-approve", "claude-code": "claude-code-2.1.329/compact",
}

// BenchmarkReplay measures how long the Reader needs for a recording. It reports this time as a
// share of the recorded time, in thousandths of a core.
func BenchmarkReplay(b *testing.B) {
	for name, file := range streams {
		b.Run(name, func(b *testing.B) {
			h, cast := harness(b, name), casttest.Cast(b, file)
			b.ReportAllocs()
			long := time.Duration(0)
			for b.Loop() {
				_, took := h.Replay(reading.Recording{Cast: cast, Until: -1}, func(coleo.Change) {})
				long += took
			}
			b.ReportMetric(1000*float64(b.Elapsed())/float64(long), "millicores")
		})
	}
}
