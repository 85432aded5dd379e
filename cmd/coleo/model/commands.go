// Package model contains the verbs about models. They list the available models, and run the
// scripted model: a program that answers in place of a model.
package model

import "github.com/spf13/cobra"

// Commands returns the verbs of this package.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newModelsCommand(), newModelserverCommand(), newScriptedModelCommand(), newProbeCommand(),
	}
}
