package store

import (
	"encoding/json"
	"time"

	"coleo.dev"
)

// defaultContextBudget is the context budget, in tokens, of an arm for which no budget
// is set.
const defaultContextBudget = 300_000

// Apply returns the row of an arm after an event. `arm` is the row before the event, or the zero Arm
// if the arm has no row. Apply has no side effects, so a replayed log gives the same rows as the live
// events. EventSpawned and EventReattached create a row. EventRemoved deletes the row.
//
// Only events of the host that owns an arm can change the arm's row. Events of a previous owner
// change nothing. A host becomes the owner when it starts the arm, or when it proves that the arm
// runs there. The event about this must not have a lower generation than the row. An event with an
// unreadable payload changes nothing.
func Apply(arm coleo.Arm, e coleo.Event) coleo.Arm {
	if e.Kind == coleo.EventSpawned || e.Kind == coleo.EventReattached {
		return applyHandle(arm, e)
	}
	if arm.ID == "" || arm.ID != e.Arm || (arm.AgentID != "" && arm.AgentID != e.Host) {
		return arm
	}
	switch e.Kind {
	case coleo.EventRemoved:
		return coleo.Arm{}
	case coleo.EventState, coleo.EventUnrecognised:
		return applyChange(arm, e)
	case coleo.EventStopped:
		return applyStopped(arm, e)
	case coleo.EventConversation:
		return applyConversation(arm, e)
	case coleo.EventRunEnd:
		return applyRunEnd(arm, e)
	case coleo.EventWindow:
		return applyWindow(arm, e)
	case coleo.EventQueue:
		return applyQueue(arm, e)
	case coleo.EventParked:
		return applyParked(arm, e)
	case coleo.EventSuspension, coleo.EventAnswered:
		return applySuspension(arm, e)
	case coleo.EventMode:
		return applyMode(arm, e)
	case coleo.EventModel:
		return applyModel(arm, e)
	case coleo.EventLabels:
		return applyLabels(arm, e)
	case coleo.EventBudget:
		return applyBudget(arm, e)
	case coleo.EventRunStart:
		return applyPromptArrived(arm, e)
	case coleo.EventPromptLost, coleo.EventDecision, coleo.EventOrphaned:
		arm.LastActivityAt = e.Time
		return withUpdated(arm, e.Time)
	default: // no field of the row depends on this event
	}
	return arm
}

func withUpdated(arm coleo.Arm, now time.Time) coleo.Arm {
	arm.UpdatedAt = now
	return arm
}

// applyHandle stores the session's handle in the row. The handle is the payload of EventSpawned and
// EventReattached.
func applyHandle(arm coleo.Arm, e coleo.Event) coleo.Arm {
	h, ok := payload[coleo.Handle](e)
	if !ok || h.Harness == "" || e.Arm == "" || h.Generation < arm.Generation {
		return arm
	}
	if e.Host == coleo.LocalHost && h.Generation == arm.Generation && arm.AgentID != "" && arm.AgentID != e.Host {
		return arm // within one generation, an arm can move from host local to a host agent, but not back
	}
	if arm.ID == "" {
		arm = coleo.Arm{ID: e.Arm, Name: e.Arm, ContextBudget: defaultContextBudget, CreatedAt: e.Time}
	}
	if e.Kind == coleo.EventSpawned || arm.Status == "" || arm.Status == coleo.StatusStopped {
		arm.Status, arm.State, arm.Rule, arm.Dialog = coleo.StatusStarting, coleo.Initializing, "", nil
	}
	if arm.Workdir = h.Workdir; e.Kind == coleo.EventSpawned {
		arm.Window = nil
		arm.LastOutputAt = time.Time{} // the time belonged to an earlier session, and means nothing for this session
		if arm.AgentID != e.Host {
			arm.Queue = nil // the queue does not move to another host with the arm
		}
	}
	arm.Harness, arm.Generation = h.Harness, h.Generation
	arm.PID, arm.Port, arm.SessionID = h.Process.PID, h.Port, h.Conversation
	if arm.AgentID != e.Host || e.Kind == coleo.EventSpawned {
		// Forget the questions, because another host logs them again, and a new agent CLI has asked none.
		arm.Suspensions = nil
	}
	arm.AgentID = e.Host
	arm.LastActivityAt = e.Time
	return withUpdated(arm, e.Time)
}

func applyChange(arm coleo.Arm, e coleo.Event) coleo.Arm {
	c, ok := payload[coleo.Change](e)
	if !ok || !c.Reading.State.Valid() {
		return arm
	}
	if c.Output.After(arm.LastOutputAt) {
		arm.LastOutputAt = c.Output
	}
	arm.State, arm.Rule, arm.Dialog = c.Reading.State, c.Reading.Rule, c.Reading.Dialog
	arm.Status = arm.StatusIn(c.Reading.State)
	if arm.State == coleo.Dead {
		arm.PID, arm.Port = 0, 0
	}
	arm.LastActivityAt = e.Time
	return withUpdated(arm, e.Time)
}

// applyQueue stores the summary of the arm's queue.
func applyQueue(arm coleo.Arm, e coleo.Event) coleo.Arm {
	c, ok := payload[coleo.QueueChange](e)
	if !ok {
		return arm
	}
	if arm.Queue = nil; c.QueueState != (coleo.QueueState{}) {
		arm.Queue = &c.QueueState
	}
	if arm.State.Valid() {
		arm.Status = arm.StatusIn(arm.State)
	}
	return withUpdated(arm, e.Time)
}

