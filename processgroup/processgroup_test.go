package processgroup

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds a wait for something that happens within milliseconds.
const patience = time.Minute

// opened starts a command in a shell, and waits until the command writes a line to the file
// descriptor 3. All processes of the command have this descriptor open, so the returned file ends
// when the last of them has ended.
func opened(t *testing.T, ctx context.Context, command string, pipeWait time.Duration) (*Running, *os.File) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "exec 3>"+fifo+"; "+command)
	running, err := Start(ctx, cmd, pipeWait, 10)
	if err != nil {
		t.Fatal(err)
	}
	alive, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alive.Close() })
	if _, err := alive.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return running, alive
}

// bounded returns what a function returns, and fails if the function does not return.
func bounded(t *testing.T, what string, f func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatalf("not within %s: %s", patience, what)
		return nil
	}
}

func TestACommandEndsWithAllItsChildren(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, command string }{
		{"the shell itself", "echo >&3; exec sleep 1000"},
		{"a child in a pipeline", "(echo >&3; sleep 1000) | cat"},
		{"a child that ignores signals", "trap '' TERM HUP INT; (echo >&3; sleep 1000; sleep 1000)"},
		{"a background child that keeps the output open", "sleep 1000 & echo >&3; exit 0"},
		{"a background child without output, of a shell that waits", "sleep 1000 >/dev/null 2>&1 & echo >&3; wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			running, alive := opened(t, ctx, c.command, 2*patience)
			cancel()
			if err := bounded(t, "Wait returns", running.Wait); err == nil {
				t.Error("Wait = nil, want an error")
			}
			if err := bounded(t, "all processes end", func() error {
				_, err := io.ReadAll(alive)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheEndOfTheOutputIsKept(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "head -c 3000000 /dev/zero; echo the end >&2; exit 3")
	running, err := Start(t.Context(), cmd, patience, 20)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := running.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("Wait = %v, want exit status 3", err)
	}
	if got := running.Output(); len(got) != 20 || !strings.HasSuffix(got, "the end\n") {
		t.Errorf("Output = %q, want 20 bytes that end with the last line", got)
	}
	if got := cap(running.tail.Kept); got > 1<<20 {
		t.Errorf("%d bytes of memory are kept", got)
	}
}
