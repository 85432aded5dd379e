package apiclient

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/cost"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

// Merge merges the work of an arm into another branch. If there are conflicts, Merge changes no
// branch, and the result contains the conflicts. If promptArm is true, Merge then sends the
// conflicts to the arm as one prompt. Merge returns EUnsupported if the arm has no worktree. It
// returns EConflict if the arm's uncommitted work or a checked-out branch prevents the merge.
func (c *Client) Merge(ctx context.Context, arm string, w changes.MergeRequest,
	promptArm bool) (changes.Merged, error) {
	var out changes.Merged
	body := wire.MergeBody{MergeRequest: w, AskArm: promptArm}
	err := c.callFor(ctx, mergeTime, post, armPath(arm, "/merge"), body, &out)
	return out, err
}

// Diff returns the changes that the arm has made in its folder. If `withCalls` is true, each hunk names the tool
// call of the arm that made the hunk. Diff returns EUnsupported if the folder is not in a git repository.
//
// The Mark of a diff changes whenever the diff changes. If w.Wait is above 0, Diff waits at most w.Wait until the
// Mark differs from w.Since.
func (c *Client) Diff(ctx context.Context, arm string, w changes.DiffRequest, withCalls bool) (changes.Diff, error) {
	query, route := url.Values{"path": w.Paths}, "/diff?"
	if w.Stat && w.Checkpoint == nil {
		route = "/files?"
	} else {
		query.Set("binary", strconv.FormatBool(w.Binary))
		query.Set("why", strconv.FormatBool(withCalls))
	}
	if w.Checkpoint != nil {
		query.Set("checkpoint", strconv.Itoa(*w.Checkpoint))
	}
	if w.Wait > 0 {
		query.Set("wait", w.Wait.String())
		query.Set("since", w.Since)
	}
	var out changes.Diff
	err := c.callFor(ctx, steerTime+w.Wait, get, armPath(arm, route+query.Encode()), nil, &out)
	return out, err
}

// Checkpoints returns the checkpoints of the arm's files, in order.
func (c *Client) Checkpoints(ctx context.Context, arm string) ([]changes.Checkpoint, error) {
	var out wire.CheckpointsReply
	err := c.callFor(ctx, steerTime, get, armPath(arm, "/checkpoints"), nil, &out)
	return out.Checkpoints, err
}

// Restore replaces the files in the arm's folder with the files of a checkpoint. It returns EBusy
// if an arm in the same repository could be changing files. It returns ENotFound if there is no
// such checkpoint.
func (c *Client) Restore(ctx context.Context, arm string, n int) (changes.Restored, error) {
	var out changes.Restored
	err := c.callFor(ctx, startTime, post, armPath(arm, "/restore"), wire.RestoreBody{Checkpoint: n}, &out)
	return out, err
}

// ScreenAt returns the arm's screen at the given time.
func (c *Client) ScreenAt(ctx context.Context, arm string, at time.Time) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, "/screen?at="+url.QueryEscape(at.UTC().Format(time.RFC3339Nano))), nil, &out)
	return out, err
}

// History returns the arm's present screen, or the last screen if the arm has ended. The result also contains
// the last lines that have scrolled off the top. There are at most `lines` of them, and `lines` can be at
// most coleo.MostHistory.
func (c *Client) History(ctx context.Context, arm string, lines int) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, fmt.Sprintf("/screen?history=%d", lines)), nil, &out)
	return out, err
}

// Record returns one piece of the recording of a generation of the arm. The piece begins at the
// given byte offset. Generation 0 means the newest generation. Offset 0 means the oldest part of
// the recording that is still kept.
func (c *Client) Record(ctx context.Context, arm string, generation int, offset int64) (coleo.Recording, error) {
	var out coleo.Recording
	err := c.call(ctx, get, armPath(arm, fmt.Sprintf("/recording?generation=%d&from=%d", generation, offset)), nil, &out)
	return out, err
}

// Graph returns the graph of a run.
func (c *Client) Graph(ctx context.Context, run string) (graph.Document, error) {
	var out graph.Document
	err := c.call(ctx, get, "/api/runs/"+url.PathEscape(run)+"/graph", nil, &out)
	return out, err
}

// Why returns the call that wrote a line of a file.
func (c *Client) Why(ctx context.Context, q wire.WhyQuestion) (graph.Answer, error) {
	var out graph.Answer
	asked := url.Values{"path": q.Paths, "line": {strconv.Itoa(q.Line)}, "text": {q.Text}}
	err := c.call(ctx, get, "/api/why?"+asked.Encode(), nil, &out)
	return out, err
}

// Cost returns what arms have cost since a given time, grouped by the given keys. If an arm is
// named, the report covers only that arm. If the time is zero, the report covers all time. Cost
// returns ENotFound if there is no such arm.
func (c *Client) Cost(ctx context.Context, arm string, by []cost.Key, since time.Time) (cost.Report, error) {
	q := url.Values{}
	for _, key := range by {
		q.Set("by", strings.TrimPrefix(q.Get("by")+","+string(key), ","))
	}
	if arm != "" {
		q.Set("arm", arm)
	}
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339))
	}
	var out cost.Report
	err := c.callFor(ctx, lookTime, get, "/api/cost?"+q.Encode(), nil, &out)
	return out, err
}
