// Package model has the verbs about models: which ones can be had, and the scripted model
// that answers in place of one.
package model

import "github.com/spf13/cobra"

// Commands returns the verbs about models, and those of the scripted model.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newModelsCommand(), newModelserverCommand(), newScriptedModelCommand(), newProbeCommand(),
	}
}
