package brain

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/brain/placement"
	"coleo.dev/brain/roster"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// Spawn starts a new arm, or starts a stopped arm again. It returns EInvalid for a bad request. It
// returns EConflict if the arm is running or could still be running, or if all hosts are full. It
// returns EUnavailable if there is no host agent. It returns ENotInstalled if the agent CLI is not
// installed. Other errors come from the host agent.
//
// If the host agent does not reply, Spawn keeps the arm's row. Later events of the host show
// whether the arm was started.
func (b *Brain) Spawn(ctx context.Context, q wire.SpawnRequest) (wire.SpawnReply, error) {
	return b.spawn(ctx, q, nil, nil)
}

// spawnSteps is one requested start of an arm. The functions below fill its fields one after another.
type spawnSteps struct {
	q      wire.SpawnRequest
	parent *coleo.Arm    // the arm whose configuration a new arm gets; nil if there is none
	once   *StartAttempt // the attempt of StartOnce; nil if the caller chooses no id for the arm

	arm     coleo.Arm
	read    coleo.Arm // the row of an arm that already exists and is stopped; the zero value for a new arm
	known   bool      // whether the arm already exists, and is stopped
	config  coleo.SpawnConfig
	first   *coleo.Queued        // the first prompt; nil if there is none
	instead *coleo.ModelFallback // the requested model, if the arm gets another one; otherwise nil
	beside  string               // a warning if another arm works in the same folder, or ""
}

// spawn does the same as Spawn. If parent is not nil, a new arm gets parent's configuration. If `once` is not
// nil, the arm must be new, and gets the id once.Arm.
func (b *Brain) spawn(ctx context.Context, q wire.SpawnRequest, parent *coleo.Arm, once *StartAttempt) (wire.SpawnReply,
	error) {
	s := spawnSteps{q: q, parent: parent, once: once}
	if err := b.nameStart(ctx, &s); err != nil {
		return wire.SpawnReply{}, err
	}
	if s.known {
		end, err := b.beginStart(s.arm)
		if err != nil {
			return wire.SpawnReply{}, err
		}
		defer end()
		if _, err := b.Arm(ctx, s.arm.ID); err != nil { // the arm can have been removed in the meantime
			return wire.SpawnReply{}, err
		}
	}
	for _, step := range []func(context.Context, *spawnSteps) error{
		b.configureStart, b.placeStart, b.finishStart, b.orderStart,
	} {
		if err := step(ctx, &s); err != nil {
			return wire.SpawnReply{}, err
		}
	}
	reply, err := b.reply(ctx, s.arm.ID)
	if err != nil {
		return reply, err
	}
	reply.Spawned = true
	tellChange(&reply, s.instead)
	reply.Warning = joinWarnings(localWarning(reply.Arm), s.beside, worktreeNotes(reply.Arm))
	if s.first != nil {
		reply.FirstRun = s.first.ID
	}
	return reply, nil
}

// nameStart finds the arm of a start, or creates a new arm. It gives a new arm its id, and the
// configuration of its parent.
func (b *Brain) nameStart(ctx context.Context, s *spawnSteps) (err error) {
	if s.arm, s.known, err = b.armNamed(ctx, s.q.Name); err != nil {
		return err
	}
	if s.known {
		s.read = s.arm
	}
	if s.once != nil {
		if err := s.once.takeID(&s.arm, s.known); err != nil {
			return err
		}
	}
	if s.parent != nil {
		return start.Inherit(&s.arm, *s.parent, s.known)
	}
	return nil
}

// configureStart sets the configuration, the labels and the first prompt of a start.
func (b *Brain) configureStart(_ context.Context, s *spawnSteps) (err error) {
	s.config, err = b.startRules().Configure(&s.arm, s.q, s.known || s.parent != nil)
	if err != nil {
		return err
	}
	if err := start.Label(&s.arm, &s.config, s.q.Labels, s.known); err != nil {
		return err
	}
	s.first, err = start.FirstPrompt(s.q.InitialPrompt, b.Now())
	return err
}

// placeStart chooses the host of a start. If the arm's last start was on another host, all
// processes of that start must have ended.
func (b *Brain) placeStart(_ context.Context, s *spawnSteps) error {
	h, err := b.Registry.Get(s.arm.Harness)
	if err != nil {
		return err
	}
	host, err := b.hostsNow().Choose(placement.HostRequest{Harness: h.Info(), Host: s.q.AgentID, Last: s.arm.AgentID,
		AllowLocal: s.q.AllowLocalFallback})
	if err != nil {
		return err
	}
	if s.known && host.ID != s.arm.AgentID && !isEndProven(s.arm) {
		return coleo.Errorf(coleo.EConflict,
			"nothing was started: the earlier start of arm %s on host agent %s could not be proven to have ended; "+
				"'coleo arm recover %s --force' starts it anyway", s.arm.Name, s.arm.AgentID, s.arm.Name)
	}
	s.arm.AgentID, s.arm.Host = host.ID, host.Hostname
	return nil
}

