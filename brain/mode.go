package brain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/recovery"
	"coleo.dev/wire"
)

// Modes returns the modes of an arm's agent CLI, and the mode that the host agent has seen last. It
// returns ENotFound if there is no such arm.
func (b *Brain) Modes(ctx context.Context, idOrName string) (wire.Modes, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.Modes{}, err
	}
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return wire.Modes{}, err
	}
	out := wire.Modes{Mode: arm.Mode, List: []coleo.Mode{}}
	if m, ok := h.(coleo.Moded); ok {
		out.List = append(out.List, m.Modes()...)
	}
	return out, nil
}

// SwitchMode switches an arm to another mode. It returns when the screen shows the new mode. It
// returns ENotFound if there is no such arm or mode. It returns EConflict if the keys do not lead
// from the present mode to the new mode. It returns EInvalid if the order must allow the new mode
// and does not. Other errors come from the host agent.
func (b *Brain) SwitchMode(ctx context.Context, idOrName string, o coleo.ModeOrder) (coleo.ModeSwitch, error) {
	var report bus.ModeReport
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpMode, promptTimeout, func(arm coleo.Arm) any {
		return bus.ModeOrder{Arm: arm.ID, ModeOrder: o}
	}, &report)
	if err != nil {
		return report.ModeSwitch, err
	}
	return report.ModeSwitch, b.keepChosen(ctx, idOrName, report.Chosen)
}

// keepChosen stores the mode and the models that a user has chosen in the arm's row. The host agent
// stores them too. A number says which copy is newer.
func (b *Brain) keepChosen(ctx context.Context, idOrName string, chosen *coleo.Chosen) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil || chosen == nil {
		return err
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		var c coleo.SpawnConfig
		if len(row.Config) > 0 {
			if err := json.Unmarshal(row.Config, &c); err != nil {
				return fmt.Errorf("read the configuration of arm %s: %w", row.Name, err)
			}
		}
		c.Chosen = coleo.NewerChosen(chosen, c.Chosen)
		row.Config, err = json.Marshal(c)
		return err
	})
	return err
}

// forgetChosen drops what the user has chosen earlier. If a request for a start names a permission
// mode, forgetChosen drops the chosen mode. If the request names a model, forgetChosen drops the
// chosen model.
func forgetChosen(c *coleo.SpawnConfig, model, permission string) {
	if c.Chosen == nil || model == "" && permission == "" {
		return
	}
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) {
		if permission != "" {
			now.Mode = ""
		}
		if model != "" {
			now.Model = ""
			delete(now.Threads, c.Conversation)
			delete(now.Modes, now.Mode)
		}
	})
}

// configureSandbox sets the sandbox of an arm. If the request does not mention a sandbox, a stopped
// arm keeps its own sandbox, and a subarm gets the sandbox of its parent. If the request does not
// mention the sandbox's network or limit, these also stay the same.
func (b *Brain) configureSandbox(c *coleo.SpawnConfig, q wire.SpawnRequest, harness string, known bool) error {
	asked := q.Sandbox
	if asked == nil {
		return nil
	}
	if err := asked.Check(); err != nil {
		return err
	}
	if c.Parent != "" && asked.String() != c.Sandbox.String() {
		return coleo.Errorf(coleo.EForbidden, "nothing was started: a subarm has the sandbox of its parent")
	}
	if asked.Folder != "" || asked.LimitedBy != "" {
		return coleo.Errorf(coleo.EInvalid, "nothing was started: only Coleo sets the folder of a sandbox, and what keeps "+
			"its limits")
	}
	h, err := b.Registry.Get(harness)
	if err != nil {
		return err
	}
	if asked.On() && h.Info().Transport == coleo.TransportHTTP {
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: the harness %s uses HTTP, and Coleo makes sandboxes "+
			"only for harnesses with a terminal", harness)
	}
	next := *asked
	if known && next.Network == "" && c.Sandbox.On() {
		next.Network = c.Sandbox.Network
	}
	if known && next.Limit == "" && c.Sandbox.On() {
		next.Limit = c.Sandbox.Limit
	}
	if next.On() && next.Limit == "" {
		next.Limit = b.Defaults.SandboxLimit
	}
	if known && next.Image == "" && next.Container() && c.Sandbox.Container() {
		next.Image = c.Sandbox.Image
	}
	if next.Image == "" && next.Container() {
		next.Image = b.Defaults.SandboxImage
	}
	if next.Image == "" && next.Container() {
		return coleo.Errorf(coleo.EInvalid, "nothing was started: --sandbox %s needs an image that contains the agent CLI: "+
			"name it with --sandbox-image, or as image below [sandbox] in config.toml", next.Kind)
	}
	c.Sandbox = nil
	if next.On() {
		c.Sandbox = &next
	}
	return nil
}

