package apiclient

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// Threads lists the conversations that a filter selects, newest first. If the filter contains
// words, Threads searches for these words, and the best match comes first.
func (c *Client) Threads(ctx context.Context, f coleo.ThreadFilter) (coleo.ThreadList, error) {
	query := url.Values{}
	for name, value := range map[string]string{"project": f.Project, "harness": f.Harness, "prefix": f.Prefix,
		"q": f.Words, "arm": f.Arm} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if !f.Since.IsZero() {
		query.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if f.Hidden {
		query.Set("hidden", "true")
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	var out coleo.ThreadList
	err := c.callFor(ctx, lookTime, get, "/api/threads?"+query.Encode(), nil, &out)
	return out, err
}

// Thread returns one conversation with at most `limit` of its messages, beginning after the message with the
// number lastSeen. If `limit` is 0, Thread returns no messages. It returns ENotFound if there is no such
// conversation.
func (c *Client) Thread(ctx context.Context, harness, id string, lastSeen, limit int) (coleo.ThreadPage, error) {
	var out coleo.ThreadPage
	query := url.Values{"after": {strconv.Itoa(lastSeen)}, "limit": {strconv.Itoa(limit)}}
	err := c.callFor(ctx, lookTime, get, threadPath(harness, id)+"?"+query.Encode(), nil, &out)
	return out, err
}

// ThreadSummary returns a summary of a conversation, in a few lines. These lines are parts of the
// conversation's texts. ThreadSummary returns ENotFound if there is no such conversation.
func (c *Client) ThreadSummary(ctx context.Context, harness, id string) (coleo.ThreadSummary, error) {
	var out coleo.ThreadSummary
	err := c.callFor(ctx, lookTime, get, threadPath(harness, id)+"/summary", nil, &out)
	return out, err
}

// RenameThread gives a conversation a title. If the title is "", the conversation gets the agent
// CLI's own title.
func (c *Client) RenameThread(ctx context.Context, harness, id, title string) (coleo.Thread, error) {
	var out wire.ThreadReply
	err := c.callFor(ctx, lookTime, patch, threadPath(harness, id), wire.ThreadTitle{Title: title}, &out)
	return out.Thread, err
}

// DeleteThread hides a conversation and forgets its texts. If deleteFile is true, it also deletes
// the agent CLI's own file. It returns EThreadLocked if an arm has the conversation.
func (c *Client) DeleteThread(ctx context.Context, harness, id string, deleteFile bool) error {
	return c.callFor(ctx, lookTime, del, threadPath(harness, id)+"?file="+strconv.FormatBool(deleteFile), nil, nil)
}

// CloneThread starts an arm with a copy of a conversation.
func (c *Client) CloneThread(ctx context.Context, harness, id string, r wire.SpawnRequest) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, startTime, post, threadPath(harness, id)+"/clone", r, &out)
	return out, err
}

// ForkArm starts the arm r.Name with a copy of another arm's conversation. The new arm also gets
// the other arm's configuration, except for the values that r sets. ForkArm returns EUnsupported if
// the conversation cannot be copied, and EBusy while the other arm works. It returns ENotFound if
// the other arm has no conversation.
func (c *Client) ForkArm(ctx context.Context, arm string, r wire.SpawnRequest) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, startTime, post, armPath(arm, "/fork"), r, &out)
	return out, err
}

// HandOver gives the task of an arm to a new arm of another harness, its successor. If the arm
// works, HandOver returns EBusy. If a dialog of the arm is open, it returns EBlocked. If r asks to
// interrupt the turn, HandOver interrupts the turn instead of returning these errors. After an
// error, the arm keeps its task, but an interrupted turn does not continue.
func (c *Client) HandOver(ctx context.Context, arm string, r wire.HandoverRequest) (wire.HandoverReply, error) {
	var out wire.HandoverReply
	err := c.callFor(ctx, handoverTime, post, armPath(arm, "/handover"), r, &out)
	return out, err
}

// ArmThread returns the conversation of an arm. It returns ENotFound if the arm has no
// conversation.
func (c *Client) ArmThread(ctx context.Context, arm string) (coleo.Thread, error) {
	var out wire.ThreadReply
	err := c.callFor(ctx, lookTime, get, armPath(arm, "/thread"), nil, &out)
	return out.Thread, err
}

// SwitchThread starts an arm again with another conversation. It returns EThreadLocked if
// another arm has that conversation, and EBusy while the arm works.
func (c *Client) SwitchThread(ctx context.Context, arm, conversation string) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, startTime, post, armPath(arm, "/thread"), wire.ThreadSwitch{Conversation: conversation}, &out)
	return out, err
}

func threadPath(harness, id string) string {
	return "/api/threads/" + url.PathEscape(harness) + "/" + url.PathEscape(id)
}
