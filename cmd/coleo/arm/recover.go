package arm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/terminal"
	"coleo.dev/wire"
)

// recoverFlags contains the flags of arm recover.
type recoverFlags struct {
	q       wire.RecoverRequest
	timeout time.Duration
	noWait  bool
	local   bool
}

const recoverHelp = `If the agent CLI still runs, Coleo only reattaches to it. Otherwise Coleo starts
the agent CLI again and continues its conversation, if the harness can. The
output says which of the two was done. This returns when the arm takes prompts
or asks something.

Nothing is started while an earlier start may still run on a host agent that
cannot be asked. --force starts the arm anyway. Two agent CLIs of the arm may
then run until that host agent is back.`

func newRecoverCommand() *cobra.Command {
	var f recoverFlags
	c := bulkCommand(bulk{
		name: "recover", short: "Reattach to an arm's session, or start it again", long: recoverHelp,
		appliesTo: func(coleo.Arm) bool { return true },
		do: func(ctx context.Context, client *apiclient.Client, arm target) (string, any, error) {
			return recoverArm(ctx, client, arm.id, f)
		},
	})
	c.Flags().StringVar(&f.q.Model, "model", "", "start it with another `MODEL`")
	c.Flags().StringVar(&f.q.Provider, "provider", "", "start it with another `PROVIDER`")
	c.Flags().StringVar((*string)(&f.q.Fallback), "fallback", "", fallbackHelp)
	c.Flags().StringVar(&f.q.AgentID, "agent", "", "`ID` of the host agent, if it must be started")
	c.Flags().BoolVar(&f.q.Force, "force", false, "start it even if an earlier start may still run")
	c.Flags().BoolVar(&f.local, "allow-local", false, "start it without a host agent if there is none")
	c.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "maximum wait until it is ready")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "return as soon as the process runs")
	return c
}

// recoverArm asks serve to recover an arm, and waits until the arm accepts prompts, shows a dialog
// or shows an error. It does not wait if the agent CLI was still alive and is working.
func recoverArm(ctx context.Context, client *apiclient.Client, name string, f recoverFlags) (string, any, error) {
	if f.local = f.local || setup.AllowsLocal(); f.local {
		f.q.AllowLocalFallback = &f.local
	}
	f.q.WindowEnviron = terminal.WindowEnviron(os.LookupEnv)
	reply, err := client.Recover(ctx, name, f.q)
	if err != nil {
		return "", nil, err
	}
	if working := reply.Arm.State.Working() && reply.RecoveryMode == coleo.RecoveryReattached; !f.noWait && !working {
		reply, err = awaitRecovered(ctx, client, reply, f)
		if err != nil {
			return "", nil, err
		}
	}
	line := reply.ModelChange.FirstLine() + recoveredLine(reply)
	if reply.Arm.Window != nil {
		if reply.Arm, err = terminal.AwaitWindow(ctx, client, reply.Arm); err != nil {
			return "", nil, err
		}
		line += "\n" + terminal.WindowLine(reply.Arm)
	}
	if reply.Warning != "" {
		line += "\nNote: " + reply.Warning
	}
	return line, reply, nil
}

// Recover recovers an arm and waits until the arm is ready, as the verb "arm recover" does. It does
// not wait if the agent CLI was still alive and is working.
func Recover(ctx context.Context, client *apiclient.Client, name string, q wire.RecoverRequest,
	limit time.Duration) (wire.SpawnReply, error) {
	reply, err := client.Recover(ctx, name, q)
	if err != nil || reply.Arm.State.Working() && reply.RecoveryMode == coleo.RecoveryReattached {
		return reply, err
	}
	return awaitRecovered(ctx, client, reply, recoverFlags{q: q, timeout: limit})
}

// awaitRecovered waits until a recovered arm is ready. If the agent CLI ends because it does not
// know the arm's conversation, awaitRecovered recovers the arm once more, with a new conversation.
func awaitRecovered(ctx context.Context, client *apiclient.Client, reply wire.SpawnReply,
	f recoverFlags) (wire.SpawnReply, error) {
	ready, err := awaitReady(ctx, client, reply.Arm, f.timeout)
	if coleo.ErrorCode(err) == coleo.EExited && reply.Resumed {
		ended, lookErr := client.Arm(ctx, reply.Arm.ID)
		if lookErr != nil || ended.Rule != coleo.RuleNoConversation {
			return reply, err
		}
		if reply, err = client.Recover(ctx, ended.ID, f.q); err != nil {
			return reply, err
		}
		ready, err = awaitReady(ctx, client, reply.Arm, f.timeout)
	}
	reply.Arm = ready
	return reply, err
}

func recoveredLine(reply wire.SpawnReply) string {
	line := fmt.Sprintf("Recovered arm: %s\nMode: %s\nState: %s\nHost: %s\nProcess: %d\nSession: %s",
		reply.Arm.Name, reply.RecoveryMode, reply.Arm.State, reply.Host, reply.PID, show.OrDash(reply.SessionID))
	if reply.Resumed {
		line += "\nIts conversation continues."
	}
	return line
}

// awaitReady waits until an arm accepts input, shows a dialog or shows an error. If the agent CLI
// ends first, awaitReady returns EExited with the arm's last screen. After the time limit,
// awaitReady returns ETimeout.
func awaitReady(ctx context.Context, client *apiclient.Client, arm coleo.Arm, limit time.Duration) (coleo.Arm, error) {
	now, err := waitArm(ctx, client, arm.ID, limit, coleo.Idle, coleo.WaitingApproval, coleo.Failed)
	if err == nil || coleo.ErrorCode(err) != coleo.EExited {
		return now, err
	}
	e := coleo.Errorf(coleo.EExited, "the agent CLI of arm %s ended at its start", arm.Name)
	if screen := lastScreen(ctx, client, arm.ID); screen != nil {
		e.Screen = screen
	}
	return now, e
}

// lastScreen returns the last screen in the arm's events, or nil if there is none. If it cannot
// read all events, it uses those that it has read.
func lastScreen(ctx context.Context, client *apiclient.Client, arm string) (last *coleo.Screen) {
	for f := (wire.EventFilter{Arm: arm}); ; {
		events, next, err := client.Events(ctx, f)
		if err != nil || len(events) == 0 {
			return last
		}
		for _, e := range events {
			var change coleo.Change
			if e.Kind == coleo.EventState && json.Unmarshal(e.Payload, &change) == nil && change.Screen != nil {
				last = change.Screen
			}
		}
		f.After = next
	}
}
