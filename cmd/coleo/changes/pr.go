package changes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/printable"
	"coleo.dev/workspace"
	"coleo.dev/workspace/pull"
)

// This file contains the verb arm pr, which opens a pull request.

const pullHelp = `Push the branch of the arm's worktree to the remote, and make a pull request for it
(GitHub) or a merge request (GitLab). If the branch already has an open request,
this only pushes.

The program gh or glab makes the request, with your own login. So run this on the
machine of the worktree, as the user who is logged in there. No hook of git runs.

Nothing is pushed if the arm has uncommitted work: --commit MESSAGE commits all of it
first, except the files that git ignores. A push never overwrites commits.`

// PullCommand returns the verb "arm pr".
func PullCommand() *cobra.Command {
	var w pull.OpenOptions
	var commit, repo string
	c := &cobra.Command{
		Use:   "pr NAME",
		Short: "Push the branch of an arm and make a pull request for it",
		Long:  pullHelp,
		Example: `  coleo arm pr fix
  coleo arm pr fix --title "fix the parser" --base develop --draft
  coleo arm pr fix --commit "what was left"`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			trees, tree, err := worktreeOf(c.Context(), client, args[0], repo)
			if err != nil {
				return err
			}
			if commit != "" {
				if _, err := client.Merge(c.Context(), args[0], changes.MergeRequest{Way: changes.WayCommit, Commit: commit,
					Repo: tree.Repo}, false); err != nil {
					return fmt.Errorf("nothing was pushed, because the work could not be committed: %w", err)
				}
			}
			o, err := pull.Open(c.Context(), trees, tree, w)
			if err != nil {
				return err
			}
			return verb.Say(c, openedText(o, w.Base), o)
		}),
	}
	f := c.Flags()
	f.StringVar(&w.Title, "title", "", "`TEXT` of the title (default: the commit, or the name of the branch)")
	f.StringVar(&w.Body, "body", "", "`TEXT` of the description (default: the commits)")
	f.StringVar(&w.Base, "base", "",
		"`BRANCH` into which the work would be merged (default: the branch from which the worktree was made)")
	f.BoolVar(&w.Draft, "draft", false, "make a draft")
	f.StringVar(&repo, "repo", "", repoHelp)
	f.StringVar(&commit, "commit", "", "commit uncommitted work first, with this `MESSAGE`")
	return c
}

const repoHelp = "`NAME` of the repository, if the arm works in several"

// worktreeOf returns an arm's worktree in the given repository, and the worktrees of this machine:
// see workspace.Workspaces.Choose. It returns EUnsupported if the arm has no worktree on this
// machine.
func worktreeOf(ctx context.Context, client *apiclient.Client, name, repo string) (trees workspace.Workspaces,
	tree workspace.Workspace, err error) {
	arm, err := client.Arm(ctx, name)
	if err != nil {
		return trees, tree, err
	}
	s, err := setup.New()
	if err != nil {
		return trees, tree, err
	}
	trees = worktrees.Of(s)
	tree, found, err := trees.Choose(ctx, arm.ID, repo)
	if err == nil && !found {
		err = coleo.Errorf(coleo.EUnsupported, "arm %s has no worktree on this machine: nothing was pushed; its host is %s, "+
			"and 'coleo arm spawn --worktree' gives an arm a worktree", arm.Name, arm.Host)
	}
	return trees, tree, err
}

func openedText(o pull.Opened, base string) string {
	text := fmt.Sprintf("Pushed %s: %s\n", printable.Escaped(o.Branch), printable.Escaped(o.Push))
	word := "The pull request exists already, and now has the new commits: "
	if o.Made {
		word = fmt.Sprintf("Made pull request %d into %s: ", o.Number, printable.Escaped(o.Base))
	}
	text += word + printable.Escaped(o.URL)
	if !o.Made && base != "" && base != o.Base {
		text += fmt.Sprintf("\nIt still merges into %s: change that on its page.", printable.Escaped(o.Base))
	}
	return text
}
