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

// The index can lack the time of output within 50 ms after a moment, but it has the time of each key. So the
// output after a key must not be on the screen before the key.
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
