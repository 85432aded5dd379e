package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/wire"
	"coleo.dev/workspace"
)

// This file contains the verb fan-out keep, which keeps one arm and removes the others.

const keepHelp = `Keep one arm of a fan-out, and remove the others with their worktrees.

Nothing is removed while one of the others works or asks something, or while its
worktree has unsaved work: changed, untracked or ignored files, commits, a stash. With
--force, Coleo ends the others, and first keeps their work under a ref of the
repository (refs/coleo/kept). 'coleo workspace restore ARM' restores it. The arm that
you keep, its worktree and its subarms stay as they are. So do the arms from which it
has got the task by a hand-over, or to which it has given the task.`

// armRemoval is the result of the removal of one arm.
type armRemoval struct {
	Arm     string       `json:"arm"`
	Removed bool         `json:"removed"`
	Error   *coleo.Error `json:"error,omitempty"`
	left
}

// left says what a removal has dropped, kept and left. The JSON contains its fields beside the fields of armRemoval.
type left = wire.Removed

// result says in words what the removal has done.
func (r armRemoval) result() string {
	if r.Error != nil {
		return oneLine(r.Error)
	}
	parts := []string{"nothing was unsaved"}
	if r.Kept != "" {
		parts[0] = "its work is kept: coleo workspace restore " + r.Arm
	}
	for _, ref := range r.KeptToo {
		parts = append(parts, "its work in another repository is kept: coleo workspace restore "+ref)
	}
	if r.Dropped > 0 {
		were := "were"
		if r.Dropped == 1 {
			were = "was"
		}
		parts = append(parts, verb.Counted(r.Dropped, "queued prompt")+" "+were+" dropped")
	}
	if r.Stays != "" {
		parts = append(parts, r.Stays+" stays, because it has other files")
	}
	return strings.Join(parts, "; ")
}

func newKeepCommand() *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "keep ID ARM",
		Short: "Keep one arm of a fan-out, and remove the others with their worktrees",
		Long:  keepHelp,
		Args:  verb.Exactly(2, "the id of a fan-out, and the arm to keep"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			heads, all, err := membersOf(c.Context(), client, args[0])
			if err != nil {
				return err
			}
			at := slices.IndexFunc(heads, func(a coleo.Arm) bool { return a.Name == args[1] || a.ID == args[1] })
			if at < 0 {
				return coleo.Errorf(coleo.ENotFound, "%s is not an arm of the fan-out %s: nothing was removed", args[1], args[0])
			}
			s, err := setup.New()
			if err != nil {
				return err
			}
			k := othersRemoval{client: client, trees: worktrees.Of(s), keptArm: heads[at], force: force}
			k.choose(all)
			if err := k.check(c.Context()); err != nil && !force {
				return err
			}
			return k.print(c, k.removeAll(c.Context()))
		}),
	}
	c.Flags().BoolVar(&force, "force", false, "end the others, and keep their unsaved work under a ref")
	return c
}

// othersRemoval removes all arms of a fan-out except one.
type othersRemoval struct {
	client  *apiclient.Client
	trees   workspace.Workspaces
	keptArm coleo.Arm
	others  []coleo.Arm // the arms to remove; those without their own worktree come first
	force   bool
}

// choose selects the arms to remove: all arms except the kept arm, its subarms, and the arms before and after it in
// hand-overs. The arm before the kept arm may own the worktree in which the kept arm works. choose puts arms without
// their own worktree first, because such an arm may work in another arm's worktree.
func (k *othersRemoval) choose(all []coleo.Arm) {
	byID := map[string]coleo.Arm{}
	for _, arm := range all {
		byID[arm.ID] = arm
	}
	firstOf := func(arm coleo.Arm) string {
		for range all { // the bound ends the loop even if the parents form a circle
			parent, known := byID[arm.ParentArmID]
			if !known {
				break
			}
			arm = parent
		}
		return arm.ID
	}
	for _, arm := range all {
		if firstOf(arm) != firstOf(k.keptArm) {
			k.others = append(k.others, arm)
		}
	}
	slices.SortStableFunc(k.others, func(a, b coleo.Arm) int {
		if own := rank(a) - rank(b); own != 0 {
			return own
		}
		return strings.Compare(a.Name, b.Name)
	})
}

func rank(arm coleo.Arm) int {
	if worktreeOf(arm) == nil {
		return 0
	}
	return 1
}

