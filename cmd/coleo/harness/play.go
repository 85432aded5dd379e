package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/conformance"
	"coleo.dev/conformance/netns"
	"coleo.dev/paths"
)

// playedSizes lists the sizes of the terminals in which sessions are played, because an agent CLI
// draws differently in terminals of different sizes.
const playedSizes = "120x40,80x24,200x50"

// playedSlack is a tolerance in seconds: a state may begin this much earlier or later than the time in its
// label. The times come from the record of the model's server. An agent CLI needs up to a second to draw what
// the server has sent, and Coleo reports idle even later.
const playedSlack = 2.5

// play plays sessions of an agent CLI, and writes their recordings and labels to a folder. brokenOff contains the names
// of the sessions that could not be played to the end. If this process is not in a network namespace, play runs the
// same command line again, in a new network namespace. The new process then does all the work, and `done` is true.
func (f *calibrateFlags) play(c *cobra.Command, name, version string) (brokenOff []string, done bool, err error) {
	s, err := setup.New()
	if err != nil {
		return nil, false, err
	}
	reg, err := installed.Registry(s)
	if err != nil {
		return nil, false, err
	}
	h, err := reg.Get(name)
	if err != nil {
		return nil, false, err
	}
	sizes, err := parseSizes(f.sizes)
	if err != nil {
		return nil, false, err
	}
	if version != "" && f.binary == "" {
		i, err := newInstallation(s, h.Info(), version)
		if err != nil {
			return nil, false, err
		}
		if !i.isInstalled() {
			fmt.Fprintf(c.ErrOrStderr(), "Installing %s %s...\n", i.info.Title, version)
			if err := i.fetchMissing(c.Context()); err != nil {
				return nil, false, err
			}
		}
		f.binary = i.program()
	}
	if !f.isolated && !netns.Isolated() {
		return nil, true, executable.RunIsolated(c, "--isolated")
	}
	if f.isolated {
		if err := netns.LoopbackUp(); err != nil {
			return nil, false, err
		}
	}
	if !c.Flags().Changed("slack") {
		f.slack = playedSlack
	}
	brokenOff, err = f.playSizes(c, s, h, sizes)
	return brokenOff, false, err
}

func (f *calibrateFlags) playSizes(c *cobra.Command, s setup.Setup, h coleo.Harness, sizes []conformance.Size) (
	brokenOff []string, err error) {
	if err := os.MkdirAll(f.record, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for recordings: %w", err)
	}
	if left, _ := filepath.Glob(filepath.Join(paths.Quote(f.record), "*.cast")); len(left) > 0 {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has recordings already: name a new folder", f.record)
	}
	config, end, err := newConfig(c, s, testFlags{record: f.record, binary: f.binary})
	if err != nil {
		return nil, err
	}
	defer end()
	stages, err := f.stages(h, sizes)
	if err != nil {
		return nil, err
	}
	var labels strings.Builder
	labels.WriteString("# What the model server's record and the file system say: seconds and state.\n")
	for _, stage := range stages {
		config.Size, config.Prefix = stage.size, stage.prefix
		list, err := conformance.Play(c.Context(), stage.harness, config)
		if err != nil {
			return nil, err
		}
		for _, played := range list {
			fmt.Fprintf(&labels, "%s: %s\n", played.Name, played.Label)
			if played.Err != nil {
				brokenOff = append(brokenOff, played.Name)
				fmt.Fprintf(c.ErrOrStderr(), "%s was broken off. Its label holds up to there. %v\n", played.Name, played.Err)
			}
		}
	}
	f.recordings, f.labels = f.record, ""
	return brokenOff, os.WriteFile(filepath.Join(f.record, labelsFile), []byte(labels.String()), 0o600)
}

// stage is a harness and the size of the terminal in which its sessions are played.
type stage struct {
	harness coleo.Harness
	size    conformance.Size
	prefix  string // the beginning of the names of the recordings
}

// stages returns one stage for each size. For each setting in --settings that the harness accepts, it adds one
// more stage. That stage uses the setting and the first size.
func (f *calibrateFlags) stages(h coleo.Harness, sizes []conformance.Size) (out []stage, err error) {
	for _, size := range sizes {
		out = append(out, stage{h, size, fmt.Sprintf("%dx%d-", size.Cols, size.Rows)})
	}
	if f.settings == "" {
		return out, nil
	}
	list, err := conformance.PickSettings(h, f.settings)
	if err != nil {
		return nil, err
	}
	for _, setting := range list {
		if setting.Refused != "" {
			continue
		}
		changed, err := h.(coleo.Settable).WithSetting(setting.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, stage{changed, sizes[0], setting.Name + "-"})
	}
	return out, nil
}

// parseSizes parses sizes that are separated by commas.
func parseSizes(text string) (sizes []conformance.Size, err error) {
	for one := range strings.SplitSeq(text, ",") {
		size, err := conformance.ParseSize(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}
