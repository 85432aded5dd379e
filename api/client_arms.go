package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/api/signin"
)

// Arms lists the arms; without all, those that nobody drives are left out.
func (c *Client) Arms(ctx context.Context, all bool) ([]coleo.Arm, error) {
	var out armsReply
	err := c.call(ctx, get, "/api/arms?includeAll="+strconv.FormatBool(all), nil, &out)
	return out.Arms, err
}

// Arm returns the arm with that id or name.
func (c *Client) Arm(ctx context.Context, arm string) (coleo.Arm, error) {
	var out armReply
	err := c.call(ctx, get, armPath(arm, ""), nil, &out)
	return out.Arm, err
}

// Create makes and starts a new arm, which must have a name. Error: EConflict
// when there is one of that name.
func (c *Client) Create(ctx context.Context, r coleo.SpawnRequest) (coleo.SpawnReply, error) {
	var out coleo.SpawnReply
	err := c.callFor(ctx, startTime, post, "/api/arms", r, &out)
	return out, err
}

// Spawn starts the arm called r.Name, which is made when it is missing.
func (c *Client) Spawn(ctx context.Context, r coleo.SpawnRequest) (coleo.SpawnReply, error) {
	var out coleo.SpawnReply
	err := c.callFor(ctx, startTime, post, armPath(r.Name, "/spawn"), r, &out)
	return out, err
}

// Recover brings an arm back.
func (c *Client) Recover(ctx context.Context, arm string, r coleo.RecoverRequest) (coleo.SpawnReply, error) {
	var out coleo.SpawnReply
	err := c.callFor(ctx, startTime, post, armPath(arm, "/recover"), r, &out)
	return out, err
}

// Kill ends an arm's agent CLI and all that it started.
func (c *Client) Kill(ctx context.Context, arm string) (coleo.Arm, error) {
	var out killReply
	err := c.callFor(ctx, killTime, post, armPath(arm, "/kill"), nil, &out)
	return out.Arm, err
}

// Rename gives an arm another name. Error: EConflict when another arm has it.
func (c *Client) Rename(ctx context.Context, arm, name string) (coleo.Arm, error) {
	var out armReply
	err := c.callFor(ctx, lookTime, post, armPath(arm, "/rename"), renameBody{Name: name}, &out)
	return out.Arm, err
}

// Remove forgets a stopped arm.
func (c *Client) Remove(ctx context.Context, arm string) error {
	return c.callFor(ctx, killTime, del, armPath(arm, ""), nil, nil)
}

// Prompt sends a prompt and returns when it has verifiably been taken. The
// receipt's ID is the run that it started.
func (c *Client) Prompt(ctx context.Context, arm string, p coleo.Prompt, lease string) (coleo.Receipt, error) {
	var out promptReply
	err := c.callFor(ctx, promptTime(p.Text), post, armPath(arm, "/prompt"), promptBody{Prompt: p.Text, Interrupt: p.Interrupt, Lease: lease}, &out)
	return out.Receipt, kept(err)
}

// Respond answers the dialog with that fingerprint; with none, the one that is
// open.
func (c *Client) Respond(ctx context.Context, arm string, dialog coleo.Fingerprint, d coleo.Decision, lease string) error {
	in := respondBody{Dialog: dialog, Choice: d.Choice, Option: d.Option, Words: d.Words, Lease: lease}
	return c.callFor(ctx, steerTime, post, armPath(arm, "/respond"), in, nil)
}

// Interrupt stops the running turn, and returns when it has stopped.
func (c *Client) Interrupt(ctx context.Context, arm string) error {
	return c.callFor(ctx, steerTime, post, armPath(arm, "/interrupt"), nil, nil)
}

// Lease takes, renews or gives back the right to type by hand.
func (c *Client) Lease(ctx context.Context, arm string, r coleo.LeaseRequest) (coleo.Lease, error) {
	var out leaseReply
	err := c.call(ctx, post, armPath(arm, "/lease"), r, &out)
	return out.Lease, err
}

// Input types raw keys under a lease.
func (c *Client) Input(ctx context.Context, arm, lease string, data []byte) error {
	return c.call(ctx, post, armPath(arm, "/input"), inputBody{Lease: lease, Data: data}, nil)
}

// Resize gives the terminal another size under a lease, in cells.
func (c *Client) Resize(ctx context.Context, arm, lease string, cols, rows int) error {
	return c.call(ctx, post, armPath(arm, "/resize"), resizeBody{Lease: lease, Cols: cols, Rows: rows}, nil)
}

// Explain says why an arm's state is what it is.
func (c *Client) Explain(ctx context.Context, arm string) (coleo.Explanation, error) {
	var out coleo.Explanation
	err := c.call(ctx, get, armPath(arm, "/explain"), nil, &out)
	return out, err
}

// LastRun returns the run that the arm has ended last. Error: ENotFound.
func (c *Client) LastRun(ctx context.Context, arm string) (coleo.LastRun, error) {
	var out coleo.LastRun
	err := c.call(ctx, get, armPath(arm, "/last"), nil, &out)
	return out, err
}

