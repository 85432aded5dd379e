// Package workspace contains the verbs of coleo workspace, about the git worktrees of arms on this machine.
// These verbs need neither serve nor a host agent.
package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/paths"
	"coleo.dev/printable"
	"coleo.dev/workspace"
	"coleo.dev/workspace/merge"
)

// Command returns the verb "workspace".
func Command() *cobra.Command {
	c := verb.Group("workspace", "List, remove and restore the git worktrees of arms")
	c.AddCommand(newListCommand(), newPruneCommand(), newRemoveCommand(), newKeptCommand(), newRestoreCommand(),
		newTrustCommand(), newGuardCommand())
	return c
}

// listedWorkspace is a worktree in the output of workspace list.
type listedWorkspace struct {
	workspace.Workspace
	HasArm  bool               `json:"has_arm"`
	Unsaved *workspace.Unsaved `json:"unsaved,omitempty"`
	Error   string             `json:"error,omitempty"`
}

func newListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the worktrees and the unsaved work in them",
		Long: `List the git worktrees that Coleo has made for arms on this machine, and the unsaved
work in each of them. Coleo runs git without the configuration that an arm could have
written.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			all, err := list(c.Context(), s)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"workspaces": all})
			}
			return printList(c, all)
		},
	}
}

func list(ctx context.Context, s setup.Setup) ([]listedWorkspace, error) {
	trees := worktrees.Of(s)
	all, err := trees.List()
	if err != nil {
		return nil, err
	}
	out := make([]listedWorkspace, 0, len(all))
	for _, w := range all {
		l := listedWorkspace{Workspace: w, HasArm: hasArm(s, w.ArmID())}
		if w.Status == workspace.Ready {
			u, err := trees.Unsaved(ctx, w)
			if l.Unsaved = &u; err != nil {
				l.Unsaved, l.Error = nil, err.Error()
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// hasArm reports whether there is an arm with the given id. It checks for the arm's folder, which exists from
// before the arm's start until the arm is removed.
func hasArm(s setup.Setup, id string) bool {
	_, err := os.Lstat(filepath.Join(s.ArmFolders(), id))
	return err == nil
}

// armUsing returns the name of the arm to which the worktree belongs. If that arm is gone, armUsing
// returns the name of any running or stopped arm whose work folder is in the worktree. If there is no such arm,
// armUsing returns "".
func armUsing(s setup.Setup, w workspace.Workspace) string {
	if hasArm(s, w.ArmID()) {
		return w.Name
	}
	folder := cmp.Or(w.Top, w.Path)
	files, _ := filepath.Glob(filepath.Join(paths.Quote(s.ArmFolders()), "*", "arm.json"))
	for _, file := range files {
		var kept struct {
			Record struct {
				Name   string
				Handle *coleo.Handle
			}
		}
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &kept) != nil || kept.Record.Handle == nil {
			continue
		}
		if paths.Within(folder, kept.Record.Handle.Workdir) {
			return kept.Record.Name
		}
	}
	return ""
}

func printList(c *cobra.Command, all []listedWorkspace) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "No worktrees. 'coleo arm spawn --worktree' makes one.")
		return err
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ARM\tSTATUS\tBRANCH\tFOLDER\tUNSAVED")
	for _, l := range all {
		name, unsaved := l.Name, l.Error
		if !l.HasArm {
			name += " (removed)"
		}
		if l.Unsaved != nil {
			if unsaved = l.Unsaved.String(); unsaved == "" {
				unsaved = "nothing"
			}
		}
		branch := l.Branch
		if l.Clone {
			branch += " (clone)"
		}
		printRow(w, name, string(l.Status), branch, l.Path, unsaved)
	}
	return w.Flush()
}

// printRow prints a row of a table. It escapes the cells, because they can contain names of branches and refs,
// which an arm chooses.
func printRow(w io.Writer, cells ...string) {
	for n, cell := range cells {
		cells[n] = printable.Escaped(cell)
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

func newPruneCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prune",
		Short: "Tidy up after killed processes, and remove worktrees without an arm",
		Long: `Finish or undo what a kill has interrupted: making, removing or restoring a worktree,
and the update of your files by 'coleo arm merge --update-checkout'. Then remove the
worktrees whose arm is gone, unless they contain unsaved work. All other worktrees
stay, and this prints why.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := preparedSetup()
			if err != nil {
				return err
			}
			merges, err := merge.Recover(c.Context(), worktrees.Of(s))
			if err != nil {
				return err
			}
			done, err := worktrees.Of(s).Prune(c.Context(), func(w workspace.Workspace) bool { return armUsing(s, w) != "" })
			if err != nil {
				return err
			}
			return verb.Say(c, prunedLines(done, merges), map[string]any{"pruned": done, "merges": merges})
		},
	}
}

func prunedLines(done []workspace.Pruned, merges []merge.Recovered) string {
	if len(done)+len(merges) == 0 {
		return "Nothing to prune."
	}
	var lines []string
	for _, m := range merges {
		switch {
		case m.Left != "":
			lines = append(lines, "Left: "+m.Left)
		case m.Text != "":
			lines = append(lines, "Ended what was interrupted: "+m.Text)
		default:
			lines = append(lines, "A merge that updated "+m.Folder+" was interrupted at its end: nothing had to be restored")
		}
	}
	for _, p := range done {
		line := "Removed the worktree of " + p.Workspace.Name + ": " + p.Workspace.Path
		switch {
		case p.Left != "":
			line = "Left: " + p.Left + "; 'coleo workspace remove " + p.Workspace.Name + " --force' does that"
		case p.Mended:
			line = fmt.Sprintf("Ended what was interrupted (%s): %s", p.Workspace.Status, p.Workspace.Path)
		}
		lines = append(lines, line)
	}
	return verb.Shown(strings.Join(lines, "\n"))
}

