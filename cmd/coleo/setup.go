package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev/api/signin"
	"coleo.dev/config"
	"coleo.dev/holder"
	"coleo.dev/registry"
)

// setup has what every verb needs: the folders and the settings.
type setup struct {
	config.Paths
	config.Settings
}

func newSetup() (setup, error) {
	paths, err := config.FindPaths(os.Getenv)
	if err != nil {
		return setup{}, err
	}
	settings, err := config.ReadSettings(paths.File())
	return setup{Paths: paths, Settings: settings}, err
}

// ready prepares this process to be, or to start, one of Coleo's own processes. It
// returns an error inside an arm, because an arm must not control its own host agent.
func (s setup) ready() error {
	if err := holder.OutsideArms(os.Getpid()); err != nil {
		return err
	}
	holder.HideMemory()
	return s.Ensure()
}

// agentPath returns the folders in which agent CLIs are looked up before PATH. They come
// from the settings, from COLEO_AGENTS, and from Coleo's own folder.
func (s setup) agentPath() []string {
	out := append([]string{}, s.Settings.Agents.Path...)
	for _, root := range []string{os.Getenv("COLEO_AGENTS"), s.Paths.Agents()} {
		if root == "" {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(root, "*", "bin"))
		out = append(append(out, filepath.Join(root, "node_modules", ".bin")), found...)
	}
	return out
}

// registry returns the built-in harnesses and the user's own. It leaves out a bad file of
// the user and reports it on standard error.
func (s setup) registry() (*registry.Registry, error) {
	reg, err := s.readRegistry()
	if reg == nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coleo: left out:", strings.ReplaceAll(err.Error(), "\n", "\ncoleo: left out: "))
	}
	return reg, nil
}

// readRegistry returns the harnesses and the errors of the user's files.
func (s setup) readRegistry() (*registry.Registry, error) {
	hold, err := holdCommand()
	if err != nil {
		return nil, err
	}
	return registry.New(s.Harnesses(), hold)
}

// secret returns the content of a file that only its owner may read. It creates the file
// with a random word if the file is missing.
func secret(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err == nil && len(raw) > 0 {
		return strings.TrimSpace(string(raw)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	word := strings.ToLower(rand.Text())
	return word, writeFile(path, []byte(word+"\n"))
}

// writeFile writes a file for its owner alone, whole or not at all.
func writeFile(path string, data []byte) error {
	if err := signin.WriteFile(path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func newLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}
