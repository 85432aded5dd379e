package show

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// A wait shows one line that is written anew at each tick, fits the terminal and is removed at the end.
func TestAWaitShowsOneLine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ticks := make(chan time.Time)
	out, in := io.Pipe()
	var said string
	read := make(chan struct{})
	go func() {
		defer close(read)
		all, _ := io.ReadAll(out)
		said = string(all)
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		texts := []string{"fix: working", "fix: a very long reason why it waits"}
		showWaiting(ctx, in, ticks, func(context.Context) string {
			text := texts[0]
			texts = texts[1:]
			return text
		}, func() int { return 20 })
	}()
	ticks <- time.Now().Add(3500 * time.Millisecond)
	ticks <- time.Now().Add(4500 * time.Millisecond)
	cancel()
	<-ended
	in.Close()
	<-read
	lines := strings.Split(said, "\r")
	if len(lines) != 4 || lines[1] != "fix: working (3s)\x1b[K" || lines[2] != "fix: a very long re\x1b[K" ||
		lines[3] != "\x1b[K" || strings.Contains(said, "\n") {
		t.Errorf("the wait wrote %q", said)
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