// applyPromptArrived handles the start of a run. The run's prompt has arrived, so the row no longer
// shows it as a prompt that is being sent.
func applyPromptArrived(arm coleo.Arm, e coleo.Event) coleo.Arm {
	if arm.Queue != nil && e.Run != "" && arm.Queue.Sending == e.Run {
		next := *arm.Queue
		next.Sending = ""
		if arm.Queue = nil; next != (coleo.QueueState{}) {
			arm.Queue = &next
		}
	}
	arm.LastActivityAt = e.Time
	return withUpdated(arm, e.Time)
}

// applyParked stores why the arm is parked, or that the arm is not parked. The reason is part of
// the queue's summary, because Coleo sends no prompts from the queue of a parked arm.
func applyParked(arm coleo.Arm, e coleo.Event) coleo.Arm {
	c, ok := payload[coleo.ParkChange](e)
	if !ok {
		return arm
	}
	next := coleo.QueueState{}
	if arm.Queue != nil {
		next = *arm.Queue
	}
	if next.Parked = nil; c.IsParked() {
		p := c.Parking()
		next.Parked = &p
	}
	if arm.Queue = nil; next != (coleo.QueueState{}) {
		arm.Queue = &next
	}
	return withUpdated(arm, e.Time)
}

func applyStopped(arm coleo.Arm, e coleo.Event) coleo.Arm {
	r, _ := payload[coleo.Reading](e)
	arm.Status, arm.State, arm.Rule, arm.Dialog = coleo.StatusStopped, coleo.Dead, r.Rule, nil
	arm.Suspensions = nil
	arm.PID, arm.Port, arm.Window = 0, 0, nil
	arm.LastActivityAt = e.Time
	return withUpdated(arm, e.Time)
}

// applyRunEnd stores the usage of the whole conversation in the row.
func applyRunEnd(arm coleo.Arm, e coleo.Event) coleo.Arm {
	if end, ok := payload[coleo.RunEnd](e); ok && end.Usage != nil {
		arm.TotalTokens, arm.TotalCost = end.Usage.Total(), end.Usage.Cost
	}
	arm.LastActivityAt = e.Time
	return withUpdated(arm, e.Time)
}

func applyConversation(arm coleo.Arm, e coleo.Event) coleo.Arm {
	n, ok := payload[coleo.Note](e)
	if !ok || n.Text == "" {
		return arm
	}
	if arm.SessionID = n.Text; n.Port > 0 {
		arm.Port = n.Port
	}
	return withUpdated(arm, e.Time)
}

// applySuspension updates the list of questions whose answers the arm waits for.
func applySuspension(arm coleo.Arm, e coleo.Event) coleo.Arm {
	s, ok := payload[coleo.Suspension](e)
	if !ok || s.ID == "" || arm.Status == coleo.StatusStopped {
		return arm
	}
	var list []coleo.Suspension
	for _, other := range arm.Suspensions {
		if other.ID != s.ID {
			list = append(list, other)
		}
	}
	if e.Kind == coleo.EventSuspension {
		list = append(list, s)
	}
	arm.Suspensions, arm.LastActivityAt = list, e.Time
	return withUpdated(arm, e.Time)
}

// applyWindow stores the state of the arm's window. A stopped arm has no window.
func applyWindow(arm coleo.Arm, e coleo.Event) coleo.Arm {
	c, ok := payload[coleo.Change](e)
	if !ok || c.Window == nil || arm.Status == coleo.StatusStopped {
		return arm
	}
	arm.Window = c.Window
	return withUpdated(arm, e.Time)
}

func applyMode(arm coleo.Arm, e coleo.Event) coleo.Arm {
	m, ok := payload[coleo.ModeChanged](e)
	if !ok {
		return arm
	}
	arm.Mode = m.To
	return withUpdated(arm, e.Time)
}

// applyModel stores a model that a user has chosen. It ignores the model name that an agent CLI
// reports, because this name can differ from the name in the start configuration.
func applyModel(arm coleo.Arm, e coleo.Event) coleo.Arm {
	m, ok := payload[coleo.ModelChanged](e)
	if !ok || !m.Ordered {
		return arm
	}
	arm.Provider, arm.Model = coleo.SplitModel(m.To)
	was := arm.ModelFallback
	// An event can repeat the stored fallback. In this case, keep the stored one, because a person may
	// have confirmed it.
	if m.Fallback == nil || was == nil || !was.Time.Equal(m.Fallback.Time) {
		arm.ModelFallback = m.Fallback
	}
	return withUpdated(arm, e.Time)
}

func applyLabels(arm coleo.Arm, e coleo.Event) coleo.Arm {
	l, ok := payload[coleo.Labelled](e)
	if !ok {
		return arm
	}
	if arm.Labels = l.Labels; len(l.Labels) == 0 {
		arm.Labels = nil
	}
	return withUpdated(arm, e.Time)
}

func applyBudget(arm coleo.Arm, e coleo.Event) coleo.Arm {
	c, ok := payload[coleo.BudgetChange](e)
	if !ok {
		return arm
	}
	arm.Budget = c.After(arm.Budget)
	return withUpdated(arm, e.Time)
}

// payload decodes the payload of an event. It returns false if the event has no payload, or if the
// payload is not of the type T.
func payload[T any](e coleo.Event) (T, bool) {
	var v T
	if len(e.Payload) == 0 || json.Unmarshal(e.Payload, &v) != nil {
		var none T
		return none, false
	}
	return v, true
}
