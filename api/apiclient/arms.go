package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/display"
	"coleo.dev/wire"
)

// Arms returns the arms. Unless withIdle is true, Arms leaves out idle arms of the harness "manual"
// that have no task.
func (c *Client) Arms(ctx context.Context, withIdle bool) ([]coleo.Arm, error) {
	var out wire.ArmsReply
	err := c.call(ctx, get, "/api/arms?includeAll="+strconv.FormatBool(withIdle), nil, &out)
	return out.Arms, err
}

// Arm returns the arm with the given id or name. It returns ENotFound if there is no
// such arm.
func (c *Client) Arm(ctx context.Context, arm string) (coleo.Arm, error) {
	var out wire.ArmReply
	err := c.call(ctx, get, armPath(arm, ""), nil, &out)
	return out.Arm, err
}

// Create creates a new arm with the name r.Name and starts it. r.Name must be set.
// Create returns EConflict if another arm has this name.
func (c *Client) Create(ctx context.Context, r wire.SpawnRequest) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, spawnTime(r), post, "/api/arms", r, &out)
	return out, err
}

// Spawn starts the arm with the name r.Name. If there is no such arm, Spawn creates it.
// Spawn returns EConflict if the arm is running.
func (c *Client) Spawn(ctx context.Context, r wire.SpawnRequest) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, spawnTime(r), post, armPath(r.Name, "/spawn"), r, &out)
	return out, err
}

// Recover attaches to the session of an arm again, or starts the arm again. It returns
// the errors of Brain.Recover, for example EUnavailable if neither was possible.
func (c *Client) Recover(ctx context.Context, arm string, r wire.RecoverRequest) (wire.SpawnReply, error) {
	var out wire.SpawnReply
	err := c.callFor(ctx, startTime, post, armPath(arm, "/recover"), r, &out)
	return out, err
}

// Kill ends an arm's agent CLI and all processes that it started.
func (c *Client) Kill(ctx context.Context, arm string) (coleo.Arm, error) {
	var out wire.KillReply
	err := c.callFor(ctx, killTime, post, armPath(arm, "/kill"), nil, &out)
	return out.Arm, err
}

// Rename changes the name of an arm. It returns EConflict if another arm has the new
// name.
func (c *Client) Rename(ctx context.Context, arm, name string) (coleo.Arm, error) {
	var out wire.ArmReply
	err := c.callFor(ctx, lookTime, post, armPath(arm, "/rename"), wire.RenameBody{Name: name}, &out)
	return out.Arm, err
}

// Memo returns the memo of an arm, which is a JSON value that is kept with the arm. SetMemo
// replaces the memo, and PatchMemo changes a part of it by the rules of JSON Merge Patch (RFC
// 7396). Both return the new memo. If the result does not fit the memo's schema, both return
// EInvalid and do not change the memo.
func (c *Client) Memo(ctx context.Context, arm string) (wire.Memo, error) {
	var out wire.Memo
	err := c.call(ctx, get, armPath(arm, "/memo"), nil, &out)
	return out, err
}

// SetMemo is described at Memo.
func (c *Client) SetMemo(ctx context.Context, arm string, value json.RawMessage) (wire.Memo, error) {
	var out wire.Memo
	err := c.call(ctx, put, armPath(arm, "/memo"), wire.MemoBody{Value: value}, &out)
	return out, err
}

// PatchMemo is described at Memo.
func (c *Client) PatchMemo(ctx context.Context, arm string, change json.RawMessage) (wire.Memo, error) {
	var out wire.Memo
	err := c.call(ctx, patch, armPath(arm, "/memo"), wire.MemoPatch{Merge: change}, &out)
	return out, err
}

// Remove deletes a stopped arm. It returns EConflict if the arm is running. If forced is false,
// Remove also returns EConflict if the arm's worktree contains unsaved work. If forced is true,
// Remove keeps the unsaved work under a git ref.
func (c *Client) Remove(ctx context.Context, arm string, forced bool) (wire.Removed, error) {
	var out wire.DeleteReply
	path := armPath(arm, "")
	if forced {
		path += "?force=true"
	}
	err := c.callFor(ctx, removeTime, del, path, nil, &out)
	return out.Removed, err
}

// Explain returns the evidence for an arm's state.
func (c *Client) Explain(ctx context.Context, arm string) (coleo.Explanation, error) {
	var out coleo.Explanation
	err := c.call(ctx, get, armPath(arm, "/explain"), nil, &out)
	return out, err
}

// LastRun returns the newest ended run of the arm. It returns ENotFound if no run of
// the arm has ended.
func (c *Client) LastRun(ctx context.Context, arm string) (wire.LastRun, error) {
	var out wire.LastRun
	err := c.call(ctx, get, armPath(arm, "/last"), nil, &out)
	return out, err
}

// Usage returns how many tokens an arm's conversation has used so far. It returns EUnsupported if
// the harness does not count tokens.
func (c *Client) Usage(ctx context.Context, arm string) (coleo.Usage, error) {
	var out coleo.Usage
	err := c.call(ctx, get, armPath(arm, "/usage"), nil, &out)
	return out, err
}

// Display returns a snapshot that shows people what the arm is doing.
func (c *Client) Display(ctx context.Context, arm string) (display.Snapshot, error) {
	var out display.Snapshot
	err := c.call(ctx, get, armPath(arm, "/display"), nil, &out)
	return out, err
}

// Screen returns the present screen of the arm.
func (c *Client) Screen(ctx context.Context, arm string) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, "/screen"), nil, &out)
	return out, err
}

