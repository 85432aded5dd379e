package changes

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

// This file contains the verb arm merge.

const mergeHelp = `Merge the branch that is checked out in the arm's worktree into the branch from
which the worktree was made, or into another branch (--into). If the branch of
--into does not exist, it begins at the branch from which the worktree was made.

Without a flag, this makes a merge commit, even if git could fast-forward the
branch. So one revert undoes the arm's work. --squash makes one commit. --rebase
makes each commit again on top of the branch, with its author, date and message.

Nothing is merged if the arm has uncommitted work: --commit MESSAGE commits all of
it first, except the files that git ignores. Nothing is merged into a branch that is
checked out, because the files there would no longer match it. --update-checkout
updates these files too, if nothing is uncommitted there. Without this flag, your
files, your index and your stash are never touched. No hook runs.

If the arm works in several repositories, this merges one of them. --repo names it.
Without --repo, it is the only repository with changes.

If git finds conflicts, this changes nothing, lists them, and ends with exit code 5.
--ask-arm sends them to the arm as one prompt.`

// MergeCommand returns the verb "arm merge".
func MergeCommand() *cobra.Command {
	var w changes.MergeRequest
	var squash, rebase, ask bool
	c := &cobra.Command{
		Use:   "merge NAME",
		Short: "Merge the work of an arm into another branch",
		Long:  mergeHelp,
		Example: `  coleo arm merge fix --dry-run
  coleo arm merge fix --into develop --squash --message "fix the parser"
  coleo arm merge fix --commit "what was left" --ask-arm`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			switch {
			case squash:
				w.Way = changes.WaySquash
			case rebase:
				w.Way = changes.WayRebase
			}
			m, err := client.Merge(c.Context(), args[0], w, ask)
			if err != nil {
				return err
			}
			if err := verb.Say(c, mergedText(args[0], w, m, ask), m); err != nil || len(m.Conflicts) == 0 {
				return err
			}
			return verb.Exit(verb.ExitCode(coleo.EConflict))
		}),
	}
	f := c.Flags()
	f.BoolVar(&squash, "squash", false, "make one commit")
	f.BoolVar(&rebase, "rebase", false, "make each commit again on top of the branch")
	f.StringVar(&w.Repo, "repo", "", "`NAME` of the repository, if the arm works in several")
	f.StringVar(&w.Into, "into", "", "`BRANCH` that gets the work (default: the branch from which the worktree was made)")
	f.StringVar(&w.Commit, "commit", "", "commit uncommitted work first, with this `MESSAGE`")
	f.StringVar(&w.Message, "message", "", "`TEXT` for the merge commit or the squashed commit")
	f.BoolVar(&w.UpdateCheckout, "update-checkout", false,
		"if the branch is checked out in your folder without uncommitted work, update the files there too")
	f.BoolVar(&w.DryRun, "dry-run", false, "only print what would happen: commits, files, conflicts")
	f.BoolVar(&ask, "ask-arm", false, "send conflicts to the arm as one prompt")
	c.MarkFlagsMutuallyExclusive("squash", "rebase")
	c.MarkFlagsMutuallyExclusive("dry-run", "ask-arm")
	return c
}

