package holder

import (
	"testing"

	"coleo.dev"
)

func TestAHolderProvesItselfOverAConnectionThatStands(t *testing.T) {
	t.Parallel()
	s, l := start(t, "sleep 1000")
	c := dial(t, l)
	h := coleo.Handle{Arm: l.Arm, Generation: l.Generation, Nonce: l.Nonce, Holder: s.Holder, Process: s.Process}
	if blocked, err := c.Proves(h); blocked != "" || err != nil {
		t.Errorf("the holder proves %q, %v", blocked, err)
	}
	for what, change := range map[string]func(*coleo.Handle){
		"another start":   func(h *coleo.Handle) { h.Generation++ },
		"another program": func(h *coleo.Handle) { h.Process.StartTime++ },
		"another holder":  func(h *coleo.Handle) { h.Holder.PID++ },
		"another nonce":   func(h *coleo.Handle) { h.Nonce += "x" },
	} {
		other := h
		change(&other)
		if _, err := c.Proves(other); coleo.ErrorCode(err) != coleo.EUnproven {
			t.Errorf("for %s: %v, want %s", what, err, coleo.EUnproven)
		}
	}
	c.asking.Lock() // the client holds this lock while it types a long prompt, for example
	if _, err := c.Proves(h); coleo.ErrorCode(err) != coleo.EBusy {
		t.Errorf("beside another request: %v, want %s", err, coleo.EBusy)
	}
	c.asking.Unlock()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Proves(h); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("without a connection: %v, want %s", err, coleo.EUnavailable)
	}
}
