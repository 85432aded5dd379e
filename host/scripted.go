package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"coleo.dev"
)

// scriptedAddr is the address of the scripted model of an arm. All arms can use the
// same port, because each arm with a scripted model has its own network namespace.
const scriptedAddr = "127.0.0.1:4180"

// withModel returns the configuration for a start with the scripted model. If c uses
// another model, withModel returns c unchanged. One command starts the scripted model
// and then the agent CLI, which has no network and its own HOME. The arm's record says
// only that the arm uses the scripted model. At each start, withModel computes the
// command, the profile, HOME and the endpoint again.
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