// mergedText describes for people what a merge has done, or what it would do.
func mergedText(arm string, w changes.MergeRequest, m changes.Merged, ask bool) string {
	if len(m.Conflicts) > 0 {
		return conflictText(arm, w, m, ask)
	}
	branch, into := branchIn(m.Repo, m.Branch), printable.Escaped(m.Into)
	if m.Nothing && m.Before == "" {
		return fmt.Sprintf("%s has nothing new, so the branch %s was not made. Nothing was merged.", branch, into)
	}
	if m.Nothing {
		return fmt.Sprintf("The branch %s has all of %s already. Nothing was merged.", into, branch)
	}
	var lines []string
	added, deleted := changes.Sum(m.Files)
	about := fmt.Sprintf("%s, %s, %s added, %d deleted", verb.Counted(len(m.Commits), "commit"),
		verb.Counted(len(m.Files), "file"), verb.Counted(added, "line"), deleted)
	if !m.DryRun {
		lines = append(lines, fmt.Sprintf("Merged %s into %s (%s): %s", branch, into, m.Way, about))
		if m.Committed != "" {
			lines = append(lines, fmt.Sprintf("Uncommitted work was committed first: %s", shortID(m.Committed)))
		}
		from := "new branch"
		if m.Before != "" {
			from = shortID(m.Before)
		}
		lines = append(lines, fmt.Sprintf("%s: %s -> %s", into, from, shortID(m.After)))
		if m.Updated != "" {
			lines = append(lines, "The files in "+printable.Escaped(m.Updated)+" were updated.")
		}
		if m.Recovered != "" {
			lines = append(lines, "Note: "+printable.Escaped(m.Recovered)+".")
		}
		return strings.Join(lines, "\n")
	}
	lines = append(lines, fmt.Sprintf("%s can be merged into %s (%s): %s. Nothing was changed.", branch, into,
		m.Way, about))
	for _, c := range m.Commits {
		lines = append(lines, fmt.Sprintf("  commit %s %s", shortID(c.ID), printable.Escaped(c.Subject)))
	}
	for _, f := range m.Files {
		lines = append(lines, fmt.Sprintf("  %-8s  %s", f.Kind, changes.Show(f.Name())))
	}
	if m.Cut != "" {
		lines = append(lines, "not complete: "+m.Cut)
	}
	if m.CheckedOut != "" {
		lines = append(lines, fmt.Sprintf("But %s is checked out in %s, so the merge needs --update-checkout: "+
			"--into NEW puts the result on a new branch instead.",
			into, printable.Escaped(m.CheckedOut)))
	}
	return strings.Join(lines, "\n")
}

// branchIn returns the name of a branch for people. If the arm works in several repositories, the repository's
// name comes first.
func branchIn(repo, branch string) string {
	if repo != "" {
		branch = repo + ": " + branch
	}
	return printable.Escaped(branch)
}

func conflictText(arm string, w changes.MergeRequest, m changes.Merged, ask bool) string {
	lines := []string{fmt.Sprintf("%s cannot be merged into %s. Nothing was changed. In conflict:",
		branchIn(m.Repo, m.Branch), printable.Escaped(m.Into))}
	for _, c := range m.Conflicts {
		line := fmt.Sprintf("  %s: %s", changes.Show(c.Name()), printable.Escaped(c.Kind))
		if c.Commit != "" {
			line += ", in commit " + shortID(c.Commit)
		}
		lines = append(lines, line)
	}
	if m.Cut != "" {
		lines = append(lines, "not complete: "+m.Cut)
	}
	switch {
	case m.Asked != nil:
		lines = append(lines, fmt.Sprintf("The arm is asked to resolve them, by the prompt of run %s.", m.Asked.ID))
	case !ask:
		lines = append(lines, "To send them to the arm:  "+askCommand(arm, w, m))
	}
	return strings.Join(lines, "\n")
}

// askCommand returns the command that repeats the merge, and asks the arm to resolve the conflicts.
func askCommand(arm string, w changes.MergeRequest, m changes.Merged) string {
	words := []string{"coleo arm merge", arm}
	if w.Way == changes.WaySquash || w.Way == changes.WayRebase {
		words = append(words, "--"+string(w.Way))
	}
	for _, flag := range []struct{ name, value string }{
		{"--repo", m.Repo}, {"--into", w.Into}, {"--commit", w.Commit}, {"--message", w.Message},
	} {
		if flag.value != "" {
			words = append(words, flag.name, printable.ShellWord(flag.value))
		}
	}
	if w.UpdateCheckout || m.CheckedOut != "" {
		words = append(words, "--update-checkout")
	}
	return strings.Join(append(words, "--ask-arm"), " ")
}

// shortID returns the beginning of a commit's id.
func shortID(id string) string { return id[:min(len(id), 12)] }
