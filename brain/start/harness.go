package start

import (
	"cmp"
	"slices"
	"strings"

	"coleo.dev"
)

// harness returns the name of the harness for an arm. It returns the requested harness, or else the
// arm's own harness, or else the configured default. If none of them is set, harness returns the
// preferred harness, if it is installed. Otherwise harness returns the only installed harness.
func (r Rules) harness(asked, own string) (string, error) {
	if name := cmp.Or(asked, own, r.Defaults.Harness); name != "" {
		_, err := r.Harnesses.Get(name)
		return name, err
	}
	switch {
	case slices.Contains(r.Installed, r.Harnesses.Preferred()):
		return r.Harnesses.Preferred(), nil
	case len(r.Installed) == 1:
		return r.Installed[0], nil
	case len(r.Installed) == 0 && r.OnlyServe:
		return "", coleo.Errorf(coleo.EInvalid,
			"no harness was given, and no host agent runs that could tell which are installed: choose one with --harness")
	case len(r.Installed) == 0:
		return "", coleo.Errorf(coleo.ENotInstalled,
			"no agent CLI is installed on any host: 'coleo harness list' shows how to install one")
	}
	return "", coleo.Errorf(coleo.EInvalid, "no harness was given: choose one with --harness: %s",
		strings.Join(r.Installed, ", "))
}

// TakesTasks returns EInvalid if arms of a harness cannot take over the task of another arm, because the harness
// has no model. The agent CLI of such an arm can be a shell, which would run the task as a command.
func TakesTasks(to coleo.Info) error {
	if to.NoModel {
		return coleo.Errorf(coleo.EInvalid, "the harness %s has no model, so it takes no task: name a harness with a model",
			to.Name)
	}
	return nil
}
