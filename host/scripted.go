package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"coleo.dev"
)

// scriptedAddr is the address of an arm's scripted model. Each such arm has its own
// network namespace, so no other process can use the port there.
const scriptedAddr = "127.0.0.1:4180"

// withModel returns the configuration to start an arm with the scripted model. The agent
// CLI runs behind the command that starts the model. It has no network and its own HOME.
// The configuration of any other arm is returned unchanged. The arm's record keeps only
// the fact that its model is the scripted one: each start makes the rest anew.
func (a *arm) withModel(c coleo.SpawnConfig) (coleo.SpawnConfig, error) {
	if !c.Scripted() {
		return c, nil
	}
	if len(a.host.ScriptedModel) == 0 {
		return c, coleo.Errorf(coleo.EUnsupported, "this host agent has no scripted model: nothing was started")
	}
	home := filepath.Join(a.root(), "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return c, fmt.Errorf("make the HOME of arm %s: %w", a.name(), err)
	}
	wrap := append(slices.Clone(a.host.ScriptedModel), "--addr", scriptedAddr)
	if script := filepath.Join(a.root(), scriptFile); exists(script) {
		wrap = append(wrap, "--script", script)
	}
	c.Wrap = append(append(wrap, "--"), c.Wrap...)
	c.Profile, c.Home, c.Endpoint = coleo.ProfileHermetic, home, "http://"+scriptedAddr
	return c, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
