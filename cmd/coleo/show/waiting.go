package show

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
)

// waitingEvery is the time between two updates of the line that Waiting shows. The line first appears after
// this time, because a short wait needs no line.
const waitingEvery = time.Second

// Waiting shows one line on standard error while a verb waits. Every waitingEvery, it calls the
// given function, and shows the returned text and the time waited so far. After the wait, the
// caller must call done, which removes the line. If standard error is not a terminal, Waiting shows
// nothing.
func Waiting(c *cobra.Command, what func(ctx context.Context) string) (done func()) {
	file, ok := c.ErrOrStderr().(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(waitingEvery)
		defer tick.Stop()
		showWaiting(ctx, file, tick.C, what, func() int {
			cols, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return cols
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// showWaiting writes the line at each tick until ctx ends. Then it removes the line.
func showWaiting(ctx context.Context, w io.Writer, ticks <-chan time.Time, what func(ctx context.Context) string,
	width func() int) {
	began, shown := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			if shown {
				fmt.Fprint(w, "\r\x1b[K")
			}
			return
		case now := <-ticks:
			line := fmt.Sprintf("%s (%s)", what(ctx), coleo.Age(now.Sub(began)))
			if ctx.Err() != nil {
				continue
			}
			if cols := width(); cols > 0 {
				line = Cut(line, cols-1) // the last column stays free, so that the cursor stays in the row
			}
			fmt.Fprint(w, "\r"+line+"\x1b[K")
			shown = true
		}
	}
}
