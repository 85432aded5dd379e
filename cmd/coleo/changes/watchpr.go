package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/printable"
	"coleo.dev/wire"
	"coleo.dev/workspace/pull"
)

// This file contains the verb arm watch-pr, which sends failed checks and comments to the arm.

const watchHelp = `Watch the pull request that 'coleo arm pr' has made on GitHub. Failed checks, with
the end of their logs, and new comments go to the arm as one prompt, through its
queue. The arm gets each of them once, even if this verb is killed or runs again.

The prompt quotes the comments as data, because people on the Internet can write them.
Only comments of authors with write access count (owner, member, collaborator):
--all-authors adds the others. The arm commits its repairs, and 'coleo arm pr'
pushes them.

This ends with a line when the pull request is merged or closed, when all checks are
green and the arm has received all comments, or when the tries are used up. The exit code
is 1 if it was closed without a merge, or if the tries are used up.`

// minEvery is the shortest time that a user may choose between two checks of the pull request.
const minEvery = time.Second

// WatchCommand returns the verb "arm watch-pr".
func WatchCommand() *cobra.Command {
	var w pull.Watch
	var repo string
	c := &cobra.Command{
		Use:   "watch-pr NAME",
		Short: "Send failed checks and review comments of a pull request to its arm",
		Long:  watchHelp,
		Example: `  coleo arm watch-pr fix
  coleo arm watch-pr fix --tries 1 --every 1m`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if w.Tries < 1 || w.Every < minEvery {
				return coleo.Errorf(coleo.EInvalid, "--tries is at least 1, and --every at least %v", minEvery)
			}
			if repo == "" {
				var err error
				if repo, err = pushedRepo(c.Context(), client, args[0]); err != nil {
					return err
				}
			}
			trees, tree, err := worktreeOf(c.Context(), client, args[0], repo)
			if err != nil {
				return err
			}
			w.Arm = queueOfArm{client, tree.ArmID()}
			w.Tell = func(line string) { fmt.Fprintln(c.ErrOrStderr(), printable.Escaped(line)) }
			out, err := pull.Follow(c.Context(), trees, tree, w)
			if err != nil {
				return err
			}
			if err := verb.Say(c, watchedText(args[0], tree.Repo, out), out); err != nil {
				return err
			}
			if out.End == pull.EndClosed || out.End == pull.EndTries {
				return verb.Exit(1)
			}
			return nil
		}),
	}
	f := c.Flags()
	f.StringVar(&repo, "repo", "", repoHelp)
	f.IntVar(&w.Tries, "tries", pull.DefaultTries, "send at most `N` prompts")
	f.DurationVar(&w.Every, "every", pull.DefaultEvery, "`TIME` between two checks; it grows while nothing changes")
	f.BoolVar(&w.AllAuthors, "all-authors", false, "also send comments of authors without write access")
	return c
}

// pushedRepo returns the name of the arm's only repository with a pull request. If the arm works in one
// repository, the name is "". pushedRepo returns EConflict if several repositories have a pull request.
func pushedRepo(ctx context.Context, client *apiclient.Client, name string) (string, error) {
	arm, err := client.Arm(ctx, name)
	if err != nil {
		return "", err
	}
	s, err := setup.New()
	if err != nil {
		return "", err
	}
	all, err := worktrees.Of(s).Group(arm.ID)
	if err != nil {
		return "", err
	}
	var pushed []string
	for _, w := range all {
		if r, ok, err := pull.Read(s.Workspaces(), w.ID); err == nil && ok && r.Number > 0 && w.Repo != "" {
			pushed = append(pushed, w.Repo)
		}
	}
	switch len(pushed) {
	case 0:
		return "", nil
	case 1:
		return pushed[0], nil
	}
	return "", coleo.Errorf(coleo.EConflict, "arm %s has pull requests of several repositories, %s: nothing was watched; "+
		"name one with --repo NAME", arm.Name, strings.Join(pushed, " and "))
}

// watchedText describes for people how a watch has ended. repo is "" if the arm works in one repository.
func watchedText(arm, repo string, w pull.Watched) string {
	if repo != "" {
		arm += " --repo " + printable.ShellWord(repo)
	}
	sent := fmt.Sprintf("%d prompts with %d failed checks and comments were sent.", w.Rounds, w.Items)
	text := map[pull.End]string{
		pull.EndMerged: "is merged. ",
		pull.EndClosed: "is closed without a merge. ",
		pull.EndGreen:  "is green, and the arm has received all comments. ",
		pull.EndTries: fmt.Sprintf("has %d failed checks and comments that the arm has not received, and all tries are "+
			"used up: 'coleo arm watch-pr %s' continues. ", w.Left, arm),
	}[w.End]
	return fmt.Sprintf("The pull request %d %s%s\n%s", w.Number, text, sent, printable.Escaped(w.URL))
}

// queueOfArm implements pull.Arm with the queue of an arm.
type queueOfArm struct {
	client *apiclient.Client
	arm    string
}

// Send implements pull.Arm. It sends nothing if the arm has already received the prompt. It finds
// this out from a run with the prompt's id, or from the event that added the prompt to the queue.
func (q queueOfArm) Send(ctx context.Context, id, text string) (string, error) {
	if _, err := q.client.Run(ctx, id); err == nil || coleo.ErrorCode(err) != coleo.ENotFound {
		return id, err
	}
	f := wire.EventFilter{Arm: q.arm, Kinds: []coleo.EventKind{coleo.EventQueue}}
	for {
		events, next, err := q.client.Events(ctx, f)
		if err != nil {
			return "", err
		}
		for _, e := range events {
			var c coleo.QueueChange
			if json.Unmarshal(e.Payload, &c) == nil && c.ID == id {
				return id, nil
			}
		}
		if len(events) == 0 {
			break
		}
		f.After = next
	}
	r, err := q.client.FollowUpOnce(ctx, q.arm, id, text)
	return r.ID, err
}

// Busy implements pull.Arm. It checks the queue first and then the runs. A prompt moves from the queue to
// its run, so in this order Busy cannot miss it.
func (q queueOfArm) Busy(ctx context.Context, id string) (bool, error) {
	queue, err := q.client.Queue(ctx, q.arm)
	if err != nil || slices.ContainsFunc(queue.Entries, func(e coleo.Queued) bool { return e.ID == id }) {
		return true, err
	}
	arm, err := q.client.Arm(ctx, q.arm)
	if err != nil || arm.Queue != nil && arm.Queue.Sending == id {
		return true, err
	}
	run, err := q.client.Run(ctx, id)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return false, nil // no run has begun, so the prompt was removed or lost
	}
	return run.Open, err
}