// finishStart chooses the model of a start, checks what depends on it, and completes the arm's row.
func (b *Brain) finishStart(ctx context.Context, s *spawnSteps) (err error) {
	s.instead, err = b.models.Resolve(ctx, &s.arm, &s.config, s.q.Model == "", s.q.Fallback)
	if err != nil {
		return err
	}
	if err := b.checkBudget(s.arm, s.q.Budget); err != nil {
		return err
	}
	s.arm.Status, s.arm.State, s.arm.Rule = coleo.StatusStarting, coleo.Initializing, roster.RuleOrdered
	s.arm.Config, err = json.Marshal(s.config)
	return err
}

// checkBudget returns EUnsupported if the harness cannot hold the arm to the requested budget with
// the model that the arm gets.
func (b *Brain) checkBudget(arm coleo.Arm, asked *coleo.Budget) error {
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return err
	}
	var price *coleo.Price
	if p, ok := b.Prices().Find(arm.Provider, arm.Model); ok && arm.Model != "" {
		price = &p
	}
	return start.CheckBudget(asked, h.Info(), arm, price)
}

// orderStart stores the row of a start, and orders the start. If the host agent reports that it
// started nothing, orderStart restores the row.
func (b *Brain) orderStart(ctx context.Context, s *spawnSteps) error {
	defer b.roster.HoldOrderOpen(s.arm.ID)()
	if s.config.Worktree == nil {
		s.beside = b.sharedFolderWarning(ctx, s.arm)
	}
	undo, err := b.SetMemoSchema(ctx, s.arm.ID, s.q.MemoSchema)
	if err != nil {
		return err
	}
	was, ordered, err := b.writeOrderedRow(ctx, s.arm, s.read)
	if err != nil {
		undo()
		return err
	}
	if s.once != nil {
		s.first = s.once.firstQueued(s.q.InitialPrompt, b.Now())
	}
	err = b.order(ctx, s.arm, s.order())
	if err != nil && !bus.IsUnanswered(err) {
		b.undoOrderedRow(ctx, ordered, was)
		undo()
	}
	return err
}

// order returns the order with which a host agent starts the arm.
func (s *spawnSteps) order() bus.SpawnOrder {
	o := bus.SpawnOrder{
		ID: s.arm.ID, Name: s.arm.Name, Harness: s.arm.Harness, Config: s.config,
		Resume: s.q.Recover && !lostConversation(s.arm), Env: s.q.Env, Script: s.q.Script,
		NewID: !s.known, InsteadOf: s.instead, First: s.first,
	}
	if s.parent != nil && len(s.q.Env) == 0 && len(s.config.EnvNames) > 0 {
		o.EnvOf = s.parent.ID
	}
	if s.once != nil {
		o.Request = s.once.Run
	}
	return o
}

// startRules returns the rules for one start.
func (b *Brain) startRules() start.Rules {
	hosts := b.hostsNow()
	return start.Rules{Harnesses: b.Registry, Defaults: b.Defaults, Installed: hosts.Installed(),
		OnlyServe: len(hosts.Live) == 0 && hosts.Local}
}

// hostsNow returns what serve knows about the hosts now.
func (b *Brain) hostsNow() placement.Hosts {
	return placement.Hosts{Live: b.roster.Live(), Local: b.Local != nil, AllowLocal: b.AllowLocal,
		RemoteOnly: b.RemoteOnly}
}

// armNamed returns the arm with the given name, and true. If there is no such arm, armNamed returns a new
// arm, and false. It returns EConflict if the arm exists and is not stopped.
func (b *Brain) armNamed(ctx context.Context, name string) (arm coleo.Arm, known bool, err error) {
	if err := armname.Check(name); err != nil {
		return coleo.Arm{}, false, err
	}
	arm, err = b.DB.Arm(ctx, name)
	switch {
	case coleo.ErrorCode(err) == coleo.ENotFound:
		return coleo.Arm{ID: "arm-" + strings.ToLower(rand.Text()[:12]), Name: name, CreatedAt: b.Now().UTC()}, false,
			nil
	case err != nil:
		return coleo.Arm{}, false, err
	case arm.Status != coleo.StatusStopped:
		return coleo.Arm{}, false, coleo.Errorf(coleo.EConflict, "Arm %s already exists with status: %s",
			arm.Name, arm.Status)
	}
	return arm, true, nil
}

// sharedFolderWarning returns a warning if another arm that is not stopped uses the same work folder.
// Otherwise it returns "".
func (b *Brain) sharedFolderWarning(ctx context.Context, arm coleo.Arm) string {
	other, err := b.DB.ArmUsingFolder(ctx, arm.ID, arm.Workdir)
	if err != nil || other == "" {
		return ""
	}
	return fmt.Sprintf("arm %s works in the same folder (%s)", other, arm.Workdir)
}

func (b *Brain) reply(ctx context.Context, id string) (wire.SpawnReply, error) {
	arm, err := b.Arm(ctx, id)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	return wire.SpawnReply{
		Distributed: arm.Runtime.Distributed, AgentID: arm.AgentID, Host: arm.Host, SessionID: arm.SessionID,
		PID: arm.PID, Port: arm.Port, Provider: arm.Provider, Model: arm.Model, Arm: arm,
	}, nil
}
