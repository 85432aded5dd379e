package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
)

func newArmRecoverCommand() *cobra.Command {
	var q coleo.RecoverRequest
	var local bool
	c := verb("recover", "Take an arm's session up again, or start it anew, honestly", func(c *cobra.Command, client *api.Client, name string) (string, any, error) {
		if local {
			q.AllowLocalFallback = &local
		}
		reply, err := client.Recover(c.Context(), name, q)
		if err != nil {
			return "", nil, err
		}
		line := fmt.Sprintf("Recovered arm: %s\nMode: %s\nHost: %s\nProcess: %d\nSession: %s", reply.Arm.Name, reply.RecoveryMode, reply.Host, reply.PID, orDash(reply.SessionID))
		if reply.Resumed {
			line += "\nIts conversation goes on."
		}
		return line, reply, nil
	})
	c.Flags().StringVar(&q.Model, "model", "", "another model")
	c.Flags().StringVar(&q.Provider, "provider", "", "another provider")
	c.Flags().StringVar(&q.AgentID, "agent", "", "start it on this host agent, if it must be started")
	c.Flags().BoolVar(&q.Force, "force", false, "start it although nobody can prove that its former start has ended: two may run until its former host agent is back")
	c.Flags().BoolVar(&local, "allow-local", false, "allow a start without a host agent, where the harness can")
	return c
}
