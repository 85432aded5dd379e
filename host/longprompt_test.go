package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// An arm receives many prompts of 100 kB. The last prompts must not take much longer than the first ones. The
// test compares the shortest times of both, because the machine may be busy. With -short, there are fewer
// prompts.
func TestALongPromptTakesNoLongerForThoseBeforeIt(t *testing.T) {
	s := newStage(t)
	id := s.arm("ada")
	var took []time.Duration
	prompts := 14
	if testing.Short() {
		prompts = 9
	}
	for i := range prompts {
		text := fmt.Sprintf("say number-%d ", i) + strings.Repeat("and so on with words ", 100_000/21)
		begun := time.Now()
		s.prompt(id, text)
		took = append(took, time.Since(begun))
		s.awaitState(id, coleo.Idle)
	}
	first, last := slices.Min(took[:3]), slices.Min(took[prompts-4:])
	if last > 4*first {
		t.Errorf("the first prompts took %s at best, the last %s: all of them %s", first, last, took)
	}
}
