package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/harnesses/terminal/mend"
	"coleo.dev/paths"
)

// calibrateFlags contains the flags of harness calibrate.
type calibrateFlags struct {
	recordings string
	labels     string
	old        []string
	write      string
	seed       int64
	slack      float64 // seconds
	oldSlack   float64 // seconds
	time       time.Duration
	record     string
	sizes      string
	settings   string
	binary     string
	isolated   bool
}

func newCalibrateCommand() *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate NAME[@VERSION] --record FOLDER",
		Short: "Show what a new version of an agent CLI breaks, and propose a change",
		Long: `Show what a new version of an agent CLI breaks, and propose a change.

The verb installs VERSION if it is missing. Your arms do not use it. Then the verb
plays sessions with a scripted model, without a network, and records them in
FOLDER. It types without reading the screen. It learns the state of each moment
from the requests to the model and from the written files. It writes these states
down as labels.

Then the verb reads the recordings with the present description, and prints
which readings match the labels and which do not. It searches for the smallest
change of the description with which all readings match, and prints the change
as a diff. The readings of the recordings in the folders of --old must not
change. --recordings reads existing recordings and labels, and plays nothing.
See docs/calibrate.md.

The description itself does not change. --write writes the proposed description
to a new FILE.

The exit code is 0 if all readings match their labels or a change is proposed,
and 1 if no change was found.
`,
		Example: `  coleo harness calibrate HARNESS@1.2.3 --record new --old earlier
  coleo harness calibrate HARNESS --recordings new --write HARNESS.toml`,
		Args: verb.Exactly(1, "the name of a harness"),
		RunE: func(c *cobra.Command, args []string) error { return calibrate(c, args[0], f) },
	}
	c.Flags().StringVar(&f.record, "record", "", "play sessions, and write their recordings to this new `FOLDER`")
	c.Flags().StringVar(&f.sizes, "sizes", playedSizes, "sizes of the terminals, as `COLSxROWS`, separated by commas")
	c.Flags().StringVar(&f.settings, "settings", "",
		"also play with these settings of users: `NAMES`, separated by commas, or all")
	c.Flags().StringVar(&f.binary, "binary", "", "`PATH` of another program for the agent CLI")
	c.Flags().BoolVar(&f.isolated, "isolated", false, "this process is in the namespace already")
	_ = c.Flags().MarkHidden("isolated")
	c.Flags().StringVar(&f.recordings, "recordings", "", "`FOLDER` with existing recordings")
	c.Flags().StringVar(&f.labels, "labels", "", "`FILE` with their labels (default: labels.txt in FOLDER)")
	c.Flags().StringArrayVar(&f.old, "old", nil,
		"`FOLDER` with earlier recordings and labels.txt; may be given again")
	c.Flags().StringVar(&f.write, "write", "", "write the proposed description to this new `FILE`")
	c.Flags().Int64Var(&f.seed, "seed", 1, "`NUMBER` that decides in which order screens are tried")
	c.Flags().Float64Var(&f.slack, "slack", 0,
		"by how many `SECONDS` states of the new recordings may begin earlier or later (with --record: 2.5)")
	c.Flags().Float64Var(&f.oldSlack, "old-slack", 0, "the same for the recordings of --old")
	c.Flags().DurationVar(&f.time, "time", mend.DefaultTime, "maximum `TIME` of the search")
	return c
}

// calibration is the JSON output of harness calibrate.
type calibration struct {
	Held     []string       `json:"held"`
	Breaks   []mend.Break   `json:"breaks"`
	Changes  []string       `json:"changes"` // the proposed changes in words; empty if there is no proposal
	Diff     string         `json:"diff"`
	Nearest  []mend.Attempt `json:"nearest"` // the best attempts, and why they failed; set only without a proposal
	TimedOut bool           `json:"timed_out"`
	// BrokenOff contains the names of the sessions that could not be played to the end.
	BrokenOff []string `json:"broken_off"`
}

func calibrate(c *cobra.Command, name string, f calibrateFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	name, version, _ := strings.Cut(name, "@")
	desc, err := describedBy(name)
	if err != nil {
		return err
	}
	var brokenOff []string
	if f.record != "" {
		var done bool
		if brokenOff, done, err = f.play(c, name, version); done || err != nil {
			return err
		}
	}
	fresh, old, err := f.cases()
	if err != nil {
		return err
	}
	r, err := mend.Propose(desc, fresh, old, mend.Options{Seed: f.seed, Time: f.time})
	if err != nil {
		return err
	}
	out := calibration{Held: r.Held, Breaks: r.Breaks, Changes: r.Changes, Nearest: r.Nearest, TimedOut: r.TimedOut,
		BrokenOff: brokenOff}
	if r.Text != nil {
		out.Diff = mend.Diff(desc.File, string(desc.Text), string(r.Text))
		if err := writeProposal(f.write, r.Text); err != nil {
			return err
		}
	}
	if err := verb.Say(c, out.text(len(fresh), len(old), f), out); err != nil {
		return err
	}
	switch {
	case len(r.Breaks) > 0 && r.Text == nil:
		return coleo.Errorf(coleo.EInternal, "no change of %s was found with which all readings match the labels",
			desc.File)
	case len(brokenOff) > 0:
		return coleo.Errorf(coleo.EInternal, "%d of %d sessions were stopped early, so the rest of them is not judged: %s",
			len(brokenOff), len(fresh), strings.Join(brokenOff, ", "))
	}
	return nil
}

