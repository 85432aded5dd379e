package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// again is the pause before each attempt to reach serve after serve has ended.
const again = time.Second

// eventFlags contains the flags of run events.
type eventFlags struct {
	arm     string
	follow  bool
	from    string
	kinds   []string
	dialogs bool // whether to print each dialog that opens, in addition to the kinds
}

func newEventsCommand() *cobra.Command {
	var f eventFlags
	c := &cobra.Command{
		Use:   "events [RUN]",
		Short: "Print the events of a run, of an arm or of all arms",
		Long: `Print the events of a run, of an arm (--arm) or of all arms, the oldest first.
A line has the time, the arm, the number of the turn, the kind and a summary.

RUN is the id of a run, or a beginning that no other run's id has. --follow
prints more events as they come. With RUN, it ends at the end of the run.
Without RUN, --arm and --from, it begins with the next event. If serve ends, it
waits for the next serve, and misses no event.

--json prints one event per line, with its cursor. --from CURSOR prints the
events after the event with that cursor. --kind chooses kinds; docs/api.md lists
them.`,
		Example: `  coleo run events 1a2b3c4d
  coleo run events --arm fix --follow --kind tool_call_start,tool_call_end
  coleo run events --follow --json`,
		Args: verb.AtMost(1, "the id of a run, or nothing"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 1 && f.arm != "" {
				return coleo.Errorf(coleo.EInvalid, "give a RUN or --arm, not both")
			}
			p, err := newPrinter(c, client, f, args)
			if err != nil {
				return err
			}
			return p.run(c.Context())
		}),
	}
	c.Flags().StringVar(&f.arm, "arm", "", "print the events of the arm `NAME`")
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "print more events as they come")
	c.Flags().StringVar(&f.from, "from", "", "print the events after `CURSOR`, or from now on")
	c.Flags().StringSliceVar(&f.kinds, "kind", nil, "`KINDS` of events, separated by commas")
	return c
}

// printer prints events.
type printer struct {
	client *apiclient.Client
	filter wire.EventFilter
	follow bool
	began  bool              // whether serve has answered at least once
	ended  bool              // whether the run had ended when the printer last received all events so far
	shown  []coleo.EventKind // the kinds of events that the user wants; empty for all kinds
	json   *json.Encoder     // nil for lines
	out    io.Writer
	notes  io.Writer // receives notes that are not events
	width  int       // the width of the terminal in cells; 0 without a terminal
	names  map[string]string
	calls  map[string]string // texts that describe calls; the key is the run and the id of the call
	// dialogs maps the id of each arm to the last dialog that was printed. It is nil if dialogs are printed only with
	// their kind of events.
	dialogs map[string]coleo.Fingerprint
}

func newPrinter(c *cobra.Command, client *apiclient.Client, f eventFlags, args []string) (*printer, error) {
	p := &printer{client: client, follow: f.follow, out: show.Writer(c), notes: c.ErrOrStderr(), width: show.Width(c),
		names: map[string]string{}, calls: map[string]string{}}
	p.filter = wire.EventFilter{Arm: f.arm, After: f.from}
	if len(args) == 1 {
		r, err := client.Run(c.Context(), args[0])
		if err != nil {
			return nil, err
		}
		p.filter.Run, p.ended = r.ID, !r.Open
	}
	for _, name := range f.kinds {
		kind, _ := coleo.KindNamed(name) // if the kind is unknown, serve refuses the request
		p.shown = append(p.shown, kind)
	}
	if p.filter.Kinds = p.shown; len(p.shown) > 0 && p.endsWithRun() && !slices.Contains(p.shown, coleo.EventRunEnd) {
		p.filter.Kinds = append(slices.Clone(p.shown), coleo.EventRunEnd)
	}
	if f.dialogs {
		p.filter.Kinds, p.dialogs = append(slices.Clone(p.shown), coleo.EventState), map[string]coleo.Fingerprint{}
	}
	if f.follow && f.arm == "" && f.from == "" && len(args) == 0 {
		p.filter.After = wire.Now
	}
	if verb.WantsJSON(c) {
		p.json = verb.JSON(c.OutOrStdout())
	}
	return p, nil
}

