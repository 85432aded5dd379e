package apiclient

import (
	"context"
	"net/url"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/wire"
)

// Queue returns the queue of an arm. It returns EUnsupported if the host agent is too old to keep a
// queue.
func (c *Client) Queue(ctx context.Context, arm string) (coleo.Queue, error) {
	r, err := c.queue(ctx, get, armPath(arm, "/queue"), nil)
	return r.Queue, err
}

// FollowUp adds a prompt to the queue of an arm. It returns when the prompt is on the disk. The ID
// of the report becomes the id of the prompt's run.
func (c *Client) FollowUp(ctx context.Context, arm, text string, files []string) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/followup"), wire.FollowUpBody{Prompt: text, Files: files})
}

// FollowUpOnce does the same as FollowUp, with an id that the caller has chosen with rand.Text. If
// the arm has or has had a prompt with this id, the call changes nothing. FollowUpOnce returns the
// id of the prompt, which is also the id of the prompt's run. An older host agent ignores the given
// id and chooses another. FollowUpOnce returns EConflict if the prompt has left the queue without a
// run.
func (c *Client) FollowUpOnce(ctx context.Context, arm, id, text string) (coleo.QueueReport, error) {
	body := wire.AddBody{FollowUpBody: wire.FollowUpBody{Prompt: text}, ID: id}
	return c.queue(ctx, post, armPath(arm, "/followup"), body)
}

// EditQueued changes an entry of the queue. It returns ENotFound if there is no such entry, and
// EBusy if the entry is being sent now.
func (c *Client) EditQueued(ctx context.Context, arm, entry, text string, files []string) (coleo.QueueReport, error) {
	body := wire.FollowUpBody{Prompt: text, Files: files}
	return c.queue(ctx, patch, armPath(arm, "/queue/"+url.PathEscape(entry)), body)
}

// RemoveQueued removes an entry from the queue. It returns the errors of EditQueued.
func (c *Client) RemoveQueued(ctx context.Context, arm, entry string) (coleo.QueueReport, error) {
	return c.queue(ctx, del, armPath(arm, "/queue/"+url.PathEscape(entry)), nil)
}

// MoveQueued moves an entry of the queue to a new position, counted from 1. It returns the errors
// of EditQueued.
func (c *Client) MoveQueued(ctx context.Context, arm, entry string, to int) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/queue/move"), wire.MoveBody{Entry: entry, To: to})
}

// PauseArm pauses the queue of an arm. No entry of the queue is sent until ResumeArm is called.
func (c *Client) PauseArm(ctx context.Context, arm, why string) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/pause"), wire.PauseBody{Why: why})
}

// ResumeArm ends the pause of an arm's queue.
func (c *Client) ResumeArm(ctx context.Context, arm string) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/resume"), nil)
}

// UnparkArm makes a parked arm, which waits at a limit of its model, continue now. If `dropTurn` is true, the arm
// drops the turn that met the limit, and Coleo resumes sending the prompts of the arm's queue. UnparkArm returns
// EConflict if the arm is not parked.
func (c *Client) UnparkArm(ctx context.Context, arm string, dropTurn bool) (coleo.QueueReport, error) {
	return c.queue(ctx, post, armPath(arm, "/unpark"), wire.UnparkBody{Cancel: dropTurn})
}

// OnLimit changes what an arm does at a limit of its model, and returns the resulting setting. If
// newValue is "", OnLimit only returns the present setting. It returns EInvalid or EUnsupported if
// the list contains an alternative that the arm can never use.
func (c *Client) OnLimit(ctx context.Context, arm string, newValue coleo.OnLimit) (coleo.OnLimitReport, error) {
	var out coleo.OnLimitReport
	if newValue == "" {
		return out, c.call(ctx, get, armPath(arm, "/on-limit"), nil, &out)
	}
	body := wire.OnLimitBody{OnLimit: newValue}
	return out, c.callFor(ctx, lookTime, post, armPath(arm, "/on-limit"), body, &out)
}

func (c *Client) queue(ctx context.Context, method, path string, in any) (coleo.QueueReport, error) {
	var out coleo.QueueReport
	err := c.call(ctx, method, path, in, &out)
	return out, err
}

// Steer sends a prompt at once, even during a turn. It returns how the prompt reached the agent
// CLI. If a dialog is open, Steer returns EBlocked. It also returns the errors of Prompt.
func (c *Client) Steer(ctx context.Context, arm string, p coleo.Prompt) (coleo.Steering, error) {
	var out wire.SteerReply
	err := c.callFor(ctx, promptTime(p.Text)+steerTime, post, armPath(arm, "/steer"),
		wire.SteerBody{Prompt: p.Text, Interrupt: p.Interrupt, Files: p.Files}, &out)
	return out.Steering, notDelivered(err)
}

// Abort stops the running turn and waits until the turn has stopped. If the queue is not empty,
// Abort also pauses the queue.
func (c *Client) Abort(ctx context.Context, arm string) (coleo.Aborted, error) {
	var out wire.AbortReply
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/abort"), nil, &out)
	return out.Aborted, err
}

// Comments returns the unsent comments on the arm's changes.
func (c *Client) Comments(ctx context.Context, arm string) ([]changes.Comment, error) {
	var out wire.CommentsReply
	err := c.call(ctx, get, armPath(arm, "/comments"), nil, &out)
	return out.Comments, err
}

// Comment stores a new comment, and returns all comments.
func (c *Client) Comment(ctx context.Context, arm string, one changes.Comment) ([]changes.Comment, error) {
	var out wire.CommentsReply
	body := wire.CommentBody{Path: one.Path, Line: one.Line, Text: one.Text}
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/comments"), body, &out)
	return out.Comments, err
}

// DropComments deletes the unsent comments, and returns the deleted comments.
func (c *Client) DropComments(ctx context.Context, arm string) ([]changes.Comment, error) {
	var out wire.CommentsReply
	err := c.callFor(ctx, steerTime, del, armPath(arm, "/comments"), nil, &out)
	return out.Comments, err
}

// SendComments sends all comments to the arm as one prompt. If this fails, all comments are kept.
func (c *Client) SendComments(ctx context.Context, arm string) (changes.Sent, error) {
	var out changes.Sent
	most := strings.Repeat("x", changes.MaxCommentPrompt)
	err := c.callFor(ctx, promptTime(most), post, armPath(arm, "/comments/send"), nil, &out)
	return out, err
}
