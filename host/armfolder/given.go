package armfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/armenv"
)

// These files in the arm's folder contain data that the user gave to the arm.
const (
	// envFile contains the names and values of the arm's environment variables. No other file
	// contains the values.
	envFile = "env.json"
	// ScriptFile contains the replies of the scripted model.
	ScriptFile = "script.json"
)

// TakeGiven stores the environment and the script of an order, so that later starts can use them.
// It stores neither an empty script nor an empty environment. TakeGiven also sets the environment
// of this start in the configuration. If the start fails, the caller must call undo. The name is
// the arm's name, for errors.
func (f Folder) TakeGiven(c *coleo.SpawnConfig, script string, env map[string]string, name string) (undo func() error,
	err error) {
	undoScript := func() error { return nil }
	if script != "" {
		if undoScript, err = f.replace(ScriptFile, []byte(script), name); err != nil {
			return nil, err
		}
	}
	undoEnv, err := f.takeEnv(c, env, name)
	if err != nil {
		return nil, errors.Join(err, undoScript())
	}
	return func() error { return errors.Join(undoEnv(), undoScript()) }, nil
}

// takeEnv sets the environment of this start in the configuration. If the user has given an
// environment, takeEnv sets and stores it. Otherwise it sets the stored environment.
func (f Folder) takeEnv(c *coleo.SpawnConfig, given map[string]string, name string) (undo func() error, err error) {
	kept, err := f.Env(name)
	if err != nil {
		return nil, err
	}
	undo = func() error { return nil }
	if len(given) > 0 {
		raw, err := json.Marshal(given)
		if err != nil {
			return nil, err
		}
		if undo, err = f.replace(envFile, raw, name); err != nil {
			return nil, err
		}
		c.Env, c.EnvNames = given, armenv.Names(given)
		return undo, nil
	}
	if lost := slices.DeleteFunc(slices.Clone(c.EnvNames),
		func(key string) bool { _, there := kept[key]; return there }); len(lost) > 0 {
		return nil, coleo.Errorf(coleo.EConflict,
			"nothing was started: the arm needs the environment variables %s, and their values are not in %s: "+
				"'coleo arm spawn -n %s' with -e or --env-file gives them again",
			strings.Join(lost, ", "), f.File(envFile), name)
	}
	c.Env, c.EnvNames = kept, armenv.Names(kept)
	return undo, nil
}

// Env returns the stored environment of the arm, or nil if none is stored. The name is the arm's
// name, for the error.
func (f Folder) Env(name string) (map[string]string, error) {
	path := f.File(envFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the environment of arm %s: %w", name, err)
	}
	var env map[string]string
	if json.Unmarshal(raw, &env) != nil { // do not return the error of package json, which may quote a value
		return nil, coleo.Errorf(coleo.EInternal,
			"%s, the environment of arm %s, is damaged: nothing was started; delete it, and give the environment again",
			path, name)
	}
	return env, nil
}

// replace replaces a file in the arm's folder. If it fails, the old file stays. The function `undo`
// restores the old file.
func (f Folder) replace(file string, data []byte, name string) (undo func() error, err error) {
	path := f.File(file)
	before, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil || missing {
		err = writeWhole(path, data)
	}
	if err != nil {
		return nil, fmt.Errorf("store the variables and files given for arm %s: %w", name, err)
	}
	return func() error {
		if missing {
			return os.Remove(path)
		}
		return writeWhole(path, before)
	}, nil
}
