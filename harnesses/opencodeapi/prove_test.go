package opencodeapi

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"coleo.dev"
)

// After a kill of the host agent, the next one asks whether a prompt has arrived.
func TestAPromptIsProvenByItsMessage(t *testing.T) {
	t.Parallel()
	const own = `{"type":"text","text":"fix it"}`
	prompt, compact := coleo.Receipt{Text: "fix it"}, coleo.Receipt{Text: coleo.CompactText, Compact: true}
	sent := time.Now()
	for name, c := range map[string]struct {
		receipt coleo.Receipt
		parts   string
		age     time.Duration
		want    coleo.Proof
	}{
		"its text":                {prompt, own, 0, coleo.ProofAccepted},
		"another text":            {prompt, `{"type":"text","text":"fix"}`, 0, ""},
		"an older message":        {prompt, own, time.Minute, ""},
		"a text of OpenCode's":    {prompt, own + `,{"type":"text","text":"a","synthetic":true}`, 0, coleo.ProofAccepted},
		"a compaction":            {compact, `{"type":"compaction","auto":false}`, 0, coleo.ProofAccepted},
		"an automatic compaction": {compact, `{"type":"compaction","auto":true}`, 0, ""},
		"no compaction":           {compact, own, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			f.set(func(f *fakeServer) {
				f.routes["/session/one/message"] = func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, fmt.Sprintf(`[{"info":{"role":"user","time":{"created":%d}},"parts":[%s]}]`,
						sent.Add(-c.age).UnixMilli(), c.parts))
				}
			})
			s := followingLong(t, f)
			c.receipt.Time = sent
			if got, err := s.Prove(t.Context(), c.receipt); err != nil || got != c.want {
				t.Errorf("the proof is %q, %v, want %q", got, err, c.want)
			}
		})
	}
}
