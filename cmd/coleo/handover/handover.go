// Package handover contains the verb "arm handover".
package handover

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/arm"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

const help = `Give the task of the arm NAME to a new arm of another harness, its successor. The
successor works in the same folder or worktree. Its first prompt contains your
prompts, a summary of the conversation, the list of tasks and the diff. No model
writes this text. If something is cut, the text says so.

The arm NAME is paused: it continues to run, but nothing is sent from its queue. The
prompts in its queue move to the successor, in the same order, after the first
prompt. Both arms are linked as parent and child. The successor has the labels, the
permission mode, the policy, the sandbox and the variables of the arm NAME. It does
not get the model and the arguments of the arm NAME, because another agent CLI does
not understand them.

While the arm NAME works or asks something, nothing is done. With --interrupt, its
turn is interrupted first. If the successor does not start, the arm NAME gets its
queue back. 'coleo arm resume NAME' makes a paused arm send its queue again.`

// flags contains the flags of handover.
type flags struct {
	q       wire.HandoverRequest
	noWait  bool
	timeout time.Duration
}

// Command returns the verb "arm handover".
func Command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "handover NAME --to HARNESS",
		Short: "Give the arm's task to a new arm of another harness",
		Long:  help,
		Example: `  coleo arm handover fix --to HARNESS
  coleo arm handover fix --to HARNESS --model PROVIDER/MODEL --interrupt`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			return f.run(c, client, args[0])
		}),
	}
	c.Flags().StringVar(&f.q.To, "to", "", "`HARNESS` of the successor")
	c.Flags().StringVarP(&f.q.Name, "name", "n", "", "`NAME` of the successor (default: NAME with the harness)")
	c.Flags().StringVar(&f.q.Provider, "provider", "", "`ID` of the model's provider")
	c.Flags().StringVar(&f.q.Model, "model", "", "`MODEL`, or PROVIDER/MODEL (default: as for a new arm)")
	c.Flags().StringVar((*string)(&f.q.Fallback), "fallback", "",
		"`STRATEGY` if the model is not available: any, same-price, cheaper or none")
	c.Flags().StringVar((*string)(&f.q.PermissionMode), "permission-mode", "", "`MODE`: ask, edit, plan or all")
	verb.SandboxAgreementFlags(c, &f.q.YesWithoutSandbox, &f.q.Untested)
	c.Flags().BoolVar(&f.q.TrustWorkdir, "trust-workdir", false, "tell the agent CLI that you trust the folder")
	c.Flags().BoolVar(&f.q.Interrupt, "interrupt", false, "interrupt the arm's turn first, if it works")
	c.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "maximum wait until the successor is ready")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "return as soon as the process of the successor runs")
	return c
}

func (f *flags) run(c *cobra.Command, client *apiclient.Client, name string) error {
	if f.q.To == "" {
		return coleo.Errorf(coleo.EInvalid, "%s needs --to HARNESS: 'coleo harness list' lists them; nothing was done",
			c.CommandPath())
	}
	if f.q.TrustWorkdir {
		first, err := client.Arm(c.Context(), name)
		if err == nil {
			err = arm.SayTrust(c, client, wire.SpawnRequest{Harness: f.q.To, Workdir: first.Workdir}, "")
		}
		if err != nil {
			return err
		}
	}
	done, err := client.HandOver(c.Context(), name, f.q)
	if err != nil {
		return err
	}
	if done.To.Warning != "" {
		c.PrintErrln("coleo: note:", done.To.Warning)
	}
	if !f.noWait {
		ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
		defer cancel()
		// If the new arm is working, it has already received its first prompt.
		ready, err := client.WaitArm(ctx, done.To.Arm.ID, coleo.Idle, coleo.Processing, coleo.Executing,
			coleo.WaitingApproval, coleo.Failed)
		if err != nil {
			return notReady(done, err)
		}
		done.To.Arm = ready
	}
	return verb.Say(c, done.To.ModelChange.FirstLine()+text(done), done)
}

// notReady returns the error for a successor that is not ready in time. The message begins with what was done,
// because the user must not order the hand-over again. The error keeps the code of err.
func notReady(done wire.HandoverReply, err error) error {
	return coleo.Errorf(coleo.ErrorCode(err),
		"the task of %s was handed over to the arm %s, and %[1]s is paused, but %[2]s is not ready: %[3]v",
		done.From.Name, done.To.Arm.Name, err)
}

// text describes in one line what was done.
func text(done wire.HandoverReply) string {
	next := done.To.Arm
	line := fmt.Sprintf("Handed %s over: arm %s (%s, process %d, %s) has its task", done.From.Name, next.Name,
		next.Harness,
		next.PID, strings.ReplaceAll(string(next.State), "_", " "))
	if n := len(done.Moved); n > 0 {
		line += fmt.Sprintf(", and %d prompts of its queue", n)
	}
	line += fmt.Sprintf("; %s is paused", done.From.Name)
	if done.Interrupted {
		line += ", and its turn was interrupted"
	}
	return line
}
