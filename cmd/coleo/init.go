package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// firstConfig is a config.toml in which each key is commented out.
//
//go:embed config.toml
var firstConfig []byte

// foundAgent is an agent CLI that coleo init has looked for. If the agent CLI is not installed,
// Path is empty.
type foundAgent struct {
	Harness string `json:"harness"`
	Title   string `json:"title"`
	Path    string `json:"path,omitempty"` // the path of the agent CLI; "" if it is not installed
	Install string `json:"install,omitempty"`
}

// initialised is the result of coleo init, in JSON.
type initialised struct {
	File   string       `json:"file"`
	Made   bool         `json:"made"` // whether init has made the file; an existing file stays unchanged
	Agents []foundAgent `json:"agents"`
}

func newInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a config.toml with comments, and show which agent CLIs are installed",
		Long: `Write a config.toml in which each key is explained and commented out, and show
which agent CLIs are installed. An existing config.toml is never changed.

This starts nothing and installs nothing. Coleo also works without the file.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			out, err := initialise(s)
			if err != nil {
				return err
			}
			return verb.Say(c, out.String(), out)
		},
	}
}

func initialise(s setup.Setup) (out initialised, err error) {
	if err := s.Ensure(); err != nil {
		return out, err
	}
	out.File = s.File()
	if err := os.MkdirAll(filepath.Dir(out.File), 0o700); err != nil {
		return out, fmt.Errorf("make the folder of config.toml: %w", err)
	}
	file, err := os.OpenFile(out.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case err == nil:
		_, err = file.Write(firstConfig)
		if err = errors.Join(err, file.Close()); err != nil {
			return out, errors.Join(fmt.Errorf("write %s: %w", out.File, err), os.Remove(out.File))
		}
		out.Made = true
	case !errors.Is(err, fs.ErrExist):
		return out, fmt.Errorf("write %s: %w", out.File, err)
	}
	reg, err := installed.Registry(s)
	if err != nil {
		return out, err
	}
	for _, name := range reg.List() {
		h, err := reg.Get(name)
		if err != nil {
			return out, err
		}
		info := h.Info()
		if info.Command == "" || info.NoModel {
			continue // this harness is for any program, or for a program without a model
		}
		a := foundAgent{Harness: name, Title: info.Title, Path: s.FindProgram(info.Command)}
		if a.Path == "" {
			a.Install = info.Install
		}
		out.Agents = append(out.Agents, a)
	}
	return out, nil
}

func (i initialised) String() string {
	var b strings.Builder
	if i.Made {
		fmt.Fprintf(&b, "Written: %s\n", i.File)
	} else {
		fmt.Fprintf(&b, "%s is there, and was not changed\n", i.File)
	}
	for _, a := range i.Agents {
		if a.Path != "" {
			fmt.Fprintf(&b, "Found: %s (harness %s) at %s\n", a.Title, a.Harness, a.Path)
		}
	}
	for _, a := range i.Agents {
		if a.Path == "" {
			fmt.Fprintf(&b, "Not installed: %s (harness %s): %s\n", a.Title, a.Harness, a.Install)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
