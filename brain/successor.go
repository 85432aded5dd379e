package brain

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/brain/choices"
	"coleo.dev/brain/commands"
	"coleo.dev/brain/placement"
	"coleo.dev/brain/roster"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/store"
	"coleo.dev/successor"
	"coleo.dev/summary"
	"coleo.dev/timelimit"
	"coleo.dev/wire"
)

// This file hands the task of an arm over to a new arm, its successor.

const (
	// restTime is how long HandOver waits until an interrupted turn has ended.
	restTime = 30 * time.Second
	// mostParts is the largest number of arms whose work is described in the first prompt of a
	// successor. With more arms, the prompt would be too long.
	mostParts = 5
	// mostRuns is how many of an arm's newest runs are described at most, if the arm's conversation cannot be
	// read.
	mostRuns = 50
)

// HandOver gives the task of an arm to a new arm in the same folder, its successor. It pauses the first arm, and
// moves the first arm's queue to the successor. The row of the successor names the first arm as the parent.
//
// HandOver returns ENotFound if there is no such arm, and EInvalid if there is no such harness. It returns
// EConflict if the arm has received no prompt yet. It returns EBusy if the arm is working, and EBlocked if the arm
// asks something. If the request asks to interrupt the turn, HandOver interrupts the turn instead of returning
// these two errors. HandOver also returns the errors of Spawn.
//
// After an error, the first arm is as it was before, except that its turn may have been interrupted. One
// exception: if the host agent has not replied, the task may have been handed over. Later events of the first arm
// then show the result.
func (b *Brain) HandOver(ctx context.Context, idOrName string, q wire.HandoverRequest) (wire.HandoverReply, error) {
	return b.handOver(ctx, idOrName, q, nil)
}

// handOver does the work of HandOver. If the first arm is parked and the hand-over is an alternative from its
// OnLimit, `at` names this alternative. The successor then gets the alternatives of the first arm that have not been
// tried. If a user has asked for the hand-over, `at` is nil.
func (b *Brain) handOver(ctx context.Context, idOrName string, q wire.HandoverRequest,
	at *bus.ParkedAt) (wire.HandoverReply, error) {
	out := wire.HandoverReply{Moved: []string{}}
	first, err := b.Arm(ctx, idOrName)
	if err != nil {
		return out, err
	}
	next, err := b.successorOf(ctx, first, q, at)
	if err == nil {
		out.Interrupted, err = b.comeToRest(ctx, first, q.Interrupt)
	}
	var work successor.Work
	if err == nil {
		work, err = b.workOf(ctx, first)
	}
	var report bus.SucceedReport
	if err == nil {
		out.Run = rand.Text()
		next.first = &coleo.Queued{ID: out.Run, Text: successor.Prompt(work), Added: b.Now().UTC(),
			By: "arm " + first.Name}
		report, err = b.orderSuccessor(ctx, first, next, at)
	}
	if err != nil {
		return out, notHandedOver(first, out.Interrupted, err)
	}
	out.Moved = append(out.Moved, report.Moved...)
	if out.To, err = b.reply(ctx, next.arm.ID); err == nil {
		out.To.Spawned = true
		tellChange(&out.To, next.instead)
		out.From, err = b.Arm(ctx, first.ID)
	}
	return out, err
}

// notHandedOver returns the error for a failed hand-over. The error describes the state of the
// first arm.
func notHandedOver(first coleo.Arm, interrupted bool, cause error) error {
	var e *coleo.Error
	if !errors.As(cause, &e) {
		return cause
	}
	longer, is := *e, "is as it was"
	switch {
	case bus.IsUnanswered(cause):
		is = "may have been handed over: 'coleo arm status " + first.Name + "' shows it"
	case interrupted:
		is += ", except that its turn was interrupted and that a queue with prompts is paused"
	}
	longer.Message = "the task was not handed over, and arm " + first.Name + " " + is + ": " + cause.Error()
	if bus.IsUnanswered(cause) {
		longer.Message = "arm " + first.Name + " " + is + ": " + cause.Error()
	}
	return &longer
}

// successorOf checks a request for a successor, and prepares the successor's start, except for the
// first prompt.
func (b *Brain) successorOf(ctx context.Context, first coleo.Arm, q wire.HandoverRequest,
	at *bus.ParkedAt) (spawnSteps, error) {
	s := spawnSteps{parent: &first, q: wire.SpawnRequest{Provider: q.Provider, Model: q.Model, Fallback: q.Fallback,
		TrustWorkdir: q.TrustWorkdir, PermissionMode: q.PermissionMode, YesWithoutSandbox: q.YesWithoutSandbox,
		Untested: q.Untested}}
	h, err := b.Registry.Get(q.To)
	if err == nil {
		err = b.canSucceed(first, h.Info())
	}
	if err != nil {
		return s, err
	}
	if s.arm, err = b.successorArm(ctx, first, q); err != nil {
		return s, err
	}
	own, err := start.Stored(first)
	if err != nil {
		return s, err
	}
	if at != nil {
		own.OnLimit, own.Chosen = own.AtLimit().After(at.Step), nil
	}
	by := coleo.Predecessor{ArmLink: coleo.ArmLink{ID: first.ID, Name: first.Name, Harness: first.Harness},
		Conversation: first.SessionID}
	s.arm.Config, err = json.Marshal(successor.Config(by, own, h.Info().Capabilities.MCP))
	if err != nil {
		return s, err
	}
	for _, step := range []func(context.Context, *spawnSteps) error{b.configureStart, b.finishStart} {
		if err := step(ctx, &s); err != nil {
			return s, err
		}
	}
	return s, placement.CheckUnderstands(b.roster.BeatOf(s.arm.AgentID), s.order())
}

