package brain

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/brain/commands"
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

// spawn is Spawn. If parent is not nil, a new arm begins with parent's configuration. If once is not
// nil, the arm is a new one with the id in it.
func (b *Brain) spawn(ctx context.Context, q wire.SpawnRequest, parent *coleo.Arm, once *Once) (wire.SpawnReply,
	error) {
	arm, known, err := b.named(ctx, q.Name)
	if err == nil && once != nil {
		err = once.takeID(&arm, known)
	}
	if err == nil && parent != nil {
		err = inherit(&arm, *parent, known)
	}
	if err != nil {
		return wire.SpawnReply{}, err
	}
	config, err := b.configure(&arm, q, known || parent != nil)
	if err == nil {
		err = labelNew(&arm, &config, q.Labels, known)
	}
	if err != nil {
		return wire.SpawnReply{}, err
	}
	firstPrompt, err := b.firstPrompt(q.InitialPrompt)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	host, err := b.placeArm(arm.Harness, q, arm.AgentID)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	if known && host.ID != arm.AgentID && !ended(arm) {
		return wire.SpawnReply{}, coleo.Errorf(coleo.EConflict,
			"nothing was started: the earlier start of arm %s on host agent %s could not be proven to have ended; "+
				"'coleo arm recover %s --force' starts it anyway", arm.Name, arm.AgentID, arm.Name)
	}
	change, err := b.resolve(ctx, &arm, &config, q.Model == "", q.Fallback)
	if err == nil {
		err = b.checkBudget(arm, q)
	}
	if err != nil {
		return wire.SpawnReply{}, err
	}
	warning := ""
	if config.Worktree == nil {
		warning = b.shared(ctx, arm)
	}
	arm.AgentID, arm.Host, arm.Status, arm.State = host.ID, host.Hostname, coleo.StatusStarting, coleo.Initializing
	if arm.Config, err = json.Marshal(config); err != nil {
		return wire.SpawnReply{}, err
	}
	arm.Rule = ruleOrdered
	defer b.holdOrderOpen(arm.ID)()
	undo, err := b.SetMemoSchema(ctx, arm.ID, q.MemoSchema)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	was, err := b.writeOrderedRow(ctx, arm, known)
	if err != nil {
		undo()
		return wire.SpawnReply{}, err
	}
	order := bus.SpawnOrder{
		ID: arm.ID, Name: arm.Name, Harness: arm.Harness, Config: config,
		Resume: q.Recover && !lostConversation(arm), Env: q.Env,
		Script: q.Script,
		Drawn:  !known, InsteadOf: change, First: firstPrompt,
	}
	if parent != nil && len(q.Env) == 0 && len(config.EnvNames) > 0 {
		order.EnvOf = parent.ID
	}
	if once != nil {
		order.Request, order.First = once.Run, once.first(q.InitialPrompt, b.Now())
	}
	if err := b.order(ctx, arm, order); err != nil {
		if !bus.Unanswered(err) {
			b.undoOrderedRow(ctx, arm, was)
			undo()
		}
		return wire.SpawnReply{}, err
	}
	reply, err := b.reply(ctx, arm.ID)
	if err != nil {
		return reply, err
	}
	reply.Spawned = true
	tellChange(&reply, change)
	reply.Warning = joinWarnings(localWarning(reply.Arm), warning, worktreeNotes(reply.Arm))
	if order.First != nil {
		reply.FirstRun = order.First.ID
	}
	return reply, nil
}

// firstPrompt returns the entry of the queue for the first prompt of a start, or nil if text is "".
// It returns EInvalid if no queue takes the text.
func (b *Brain) firstPrompt(text string) (*coleo.Queued, error) {
	switch {
	case text == "":
		return nil, nil
	case strings.TrimSpace(text) == "":
		return nil, coleo.Errorf(coleo.EInvalid, "the first prompt is blank: nothing was started")
	case len(text) > coleo.MaxQueuedBytes:
		return nil, coleo.Errorf(coleo.EInvalid, "the first prompt has %d bytes, more than %d: nothing was started",
			len(text), coleo.MaxQueuedBytes)
	}
	return &coleo.Queued{ID: rand.Text(), Text: text, Added: b.Now().UTC()}, nil
}