// checkUnguarded returns EInvalid if an arm would get the permission mode all without a sandbox, and
// the person has not agreed. An arm that had both before keeps them: the person agreed at that time.
// The parameter before is the configuration that the arm had, or has from its parent or predecessor.
func checkUnguarded(before, c coleo.SpawnConfig, agreed bool) error {
	unguarded := func(c coleo.SpawnConfig) bool {
		return c.PermissionMode == coleo.PermissionAll && !c.Sandbox.On()
	}
	if agreed || !unguarded(c) || unguarded(before) {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "nothing was started: with the permission mode %s, the agent CLI runs every "+
		"command with your rights and never asks: add --sandbox %s, or --yes-without-sandbox if you agree",
		coleo.PermissionAll, coleo.SandboxBwrap)
}

// checkSandboxOfWorktree refuses a sandbox for an arm with a worktree. The worktree's commits go
// into the main repository, which is not visible in the sandbox.
func checkSandboxOfWorktree(c coleo.SpawnConfig) error {
	if c.Worktree == nil || !c.Sandbox.On() {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "nothing was started: git cannot commit in a worktree inside a sandbox; "+
		"leave out --worktree, and name a clone of the repository with -w")
}

// Label changes the labels of an arm, and returns the arm. It returns ENotFound if there is no such
// arm, and EInvalid for a bad change. If the host agent did not reply, Label returns EUnavailable
// or ETimeout. In this case the arm has either the old labels or the new labels. After every other
// error, the arm has its old labels.
func (b *Brain) Label(ctx context.Context, idOrName string, change coleo.LabelChange) (coleo.Arm, error) {
	b.labelling.Lock()
	defer b.labelling.Unlock()
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	next, err := change.Apply(arm.Labels)
	if err != nil {
		return arm, err
	}
	var report bus.LabelReport
	if arm.AgentID != "" {
		err = b.orderAndCatchUp(ctx, arm.ID, bus.OpLabel, bus.DefaultTimeout, func(arm coleo.Arm) any {
			return bus.LabelOrder{Arm: arm.ID, Labels: next}
		}, &report)
	}
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound { // not found: the host keeps no copy of the arm
		return arm, err
	}
	if err := b.keepChosen(ctx, arm.ID, report.Chosen); err != nil {
		return arm, err
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if row.Labels = next; len(next) == 0 {
			row.Labels = nil
		}
		return nil
	})
	if err != nil {
		return arm, err
	}
	b.publishArm(ctx, arm.ID)
	return b.Arm(ctx, arm.ID)
}

// Budget sets the budget of an arm, if o contains one, and returns all budgets of the arm. It
// returns ENotFound if there is no such arm, and EUnsupported if the budget cannot be kept. Other
// errors come from the host agent.
func (b *Brain) Budget(ctx context.Context, idOrName string, o coleo.BudgetOrder) (coleo.BudgetReport, error) {
	var report bus.BudgetReport
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpBudget, bus.DefaultTimeout, func(arm coleo.Arm) any {
		return bus.BudgetOrder{Arm: arm.ID, BudgetOrder: o}
	}, &report)
	if err != nil || o.Budget == nil {
		return report.BudgetReport, err
	}
	return report.BudgetReport, b.keepChosen(ctx, idOrName, report.Chosen)
}

// labelNew adds labels to a new arm, which may already have labels from its parent. It returns
// EInvalid for bad labels. It also returns EInvalid if the arm already exists and there are labels
// to add.
func labelNew(arm *coleo.Arm, c *coleo.SpawnConfig, labels coleo.Labels, known bool) error {
	if known && len(labels) > 0 {
		return coleo.Errorf(coleo.EInvalid, "arm %s exists already: 'coleo arm label' changes its labels; nothing was "+
			"started",
			arm.Name)
	}
	next, err := coleo.LabelChange{Set: labels}.Apply(arm.Labels)
	if err != nil || known || len(next) == 0 {
		return err
	}
	arm.Labels = next
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) { now.Labels = next })
	return nil
}

