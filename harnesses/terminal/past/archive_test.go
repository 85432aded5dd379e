package past

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

// The index has the exact time of each key, but output times can be wrong by 50 ms. So a screen of the past
// may contain output that came up to 50 ms after the given moment. It must not contain output that came after
// a later key.
func TestTheScreenBeforeTypingHasNoOutputAfterTheKeys(t *testing.T) {
	t.Parallel()
	h := coleo.Handle{Dir: t.TempDir()}
	w, err := journal.Create(holder.JournalDir(h.Dir))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Second).Truncate(time.Millisecond)
	write := func(text string, after time.Duration) {
		if _, err := w.Append([]byte(text+"\r\n"), began.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	typed := func(after time.Duration) { w.Mark(journal.Mark{Time: began.Add(after), Kind: journal.MarkInput}) }
	typed(0)
	write("before", 0)
	at := began.Add(10 * time.Millisecond)
	write("echo", 20*time.Millisecond)
	typed(20 * time.Millisecond)
	write("answer", 30*time.Millisecond)
	typed(40 * time.Millisecond)
	write("later", time.Second/2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for moment, want := range map[time.Time][]string{
		at:                               {"before", "echo"},
		began.Add(35 * time.Millisecond): {"before", "echo", "answer"},
		began.Add(45 * time.Millisecond): {"before", "echo", "answer"}, // no key was typed after this moment
		began.Add(time.Second / 2):       {"before", "echo", "answer", "later"},
	} {
		screen, err := ScreenBeforeTyping(h, moment)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(strings.Join(screen.View().Lines, " ")); !slices.Equal(got, want) {
			t.Errorf("after %s the screen shows %v, want %v", moment.Sub(began), got, want)
		}
	}
}
