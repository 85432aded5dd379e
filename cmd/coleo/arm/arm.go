// Package arm contains the verbs of coleo arm.
package arm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/queue"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/terminal"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
	"coleo.dev/wire"
)

// Command returns the verb "arm" with the verbs below it.
func Command() *cobra.Command {
	c := verb.Group("arm", "Start, prompt, watch and stop arms")
	c.AddCommand(
		newSpawnCommand(), newListCommand(), newStatusCommand(), newPromptCommand(), newWaitCommand(),
		newDecideCommand("approve", "Approve what the arm asks in its open dialog", coleo.ChoiceApprove),
		newDecideCommand("deny", "Deny what the arm asks in its open dialog", coleo.ChoiceDeny),
		newAnswerCommand(), newQuestionsCommand(), newTodosCommand(), newInterruptCommand(), newCompactCommand(),
		newModeCommand(), newModelCommand(), newRecoverCommand(), newWatchCommand(),
		newExplainCommand(), newLastCommand(), newTranscriptCommand(), newUsageCommand(),
		newKillCommand(), newRemoveCommand(), newCleanupCommand(), newRenameCommand(), newLabelCommand(), newNamesCommand(),
	)
	c.AddCommand(queue.Commands()...)
	c.AddCommand(terminal.Commands()...)
	return c
}

// oneArmCommand returns a verb that takes the name of one arm and calls the given function. The
// verb prints the line that the function returns. With --json, it prints the function's result
// instead.
func oneArmCommand(
	use, short string,
	do func(c *cobra.Command, client *apiclient.Client, name string) (line string, result any, err error),
) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			line, result, err := do(c, client, args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, line, result)
		}),
	}
}

// These texts are parts of the help of verbs. Each text describes what a verb changes and what it
// leaves unchanged.
const (
	interruptHelp = `The agent CLI continues to run and takes the next prompt. On a screen that
matches no rule, nothing is pressed and the exit code is 10. Look at the
screen, then type by hand or kill the arm.`

	killHelp = `The arm's output, its variables and the work folder stay. 'coleo arm recover'
starts the arm again. 'coleo arm remove' forgets it. Its subarms continue to run, unless
you give --tree.`

	removeHelp = `This deletes the arm's folder below Coleo's state folder, with the terminal
output and the variables that you gave to the arm. It also deletes the
checkpoints of the arm's files. None of this can be restored. The work folder
and the agent CLI's own files in your home folder stay.

A worktree that Coleo has made for the arm is removed too. Coleo refuses while
the worktree has unsaved work: changed, untracked or ignored files, commits that
no other branch has, a stash, a merge in progress. With --force, Coleo first
keeps everything under a ref of the repository. 'coleo workspace restore NAME'
restores it. The branch stays if it has commits.`
)

func notStopped(arm coleo.Arm) bool { return arm.Status != coleo.StatusStopped }

func newInterruptCommand() *cobra.Command {
	return bulkCommand(bulk{name: "interrupt", short: "Stop the running turn", long: interruptHelp, appliesTo: notStopped,
		do: func(ctx context.Context, client *apiclient.Client, arm target) (string, any, error) {
			done, err := client.Interrupt(ctx, arm.id)
			return show.Interrupted(arm.name, done), interruptOutput{arm.name, done}, err
		}})
}

// interruptOutput is the JSON output of arm interrupt.
type interruptOutput struct {
	Name string `json:"interrupted"`
	coleo.Interruption
}

func newKillCommand() *cobra.Command {
	tree := false
	c := bulkCommand(bulk{name: "kill", short: "End the arm and every process that it has started", long: killHelp,
		appliesTo: notStopped,
		do: func(ctx context.Context, client *apiclient.Client, chosen target) (string, any, error) {
			before, err := client.Arm(ctx, chosen.id)
			if err != nil {
				return "", before, err
			}
			arm, err := client.Kill(ctx, before.ID)
			if err != nil {
				return "", arm, err
			}
			line, err := endSubarms(ctx, client, arm, tree)
			if notStopped(before) {
				return "Killed " + chosen.name + line, arm, err
			}
			return chosen.name + " had ended before" + line, arm, err
		}})
	c.Flags().BoolVar(&tree, "tree", false, "also end its subarms, and theirs")
	return c
}

// endSubarms is called after an arm has ended. If withSubarms is true, it ends all subarms of the arm. It
// returns a text for users with the names of the subarms that it has ended, or of the subarms that
// continue to run.
func endSubarms(ctx context.Context, client *apiclient.Client, parent coleo.Arm, withSubarms bool) (string, error) {
	all, err := client.Arms(ctx, true)
	if err != nil {
		return "", err
	}
	var names []string
	for _, arm := range subarmsOf(all, parent.ID) {
		if !notStopped(arm) {
			continue
		}
		if withSubarms {
			if _, err := client.Kill(ctx, arm.ID); err != nil {
				return "", err
			}
		}
		names = append(names, arm.Name)
	}
	switch {
	case len(names) == 0:
		return "", nil
	case withSubarms:
		return " and its subarms " + strings.Join(names, ", "), nil
	}
	return "; its subarms continue to run: " + strings.Join(names, ", ") + " (kill --tree ends them too)", nil
}

// subarmsOf returns the subarms of an arm, their subarms, and so on. The successor of an arm is not
// a subarm.
func subarmsOf(all []coleo.Arm, parent string) (out []coleo.Arm) {
	for _, arm := range all {
		if arm.ParentArmID == parent && arm.SpawnConfig().Succeeds == nil {
			out = append(append(out, arm), subarmsOf(all, arm.ID)...)
		}
	}
	return out
}

