package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

// TestR9ARetryIsMadeOnceWhateverIsKilled: the answers do not fit the schema, so Coleo sends a
// second prompt, a retry. The test kills serve and the host agent at random moments between a
// prompt and the end of its retry. Each prompt and each retry must arrive once, or be reported as
// lost.
func TestR9ARetryIsMadeOnceWhateverIsKilled(t *testing.T) {
	t.Parallel()
	const prompts = 10
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Cleanup(func() { t.Logf("seed %d", seed) })
	w := newWorld(t, "")
	f := w.spawnTelling("one",
		fakeagent.Rule{Contains: "cannot be used", Do: []string{"pause 200ms", `say {"n": 2}`}},
		fakeagent.Rule{Contains: "Count", Do: []string{"pause 300ms", "say many"}})
	w.write("schema.json", numberSchema)
	var words []string
	for range prompts {
		word := conformance.Nonce()
		words = append(words, word)
		w.must("arm", "prompt", "one", "--schema", w.path("schema.json"), "Count "+word+".")
		victims := []string{"serve", "agent"}
		r.Shuffle(2, func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		for _, verb := range victims[:1+r.IntN(2)] {
			time.Sleep(time.Duration(r.IntN(700)) * time.Millisecond) // kills at a random moment
			for _, pid := range w.processesOf(verb) {
				w.kill9(pid)
			}
		}
		w.must("up")
		f.awaitRest(len(words))
	}
	f.checkRetries(words)
}

// awaitRest waits until the arm is idle and has n retries that are over. A retry is over when its
// run has ended, or when it is reported as lost. A lost prompt pauses the queue, so awaitRest
// resumes it.
func (f *fake) awaitRest(n int) {
	f.t.Helper()
	until(f.t, "each retry has ended or is told as lost", func() bool {
		arm := f.arm(f.name)
		if arm.Queue != nil && arm.Queue.Paused != "" {
			f.must("arm", "resume", f.name)
			return false
		}
		return len(f.settled()) == n && arm.State == coleo.Idle && !arm.Runtime.Stale
	})
}

// settled returns the retries that are over, by the id of their run. The value is true if the retry
// is reported as lost, and false if its run has ended.
func (f *fake) settled() map[string]bool {
	f.t.Helper()
	out := map[string]bool{}
	ended := map[string]bool{}
	for _, e := range f.events(f.name, coleo.EventRunEnd) {
		ended[e.Run] = true
	}
	lost := map[string]bool{}
	for _, e := range f.events(f.name, coleo.EventQueue) {
		if c := decodeText[coleo.QueueChange](f.t, string(e.Payload)); c.Step == coleo.QueuePaused && c.ID != "" {
			lost[c.ID] = true
		}
	}
	for _, e := range f.events(f.name, coleo.EventOutputRetry) {
		if run := decodeText[coleo.Retry](f.t, string(e.Payload)).Run; ended[run] || lost[run] {
			out[run] = lost[run]
		}
	}
	return out
}

// checkRetries checks, for each word, that the prompt with this word has arrived once and has one
// retry. The retry must have arrived once, unless it is reported as lost. A lost retry may have
// arrived too, because nobody can prove the opposite.
func (f *fake) checkRetries(words []string) {
	f.t.Helper()
	first, again := map[string]int{}, map[string]int{}
	for _, text := range f.texts(fakeagent.Prompted) {
		for _, word := range words {
			switch {
			case !strings.Contains(text, word):
			case strings.HasPrefix(text, "Count "):
				first[word]++
			default:
				again[word]++
			}
		}
	}
	missing := len(words)
	for _, word := range words {
		if missing -= again[word]; first[word] != 1 || again[word] > 1 {
			f.t.Errorf("the prompt with %s arrived %d times, and its retry %d times", word, first[word], again[word])
		}
	}
	lost := 0
	for _, isLost := range f.settled() {
		if isLost {
			lost++
		}
	}
	if n := len(f.events(f.name, coleo.EventOutputRetry)); missing > lost || n != len(words) {
		f.t.Errorf("%d retries were told for %d prompts; %d have not arrived, and %d are told as lost", n, len(words),
			missing, lost)
	}
	checked := map[string]int{}
	for _, e := range f.events(f.name, coleo.EventOutputValidated) {
		if checked[e.Run]++; checked[e.Run] > 1 {
			f.t.Errorf("run %s was checked %d times", e.Run, checked[e.Run])
		}
	}
}