// successorArm returns the successor of the first arm: a new arm on the same host.
func (b *Brain) successorArm(ctx context.Context, first coleo.Arm, q wire.HandoverRequest) (coleo.Arm, error) {
	name, err := b.successorName(ctx, first, q)
	if err != nil {
		return coleo.Arm{}, err
	}
	arm, known, err := b.armNamed(ctx, name)
	if err == nil && known {
		err = coleo.Errorf(coleo.EConflict, "Arm %s already exists: a successor is a new arm, with another name", name)
	}
	arm.ParentArmID, arm.Harness, arm.Domain = first.ID, q.To, first.Domain
	arm.ContextBudget, arm.AgentID, arm.Host = first.ContextBudget, first.AgentID, first.Host
	choices.Copy(&arm, first)
	return arm, err
}

// canSucceed returns an error if an arm of the given harness cannot be the successor of the first
// arm. Both arms must be on the same host, so that one host agent changes both together.
func (b *Brain) canSucceed(first coleo.Arm, to coleo.Info) error {
	if err := start.TakesTasks(to); err != nil {
		return err
	}
	if first.AgentID == "" {
		return coleo.Errorf(coleo.EExited, "arm %s has never run, so it has no task", first.Name)
	}
	if roster.IsLocal(first.AgentID) && b.RemoteOnly {
		return placement.NeedsHostAgent(to.Name)
	}
	if roster.IsLocal(first.AgentID) && to.DaemonManaged && !b.hostsNow().AllowsLocal(nil) {
		return coleo.Errorf(coleo.EUnavailable, "serve itself drives arm %s, and the harness %s needs a host agent: "+
			"'coleo agent start' starts one, which takes the arm up", first.Name, to.Name)
	}
	if first.SpawnConfig().Sandbox.On() && to.Transport == coleo.TransportHTTP {
		return coleo.Errorf(coleo.EUnsupported, "arm %s has a sandbox, and the harness %s uses HTTP: Coleo makes sandboxes "+
			"only for harnesses with a terminal", first.Name, to.Name)
	}
	for _, beat := range b.roster.Live() {
		switch {
		case beat.ID != first.AgentID:
		case !slices.Contains(beat.Capabilities, to.Name):
			return coleo.Errorf(coleo.ENotInstalled, "%s is not installed on the host "+
				"of arm %s: no program %q; install it with: %s", to.Title, first.Name, to.Command, to.Install)
		case !beat.HasRoom():
			return coleo.Errorf(coleo.EConflict, "the host of arm %s has its maximum number of arms: stop one, "+
				"or set a larger max_arms in config.toml and restart Coleo ('coleo down', 'coleo up')", first.Name)
		}
	}
	return nil
}

func (b *Brain) successorName(ctx context.Context, first coleo.Arm, q wire.HandoverRequest) (string, error) {
	if q.Name != "" {
		return q.Name, nil
	}
	arms, err := b.DB.Arms(ctx, true)
	return successor.Name(coleo.ArmLink{Name: first.Name, Harness: first.Harness}, q.To, func(name string) bool {
		return slices.ContainsFunc(arms, func(a coleo.Arm) bool { return a.Name == name })
	}), err
}

// comeToRest checks that the arm is at rest: it neither works nor asks something. If it is not at rest and
// `interrupt` is false, comeToRest returns EBusy or EBlocked. If `interrupt` is true, comeToRest pauses the queue,
// interrupts the turn, waits for the end of the turn, and returns true.
func (b *Brain) comeToRest(ctx context.Context, arm coleo.Arm, interrupt bool) (bool, error) {
	err := b.atRest(ctx, arm)
	code := coleo.ErrorCode(err)
	switch {
	case code != coleo.EBusy && code != coleo.EBlocked:
		return false, err
	case !interrupt && code == coleo.EBusy:
		return false, coleo.Errorf(code, "it is working; --interrupt interrupts its turn first, and "+
			"'coleo arm wait %s' waits for its end", arm.Name)
	case !interrupt:
		return false, coleo.Errorf(code, "it asks something: answer it first, or give --interrupt, which also ends its turn")
	}
	if err := b.OrderAndCatchUp(ctx, arm.ID, bus.OpAbort, timelimit.Typing, commands.OnArm, nil); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	_, err = b.WaitArm(ctx, arm.ID, []coleo.State{coleo.Idle, coleo.Failed})
	if coleo.ErrorCode(err) == coleo.EExited {
		err = nil // an arm that has ended also counts as at rest
	}
	return true, err
}