// remove returns the verb that removes arms. If *force is true, the verb first keeps the unsaved work of the
// arm's worktree under a git ref, and then removes the worktree.
func remove(force *bool) bulk {
	return bulk{name: "remove", short: "Forget a stopped arm and delete its output", long: removeHelp,
		appliesTo: func(coleo.Arm) bool { return true },
		do: func(ctx context.Context, client *apiclient.Client, arm target) (string, any, error) {
			gone, err := client.Remove(ctx, arm.id, *force)
			line := "Removed " + arm.name
			if gone.Dropped > 0 {
				line += ", with " + verb.Counted(gone.Dropped, "queued prompt")
			}
			if gone.Kept != "" {
				line += "; its work is kept: coleo workspace restore " + arm.name
			}
			for _, ref := range gone.KeptToo {
				line += "; its work in another repository is kept: coleo workspace restore " + printable.ShellWord(ref)
			}
			if gone.Stays != "" {
				line += "; the folder " + gone.Stays + " stays, because it has other files"
			}
			return line, removedArm{arm.name, gone}, err
		}}
}

func newRemoveCommand() *cobra.Command {
	force := false
	c := bulkCommand(remove(&force))
	c.Flags().BoolVar(&force, "force", false, "keep the unsaved work of its worktree under a ref, and remove it")
	return c
}

// removedArm is the JSON output of arm remove.
type removedArm struct {
	Name string `json:"removed"`
	wire.Removed
}

func newRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Rename an arm",
		Long: `Rename an arm. Its agent CLI continues its work.

The arm's host agent must be available. If the new name is taken, nothing is
renamed.`,
		Args: verb.Exactly(2, "the name of an arm and its new name"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			arm, err := client.Rename(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return verb.Say(c, "Renamed "+args[0]+" to "+arm.Name, arm)
		}),
	}
}

// sayWaiting shows on the terminal what the arm is doing, until the caller calls done.
func sayWaiting(c *cobra.Command, client *apiclient.Client, name string) (done func()) {
	return show.Waiting(c, func(ctx context.Context) string {
		arm, err := client.Arm(ctx, name)
		switch {
		case err != nil:
			return name + ": starting" // the arm does not exist yet
		case arm.State.Working() && (arm.Rule == "retrying" || arm.Rule == "reconnecting"):
			return name + ": " + arm.Rule
		}
		return name + ": " + needWord(arm)
	})
}

// timerSlack is how much earlier than waitArm serve can notice that the time of a wait is over, on a loaded machine.
const timerSlack = 100 * time.Millisecond

// waitArm waits until the arm is in one of the given states. After the time limit, it returns
// ETimeout.
func waitArm(ctx context.Context, client *apiclient.Client, name string, limit time.Duration,
	states ...coleo.State) (coleo.Arm, error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	name = lasting(bounded, client, name).id
	arm, err := client.WaitArm(bounded, name, states...)
	end, _ := bounded.Deadline()
	if coleo.ErrorCode(err) != coleo.ETimeout || time.Until(end) > timerSlack {
		return arm, err
	}
	now, lookErr := client.Arm(ctx, name)
	if lookErr != nil {
		return arm, err
	}
	return now, coleo.Errorf(coleo.ETimeout, "arm %s is still %s after %s", now.Name, stateWord(now),
		limit.Round(time.Millisecond))
}

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain why the arm is in its state",
		Long:  show.ExplainHelp,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			x, err := client.Explain(c.Context(), args[0])
			if err != nil {
				return err
			}
			return show.Explanation(c, x)
		}),
	}
}

func newUsageCommand() *cobra.Command {
	return oneArmCommand("usage", "Print the tokens of the conversation, as the agent CLI counts them",
		func(c *cobra.Command, client *apiclient.Client, arm string) (string, any, error) {
			u, err := client.Usage(c.Context(), arm)
			if err != nil {
				return "", nil, err
			}
			return usageLine(u), u, nil
		})
}

// usageLine returns the usage as one line of text for users.
func usageLine(u coleo.Usage) string {
	line := fmt.Sprintf("%d tokens: %d sent", u.Total(), u.Input)
	if u.Cached > 0 {
		line += fmt.Sprintf(" (%d from a cache)", u.Cached)
	}
	line += fmt.Sprintf(", %d received", u.Output)
	if u.Reasoning > 0 {
		line += fmt.Sprintf(" (%d of reasoning)", u.Reasoning)
	}
	if u.Cost > 0 {
		line += fmt.Sprintf("; $%.4f", u.Cost)
	}
	if u.Approximate {
		line = "about " + line
	}
	return line + ", from the " + u.Source
}

// spawnedLine returns a line that describes a new arm. If the arm shows a dialog, more
// lines describe the dialog.
func spawnedLine(arm coleo.Arm) string {
	line := fmt.Sprintf("Spawned arm: %s (%s, process %d, %s)", arm.Name, arm.Harness, arm.PID, arm.State)
	if w := arm.SpawnConfig().Worktree; w != nil && w.Path != "" {
		kind := "Worktree"
		if w.Clone {
			kind = "Clone"
		}
		line += fmt.Sprintf("\n%s: %s, branch %s", kind, w.Path, w.Branch)
	}
	if d := arm.Dialog; d != nil {
		line += fmt.Sprintf("\nIt asks: %s\nAnswer with: coleo arm approve %s, or deny", show.Indented(d.Title, 2),
			arm.Name)
	}
	return line
}
