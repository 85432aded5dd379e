package config

import (
	"fmt"
	"os"
	"path/filepath"

	"coleo.dev/wholefile"
)

// Paths contains the folders of Coleo's files.
type Paths struct {
	State  string // the folder of arms, databases, logs and sockets; Ensure creates it
	Config string // config.toml, harnesses/*.toml
	Data   string // the folder of the agent CLIs that Coleo has installed
}

// FindPaths returns the folders of Coleo's files. It reads environment variables with getenv. If
// COLEO_DIR is set, all folders are inside it, so that several instances of Coleo can have separate
// files. FindPaths returns an error if neither COLEO_DIR nor HOME is set.
func FindPaths(getenv func(string) string) (Paths, error) {
	if dir := getenv("COLEO_DIR"); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return Paths{}, fmt.Errorf("COLEO_DIR: %w", err)
		}
		return Paths{State: filepath.Join(dir, "state"), Config: filepath.Join(dir, "config"),
			Data: filepath.Join(dir, "data")}, nil
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

// Ensure creates the folders State and Logs, with permissions for their owner only. If a folder
// exists already, Ensure removes the permissions of other users.
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
		return fmt.Errorf("examine Coleo's folder: %w", err)
	}
	if !wholefile.OpenToOthers(info.Mode()) {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("close Coleo's folder to other users: %w", err)
	}
	return nil
}

// Harnesses returns the folder of the user's own harnesses.
func (p Paths) Harnesses() string { return filepath.Join(p.Config, "harnesses") }

// Templates returns the folder of the user's own templates of arms.
func (p Paths) Templates() string { return filepath.Join(p.Config, "templates") }

// TemplateTrust returns the path of the file that lists the project templates that the user trusts.
func (p Paths) TemplateTrust() string { return filepath.Join(p.State, "template-trust.json") }

// WebhookSecrets returns the folder with the secrets of webhooks.
func (p Paths) WebhookSecrets() string { return filepath.Join(p.State, "webhooks") }

// Packs returns the folder of the installed packs. See docs/packs.md.
func (p Paths) Packs() string { return filepath.Join(p.State, "packs") }

// File returns the path of the user's configuration, config.toml.
func (p Paths) File() string { return filepath.Join(p.Config, "config.toml") }

// Logs returns the folder of the background processes' logs.
func (p Paths) Logs() string { return filepath.Join(p.State, "logs") }

// Socket returns the path of the socket on which serve listens for the CLI of the same
// user.
func (p Paths) Socket() string { return filepath.Join(p.State, "serve.sock") }

// BusSocket returns the path of the socket on which serve listens for the host agent of
// the same user.
func (p Paths) BusSocket() string { return filepath.Join(p.State, "bus.sock") }

// BusKey returns the path of the file with the key that host agents use to connect to
// the bus.
func (p Paths) BusKey() string { return filepath.Join(p.State, "bus.key") }

// OldBusFiles returns the paths of files that only earlier versions used, when the bus had a TCP
// port.
func (p Paths) OldBusFiles() []string {
	return []string{filepath.Join(p.State, "bus.json"), filepath.Join(p.State, "bus.json.token")}
}

// Port returns the path of the file that contains serve's address if another program uses the
// default address.
func (p Paths) Port() string { return filepath.Join(p.State, "serve.addr") }

// Token returns the path of the file with the API's token.
func (p Paths) Token() string { return filepath.Join(p.State, "token") }

// Browsers returns the path of the file that lists the browsers that are signed in.
func (p Paths) Browsers() string { return filepath.Join(p.State, "browsers.json") }

// HostDB returns the path of the host agent's database.
func (p Paths) HostDB() string { return filepath.Join(p.State, "host.db") }

// LocalDB returns the path of the database of host local, the part of serve that drives arms without a host
// agent.
func (p Paths) LocalDB() string { return filepath.Join(p.State, "local.db") }

// ServeDB returns the path of serve's database.
func (p Paths) ServeDB() string { return filepath.Join(p.State, "serve.db") }

// Agents returns the folder of the agent CLIs that Coleo has installed. It has one
// subfolder for each way to install.
func (p Paths) Agents() string { return filepath.Join(p.Data, "agents") }

// Workspaces returns the folder that contains the records of the arms' worktrees. It also contains
// the worktrees themselves, unless config.toml names another folder for them.
func (p Paths) Workspaces() string { return filepath.Join(p.State, "workspaces") }

// ArmFolders returns the folder that contains one folder for each arm.
func (p Paths) ArmFolders() string { return filepath.Join(p.State, "arms") }

// HostPolicy is the path of the policy that this machine's administrator sets.
const HostPolicy = "/etc/coleo/policy.toml"

// PolicyFile returns the path of the user's policy.
func (p Paths) PolicyFile() string { return filepath.Join(p.Config, "policy.toml") }

// PolicyGrants returns the path of the file that lists the user's temporary grants to arms.
func (p Paths) PolicyGrants() string { return filepath.Join(p.State, "policy-grants.json") }

// PolicyTrust returns the path of the file that lists the projects whose policies the user trusts.
func (p Paths) PolicyTrust() string { return filepath.Join(p.State, "policy-trust.json") }

// ScriptTrust returns the path of the file that lists the projects' scripts that the user trusts.
func (p Paths) ScriptTrust() string { return filepath.Join(p.State, "script-trust.json") }

// FetchedPrices returns the path of the file that contains the prices that 'coleo models refresh'
// has fetched.
func (p Paths) FetchedPrices() string { return filepath.Join(p.State, "prices.json") }