// SwitchThread makes an arm continue another conversation. It ends the agent CLI, and starts it
// again with this conversation. The conversation must belong to the arm's harness, HOME and folder.
//
// SwitchThread returns ENotFound if there is no such arm or conversation. It returns EThreadLocked
// if another arm has the conversation. It returns EBusy while the arm works, and EBlocked while the
// arm asks something. After these errors, the arm is unchanged. If the start fails, the arm is
// stopped, and Recover continues the arm's earlier conversation.
func (b *Brain) SwitchThread(ctx context.Context, idOrName, conversation string) (wire.SpawnReply, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	if err := b.switchable(ctx, arm, conversation); err != nil {
		return wire.SpawnReply{}, err
	}
	if arm.Status != coleo.StatusStopped {
		if err := b.askAboutArm(ctx, arm, bus.OpKill, killTimeout, onArm(arm), nil); err != nil {
			return wire.SpawnReply{}, err
		}
		b.catchUp(ctx, arm.AgentID)
		if arm, err = b.Arm(ctx, arm.ID); err != nil {
			return wire.SpawnReply{}, err
		}
	}
	switched := arm
	switched.SessionID = conversation
	if err := b.restart(ctx, switched, wire.RecoverRequest{},
		recovery.Remedy{Resume: true}, nil); err != nil {
		return wire.SpawnReply{}, err
	}
	b.catchUp(ctx, arm.AgentID)
	reply, err := b.reply(ctx, arm.ID)
	reply.Spawned, reply.Resumed = true, true
	return reply, err
}

// switchable returns an error if an arm cannot switch to the given conversation now.
func (b *Brain) switchable(ctx context.Context, arm coleo.Arm, conversation string) error {
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return err
	}
	if !h.Info().Capabilities.Resume {
		return coleo.Errorf(coleo.EUnsupported, "%s cannot continue an earlier conversation", h.Info().Title)
	}
	if arm.Status != coleo.StatusStopped && arm.SessionID == conversation {
		return coleo.Errorf(coleo.EConflict, "arm %s has the conversation %s already", arm.Name, conversation)
	}
	if err := b.checkThreadFree(ctx, conversation, arm.ID); err != nil {
		return err
	}
	var list coleo.ThreadList
	f := coleo.ThreadFilter{Arm: arm.ID, ID: conversation, Hidden: true}
	if err := b.askAboutArm(ctx, arm, bus.OpThreads, bus.DefaultTimeout, f, &list); err != nil {
		return err
	}
	if len(list.Threads) == 0 {
		return coleo.Errorf(coleo.ENotFound, "arm %s cannot continue the conversation %q: it has none with this id in %s; "+
			"'coleo thread resume' starts an arm in another folder", arm.Name, conversation, arm.Workdir)
	}
	return b.atRest(ctx, arm)
}

// atRest returns EBusy if an arm works, and EBlocked if the arm asks something.
func (b *Brain) atRest(ctx context.Context, arm coleo.Arm) error {
	if arm.Status == coleo.StatusStopped {
		return nil
	}
	var now bus.ArmReport
	if err := b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, onArm(arm), &now); err != nil {
		return err
	}
	switch now.Reading.State {
	case coleo.Idle, coleo.Failed, coleo.Dead:
		return nil
	case coleo.WaitingApproval:
		return coleo.Errorf(coleo.EBlocked, "arm %s asks something: nothing was done; answer it first", arm.Name)
	case coleo.Initializing, coleo.Processing, coleo.Executing:
	}
	return coleo.Errorf(coleo.EBusy, "arm %s works (%s): nothing was done; 'coleo arm wait %s' waits until it is idle",
		arm.Name, strings.ReplaceAll(string(now.Reading.State), "_", " "), arm.Name)
}

// predecessorOf returns the arm that has handed its task over to the given arm, or nil.
func predecessorOf(arm coleo.Arm) *coleo.Predecessor { return configOf(arm).Succeeds }

// configOf returns the configuration of an arm's last start. The configuration is zero if the row
// contains none.
func configOf(arm coleo.Arm) coleo.SpawnConfig {
	var c coleo.SpawnConfig
	_ = json.Unmarshal(arm.Config, &c)
	return c
}
