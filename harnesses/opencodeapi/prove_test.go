package opencodeapi

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"coleo.dev"
)

// replied is the message with which OpenCode begins its work on the message msg_1.
const replied = `{"info":{"id":"msg_2","role":"assistant","parentID":"msg_1"},"parts":[]}`

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
					_, _ = io.WriteString(w, fmt.Sprintf(`[{"info":{"id":"msg_1","role":"user","time":{"created":%d}},`+
						`"parts":[%s]},%s]`, sent.Add(-c.age).UnixMilli(), c.parts, replied))
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

// OpenCode keeps the message of a prompt right after a failed turn, but can forget to work on it (1.18.33). Such a
// message alone proves nothing. For some time, OpenCode may still begin.
func TestAMessageWithoutWorkIsNoProof(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age    time.Duration
		status string
		want   coleo.Proof
		code   coleo.Code
	}{
		"it may still begin": {0, "idle", "", coleo.EBusy},
		"it works":           {0, "busy", coleo.ProofAccepted, ""},
		"it has forgotten":   {startedTimeout, "idle", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			sent := time.Now().Add(-c.age)
			f.set(func(f *fakeServer) {
				f.routes["/session/one/message"] = func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, fmt.Sprintf(`[{"info":{"id":"msg_1","role":"user","time":{"created":%d}},`+
						`"parts":[{"type":"text","text":"fix it"}]}]`, sent.UnixMilli()))
				}
			})
			s := followingLong(t, f)
			if c.status == "busy" {
				f.events <- statusEvent("busy")
				s.becomes(t, coleo.Processing, "session.status busy")
			}
			got, err := s.Prove(t.Context(), coleo.Receipt{Text: "fix it", Time: sent})
			if got != c.want || coleo.ErrorCode(err) != c.code {
				t.Errorf("the proof is %q, %v, want %q, %q", got, err, c.want, c.code)
			}
		})
	}
}
