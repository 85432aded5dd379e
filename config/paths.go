package config

import (
	"fmt"
	"os"
	"path/filepath"
)

// Paths says where Coleo's own files are. The folders are made by Ensure.
type Paths struct {
	State  string // arms, databases, logs, sockets
	Config string // config.toml, harnesses/*.toml
	Data   string // agent CLIs that Coleo installed
}

// FindPaths works the folders out from the environment, as getenv reads it.
// COLEO_DIR puts all of them into one folder: two of them never meet.
func FindPaths(getenv func(string) string) (Paths, error) {
	if dir := getenv("COLEO_DIR"); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return Paths{}, fmt.Errorf("COLEO_DIR: %w", err)
		}
		return Paths{State: filepath.Join(dir, "state"), Config: filepath.Join(dir, "config"), Data: filepath.Join(dir, "data")}, nil
	}
	home := getenv("HOME")
	if home == "" {
		return Paths{}, fmt.Errorf("neither COLEO_DIR nor HOME is set: Coleo has no place for its files")
	}
	xdg := func(name string, below ...string) string {
		if dir := getenv(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, "coleo")
		}
		return filepath.Join(append(append([]string{home}, below...), "coleo")...)
	}
	return Paths{
		State:  xdg("XDG_STATE_HOME", ".local", "state"),
		Config: xdg("XDG_CONFIG_HOME", ".config"),
		Data:   xdg("XDG_DATA_HOME", ".local", "share"),
	}, nil
}

// Ensure makes the folders for state, for their owner alone. It closes a folder
// that others can list or write to.
func (p Paths) Ensure() error {
	for _, dir := range []string{p.State, p.Logs()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make Coleo's folder: %w", err)
		}
		if err := closeToOthers(dir); err != nil {
			return err
		}
	}
	return nil
}

func closeToOthers(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at Coleo's folder: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close Coleo's folder to other users: %w", err)
	}
	return nil
}

// Harnesses is where the user's own harnesses are.
func (p Paths) Harnesses() string { return filepath.Join(p.Config, "harnesses") }

// File is the user's configuration.
func (p Paths) File() string { return filepath.Join(p.Config, "config.toml") }

// Logs is where the background processes write their logs.
func (p Paths) Logs() string { return filepath.Join(p.State, "logs") }

// Socket is where serve listens for the CLI of the same user.
func (p Paths) Socket() string { return filepath.Join(p.State, "serve.sock") }

// BusSocket is where serve listens for the host agent of the same user.
func (p Paths) BusSocket() string { return filepath.Join(p.State, "bus.sock") }

// BusKey is the file with the key by which host agents enter the bus.
func (p Paths) BusKey() string { return filepath.Join(p.State, "bus.key") }

// OldBusFiles are what earlier versions, whose bus had a TCP port, left behind.
func (p Paths) OldBusFiles() []string {
	return []string{filepath.Join(p.State, "bus.json"), filepath.Join(p.State, "bus.json.token")}
}

// Port is the file with the address that serve took in place of the default one.
func (p Paths) Port() string { return filepath.Join(p.State, "serve.addr") }

// Token is the file with the API's token.
func (p Paths) Token() string { return filepath.Join(p.State, "token") }

// Browsers is the file that keeps which browsers are signed in.
func (p Paths) Browsers() string { return filepath.Join(p.State, "browsers.json") }

// HostDB is the host agent's database.
func (p Paths) HostDB() string { return filepath.Join(p.State, "host.db") }

// ServeDB is the fleet's database.
func (p Paths) ServeDB() string { return filepath.Join(p.State, "serve.db") }

// Agents is where Coleo keeps the agent CLIs that it installed, if any: one
// folder below it for each way of installing.
func (p Paths) Agents() string { return filepath.Join(p.Data, "agents") }
