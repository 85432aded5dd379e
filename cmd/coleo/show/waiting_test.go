package show

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// While a verb waits, one line is shown. It must be redrawn at each tick, fit the terminal, and be
// removed at the end.
func TestAWaitShowsOneLine(t *testing.T) {
	t.Parallel()
	const written = "\rfix: working (3s)\x1b[K" + "\rfix: a very long re\x1b[K"
	ctx, cancel := context.WithCancel(t.Context())
	ticks := make(chan time.Time, 2)
	ticks <- time.Now().Add(3500 * time.Millisecond)
	ticks <- time.Now().Add(4500 * time.Millisecond)
	out, in := io.Pipe()
	go func() {
		defer in.Close()
		texts := []string{"fix: working", "fix: a very long reason why it waits"}
		showWaiting(ctx, in, ticks, func(context.Context) string {
			text := texts[0]
			texts = texts[1:]
			return text
		}, func() int { return 20 })
	}()
	lines := make([]byte, len(written))
	if _, err := io.ReadFull(out, lines); err != nil || string(lines) != written {
		t.Fatalf("the wait wrote %q, %v", lines, err)
	}
	cancel() // the wait must now remove its line, and write nothing else
	if rest, err := io.ReadAll(out); err != nil || string(rest) != "\r\x1b[K" {
		t.Errorf("at the end the wait wrote %q, %v", rest, err)
	}
}

func TestAShortWaitShowsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	showWaiting(ctx, &out, nil, nil, nil)
	if out.String() != "" {
		t.Errorf("a wait that ended at once wrote %q", out.String())
	}
}
