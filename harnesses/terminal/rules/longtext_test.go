package rules

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// composerWithEndOf returns a picture with a transcript, and with a composer that shows the end of
// a text.
func composerWithEndOf(text string) *Picture {
	return &Picture{
		spec:     &Composer{},
		Screen:   coleo.Screen{Cols: 80},
		rows:     []string{"❯ another prompt", "● done", "---", "> " + lastRunes(text, 60)},
		Composer: &ComposerView{top: 2, bottom: 3, Text: lastRunes(text, 60)},
	}
}

// While Coleo sends a prompt, it compares each picture with the prompt in several ways. timeToCompare measures
// all of them together, and returns the shortest time of several attempts.
func timeToCompare(text string) time.Duration {
	f := composerWithEndOf(text)
	best := time.Hour
	for range 20 {
		start := time.Now()
		for range 10 {
			_, _, _ = f.Holds(text), f.Released(text), f.Overflows(text)
			f.Echoes(text)
		}
		best = min(best, time.Since(start))
	}
	return best
}

// While Coleo sends a prompt, it compares each picture with the prompt. The time for one comparison must not
// grow with the length of the prompt.
func TestComparingAPictureWithAPromptCostsTheSameHoweverLongThatIs(t *testing.T) {
	prompt := func(size int) string {
		return strings.Repeat("some words that one may send ", size/29)
	}
	short, long := timeToCompare(prompt(1_000)), timeToCompare(prompt(1_000_000))
	if long > 10*short {
		t.Errorf("a picture is compared with 1 kB in %s, with 1 MB in %s: %d times as long", short, long, long/short)
	}
}

// Coleo reads only the beginning or the end of a long text. The result must be the same as if it had read the
// whole text.
func TestTheEdgeOfATextIsFoundWithoutTheRest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("ab `*é \u0301\n\t🎉文")
	for range 2000 {
		var b strings.Builder
		for range random.IntN(400) {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		text, all := b.String(), []rune(squeeze(b.String()))
		n := random.IntN(30)
		if got, want := squeezedEnd(text, n), string(all[max(0, len(all)-n):]); got != want {
			t.Fatalf("the last %d runes of %q are %q, want %q", n, text, got, want)
		}
		for _, bare := range []func(string) string{unmarked, unspaced} {
			for _, cut := range []func(string, int) string{firstRunes, lastRunes} {
				if got, want := strippedEdge(text, bare, cut), cut(bare(text), tailRunes); got != want {
					t.Fatalf("the edge of %q is %q, want %q", text, got, want)
				}
			}
		}
	}
}
