package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/holder/journal"
)

// This file contains the verbs that show an arm's screen and write its recording.

func newScreenCommand() *cobra.Command {
	var at string
	c := &cobra.Command{
		Use:   "screen NAME",
		Short: "Print the arm's screen, now or at an earlier time",
		Long: `Print the arm's screen, now or at an earlier time. Times are accurate to 50 ms.

With --at this also works after the arm's end. TIME is 2006-01-02T15:04:05Z, or
15:04:05 (the last one, in the time zone of this machine), or an age such as
30s or 5m.`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			s, err := screenWhen(c, client, args[0], at)
			if err != nil {
				return err
			}
			return verb.Say(c, strings.TrimRight(strings.Join(s.Lines, "\n"), "\n"), s)
		}),
	}
	c.Flags().StringVar(&at, "at", "", "`TIME` of the screen (default: now)")
	return c
}

func screenWhen(c *cobra.Command, client *apiclient.Client, name, at string) (coleo.Screen, error) {
	if at == "" {
		return client.Screen(c.Context(), name)
	}
	when, err := parseMoment(at, time.Now())
	if err != nil {
		return coleo.Screen{}, err
	}
	return client.ScreenAt(c.Context(), name, when)
}

// parseMoment parses a time in the past. The second parameter is the present time. The text has one
// of three forms:
//   - a time in RFC 3339
//   - an hour, a minute and a second: the last such time in the past, in the time zone of the present time
//   - a duration before the present time, with or without a minus sign
func parseMoment(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.TimeOnly, text); err == nil {
		today := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
			now.Location())
		if today.After(now) {
			today = today.AddDate(0, 0, -1)
		}
		return today, nil
	}
	if d, err := time.ParseDuration(strings.TrimPrefix(text, "-")); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, coleo.Errorf(coleo.EInvalid,
		"%q is not a time: write 2006-01-02T15:04:05Z, 15:04:05, or how long ago, such as 30s or 5m", text)
}

func newRecordCommand() *cobra.Command {
	var generation int
	c := &cobra.Command{
		Use:   "record NAME > FILE.cast",
		Short: "Print a recording of the arm's terminal, as an asciicast",
		Long: `Print a recording of the arm's terminal, as an asciicast (version 2) with times
and sizes. This also works after the arm's end.

It covers the arm's last start, up to now. --generation chooses an earlier
start. If the oldest output is deleted, the recording begins with the oldest
screen that is kept. A recording may contain secrets.`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if c.Flags().Changed("generation") && generation < 1 {
				return coleo.Errorf(coleo.EInvalid, "--generation %d: an arm's starts are numbered from 1", generation)
			}
			return record(c, func(from int64) (coleo.Recording, error) {
				return client.Record(c.Context(), args[0], generation, from)
			})
		}),
	}
	c.Flags().IntVar(&generation, "generation", 0, "`NUMBER` of the start, from 1 (default: the last one)")
	return c
}

// record writes an arm's recording to the output of the verb. It calls pieceFrom for
// each piece of the recording.
func record(c *cobra.Command, pieceFrom func(offset int64) (coleo.Recording, error)) error {
	piece, err := pieceFrom(0)
	if err != nil {
		return err
	}
	showProgress := newProgress(c.ErrOrStderr())
	begin, until := piece.Offset, piece.Until
	cast := journal.NewCast(c.OutOrStdout(), piece.Cols, piece.Rows, firstTime(piece))
	for {
		writePiece(cast, piece)
		showProgress(piece.Next-begin, until-begin)
		if piece.Next >= until || cast.Err() != nil {
			showProgress(0, 0)
			return cast.Close()
		}
		from := piece.Next
		if piece, err = pieceFrom(from); err != nil {
			return err
		}
		if piece.Next <= from {
			return coleo.Errorf(coleo.EInternal, "the recording does not continue after offset %d", from)
		}
		if piece.Cols > 0 { // output before this piece was deleted, so the piece begins with a whole new screen
			cast.Resize(firstTime(piece), piece.Cols, piece.Rows)
		}
	}
}

func writePiece(cast *journal.Cast, piece coleo.Recording) {
	for _, e := range piece.Events {
		if e.Cols > 0 {
			cast.Resize(e.Time, e.Cols, e.Rows)
		} else {
			cast.Output(e.Time, e.Data)
		}
	}
}

func firstTime(piece coleo.Recording) time.Time {
	if len(piece.Events) == 0 {
		return time.Now()
	}
	return piece.Events[0].Time
}

// newProgress returns a function that shows on w how many bytes of a download have arrived. After the
// download, the caller must call this function with zeros to clear the line. If w is not a
// terminal, the function does nothing.
func newProgress(w io.Writer) func(done, of int64) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func(int64, int64) {}
	}
	return func(done, of int64) {
		if of == 0 {
			fmt.Fprint(file, "\r\x1b[K")
			return
		}
		fmt.Fprintf(file, "\r%d of %d MiB\x1b[K", done>>20, of>>20)
	}
}