// preparedSetup returns the setup for a verb that changes worktrees. Inside an arm, it returns an error,
// because these verbs do not work there.
func preparedSetup() (setup.Setup, error) {
	s, err := setup.New()
	if err == nil {
		err = s.Prepare()
	}
	return s, err
}

func newRemoveCommand() *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a worktree whose arm is gone",
		Long: `Remove the worktree of an arm that was already removed, by the arm's name or id. If
the arm still exists, use 'coleo arm remove', which removes both. This refuses while
the worktree contains unsaved work. --force first keeps everything under a ref of the
repository.`,
		Args: verb.Exactly(1, "the name of a worktree's arm"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := preparedSetup()
			if err != nil {
				return err
			}
			w, err := worktrees.Of(s).Workspace(args[0])
			if err != nil {
				return err
			}
			if name := armUsing(s, w); name != "" {
				return coleo.Errorf(coleo.EConflict, "the arm %s works in the worktree: nothing was removed; "+
					"use 'coleo arm remove %s' first", name, name)
			}
			done, err := worktrees.Of(s).Remove(c.Context(), w.ID, force)
			if err != nil {
				return err
			}
			return verb.Say(c, removedText(w.Name, done), done)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "keep the unsaved work under a ref, and remove it")
	return c
}

// removedText describes for people what was removed and what was kept.
func removedText(arm string, done workspace.Removal) string {
	var lines []string
	for n, one := range append([]workspace.Removal{done}, done.With...) {
		line := "Removed " + one.Workspace.Path
		if one.Kept != "" {
			name := arm
			if n > 0 {
				name = printable.ShellWord(one.Kept)
			}
			line += "; its work is kept: coleo workspace restore " + name
		}
		lines = append(lines, line)
	}
	if done.Stays != "" {
		lines = append(lines, done.Stays+" stays, because it has other files.")
	}
	return verb.Shown(strings.Join(lines, "\n"))
}

func newKeptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kept",
		Short: "List the worktrees that --force has kept under a ref",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			all, err := worktrees.Of(s).Kept(c.Context())
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"kept": all})
			}
			return printKept(c, all)
		},
	}
}

func printKept(c *cobra.Command, all []workspace.Kept) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "Nothing is kept.")
		return err
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ARM\tKEPT AT\tREPOSITORY\tREF")
	for _, k := range all {
		printRow(w, k.Name, k.Time.Local().Format(time.DateTime), k.Common, k.Ref)
	}
	return w.Flush()
}

func newRestoreCommand() *cobra.Command {
	path := ""
	c := &cobra.Command{
		Use:   "restore NAME",
		Short: "Restore a kept worktree, byte for byte",
		Long: `Restore a worktree that 'coleo arm remove --force' has kept: all files with their
permissions, symbolic links, staged changes, a merge in progress. NAME is the name of
the arm, which means the work that was kept last, or a ref of 'coleo workspace kept'.
If the arm had several repositories, the name means the first of them, and this prints
how to restore the others. --path then names the folder into which all of them go.

The branch is checked out if it is still at the same commit and not checked out
elsewhere. Otherwise, the commit is checked out without a branch. The ref stays until
you delete it: git update-ref -d REF.`,
		Args: verb.Exactly(1, "the name of an arm, or a ref"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := preparedSetup()
			if err != nil {
				return err
			}
			k, others, err := findKept(c.Context(), worktrees.Of(s), args[0])
			if err != nil {
				return err
			}
			done, err := worktrees.Of(s).Restore(c.Context(), k, path)
			if err != nil {
				return err
			}
			line := "Restored " + done.Workspace.Path
			if done.Detached != "" {
				line += "\nNo branch is checked out: " + done.Detached
			}
			more := ""
			if path != "" {
				more = "--path " + printable.ShellWord(cmp.Or(done.Workspace.Top, path)) + " "
			}
			for _, other := range others {
				line += "\nKept together with it, from " + printable.Escaped(other.Common) + ": coleo workspace restore " + more +
					printable.ShellWord(other.Ref)
			}
			return verb.Say(c, verb.Shown(line), restoreOutput{done, others})
		},
	}
	c.Flags().StringVar(&path, "path", "",
		"`FOLDER` to restore it to; with several repositories, the folder above them (default: where it was)")
	return c
}

// restoreOutput is the JSON output of workspace restore.
type restoreOutput struct {
	workspace.Restored
	// the other worktrees that were kept at the same time, and were not restored yet
	Others []workspace.Kept `json:"others,omitempty"`
}

// findKept returns the kept worktree that the user has named. `name` is one of two things:
//   - the name of an arm: k is the arm's newest kept worktree or, if the arm had several repositories, the newest one
//     of the first repository
//   - a git ref: k is the worktree that was kept under this ref
//
// `others` contains the worktrees that were kept at the same time as k and are not restored yet.
func findKept(ctx context.Context, trees workspace.Workspaces, name string) (k workspace.Kept, others []workspace.Kept,
	err error) {
	all, err := trees.Kept(ctx)
	if err != nil {
		return k, nil, err
	}
	for n := len(all) - 1; n >= 0; n-- {
		if all[n].Name != name && all[n].Ref != name {
			continue
		}
		together := workspace.Together(all, all[n])
		if k = all[n]; k.Ref != name && len(together) > 1 {
			k = together[0]
		}
		return k, slices.DeleteFunc(together, func(one workspace.Kept) bool {
			there, known, err := trees.OfKept(ctx, one)
			return one == k || err == nil && known && there.Status == workspace.Ready
		}), nil
	}
	return k, nil, coleo.Errorf(coleo.ENotFound,
		"no work of an arm called %q is "+
			"kept: 'coleo workspace kept' lists the kept work", name)
}