// named returns the arm with the given name, and true. If there is no such arm, named returns a new
// arm, and false. It returns EConflict if the arm exists and is not stopped.
func (b *Brain) named(ctx context.Context, name string) (arm coleo.Arm, known bool, err error) {
	if err := coleo.CheckName(name); err != nil {
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

// harness returns the name of the harness for an arm. It returns the first of these that is set:
// the requested harness, the arm's own harness, and the configured default. If none is set, harness
// returns the preferred harness if that harness is installed. Otherwise it returns the only
// installed harness.
func (b *Brain) harness(asked, own string) (string, error) {
	if name := first(asked, own, b.Defaults.Harness); name != "" {
		_, err := b.Registry.Get(name)
		return name, err
	}
	var installed []string
	for _, beat := range b.liveHosts() {
		for _, name := range beat.Capabilities {
			if !slices.Contains(installed, name) {
				installed = append(installed, name)
			}
		}
	}
	slices.Sort(installed)
	switch {
	case slices.Contains(installed, b.Registry.Preferred()):
		return b.Registry.Preferred(), nil
	case len(installed) == 1:
		return installed[0], nil
	case len(installed) == 0 && len(b.liveHosts()) == 0 && b.Local != nil:
		return "", coleo.Errorf(coleo.EInvalid,
			"no harness was given, and no host agent runs that could tell which are installed: choose one with --harness")
	case len(installed) == 0:
		return "", coleo.Errorf(coleo.ENotInstalled,
			"no agent CLI is installed on any host: 'coleo harness list' shows how to install one")
	}
	return "", coleo.Errorf(coleo.EInvalid, "no harness was given: choose one with --harness: %s",
		strings.Join(installed, ", "))
}

// chooseHost chooses the host agent for a harness. If the request names a host agent, chooseHost
// chooses that one. Otherwise chooseHost prefers the host agent that last had the arm. If that host
// agent cannot start the arm, chooseHost chooses the host agent with the fewest arms.
func (b *Brain) chooseHost(harness, asked, last string) (bus.Beat, error) {
	live := b.liveHosts()
	var able []bus.Beat
	for _, beat := range live {
		if slices.Contains(beat.Capabilities, harness) && len(beat.Arms) < beat.MaxArms {
			able = append(able, beat)
		}
	}
	if asked != "" {
		for _, beat := range live {
			if beat.ID == asked {
				return beat, nil // if something is wrong, the host agent itself reports it
			}
		}
		return bus.Beat{}, coleo.Errorf(coleo.EUnavailable,
			"the host agent %s is not connected; 'coleo agent status' lists the host agents", asked)
	}
	for _, beat := range able {
		if beat.ID == last {
			return beat, nil
		}
	}
	if len(able) > 0 {
		return able[0], nil
	}
	if len(live) == 0 {
		return bus.Beat{}, coleo.Errorf(coleo.EUnavailable,
			"No agent available for harness '%s'. Start an arm agent daemon with 'coleo agent start'.", harness)
	}
	h, err := b.Registry.Get(harness)
	if err != nil {
		return bus.Beat{}, err
	}
	if slices.ContainsFunc(live, func(beat bus.Beat) bool { return slices.Contains(beat.Capabilities, harness) }) {
		return bus.Beat{}, coleo.Errorf(coleo.EConflict,
			"every host with %s has its maximum number of arms: stop one, "+
				"or start the host agent with a larger --max-arms",
			h.Info().Title)
	}
	return bus.Beat{}, coleo.Errorf(coleo.ENotInstalled,
		"%s is not installed: no program %q on any host; install it with: %s",
		h.Info().Title, h.Info().Command, h.Info().Install)
}

// shared returns a warning if another arm that is not stopped uses the same work folder. Otherwise
// shared returns "".
func (b *Brain) shared(ctx context.Context, arm coleo.Arm) string {
	other, err := b.DB.Beside(ctx, arm.ID, arm.Workdir)
	if err != nil || other == "" {
		return ""
	}
	return fmt.Sprintf("arm %s works in the same folder (%s)", other, arm.Workdir)
}

// writeOrderedRow writes an arm's row before the arm's host is told to start the arm. It returns
// the previous row. For a new arm, the previous row has no id.
func (b *Brain) writeOrderedRow(ctx context.Context, arm coleo.Arm, known bool) (coleo.Arm, error) {
	var was coleo.Arm
	if !known {
		return was, b.DB.CreateArm(ctx, arm)
	}
	_, err := b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if row.Status != coleo.StatusStopped {
			return coleo.Errorf(coleo.EConflict, "Arm %s already exists with status: %s", row.Name, row.Status)
		}
		if !maps.Equal(row.Labels, arm.Labels) {
			return coleo.Errorf(coleo.EConflict, "the labels of arm %s were changed meanwhile: nothing was started", row.Name)
		}
		was = *row
		if arm.Generation = row.Generation; arm.AgentID == row.AgentID {
			arm.Queue = row.Queue
		}
		*row = arm
		return nil
	})
	return was, err
}

