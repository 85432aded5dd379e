// Package server contains the verbs that run Coleo on this machine: up, down, serve, agent, web,
// backup and repair.
package server

import (
	"time"

	"github.com/spf13/cobra"
)

// Commands returns the verbs that run Coleo on this machine. now is the clock of serve and of the
// host agent.
func Commands(now func() time.Time) []*cobra.Command {
	return []*cobra.Command{
		newUpCommand(), newDownCommand(), newServeCommand(now), newAgentCommand(now), newWebCommand(),
		newBackupCommand(), newRepairCommand(),
	}
}
