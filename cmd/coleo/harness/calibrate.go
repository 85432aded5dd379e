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
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/harnesses/terminal/mend"
)

// calibrateFlags are the flags of harness calibrate.
type calibrateFlags struct {
	recordings string
	labels     string
	old        []string
	write      string
	seed       int64
	slack      float64 // seconds
	time       time.Duration
}

func newCalibrateCommand() *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate NAME --recordings FOLDER",
		Short: "Show what a new version of an agent CLI breaks, and propose a change",
		Long: `Show what a new version of an agent CLI breaks, and propose a change.

FOLDER has recordings of the new version (*.cast or *.cast.gz), and labels that
say what each recording shows and when. The verb reads the recordings with the
description of today. It prints what reads as labelled and what does not. Then
it looks for the smallest change of the description with which all of them read
as labelled, and prints the change as a diff. Every recording in the folders of
--old must still read as before. docs/calibrate.md says more.

The description is not changed. --write writes the proposed one to a new FILE.

The exit code is 0 if all recordings read as labelled or a change is proposed,
and 1 if no change was found.`,
		Example: `  coleo harness calibrate HARNESS --recordings new --old earlier
  coleo harness calibrate HARNESS --recordings new --write HARNESS.toml`,
		Args: verb.Exactly(1, "the name of a harness"),
		RunE: func(c *cobra.Command, args []string) error { return calibrate(c, args[0], f) },
	}
	c.Flags().StringVar(&f.recordings, "recordings", "", "`FOLDER` with the new recordings")
	c.Flags().StringVar(&f.labels, "labels", "", "`FILE` with their labels (default: labels.txt in FOLDER)")
	c.Flags().StringArrayVar(&f.old, "old", nil,
		"`FOLDER` with earlier recordings and labels.txt; may be given again")
	c.Flags().StringVar(&f.write, "write", "", "write the proposed description to this new `FILE`")
	c.Flags().Int64Var(&f.seed, "seed", 1, "which pictures are tried first")
	c.Flags().Float64Var(&f.slack, "slack", 0,
		"by how many `SECONDS` states of the new recordings may begin earlier or later")
	c.Flags().DurationVar(&f.time, "time", mend.DefaultTime, "how long to search")
	return c
}

// calibration is the JSON form of what calibrate found.
type calibration struct {
	Held     []string       `json:"held"`
	Breaks   []mend.Break   `json:"breaks"`
	Changes  []string       `json:"changes"` // the proposal in words; empty if there is none
	Diff     string         `json:"diff"`
	Nearest  []mend.Attempt `json:"nearest"` // without a proposal, what failed and why
	TimedOut bool           `json:"timed_out"`
}

func calibrate(c *cobra.Command, name string, f calibrateFlags) error {
	if f.recordings == "" {
		return coleo.Errorf(coleo.EInvalid, "--recordings is missing: name the folder with the new recordings")
	}
	if !(f.slack >= 0) || f.time <= 0 {
		return coleo.Errorf(coleo.EInvalid, "--slack %g, --time %s: give no negative number, and some time", f.slack, f.time)
	}
	desc, err := describedBy(name)
	if err != nil {
		return err
	}
	fresh, err := readCases(f.recordings, f.labels, f.slack)
	if err != nil {
		return err
	}
	var old []mend.Case
	for _, dir := range f.old {
		more, err := readCases(dir, "", 0)
		if err != nil {
			return err
		}
		old = append(old, more...)
	}
	r, err := mend.Propose(desc, fresh, old, mend.Options{Seed: f.seed, Time: f.time})
	if err != nil {
		return err
	}
	out := calibration{Held: r.Held, Breaks: r.Breaks, Changes: r.Changes, Nearest: r.Nearest, TimedOut: r.TimedOut}
	if r.Text != nil {
		out.Diff = mend.Diff(desc.File, string(desc.Text), string(r.Text))
		if err := writeProposal(f.write, r.Text); err != nil {
			return err
		}
	}
	if err := verb.Say(c, out.text(len(fresh), len(old), f), out); err != nil {
		return err
	}
	if len(r.Breaks) > 0 && r.Text == nil {
		return coleo.Errorf(coleo.EInternal, "no change of %s was found with which all recordings read as labelled", desc.File)
	}
	return nil
}

// describedBy returns the description of a harness with a screen.
func describedBy(name string) (mend.Description, error) {
	if _, err := terminalHarness(name); err != nil {
		return mend.Description{}, err
	}
	s, err := setup.New()
	if err != nil {
		return mend.Description{}, err
	}
	reg, err := s.Registry()
	if err != nil {
		return mend.Description{}, err
	}
	path, text, err := reg.Description(name)
	return mend.Description{File: path, Text: text, Bases: reg.Base}, err
}

// writeProposal writes a description to a file that must not exist.
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

// readCases reads the recordings of a folder and their labels.
func readCases(dir, labels string, slack float64) ([]mend.Case, error) {
	if labels == "" {
		labels = filepath.Join(dir, labelsFile)
	}
	byName, err := readLabels(labels)
	if err != nil {
		return nil, err
	}
	plain, _ := filepath.Glob(filepath.Join(dir, "*.cast"))
	packed, _ := filepath.Glob(filepath.Join(dir, "*.cast.gz"))
	var out []mend.Case
	for _, path := range append(plain, packed...) {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".cast")
		label, ok := byName[name]
		if !ok {
			return nil, coleo.Errorf(coleo.EInvalid, "%s: there is no label for the recording %s", labels, name)
		}
		in, err := openInput(path)
		if err != nil {
			return nil, err
		}
		if in.cast == nil {
			return nil, coleo.Errorf(coleo.EInvalid, "%s is no asciicast", path)
		}
		out = append(out, mend.Case{Name: name, Cast: in.cast, Label: label, Slack: slack})
		delete(byName, name)
	}
	if len(out) == 0 {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has no recording (*.cast, *.cast.gz)", dir)
	}
	for name := range byName {
		return nil, coleo.Errorf(coleo.EInvalid, "%s: %s has no recording %s.cast", labels, dir, name)
	}
	slices.SortFunc(out, func(a, b mend.Case) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// readLabels reads a file of labels, as writeLabels writes it.
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

// text returns what was found as text for people.
func (r calibration) text(fresh, old int, f calibrateFlags) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d recordings read as labelled.\n", len(r.Held), fresh)
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
		b.WriteString("\nNo proposal: no change was found with which all recordings read as labelled.\n")
		if r.TimedOut {
			fmt.Fprintf(&b, "The time of %s was over. --time gives more.\n", f.time)
		}
		for _, a := range r.Nearest {
			fmt.Fprintf(&b, "Tried: %s\n  Why not: %s\n", a.Change, a.Why)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	fmt.Fprintf(&b, "\nProposal: with this change all %d recordings read as labelled", fresh)
	if old > 0 {
		fmt.Fprintf(&b, ", and none of %d earlier ones reads worse.\n", old)
	} else {
		b.WriteString(".\nNo earlier recordings were given (--old), so nothing proves that they still do.\n")
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
