package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
)

// envFile holds, in the arm's own folder, the environment that was given for the
// arm. It is the only file in which the values stand.
const envFile = "env.json"

// takeEnv fills in the environment of a start. What is given is written down
// first, so that each later start has it too; without it, what was given before
// holds. A start that does not come about calls undo.
func (a *arm) takeEnv(c *coleo.SpawnConfig, given map[string]string) (undo func() error, err error) {
	kept, err := a.keptEnv()
	if err != nil {
		return nil, err
	}
	undo = func() error { return nil }
	if len(given) > 0 {
		if err := a.keepEnv(given); err != nil {
			return nil, err
		}
		before := kept
		undo = func() error { return a.keepEnv(before) }
		kept = given
	}
	if lost := slices.DeleteFunc(slices.Clone(c.EnvNames), func(name string) bool { _, there := kept[name]; return there }); len(lost) > 0 {
		return nil, coleo.Errorf(coleo.EConflict, "nothing was started: the arm needs the environment variables %s, and their values are not in %s: 'coleo arm spawn -n %s' with -e or --env-file gives them again",
			strings.Join(lost, ", "), filepath.Join(a.root(), envFile), a.name())
	}
	c.Env, c.EnvNames = kept, coleo.EnvNames(kept)
	return undo, nil
}

// keptEnv returns the environment that was given for the arm; nil for none.
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
	if json.Unmarshal(raw, &env) != nil { // whose error could quote a value
		return nil, coleo.Errorf(coleo.EInternal, "%s, the environment of arm %s, is damaged: nothing was started; delete it, and give the environment again", path, a.name())
	}
	return env, nil
}

// keepEnv writes the environment that was given for the arm, whole or not at all.
// Without one there is no file.
func (a *arm) keepEnv(env map[string]string) error {
	path := filepath.Join(a.root(), envFile)
	err := writeEnv(path, env)
	if err != nil {
		return fmt.Errorf("keep the environment of arm %s: %w", a.name(), err)
	}
	return nil
}

func writeEnv(path string, env map[string]string) error {
	if len(env) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	raw, err := json.Marshal(env)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
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

// startedAs is what others may know of how an arm was started.
func startedAs(c coleo.SpawnConfig) *coleo.SpawnConfig {
	c.Arm, c.Generation, c.Nonce, c.Dir, c.Env, c.Environ = "", 0, "", "", nil, nil
	return &c
}