// check returns EConflict if one of the arms is working, shows a question, or has unsaved work. The
// error names all these arms.
func (k *othersRemoval) check(ctx context.Context) error {
	var why []string
	for _, arm := range k.others {
		if busy := busyWord(arm); busy != "" {
			why = append(why, arm.Name+" "+busy)
			continue
		}
		w, known, err := k.trees.Of(arm.ID)
		if err == nil && !known {
			continue
		}
		var unsaved workspace.Unsaved
		if err == nil {
			unsaved, err = k.trees.Unsaved(ctx, w)
		}
		switch {
		case err != nil:
			why = append(why, fmt.Sprintf("the worktree of %s cannot be read: %s", arm.Name, oneLine(err)))
		case !unsaved.Empty():
			why = append(why, fmt.Sprintf("%s has %s", arm.Name, unsaved))
		}
	}
	if len(why) == 0 {
		return nil
	}
	return coleo.Errorf(coleo.EConflict,
		"nothing was removed: %s; --force ends these arms and keeps their work under a ref",
		strings.Join(why, "; "))
}

// busyWord says what an arm does that a removal would cut off. It returns "" for an arm that does nothing.
func busyWord(arm coleo.Arm) string {
	need, _ := arm.Need()
	switch {
	case need == coleo.NeedEnded:
	case arm.State == coleo.WaitingApproval || len(arm.Suspensions) > 0:
		return "asks something"
	case arm.State.Working() || arm.State == coleo.Initializing:
		return "is working"
	}
	return ""
}

// end ends an arm. Without force, it first looks at the arm again: while check read the worktrees, the arm may have
// begun a turn. In that case, it returns EConflict.
func (k *othersRemoval) end(ctx context.Context, arm coleo.Arm) error {
	if !k.force {
		now, err := k.client.Arm(ctx, arm.ID)
		if err != nil {
			return err
		}
		if busy := busyWord(now); busy != "" {
			return coleo.Errorf(coleo.EConflict, "it %s now, so it was not ended; --force ends it", busy)
		}
	}
	_, err := k.client.Kill(ctx, arm.ID)
	return err
}

// removeAll first ends all arms in k.others, and then removes them.
func (k *othersRemoval) removeAll(ctx context.Context) []armRemoval {
	out := make([]armRemoval, len(k.others))
	fail := func(i int, err error) bool {
		if err != nil && !errors.As(err, &out[i].Error) {
			out[i].Error = coleo.Errorf(coleo.EInternal, "%v", err)
		}
		return err != nil
	}
	for i, arm := range k.others {
		out[i].Arm = arm.Name
		if arm.Status != coleo.StatusStopped {
			fail(i, k.end(ctx, arm))
		}
	}
	for i, arm := range k.others {
		if out[i].Error != nil {
			continue
		}
		gone, err := k.client.Remove(ctx, arm.ID, k.force)
		if !fail(i, err) {
			out[i].Removed, out[i].left = true, gone
		}
	}
	return out
}

func (k *othersRemoval) print(c *cobra.Command, list []armRemoval) error {
	code := 0
	for _, r := range list {
		if r.Error != nil {
			code = verb.ExitCode(r.Error.Code)
		}
	}
	var err error
	if verb.WantsJSON(c) {
		err = verb.PrintJSON(c, map[string]any{"kept": k.keptArm.Name, "others": list})
	} else {
		err = k.printText(c, list)
	}
	if err == nil && code != 0 {
		err = verb.Exit(code)
	}
	return err
}

func (k *othersRemoval) printText(c *cobra.Command, list []armRemoval) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ARM\tREMOVED\tRESULT")
	for _, r := range list {
		word := "yes"
		if r.Error != nil {
			word = "no"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Arm, word, r.result())
	}
	place, next := k.keptArm.Workdir, ""
	if own := worktreeOf(k.keptArm); own != nil {
		place = fmt.Sprintf("%s, on the branch %s", k.keptArm.Workdir, verb.Shown(own.Branch))
		next = fmt.Sprintf("See whether its work can be merged with: coleo arm merge %s --commit MESSAGE --dry-run\n",
			k.keptArm.Name)
	}
	fmt.Fprintf(w, "%s\tkept\t%s\n", k.keptArm.Name, place)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(c.OutOrStdout(), next)
	return err
}
