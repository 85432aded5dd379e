package brain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/timelimit"
)

// The functions in this file pass requests about the changes, checkpoints and merges of an arm on to the
// arm's host.

const (
	// diffTimeout is the time limit for reading the changes in a repository. A large repository
	// needs this much time.
	diffTimeout = 60 * time.Second
	// restoreTimeout is the time limit for a restore. It includes a wait, because a restore does
	// not begin while the arm's agent CLI is being started or ended.
	restoreTimeout = 120 * time.Second
)

// Diff returns the changes that an arm has made in its folder. If withCalls is true, Diff also
// finds the tool call that made each hunk.
//
// Diff returns ENotFound if there is no such arm or checkpoint. It returns EUnsupported if the
// arm's folder is not in a git repository. It returns EExited if the arm has never run, and
// EUnavailable if the host agent cannot be asked.
func (b *Brain) Diff(ctx context.Context, idOrName string, w changes.DiffRequest,
	withCalls bool) (changes.Diff, error) {
	var d changes.Diff
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return d, err
	}
	o := bus.DiffOrder{Arm: arm.ID, Request: w}
	var data []byte
	for {
		var p bus.Piece
		if err := b.askAboutArm(ctx, arm, bus.OpDiff, diffTimeout+w.Wait, o, &p); err != nil {
			return d, err
		}
		data = append(data, p.Data...)
		if len(data) >= p.Total || len(p.Data) == 0 {
			break
		}
		o.ID, o.From = p.ID, len(data)
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return d, coleo.Errorf(coleo.EInternal, "read the diff of arm %s: %v", arm.Name, err)
	}
	if withCalls {
		err = b.ExplainHunks(ctx, arm, &d)
	}
	return d, err
}

// Checkpoints returns the checkpoints of an arm, oldest first. It returns the errors of Diff.
func (b *Brain) Checkpoints(ctx context.Context, idOrName string) ([]changes.Checkpoint, error) {
	var list []changes.Checkpoint
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	return list, b.askAboutArm(ctx, arm, bus.OpCheckpoints, diffTimeout, commands.OnArm(arm), &list)
}

// Restore replaces the files in the arm's folder with the files of a checkpoint. It returns EBusy
// if an arm in the same repository could be changing files. It also returns the errors of Diff.
func (b *Brain) Restore(ctx context.Context, idOrName string, n int) (changes.Restored, error) {
	var r changes.Restored
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return r, err
	}
	return r, b.askAboutArm(ctx, arm, bus.OpRestore, restoreTimeout, bus.RestoreOrder{Arm: arm.ID, N: n}, &r)
}

// Merge merges the work of an arm into another branch. If git finds conflicts, Merge changes no branch, and the
// result contains the conflicts. If `ask` is also true, Merge sends the conflicts to the arm as one prompt. The
// arm's log names `by` as the person or program that ordered the merge.
//
// Merge returns ENotFound if there is no such arm, and EUnsupported if the arm has no worktree. It returns
// EConflict if the arm's work or the branch prevents the merge. It returns EBusy if the request asks for a commit
// first while the arm could be changing files. If `ask` is true, Merge also returns the errors of Prompt.
func (b *Brain) Merge(ctx context.Context, idOrName string, w changes.MergeRequest, by string,
	ask bool) (changes.Merged, error) {
	var m changes.Merged
	err := b.OrderAndCatchUp(ctx, idOrName, bus.OpMerge, timelimit.Merge, func(arm coleo.Arm) any {
		return bus.MergeOrder{Arm: arm.ID, Request: w, By: by}
	}, &m)
	if err != nil || !ask || len(m.Conflicts) == 0 || w.DryRun {
		return m, err
	}
	r, err := b.Prompt(ctx, idOrName, coleo.Prompt{Text: changes.MergePrompt(m)}, "")
	if err != nil {
		return m, fmt.Errorf("nothing was merged, because there are %d conflicts; they could not be handed to the arm: %w",
			len(m.Conflicts), err)
	}
	m.Asked = &r
	return m, nil
}
