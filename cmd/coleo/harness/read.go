package harness

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/recording"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/conformance"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/pty"
)

// readFlags contains the flags of harness read, replay and explain.
type readFlags struct {
	at      float64 // the time in the recording, in seconds; a negative number means the end
	witness string
}

// moment is one reading of a recording, in JSON.
type moment struct {
	conformance.Moment
	Since *float64 `json:"since,omitempty"` // the time when the reading began, in seconds; nil in a list of changes
}

func newReadCommand() *cobra.Command {
	return recordingCommand("read NAME FILE", "Print what a harness reads in a recording or a screen",
		func(c *cobra.Command, h *terminal.Harness, in input, f readFlags) error {
			m := in.read(h, f, func(coleo.Change) {})
			return verb.Say(c, m.String(), m)
		})
}

func newReplayCommand() *cobra.Command {
	return recordingCommand("replay NAME FILE", "Print each change that a harness reads in a recording",
		func(c *cobra.Command, h *terminal.Harness, in input, f readFlags) error {
			out := verb.JSON(c.OutOrStdout())
			out.SetEscapeHTML(false)
			var failed error
			last := in.read(h, f, func(change coleo.Change) {
				m := momentOf(change)
				if !verb.WantsJSON(c) {
					fmt.Fprintf(c.OutOrStdout(), "%8.2f  %s\n", m.T, m)
				} else if err := out.Encode(m); err != nil {
					failed = err
				}
			})
			if in.cast == nil {
				return verb.Say(c, fmt.Sprintf("%8.2f  %s", last.T, last), last)
			}
			return failed
		})
}

func newExplainCommand() *cobra.Command {
	return recordingCommand("explain NAME FILE", "Explain why a harness reads a recording as it does",
		func(c *cobra.Command, h *terminal.Harness, in input, f readFlags) error {
			return show.Explanation(c, in.explain(h, f))
		})
}

func recordingCommand(use, short string,
	run func(*cobra.Command, *terminal.Harness, input, readFlags) error) *cobra.Command {
	f := readFlags{at: -1}
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Long: short + `.

FILE is an asciicast (version 2 or 3), raw terminal output, or the text of a
screen. Coleo recognizes the format by the content. If a state must last for
some time before it counts, the recording must be long enough for that. FILE is
not changed.`,
		Args: verb.Exactly(2, "the name of a harness and a file"),
		RunE: func(c *cobra.Command, args []string) error {
			if f.witness != "all" && f.witness != "screen" {
				return coleo.Errorf(coleo.EInvalid, "--witness %q: use all or screen", f.witness)
			}
			if c.Flags().Changed("at") && !(f.at >= 0) {
				return coleo.Errorf(coleo.EInvalid, "--at %g: give seconds from the recording's start", f.at)
			}
			h, err := terminalHarness(args[0])
			if err != nil {
				return err
			}
			in, err := openInput(args[1])
			if err != nil {
				return err
			}
			return run(c, h, in, f)
		},
	}
	c.Flags().Float64Var(&f.at, "at", -1, "read up to this time, in `SECONDS` (default: the end)")
	c.Flags().Lookup("at").DefValue = "0" // the help would otherwise show the value -1, which means the end
	c.Flags().StringVar(&f.witness, "witness", "all", "all, or screen for its rules alone")
	return c
}

func terminalHarness(name string) (*terminal.Harness, error) {
	s, err := setup.New()
	if err != nil {
		return nil, err
	}
	reg, err := installed.Registry(s)
	if err != nil {
		return nil, err
	}
	h, err := reg.Get(name)
	if err != nil {
		return nil, err
	}
	th, ok := h.(*terminal.Harness)
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "the harness %q reads no screen: it uses %s",
			name, h.Info().Transport)
	}
	return th, nil
}

// input is a recording or, if cast is nil, a single screen.
type input struct {
	cast   *pty.Cast
	screen coleo.Screen
}

func openInput(path string) (input, error) {
	file, err := os.Open(path)
	if err != nil {
		return input{}, coleo.Errorf(coleo.EInvalid, "open the recording: %w", err)
	}
	defer file.Close()
	in, err := recording.Unpack(file)
	if err != nil {
		return input{}, coleo.Errorf(coleo.EInvalid, "unpack %s: %w", path, err)
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return input{}, coleo.Errorf(coleo.EInvalid, "read %s: %w", path, err)
	}
	if s, ok := pty.ReadStill(raw); ok {
		return input{screen: s}, nil
	}
	cast, err := pty.ReadCast(bytes.NewReader(raw))
	if err != nil {
		return input{}, coleo.Errorf(coleo.EInvalid, "%s: %w", path, err)
	}
	return input{cast: cast}, nil
}

// read returns the reading at the time f.at of the recording. It calls onChange for each change up
// to that time.
func (in input) read(h *terminal.Harness, f readFlags, onChange func(coleo.Change)) moment {
	x := in.replay(h, f, onChange)
	m := momentOf(coleo.Change{Kind: coleo.ChangeState, Reading: x.Reading, Time: x.Now})
	if in.cast != nil {
		since := reading.RecordingOffset(x.Reading.Since).Seconds()
		m.Since = &since
	}
	return m
}

func (in input) explain(h *terminal.Harness, f readFlags) coleo.Explanation {
	return in.replay(h, f, func(coleo.Change) {})
}

// replay reads the recording up to the time f.at, and calls onChange for each change. It returns
// the evidence for the last reading.
//
// A single screen is read like the first screen of a session: if no rule recognizes it, its state
// is initializing.
func (in input) replay(h *terminal.Harness, f readFlags, onChange func(coleo.Change)) coleo.Explanation {
	if in.cast == nil {
		x := h.Explain(in.screen)
		if !x.Reading.Known {
			x.Reading.State = coleo.Initializing // an unknown screen must not count as idle if nothing came before it
		}
		return x
	}
	rec := reading.Recording{Cast: in.cast, Until: -1, ScreenOnly: f.witness == "screen"}
	if f.at >= 0 {
		rec.Until = time.Duration(f.at * float64(time.Second))
	}
	x, _ := h.Replay(rec, onChange)
	return x
}

func momentOf(c coleo.Change) moment {
	return moment{Moment: conformance.MomentOf(c, reading.RecordingOffset(c.Time))}
}

// String returns the moment as one line, followed by lines about the dialog if there is one.
func (m moment) String() string {
	var b strings.Builder
	if m.Event != "" {
		fmt.Fprintf(&b, "%s: %s", m.Event, m.Note)
		return b.String()
	}
	fmt.Fprintf(&b, "%s by rule %q", m.State, m.Rule)
	if m.Detail != "" {
		fmt.Fprintf(&b, " (%s)", m.Detail)
	}
	if m.Mode != "" {
		fmt.Fprintf(&b, ", mode %s", m.Mode)
	}
	if !m.Known {
		b.WriteString(", but no rule knows the screen")
	}
	if d := m.Dialog; d != nil {
		fmt.Fprintf(&b, "\n          %s: %s", d.Kind, d.Title)
		for line := range strings.Lines(d.Subject) {
			fmt.Fprintf(&b, "\n          | %s", strings.TrimRight(line, "\n"))
		}
		if d.Truncated {
			b.WriteString("\n          | " + show.CutOff)
		}
		for i, option := range d.Choices() {
			fmt.Fprintf(&b, "\n          %d. %s", i+1, option)
		}
	}
	return b.String()
}
