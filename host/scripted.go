package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"coleo.dev"
)

// scriptedAddr is where the scripted model of an arm listens. Each such arm has a
// network namespace of its own, so nobody else can have the port there.
const scriptedAddr = "127.0.0.1:4180"

// withModel returns how an arm is started that talks to the scripted model: behind
// the command that starts the model beside it, where there is no network, with a
// HOME of its own. Another arm's configuration is left as it is. The arm's record
// keeps only that its model is the scripted one: each start makes the rest anew.
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
