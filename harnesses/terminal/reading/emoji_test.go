package reading

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/pty"
)

// Codex draws "❤️" as one cell and a blank. If Coleo reads it as two cells, the end of the previous
// prompt stays after the empty composer's hint. The composer then never counts as empty, and each
// further prompt is refused.
func TestAComposerIsEmptyBehindEmoji(t *testing.T) {
	t.Parallel()
	cast, spec := casttest.Cast(t, "codex-sizes/0.169.0-emoji"), specFor(t, "codex")
	start := time.Unix(0, 0)
	r := New(spec, cast.Cols, cast.Rows, start, func(coleo.Change) {})
	held := false
	for _, e := range cast.Events {
		if e.Kind != pty.CastOutput {
			continue
		}
		now := start.Add(e.At)
		for p := []byte(e.Data); len(p) > 0; {
			n, _ := r.Feed(p, now)
			p = p[n:]
		}
		r.Look(now.Add(pauseWhole))
		held = held || r.picture.Holds("1\ufe0f\u20e3é 2\ufe0f\u20e3é and ☀\ufe0fz ✈\ufe0fq ❤\ufe0fr")
	}
	if !held {
		t.Error("the prompt was never seen in the composer")
	}
	if c := r.picture.Composer; c == nil || !c.Empty {
		t.Errorf("at the end the composer is %+v, want an empty one", c)
	}
}
