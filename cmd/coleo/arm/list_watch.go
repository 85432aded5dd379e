package arm

import (
	"context"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// This file shows the list of arms on the whole terminal, for arm list --watch.

const (
	// watchRedraw is the shortest time between two redraws. Nobody can read more than
	// four lists in a second.
	watchRedraw = 250 * time.Millisecond
	// watchTick is the time between two redraws while no arm changes. These redraws
	// only update the ages in the list.
	watchTick = time.Second
	// watchAgain is the pause before the next attempt to reach serve after serve has
	// ended.
	watchAgain = time.Second
)

// watchArms shows the list of arms on the whole terminal. It redraws the list after
// each change, until the command's context ends.
func watchArms(c *cobra.Command, client *apiclient.Client, table func([]coleo.Arm) string) error {
	out, ok := c.OutOrStdout().(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || verb.WantsJSON(c) {
		return coleo.Errorf(coleo.EInvalid, "--watch needs a terminal: programs use the WebSocket /ws")
	}
	if _, err := io.WriteString(out, show.EnterScreen); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(out, show.LeaveScreen) }()
	arms, lost := map[string]coleo.Arm{}, error(nil)
	changes := followArms(c.Context(), client.Follow)
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	var drawn time.Time
	for {
		if wait := watchRedraw - time.Since(drawn); wait <= 0 {
			drawn = time.Now()
			if err := drawArms(out, table, arms, lost); err != nil {
				return err
			}
		}
		select {
		case <-c.Context().Done():
			return nil
		case <-tick.C:
		case change := <-changes:
			change(arms, &lost)
		}
	}
}

// followArms returns a channel of functions. Each function applies one change to the list of arms.
// If serve ends, followArms connects again, with a pause of watchAgain before each attempt.
// The parameter follow is apiclient.Client.Follow.
func followArms(ctx context.Context, follow func(context.Context, string) iter.Seq2[wire.Update, error],
) <-chan func(map[string]coleo.Arm, *error) {
	out := make(chan func(map[string]coleo.Arm, *error))
	send := func(change func(map[string]coleo.Arm, *error)) {
		select {
		case out <- change:
		case <-ctx.Done():
		}
	}
	go func() {
		for ctx.Err() == nil {
			for u, err := range follow(ctx, "") {
				send(func(arms map[string]coleo.Arm, lost *error) {
					*lost = err
					switch {
					case err != nil:
					case u.Arm != nil:
						arms[u.Arm.ID] = *u.Arm
					case u.Removed != "":
						delete(arms, u.Removed)
					case u.Event == nil: // all present arms follow; other arms were removed while serve was not followed
						clear(arms)
					}
				})
			}
			select {
			case <-time.After(watchAgain):
			case <-ctx.Done():
			}
		}
	}()
	return out
}

// drawArms draws the list once, cut to the size of the terminal.
func drawArms(out *os.File, table func([]coleo.Arm) string, arms map[string]coleo.Arm, lost error) error {
	cols, rows, err := term.GetSize(int(out.Fd()))
	if err != nil {
		return err
	}
	list := make([]coleo.Arm, 0, len(arms))
	for _, arm := range arms {
		list = append(list, arm)
	}
	text := table(list)
	if lost != nil {
		text = show.Red.Paint("serve does not answer; what follows is as of then: "+lost.Error()) + "\n" + text
	}
	lines := strings.Split(strings.TrimSuffix(show.Clean(text), "\n"), "\n")
	if len(lines) > rows {
		lines = lines[:rows]
	}
	var picture strings.Builder
	picture.WriteString(show.ScreenTop)
	for i, line := range lines {
		if i > 0 {
			picture.WriteString("\r\n")
		}
		picture.WriteString(show.Cut(show.TextFor(out, line), cols) + show.ClearLine)
	}
	picture.WriteString(show.ClearBelow)
	_, err = io.WriteString(out, picture.String())
	return err
}
