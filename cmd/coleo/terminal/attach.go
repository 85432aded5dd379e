package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// detachKey is the key that ends 'coleo arm attach': Ctrl-], which is also telnet's escape key.
const detachKey = 0x1d

func newAttachCommand() *cobra.Command {
	c := liveArmCommand("attach", "Type into the arm's own terminal by hand; Ctrl-] detaches",
		func(c *cobra.Command, client *apiclient.Client, arm coleo.Arm) error {
			if !term.IsTerminal(int(os.Stdin.Fd())) {
				return coleo.Errorf(coleo.EInvalid,
					"attach needs a terminal: in programs, use 'coleo arm prompt' and 'coleo arm screen'")
			}
			// If the user closes the terminal, this process receives SIGHUP, which ends ctx. Then attach gives up the
			// right to type (the lease), restores the size of the arm's terminal, and returns.
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGHUP)
			defer stop()
			c.SetContext(ctx)
			return attach(c, client, arm)
		})
	c.Long = `Open the arm's own terminal and type into it by hand.

Ctrl-] detaches and restores your terminal. The agent CLI continues to run.
Meanwhile Coleo types no prompts into the arm, and nobody else can attach to
it. If your terminal is smaller than 80x24, it shows the part around the
cursor.`
	return c
}

func attach(c *cobra.Command, client *apiclient.Client, arm coleo.Arm) error {
	lease, err := client.Lease(c.Context(), arm.ID, wire.LeaseRequest{Holder: viewerName()})
	if err != nil {
		return err
	}
	defer func() {
		_, _ = client.Lease(context.WithoutCancel(c.Context()), arm.ID, wire.LeaseRequest{ID: lease.ID, Release: true})
	}()
	fd := int(os.Stdin.Fd())
	cols, rows, err := term.GetSize(fd)
	if err != nil {
		return fmt.Errorf("find the size of the terminal: %w", err)
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return fmt.Errorf("set the terminal to raw: %w", err)
	}
	var end attachEnd
	view := newViewport(os.Stdout, cols, rows)
	defer func() {
		view.close() // end the drawing first, so that no late redraw overwrites the user's terminal
		fmt.Print(leaveTerminal)
		_ = term.Restore(fd, before)
		if end.err == nil {
			fmt.Fprintln(c.ErrOrStderr(), end.message)
		}
	}()
	fmt.Print(enterTerminal)
	defer giveSizeBack(c, client, arm.ID, lease.ID)()
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	go renewLease(ctx, client, arm.ID, lease.ID)
	go keepSize(ctx, client, arm.ID, lease.ID, fd, view)
	ended := make(chan attachEnd, 2)
	go func() { ended <- attachEnd{"detached from " + arm.Name, typeInto(ctx, client, arm.ID, lease.ID)} }()
	go func() {
		ended <- attachEnd{"the agent CLI of " + arm.Name + " has ended",
			copyOutput(c, client, arm.ID, -attachPast, true, view)}
	}()
	end = <-ended
	return end.err
}

// attachEnd describes how attach ended: with the error err or, if err is nil, for the reason in
// message.
type attachEnd struct {
	message string
	err     error
}

// attach shows the arm on the alternate screen of the viewer's terminal, so that the earlier contents reappear
// afterwards. leaveTerminal leaves this screen, and switches off all modes that an agent CLI may have switched
// on.
const (
	enterTerminal = "\x1b[?1049h\x1b[2J\x1b[H"
	leaveTerminal = "\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[m\r"
)

// giveSizeBack remembers the present size of the arm's terminal, and returns a function that restores this
// size. attach calls the function before it returns. Otherwise recordings and the dashboard would keep the size
// of this viewer's terminal.
func giveSizeBack(c *cobra.Command, client *apiclient.Client, arm, lease string) func() {
	screen, err := client.Screen(c.Context(), arm)
	if err != nil {
		return func() {}
	}
	return func() { _ = client.Resize(context.WithoutCancel(c.Context()), arm, lease, screen.Cols, screen.Rows) }
}

// attachPast is the number of bytes of past output from which attach draws the first screen.
// These bytes do not always contain the whole screen. That does no harm, because the agent CLI
// redraws its screen when attach changes the size of the arm's terminal.
const attachPast = 256 << 10

// viewerName returns the name that other viewers see while this viewer holds the lease, which is the right to
// type by hand.
func viewerName() string {
	u, viewerName := user.Current()
	if viewerName != nil {
		return "coleo arm attach"
	}
	return u.Username + " (coleo arm attach)"
}

// typeInto sends the user's input to the arm until the user types the detach key.
func typeInto(ctx context.Context, client *apiclient.Client, arm, lease string) error {
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		text := string(buf[:n])
		before, _, detach := strings.Cut(text, string(rune(detachKey)))
		if before != "" {
			if err := client.Input(ctx, arm, lease, []byte(before)); err != nil {
				return err
			}
		}
		if detach {
			return nil
		}
	}
}

// renewEvery is the time between two renewals of the lease, which is the viewer's right to type by hand.
// Without renewals, the lease would expire while the viewer types nothing.
const renewEvery = 10 * time.Second

func renewLease(ctx context.Context, client *apiclient.Client, arm, lease string) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = client.Lease(ctx, arm, wire.LeaseRequest{ID: lease, Holder: viewerName()})
		}
	}
}

// keepSize gives the arm's terminal the size of the viewer's terminal, now and after each change,
// until ctx ends.
func keepSize(ctx context.Context, client *apiclient.Client, arm, lease string, fd int, view *viewport) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for {
		if cols, rows, err := term.GetSize(fd); err == nil {
			view.resize(cols, rows)
			_ = client.Resize(ctx, arm, lease, cols, rows)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
