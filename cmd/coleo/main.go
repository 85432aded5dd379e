// Command coleo runs the command-line programs of coding agents as arms. It starts
// them, reads their screens, types into them safely and keeps them alive.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// wallClock returns the time of day for serve and for the host agent. Tests replace it with a clock
// whose time jumps.
var wallClock = time.Now

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}
