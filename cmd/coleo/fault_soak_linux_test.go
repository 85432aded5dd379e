package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

// killCount is how often TestNothingIsLostWhenColeoIsKilledUnderLoad kills processes. `make soak`
// makes it larger.
var killCount = flag.Int("kills", 8, "how often serve and the host agent are killed under load")

// TestNothingIsLostWhenColeoIsKilledUnderLoad kills serve, the host agent, or both at random
// moments, even while they start. Meanwhile some arms print, and one arm receives prompts.
func TestNothingIsLostWhenColeoIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	printers := []*printer{f.spawnPrinter("text", "text"), f.spawnPrinter("binary", "binary")}
	s := &soak{fake: f, pids: map[string]int{f.name: f.pid}}
	for _, p := range printers {
		s.pids[p.name] = p.pid
	}
	for i := 0; s.kills < *killCount; i++ {
		s.round(i)
		if i%50 == 49 {
			t.Logf("%d of %d kills, %d prompts proven, %d not", s.kills, *killCount, s.proven, s.refused)
		}
	}
	for _, p := range printers {
		p.untouched()
	}
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("the-end")
	if n := len(f.events(f.name, coleo.EventStopped)); n != 0 {
		t.Errorf("the log says %d times that the arm stopped", n)
	}
}

// soak is the state of TestNothingIsLostWhenColeoIsKilledUnderLoad.
type soak struct {
	*fake
	pids                   map[string]int // processes of the agent CLIs, by arm
	kills, proven, refused int
}

// round sends a prompt, kills processes, starts them again, and checks the result.
func (s *soak) round(i int) {
	s.t.Helper()
	word := fmt.Sprintf("%s-%d", conformance.Nonce(), i)
	prompt := s.command("--json", "arm", "prompt", s.name, "say "+word)
	s.check(prompt.Start())
	pause(100)
	s.killRandom()
	if rand.IntN(3) == 0 { // kills again during the start
		up := s.command("up")
		s.check(up.Start())
		pause(300)
		s.killRandom()
		_ = up.Wait() // `up` may fail, because processes that it has started were killed
	}
	sent := prompt.Wait() == nil
	s.must("up")
	for name, pid := range s.pids {
		arm := s.arm(name)
		if arm.PID != pid || arm.Generation != 1 || !runs(pid) {
			s.t.Fatalf("round %d: arm %s is process %d of generation %d (%s), was %d of 1",
				i, name, arm.PID, arm.Generation, arm.State, pid)
		}
	}
	s.wait(s.name, coleo.Idle)
	s.checkArrival(word, sent)
}

// checkArrival checks that a prompt did not arrive in part or twice. If `sent` is true, Coleo has
// acknowledged the prompt, and it must have arrived.
func (s *soak) checkArrival(word string, sent bool) {
	s.t.Helper()
	n := 0
	for _, text := range s.texts(fakeagent.Prompted) {
		if strings.Contains(text, word) {
			n++
			if text != "say "+word {
				s.t.Errorf("the agent CLI was prompted %q, want %q", text, "say "+word)
			}
		}
	}
	if n > 1 || sent && n != 1 {
		s.t.Errorf("the prompt %q arrived %d times, its sender heard that it did: %v", word, n, sent)
	}
	if sent {
		s.proven++
	} else {
		s.refused++
	}
}

// killRandom kills serve, the host agent, or both.
func (s *soak) killRandom() {
	verbs := [][]string{{"serve"}, {"agent"}, {"serve", "agent"}}[rand.IntN(3)]
	for _, verb := range verbs {
		for _, pid := range s.processesOf(verb) {
			s.kill9(pid)
			s.kills++
		}
	}
}

// pause waits for a random time below the given number of milliseconds.
func pause(most int) { time.Sleep(time.Duration(rand.IntN(most)) * time.Millisecond) }
