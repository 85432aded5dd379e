package apiclient

import (
	"context"
	"net/url"
	"strconv"

	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// Triggers returns the schedules and webhooks.
func (c *Client) Triggers(ctx context.Context) (out wire.Triggers, err error) {
	err = c.call(ctx, get, "/api/triggers", nil, &out)
	return out, err
}

// AddTrigger creates a schedule or a webhook. The reply for a webhook contains the webhook's
// secret.
func (c *Client) AddTrigger(ctx context.Context, q wire.TriggerRequest) (out wire.NewTrigger, err error) {
	err = c.call(ctx, post, "/api/triggers", q, &out)
	return out, err
}

// RemoveTrigger removes a schedule or a webhook.
func (c *Client) RemoveTrigger(ctx context.Context, name string) error {
	return c.call(ctx, del, "/api/triggers/"+url.PathEscape(name), nil, nil)
}

// RunTrigger starts an arm of a schedule before the schedule is due. It returns when the run of the
// trigger is stored, even if the arm has not started yet.
func (c *Client) RunTrigger(ctx context.Context, name string) (out trigger.Entry, err error) {
	err = c.call(ctx, post, "/api/triggers/"+url.PathEscape(name)+"/run", nil, &out)
	return out, err
}

// TriggerHistory returns the newest entries of a trigger, newest first. If the name is empty, it
// returns entries of all triggers. If beforeID is not 0, it returns only entries with lower ids.
func (c *Client) TriggerHistory(ctx context.Context, name string, beforeID int64, limit int) ([]trigger.Entry, error) {
	q := url.Values{"trigger": {name}, "before": {strconv.FormatInt(beforeID, 10)}, "limit": {strconv.Itoa(limit)}}
	var out wire.TriggerHistoryReply
	err := c.call(ctx, get, "/api/triggers/history?"+q.Encode(), nil, &out)
	return out.History, err
}