// check returns EInvalid if flags contradict each other or have values out of range.
func (f *calibrateFlags) check() error {
	if (f.recordings == "") == (f.record == "") {
		return coleo.Errorf(coleo.EInvalid, "name a folder: give --record to play sessions, or --recordings to "+
			"read existing recordings")
	}
	if !(f.slack >= 0) || f.time <= 0 {
		return coleo.Errorf(coleo.EInvalid, "--slack %g, --time %s: --slack must "+
			"not be negative, and --time must be more than 0", f.slack, f.time)
	}
	return nil
}

// cases reads all recordings: the new recordings and the earlier recordings.
func (f *calibrateFlags) cases() (fresh, old []mend.Case, err error) {
	if fresh, err = readCases(f.recordings, f.labels, f.slack); err != nil {
		return nil, nil, err
	}
	for _, dir := range f.old {
		more, err := readCases(dir, "", f.oldSlack)
		if err != nil {
			return nil, nil, err
		}
		old = append(old, more...)
	}
	return fresh, old, nil
}

// describedBy returns the description of a harness. It returns an error if the harness reads no screen.
func describedBy(name string) (mend.Description, error) {
	if _, err := terminalHarness(name); err != nil {
		return mend.Description{}, err
	}
	s, err := setup.New()
	if err != nil {
		return mend.Description{}, err
	}
	reg, err := installed.Registry(s)
	if err != nil {
		return mend.Description{}, err
	}
	path, text, err := reg.Description(name)
	return mend.Description{File: path, Text: text, Bases: reg.Base}, err
}

// writeProposal writes a description to a file. If the file exists, writeProposal returns an error.
// If path is "", writeProposal does nothing.
func writeProposal(path string, text []byte) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "the proposal was not written: %w", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// readCases reads the recordings in the folder `dir`, and their labels from the file labelsPath. If labelsPath
// is "", readCases reads the labels from the file labelsFile in `dir`.
func readCases(dir, labelsPath string, slack float64) ([]mend.Case, error) {
	if labelsPath == "" {
		labelsPath = filepath.Join(dir, labelsFile)
	}
	byName, err := readLabels(labelsPath)
	if err != nil {
		return nil, err
	}
	plain, _ := filepath.Glob(filepath.Join(paths.Quote(dir), "*.cast"))
	packed, _ := filepath.Glob(filepath.Join(paths.Quote(dir), "*.cast.gz"))
	var out []mend.Case
	for _, path := range append(plain, packed...) {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".cast")
		label, ok := byName[name]
		if !ok {
			return nil, coleo.Errorf(coleo.EInvalid, "%s: there is no label for the recording %s", labelsPath, name)
		}
		in, err := openInput(path)
		if err != nil {
			return nil, err
		}
		if in.cast == nil {
			return nil, coleo.Errorf(coleo.EInvalid, "%s is not an asciicast", path)
		}
		out = append(out, mend.Case{Name: name, Cast: in.cast, Label: label, Slack: slack})
		delete(byName, name)
	}
	if len(out) == 0 {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has no recording (*.cast, *.cast.gz)", dir)
	}
	for name := range byName {
		return nil, coleo.Errorf(coleo.EInvalid, "%s: %s has no recording %s.cast", labelsPath, dir, name)
	}
	slices.SortFunc(out, func(a, b mend.Case) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// readLabels reads a file of labels in the format of writeLabels. It returns a map from the name of
// each recording to its label.
func readLabels(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "read the labels: %w", err)
	}
	out, number := map[string]string{}, 0
	for line := range strings.Lines(string(raw)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, label, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, coleo.Errorf(coleo.EInvalid, "%s:%d: write NAME: SECONDS STATE, SECONDS STATE", path, number)
		}
		out[name] = label
	}
	return out, nil
}

// text returns the calibration as text for users.
func (r calibration) text(fresh, old int, f calibrateFlags) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The readings of %d of %d recordings match the labels.\n", len(r.Held), fresh)
	for _, x := range r.Breaks {
		until := fmt.Sprintf("%.2f s", x.Until)
		if x.Until < 0 {
			until = "the end"
		}
		fmt.Fprintf(&b, "\n%s, from %.2f s to %s: %s, not %s", x.Recording, x.From, until, x.Got, x.Want)
		if x.Rule != "" {
			fmt.Fprintf(&b, " (rule %q)", x.Rule)
		}
		for _, row := range x.Rows {
			fmt.Fprintf(&b, "\n    | %s", row)
		}
		b.WriteString("\n")
	}
	switch {
	case len(r.Breaks) == 0:
		return strings.TrimSuffix(b.String(), "\n")
	case r.Diff == "":
		b.WriteString("\nNo proposal: no change was found with which all readings match the labels.\n")
		if r.TimedOut {
			fmt.Fprintf(&b, "The search ended after %s. --time gives it more time.\n", f.time)
		}
		for _, a := range r.Nearest {
			fmt.Fprintf(&b, "Tried: %s\n  Why not: %s\n", a.Change, a.Why)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	fmt.Fprintf(&b, "\nProposal: with this change, the readings of all %d recordings match the labels", fresh)
	if old > 0 {
		fmt.Fprintf(&b, ", and none of %d earlier ones reads worse.\n", old)
	} else {
		b.WriteString(".\nNo earlier recordings were given (--old), so nothing proves that their readings stay the same.\n")
	}
	for _, change := range r.Changes {
		fmt.Fprintf(&b, "- %s\n", change)
	}
	b.WriteString("\n" + r.Diff)
	if f.write != "" {
		fmt.Fprintf(&b, "\nThe proposed description is in %s.\n", f.write)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
