package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// Files in the arm's folder with the data that the user gave to the arm.
const (
	// envFile has the arm's environment variables. Their values are in no other file.
	envFile = "env.json"
	// scriptFile has the replies of the scripted model.
	scriptFile = "script.json"
)

// rename changes the name of an arm, in host.db and in the arm's folder.
func (h *Host) rename(ctx context.Context, o bus.RenameOrder) (any, error) {
	if err := coleo.CheckName(o.Name); err != nil {
		return nil, err
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if other, err := h.arm(o.Name); err == nil && other != a {
		return nil, coleo.Errorf(coleo.EConflict,
			"an arm called %q is on this host already: nothing was renamed", o.Name)
	}
	old := a.name()
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Name = o.Name
		return nil
	})
	if err != nil {
		a.mu.Lock()
		a.record.Name = old // the database does not have the new name
		a.mu.Unlock()
		return nil, err
	}
	a.fileOrLog()
	return nil, nil
}

// takeGiven stores the environment and the script of an order, so that later starts can
// use them. It also sets the environment of this start in c. If the start fails, the
// caller must call undo.
func (a *arm) takeGiven(c *coleo.SpawnConfig, o bus.SpawnOrder) (undo func() error, err error) {
	undoScript := func() error { return nil }
	if o.Script != "" {
		if undoScript, err = a.replace(scriptFile, []byte(o.Script)); err != nil {
			return nil, err
		}
	}
	undoEnv, err := a.takeEnv(c, o.Env)
	if err != nil {
		return nil, errors.Join(err, undoScript())
	}
	return func() error { return errors.Join(undoEnv(), undoScript()) }, nil
}

// takeEnv sets the environment of this start in c. If the user has given an
// environment, takeEnv uses and stores it. Otherwise it uses the stored environment.
func (a *arm) takeEnv(c *coleo.SpawnConfig, given map[string]string) (undo func() error, err error) {
	kept, err := a.keptEnv()
	if err != nil {
		return nil, err
	}
	undo = func() error { return nil }
	if len(given) > 0 {
		raw, err := json.Marshal(given)
		if err != nil {
			return nil, err
		}
		if undo, err = a.replace(envFile, raw); err != nil {
			return nil, err
		}
		c.Env, c.EnvNames = given, coleo.EnvNames(given)
		return undo, nil
	}
	if lost := slices.DeleteFunc(slices.Clone(c.EnvNames),
		func(name string) bool { _, there := kept[name]; return there }); len(lost) > 0 {
		return nil, coleo.Errorf(coleo.EConflict,
			"nothing was started: the arm needs the environment variables %s, and their values are not in %s: "+
				"'coleo arm spawn -n %s' with -e or --env-file gives them again",
			strings.Join(lost, ", "), filepath.Join(a.root(), envFile), a.name())
	}
	c.Env, c.EnvNames = kept, coleo.EnvNames(kept)
	return undo, nil
}

// keptEnv returns the stored environment of the arm, or nil if none is stored.
func (a *arm) keptEnv() (map[string]string, error) {
	path := filepath.Join(a.root(), envFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the environment of arm %s: %w", a.name(), err)
	}
	var env map[string]string
	if json.Unmarshal(raw, &env) != nil { // do not return the error of package json, which could quote a value
		return nil, coleo.Errorf(coleo.EInternal,
			"%s, the environment of arm %s, is damaged: nothing was started; delete it, and give the environment again",
			path, a.name())
	}
	return env, nil
}

// replace writes a file in the arm's folder. It either replaces the whole file or
// changes nothing. The function undo restores the previous file.
func (a *arm) replace(name string, data []byte) (undo func() error, err error) {
	path := filepath.Join(a.root(), name)
	before, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil || missing {
		err = writeWhole(path, data)
	}
	if err != nil {
		return nil, fmt.Errorf("keep what was given for arm %s: %w", a.name(), err)
	}
	return func() error {
		if missing {
			return os.Remove(path)
		}
		return writeWhole(path, before)
	}, nil
}

// writeWhole writes a file that only its owner can read, and waits until it is on the
// disk.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
	}
	return err
}

// startedAs returns an arm's start configuration without secrets and without the data
// of one start.
func startedAs(c coleo.SpawnConfig) *coleo.SpawnConfig {
	c.Arm, c.Generation, c.Nonce, c.Dir, c.Env, c.Environ = "", 0, "", "", nil, nil
	return &c
}

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