// Usage returns what an arm's conversation has taken so far.
func (c *Client) Usage(ctx context.Context, arm string) (coleo.Usage, error) {
	var out coleo.Usage
	err := c.call(ctx, get, armPath(arm, "/usage"), nil, &out)
	return out, err
}

// Screen returns what the arm's terminal shows.
func (c *Client) Screen(ctx context.Context, arm string) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, "/screen"), nil, &out)
	return out, err
}

// Output returns terminal output from an offset on, below 0 counted from the
// end. It waits up to wait for some.
func (c *Client) Output(ctx context.Context, arm string, from int64, wait time.Duration) (coleo.Output, error) {
	var out coleo.Output
	err := c.callFor(ctx, wait+lookTime, get, armPath(arm, fmt.Sprintf("/output?from=%d&wait=%s", from, wait)), nil, &out)
	return out, err
}

// WaitArm returns the arm as soon as its state is one of those. Error:
// ETimeout when ctx ends first.
func (c *Client) WaitArm(ctx context.Context, arm string, states ...coleo.State) (coleo.Arm, error) {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return poll(ctx, func(timeout time.Duration) (coleo.Arm, error) {
		var out armReply
		err := c.callFor(ctx, timeout+answerMargin, get, armPath(arm, fmt.Sprintf("/wait?state=%s&timeout=%s", strings.Join(names, ","), timeout)), nil, &out)
		return out.Arm, err
	})
}

// WaitRun returns a run's end. Error: ETimeout when ctx ends first.
func (c *Client) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	return poll(ctx, func(timeout time.Duration) (coleo.RunEnd, error) {
		var out endReply
		err := c.callFor(ctx, timeout+answerMargin, get, fmt.Sprintf("/api/runs/%s/end?timeout=%s", url.PathEscape(run), timeout), nil, &out)
		return out.End, err
	})
}

// Events returns a page of an arm's or a run's events, and the cursor for the
// next page. A page of large events is shorter than its limit: only an empty one
// is the end.
func (c *Client) Events(ctx context.Context, f coleo.EventFilter) ([]coleo.Event, string, error) {
	path := armPath(f.Arm, "/events")
	if f.Run != "" {
		path = "/api/runs/" + url.PathEscape(f.Run) + "/events"
	}
	query := url.Values{}
	if f.After != "" {
		query.Set("after", f.After)
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	var out eventsReply
	err := c.call(ctx, get, path+"?"+query.Encode(), nil, &out)
	return out.Events, out.Next, err
}

// Hosts lists the host agents.
func (c *Client) Hosts(ctx context.Context) ([]coleo.HostInfo, error) {
	var out hostsReply
	err := c.call(ctx, get, "/api/agents", nil, &out)
	return out.Agents, err
}

// Harnesses lists the harnesses.
func (c *Client) Harnesses(ctx context.Context) ([]coleo.Info, error) {
	var out harnessesReply
	err := c.call(ctx, get, "/api/harnesses", nil, &out)
	return out.Harnesses, err
}

// Providers returns the catalogue of models, as the published route has it.
func (c *Client) Providers(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, get, providersPath, nil, &out)
	return out, err
}

// Health returns the server's version. It needs no token.
func (c *Client) Health(ctx context.Context) (version string, err error) {
	var out healthReply
	err = c.call(ctx, get, "/api/health", nil, &out)
	return out.Version, err
}

// Status returns a summary of everything.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var out Status
	err := c.call(ctx, get, "/api/status", nil, &out)
	return out, err
}

// Audits returns who gave which command, the newest first.
func (c *Client) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	query := url.Values{}
	if f.Arm != "" {
		query.Set("arm", f.Arm)
	}
	if f.Before > 0 {
		query.Set("before", strconv.FormatInt(f.Before, 10))
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	var out auditReply
	err := c.call(ctx, get, "/api/audit?"+query.Encode(), nil, &out)
	return out.Commands, err
}

// What follows works through the server's socket alone.

// NewLink makes a link that signs one browser in.
func (c *Client) NewLink(ctx context.Context) (Link, error) {
	var out Link
	err := c.call(ctx, post, "/api/browsers/links", nil, &out)
	return out, err
}

// Browsers returns the browsers that are signed in.
func (c *Client) Browsers(ctx context.Context) ([]signin.Browser, error) {
	var out browsersReply
	err := c.call(ctx, get, "/api/browsers", nil, &out)
	return out.Browsers, err
}

// SignOut signs one browser out. Error: ENotFound.
func (c *Client) SignOut(ctx context.Context, id string) error {
	return c.call(ctx, del, "/api/browsers/"+url.PathEscape(id), nil, nil)
}

// SignOutAll signs all browsers out, and returns how many that were.
func (c *Client) SignOutAll(ctx context.Context) (int, error) {
	var out signedOut
	err := c.call(ctx, del, "/api/browsers", nil, &out)
	return out.SignedOut, err
}

// ReplaceToken has the server draw another API token, and returns the name by
// which the token is told in logs. The former one is worth nothing at once.
func (c *Client) ReplaceToken(ctx context.Context) (string, error) {
	var out tokenReply
	err := c.call(ctx, post, "/api/token", nil, &out)
	return out.Fingerprint, err
}
