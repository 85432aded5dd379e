package changes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

// This file contains the verbs below arm checkpoint.

const restoreHelp = `Restore the files of a checkpoint, byte for byte, and delete the files that were
created since. To undo a turn, restore the checkpoint of the turn before it.

Files that git ignores are never deleted. The index, the branches, the commits and
the submodules stay as they are. So do files of more than 50 MB.

Coleo first makes a checkpoint of the present files. To undo the restore, restore
that checkpoint.

Nothing is restored while an arm in the same repository works, or may work.`

// CheckpointCommand returns the verb "arm checkpoint" with the verbs below it.
func CheckpointCommand() *cobra.Command {
	c := verb.Group("checkpoint", "List, compare and restore the files that were kept after each turn")
	c.Long = `After each turn that changed files, Coleo keeps all files of the arm's repository
that git does not ignore. A checkpoint is a commit below refs/coleo/checkpoints. No
branch contains it. Coleo never touches your index, stash or branches when it makes
a checkpoint.`
	c.AddCommand(newListCommand(), newCheckpointDiffCommand(), newRestoreCommand())
	return c
}

func newListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list NAME",
		Short: "List the checkpoints of an arm's files",
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			list, err := client.Checkpoints(c.Context(), args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, listText(list), list)
		}),
	}
}

func listText(list []changes.Checkpoint) string {
	if len(list) == 0 {
		return "No checkpoints. The first one is made when the arm starts in a git repository."
	}
	var lines []string
	for _, c := range list {
		line := fmt.Sprintf("%4d  %s  %s", c.N, c.Time.Local().Format(time.DateTime), c.Title())
		if c.Run != "" {
			line += ", run " + c.Run
		}
		if len(c.Left) > 0 {
			line += fmt.Sprintf(" (without %d files)", len(c.Left))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func newCheckpointDiffCommand() *cobra.Command {
	var w changes.DiffRequest
	c := &cobra.Command{
		Use:   "diff NAME [N]",
		Short: "Show what changed between a checkpoint and the checkpoint before it",
		Long: `Show what changed between a checkpoint and the checkpoint before it. Without a
number, this takes the newest checkpoint, and so shows what the last turn changed.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm, and optionally a number", c.CommandPath())
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			n, err := checkpointNumber(c, client, args)
			if err != nil {
				return err
			}
			w.Checkpoint = &n
			d, err := client.Diff(c.Context(), args[0], w, false)
			if err != nil {
				return err
			}
			return printDiff(c, args[0], d, w.Stat, false)
		}),
	}
	c.Flags().BoolVar(&w.Stat, "stat", false, "list the files only")
	c.Flags().BoolVar(&w.Binary, "binary", false, "put binary files into the patch")
	return c
}

// checkpointNumber returns the number of the checkpoint in the arguments. If the arguments contain
// no number, it returns the number of the newest checkpoint.
func checkpointNumber(c *cobra.Command, client *apiclient.Client, args []string) (int, error) {
	if len(args) == 2 {
		return parse(args[1])
	}
	list, err := client.Checkpoints(c.Context(), args[0])
	if err == nil && len(list) == 0 {
		err = coleo.Errorf(coleo.ENotFound, "arm %s has no checkpoints", args[0])
	}
	if err != nil {
		return 0, err
	}
	return list[len(list)-1].N, nil
}

func parse(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, coleo.Errorf(coleo.EInvalid, "%q is not the number of a checkpoint: 'coleo arm checkpoint list' shows them",
			text)
	}
	return n, nil
}

func newRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "restore NAME N",
		Short:   "Restore the files of a checkpoint",
		Long:    restoreHelp,
		Example: "  coleo arm checkpoint restore fix 3",
		Args:    verb.Exactly(2, "the name of an arm and the number of a checkpoint"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			n, err := parse(args[1])
			if err != nil {
				return err
			}
			r, err := client.Restore(c.Context(), args[0], n)
			if err != nil {
				return err
			}
			return verb.Say(c, restoredText(args[0], r), r)
		}),
	}
}

func restoredText(arm string, r changes.Restored) string {
	lines := []string{fmt.Sprintf("Checkpoint %d is restored: %s written, %d deleted.",
		r.N, verb.Counted(len(r.Written), "file"), len(r.Deleted))}
	for _, l := range r.Left {
		lines = append(lines, fmt.Sprintf("  not restored: %s: %s", changes.Show(l.Name()), printable.Escaped(l.Why)))
	}
	return strings.Join(append(lines, fmt.Sprintf("To undo this: coleo arm checkpoint restore %s %d", arm, r.Before)),
		"\n")
}