// undoOrderedRow undoes writeOrderedRow after the host agent has reported that it
// started nothing. It deletes the row of a new arm, and restores the previous row of an
// old arm. It does not restore a row that an event of the host has changed since
// writeOrderedRow.
func (b *Brain) undoOrderedRow(ctx context.Context, arm, was coleo.Arm) {
	ctx = context.WithoutCancel(ctx)
	if was.ID == "" {
		_ = b.askAboutArm(ctx, arm, bus.OpRemove, commands.KillTimeout, commands.OnArm(arm), nil)
		if err := b.DB.DeleteArm(ctx, arm.ID); err == nil {
			b.PublishRemoved(arm.ID)
		}
		return
	}
	_, _ = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if row.Rule == ruleOrdered || row.Generation == was.Generation && row.Status == coleo.StatusStopped {
			*row = was
		}
		return nil
	})
}

// holdOrderOpen marks an order to start an arm as open. The order stays open until the caller calls
// the returned function. While an order is open, a host agent's pulse does not prove whether the
// arm was started.
func (b *Brain) holdOrderOpen(id string) func() {
	add := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.ordering[id] += n; b.ordering[id] == 0 {
			delete(b.ordering, id)
		}
	}
	add(1)
	return func() {
		add(-1)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, m := range b.hosts {
			m.settled = false // compare the rows with the next pulse, because the host agent may not have replied
		}
	}
}

// order tells the host agent to start the next generation of an arm. It changes no row, because the
// events of the host change the row.
func (b *Brain) order(ctx context.Context, arm coleo.Arm, o bus.SpawnOrder) error {
	err := b.checkHostUnderstands(arm.AgentID, o)
	if err == nil && o.Resume && o.Config.Conversation != "" {
		err = b.CheckThreadFree(ctx, o.Config.Conversation, arm.ID)
	}
	if err != nil {
		return err
	}
	if o.Config.Generation, err = b.nextGeneration(ctx, arm); err != nil {
		return err
	}
	var report bus.ArmReport
	limit := spawnTimeout
	if o.Config.Worktree != nil {
		limit += WorktreeTime
	}
	err = b.askAboutArm(ctx, arm, bus.OpSpawn, limit, o, &report)
	b.catchUp(ctx, arm.AgentID)
	if err == nil {
		b.noteMade(ctx, arm.ID, report.Config)
		b.takePulseOf(ctx, arm.AgentID, arm.ID)
		if o.Config.OnPartition == coleo.PartitionFreeze {
			_, _ = b.permits.Renew(ctx, arm.AgentID) // if this fails, Keep renews the permits
		}
	}
	return err
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

// configOf returns the configuration of an arm's last start. The configuration is zero if the row
// contains none.
func configOf(arm coleo.Arm) coleo.SpawnConfig {
	var c coleo.SpawnConfig
	_ = json.Unmarshal(arm.Config, &c)
	return c
}