// endsWithRun reports whether the printer follows one run and stops at the end of this run.
func (p *printer) endsWithRun() bool { return p.follow && p.filter.Run != "" }

// run prints the events. If the printer follows events and serve ends, run connects again.
func (p *printer) run(ctx context.Context) error {
	for notified := false; ; {
		done, err := p.printOnce(ctx, &notified)
		if done || ctx.Err() != nil || !p.follow || !p.began || coleo.ErrorCode(err) != coleo.EUnavailable {
			if ctx.Err() != nil && p.follow {
				return nil // the user has ended the verb, which is no error
			}
			return err
		}
		if !notified {
			notified = true
			fmt.Fprintln(p.notes, "coleo: serve does not answer; waiting for it")
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

// printOnce prints events until the connection to serve ends. It returns true if no more events need to be
// printed. When an event arrives, it sets *notified to false, so that run tells the user again if serve ends
// later.
func (p *printer) printOnce(ctx context.Context, notified *bool) (bool, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for u, err := range p.client.FollowEvents(ctx, p.filter) {
		if err != nil {
			return false, err
		}
		p.began, *notified = true, false
		p.filter.After = u.Cursor
		if u.Event == nil {
			if !p.follow || p.endsWithRun() && p.noMoreEvents(ctx) {
				return true, nil // all past events have been printed
			}
			continue
		}
		if err := p.print(ctx, u); err != nil {
			return false, err
		}
		if u.Event.Kind == coleo.EventRunEnd && p.endsWithRun() {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// noMoreEvents reports whether the followed run has ended, and all its events have arrived. It is called when all
// events so far have arrived. The end of the run may not be among them: it may be older than --from, serve may have
// deleted it, or the arm was removed before the run ended. Serve stores the end of a run together with the last event
// of the run. So if the run had already ended at the previous call of noMoreEvents, its last event has arrived now.
func (p *printer) noMoreEvents(ctx context.Context) bool {
	had := p.ended
	if !had {
		r, err := p.client.Run(ctx, p.filter.Run)
		p.ended = err == nil && !r.Open || coleo.ErrorCode(err) == coleo.ENotFound
	}
	return had
}

// opensDialog reports whether an event shows a dialog that was not printed yet, and dialogs must be printed.
func (p *printer) opensDialog(e coleo.Event) bool {
	if p.dialogs == nil || e.Kind != coleo.EventState {
		return false
	}
	d := decode[coleo.Change](e).Reading.Dialog
	if d == nil || p.dialogs[e.Arm] == d.Fingerprint {
		return false
	}
	p.dialogs[e.Arm] = d.Fingerprint
	return true
}

func (p *printer) print(ctx context.Context, u wire.Update) error {
	if len(p.shown) > 0 && !slices.Contains(p.shown, u.Event.Kind) && !p.opensDialog(*u.Event) {
		return nil
	}
	if p.json != nil {
		return p.json.Encode(struct {
			Cursor string `json:"cursor"`
			*coleo.Event
		}{u.Cursor, u.Event})
	}
	line := p.line(p.name(ctx, u.Event.Arm), *u.Event)
	if p.width > 0 {
		line = show.Cut(line, p.width)
	}
	_, err := fmt.Fprintln(p.out, line)
	return err
}

// name returns the name of the arm with the given id. It asks serve once for each id.
func (p *printer) name(ctx context.Context, id string) string {
	name, known := p.names[id]
	if !known && id != "" {
		if name = short(id); p.names != nil {
			if arm, err := p.client.Arm(ctx, id); err == nil {
				name = arm.Name
			}
		}
		p.names[id] = name
	}
	return name
}
