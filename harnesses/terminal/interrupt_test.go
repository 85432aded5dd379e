package terminal

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

const armed = "\x1b[2J\x1b[H> \r\n───────\r\nbusy, again to stop\x1b[H"

// An interrupt of two keys, a and b: the first may be lost, or be read as both,
// and the second too.
func TestAnInterruptSeesEachKeyTakeEffect(t *testing.T) {
	t.Parallel()
	spec := "interrupt_when = [{ where = \"below composer\", pattern = 'again to stop' }]\n" +
		strings.Replace(benchSpec, "[keys]\n", "[keys]\ninterrupt = \"a b\"\n", 1) +
		"[capabilities]\ninterrupt = true\n[launch.permission]\nask = \"\"\n"
	type step struct{ typed, shows string }
	for name, steps := range map[string][]step{
		"a dialog is denied first":             {{"", asks}, {"2", busy}, {"2a", armed}, {"2ab", calm}},
		"a dialog comes on the way":            {{"a", asks}, {"a2", calm}},
		"each is read":                         {{"a", armed}, {"ab", busy}, {"ab", calm}},
		"the first ends it":                    {{"a", calm}},
		"the first is lost":                    {{"a", ""}, {"aa", armed}, {"aab", calm}},
		"it ends between the keys":             {{"a", armed + calm}},
		"the mark of the first goes too early": {{"a", armed}, {"ab", busy}, {"aba", armed}, {"abab", calm}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, s := setStageOf(t, spec, 60, 12, 0)
			st.say(s, []byte(busy))
			st.await("work is seen", func() bool { return s.State().State == coleo.Processing })
			if steps[0].typed == "" {
				st.say(s, []byte(steps[0].shows))
				st.await("it asks", func() bool { return s.State().State == coleo.WaitingApproval })
				steps = steps[1:]
			}
			ended := make(chan error, 1)
			go func() { ended <- s.Interrupt(t.Context()) }()
			typed := func() string { raw, _ := os.ReadFile(st.typed); return string(raw) }
			for _, next := range steps {
				st.await("it types "+next.typed, func() bool { return len(typed()) >= len(next.typed) || len(ended) > 0 })
				st.say(s, []byte(next.shows))
			}
			want := steps[len(steps)-1].typed
			if err := <-ended; err != nil || typed() != want {
				t.Errorf("the interrupt: %v; typed was %q, want %q", err, typed(), want)
			}
		})
	}
}
