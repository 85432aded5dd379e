package terminal

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// If an agent CLI ends while it is being interrupted, the interrupt must return EExited and not
// success.
func TestAnInterruptThatEndsTheAgentCLI(t *testing.T) {
	t.Parallel()
	st, s := setStageOf(t, strings.Replace(casttest.PlainSpec, "[keys]\n", "[keys]\ninterrupt = \"a\"\n", 1)+
		"[capabilities]\ninterrupt = true\n[launch.permission]\nask = \"\"\n", 60, 12, 0)
	st.say(s, []byte(casttest.Busy))
	st.await("work is seen", func() bool { return s.State().State == coleo.Processing })
	ended := make(chan error, 1)
	go func() { _, err := s.Interrupt(t.Context()); ended <- err }()
	st.await("it is pressed", func() bool { return st.typedSoFar() != "" || len(ended) > 0 })
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; coleo.ErrorCode(err) != coleo.EExited {
		t.Errorf("the interrupt: %v; want %s", err, coleo.EExited)
	}
}