// orderSuccessor orders the start of a successor. If the host agent refuses the order, orderSuccessor
// deletes the successor's row.
func (b *Brain) orderSuccessor(ctx context.Context, first coleo.Arm, s spawnSteps, at *bus.ParkedAt) (bus.SucceedReport,
	error) {
	var report bus.SucceedReport
	defer b.roster.HoldOrderOpen(s.arm.ID)()
	if _, _, err := b.writeOrderedRow(ctx, s.arm, coleo.Arm{}); err != nil {
		return report, err
	}
	order := s.order()
	var err error
	if order.Config.Generation, err = b.nextGeneration(ctx, s.arm); err == nil {
		err = b.askAboutArm(ctx, first, bus.OpSucceed, spawnTimeout, bus.SucceedOrder{Arm: first.ID, Spawn: order, At: at},
			&report)
		b.roster.CatchUp(ctx, first.AgentID)
	}
	if err != nil {
		if !bus.IsUnanswered(err) {
			b.undoOrderedRow(ctx, s.arm, coleo.Arm{})
		}
		return report, err
	}
	b.roster.TakePulseOf(ctx, first.AgentID, s.arm.ID)
	if order.Config.OnPartition == coleo.PartitionFreeze {
		_, _ = b.permits.Renew(ctx, first.AgentID) // ignore the error, because Permits.Keep renews the permits later
	}
	b.PublishArm(ctx, first.ID)
	return report, nil
}

// workOf returns the description of the task for the successor of an arm. If the arm has never
// received a prompt, workOf returns EConflict.
func (b *Brain) workOf(ctx context.Context, first coleo.Arm) (successor.Work, error) {
	w := successor.Work{Folder: first.Workdir}
	chain := b.chainOf(ctx, first)
	prompts := 0
	for _, link := range chain {
		part, err := b.partOf(ctx, link)
		if err != nil && link.ID == first.ID {
			return w, err
		}
		if err == nil {
			w.Parts, prompts = append(w.Parts, part), prompts+len(part.Prompts)
		}
	}
	if prompts == 0 {
		return w, coleo.Errorf(coleo.EConflict, "arm %s has got no prompt yet, so it has no task", first.Name)
	}
	for _, link := range slices.Backward(chain) {
		if list, err := b.Tasks(ctx, link.ID); err == nil && len(list) > 0 {
			w.Tasks = list
			break
		}
	}
	for _, link := range chain { // begin with the oldest arm, because its diff covers all of the work
		d, err := b.Diff(ctx, link.ID, changes.DiffRequest{}, false)
		if err == nil {
			w.Diff = &d
			break
		}
		w.NoDiff = strings.Join(strings.Fields(err.Error()), " ")
	}
	return w, nil
}

// chainOf returns the arm and the arms that had its task before, the oldest first.
func (b *Brain) chainOf(ctx context.Context, arm coleo.Arm) []coleo.Predecessor {
	chain := []coleo.Predecessor{{ArmLink: coleo.ArmLink{ID: arm.ID, Name: arm.Name, Harness: arm.Harness},
		Conversation: arm.SessionID}}
	for len(chain) < mostParts {
		by := predecessorOf(arm)
		if by == nil {
			break
		}
		chain = append(chain, *by)
		var err error
		if arm, err = b.DB.Arm(ctx, by.ID); err != nil {
			// The predecessor was removed, so the arms before it are unknown. Its own entry stays in the chain, because the
			// agent CLI still has its conversation.
			break
		}
	}
	slices.Reverse(chain)
	return chain
}

// partOf describes what one arm has done for a task. If the arm's conversation cannot be read, partOf
// uses the arm's newest runs instead.
func (b *Brain) partOf(ctx context.Context, link coleo.Predecessor) (successor.Part, error) {
	part := successor.Part{Name: link.Name, Harness: link.Harness}
	if h, err := b.Registry.Get(link.Harness); err == nil {
		part.Harness = h.Info().Title
	}
	counts := func(m coleo.ThreadMessage) bool {
		own := m.Kind != "prompt" || !successor.IsFirst(m.Text)
		if own && m.Kind == "prompt" {
			part.Prompts = append(part.Prompts, m.Text)
		}
		return own
	}
	if link.Conversation != "" {
		s, err := b.SummariseThread(ctx, link.Harness, link.Conversation, counts)
		if err == nil && s.Prompts+s.Answers > 0 {
			part.Summary = s
			return part, nil
		}
		part.Prompts = nil
	}
	list, _, err := b.DB.Runs(ctx, store.RunFilter{Arm: link.ID, Limit: mostRuns})
	if err != nil {
		return part, err
	}
	m := summary.New(coleo.Thread{ID: link.Conversation, Harness: link.Harness})
	for _, run := range slices.Backward(list) {
		turn := []coleo.ThreadMessage{{Kind: "prompt", Text: run.Prompt}, {Kind: "answer", Text: run.Answer}}
		for _, message := range turn {
			if message.Text != "" && !run.Compact && counts(message) {
				m.Message(message)
			}
		}
	}
	m.Arm(true)
	err = b.EachEvent(ctx, link.ID, summary.Kinds(), m.Event)
	part.Summary = m.Summary()
	return part, err
}