// Output returns a piece of terminal output, which begins at the given byte offset. A negative
// offset counts from the end of the output. If there is no output at the offset yet, Output waits
// at most maxWait for new output.
func (c *Client) Output(ctx context.Context, arm string, offset int64, maxWait time.Duration) (coleo.Output, error) {
	var out coleo.Output
	path := armPath(arm, fmt.Sprintf("/output?from=%d&wait=%s", offset, maxWait))
	err := c.callFor(ctx, maxWait+lookTime, get, path, nil, &out)
	return out, err
}

// WaitArm waits until the arm is in one of the states, and returns the arm. If ctx ends
// first, WaitArm returns ETimeout or ctx's error.
func (c *Client) WaitArm(ctx context.Context, arm string, states ...coleo.State) (coleo.Arm, error) {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return poll(ctx, func(timeout time.Duration) (coleo.Arm, error) {
		var out wire.ArmReply
		err := c.callFor(ctx, timeout+answerMargin, get,
			armPath(arm, fmt.Sprintf("/wait?state=%s&timeout=%s", strings.Join(names, ","), timeout)), nil, &out)
		return out.Arm, err
	})
}

// WaitRun waits until a run has ended, and returns the end of the run. If ctx ends
// first, WaitRun returns ETimeout or ctx's error.
func (c *Client) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	return poll(ctx, func(timeout time.Duration) (coleo.RunEnd, error) {
		var out wire.EndReply
		err := c.callFor(ctx, timeout+answerMargin, get, fmt.Sprintf("/api/runs/%s/end?timeout=%s", url.PathEscape(run),
			timeout), nil, &out)
		return out.End, err
	})
}

// Hosts returns the host agents.
func (c *Client) Hosts(ctx context.Context) ([]coleo.HostInfo, error) {
	var out wire.HostsReply
	err := c.call(ctx, get, "/api/agents", nil, &out)
	return out.Agents, err
}

// Harnesses returns the descriptions of all harnesses.
func (c *Client) Harnesses(ctx context.Context) ([]coleo.Info, error) {
	var out wire.HarnessesReply
	err := c.call(ctx, get, "/api/harnesses", nil, &out)
	return out.Harnesses, err
}

// Providers returns the catalogue of models as JSON. The JSON is the unchanged body of the server's
// answer.
func (c *Client) Providers(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, get, "/api/opencode/providers", nil, &out)
	return out, err
}

// Models returns the models, with the number of arms that use each model. It also returns the agent
// CLIs to which a user is logged in.
func (c *Client) Models(ctx context.Context) (wire.Models, error) {
	var out wire.Models
	err := c.callFor(ctx, startTime, get, "/api/models", nil, &out)
	return out, err
}

// Health returns the version of the server. It needs no token.
func (c *Client) Health(ctx context.Context) (version string, err error) {
	var out wire.HealthReply
	err = c.call(ctx, get, "/api/health", nil, &out)
	return out.Version, err
}

// Status returns a summary of the arms and host agents.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	var out wire.Status
	err := c.call(ctx, get, "/api/status", nil, &out)
	return out, err
}

// Audits returns the records of the commands that match a filter, newest first. Each record says
// who gave the command.
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
	var out wire.AuditReply
	err := c.call(ctx, get, "/api/audit?"+query.Encode(), nil, &out)
	return out.Commands, err
}

// Suspensions returns everything that the arm waits for. Without the name of an arm, it returns
// everything that any arm waits for.
func (c *Client) Suspensions(ctx context.Context, arm string) ([]coleo.Suspension, error) {
	var out wire.SuspensionsReply
	err := c.call(ctx, get, "/api/suspensions?arm="+url.QueryEscape(arm), nil, &out)
	return out.Suspensions, err
}

// AnswerSuspension answers a suspension of an arm. Without an id, exactly one suspension must be
// open. If several suspensions are open, AnswerSuspension returns EConflict with the list of
// suspensions. If arm is "", AnswerSuspension finds the suspension by its id alone.
func (c *Client) AnswerSuspension(ctx context.Context, arm, id string, d coleo.Decision) (coleo.Suspension, error) {
	var out wire.SuspensionReply
	in := wire.SuspensionBody{ID: id, Decision: d.Choice, Option: d.Option, Options: d.Options, Text: d.Words}
	if d.Choice == coleo.ChoiceAnswer {
		in.Decision = ""
	}
	path := armPath(arm, "/suspension")
	if arm == "" {
		path = "/api/suspensions/" + url.PathEscape(id)
	}
	err := c.callFor(ctx, steerTime, post, path, in, &out)
	return out.Suspension, err
}

// Tasks returns the tasks that the arm's model has written with Coleo's tools.
func (c *Client) Tasks(ctx context.Context, arm string) ([]coleo.Task, error) {
	var out wire.TasksReply
	err := c.call(ctx, get, armPath(arm, "/tasks"), nil, &out)
	return out.Tasks, err
}

// Label changes the labels of an arm, and returns the arm. Only a person can change labels: if the client has
// a token, Label returns EForbidden. It returns EInvalid for a bad label.
func (c *Client) Label(ctx context.Context, arm string, change coleo.LabelChange) (coleo.Arm, error) {
	var out wire.ArmReply
	err := c.callFor(ctx, lookTime, post, armPath(arm, "/labels"), change, &out)
	return out.Arm, err
}

// Budget sets the budget of an arm if the order contains a budget, and returns all budgets of the
// arm. Only a person can set a budget. Budget returns EUnsupported if the arm cannot be held to the
// budget.
func (c *Client) Budget(ctx context.Context, arm string, o coleo.BudgetOrder) (coleo.BudgetReport, error) {
	var out coleo.BudgetReport
	var err error
	if o.Budget == nil {
		err = c.call(ctx, get, armPath(arm, "/budget"), nil, &out)
	} else {
		err = c.callFor(ctx, lookTime, post, armPath(arm, "/budget"), *o.Budget, &out)
	}
	return out, err
}
