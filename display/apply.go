package display

import (
	"slices"

	"coleo.dev"
)

// Apply returns the snapshot of an arm after the event e. It does not change s. The caller must
// call Apply for each event, in the order of the log. If s is the zero Snapshot, the result
// describes the arm of e. Apply ignores events of other arms, events that s already contains, and
// events with an unreadable payload.
func Apply(s Snapshot, e coleo.Event) Snapshot {
	if s.Arm == "" {
		s.Arm = e.Arm
	}
	if e.Arm != s.Arm || e.Arm == "" || s.Host == e.Host && s.Epoch == e.Epoch && e.Seq <= s.Seq {
		return s
	}
	s.Host, s.Epoch, s.Seq, s.Time = e.Host, e.Epoch, e.Seq, e.Time
	switch e.Kind {
	case coleo.EventSpawned, coleo.EventReattached:
		if e.Kind == coleo.EventSpawned {
			s = s.afterExit()
			s.State, s.Rule, s.Usage = coleo.Initializing, "", nil
		}
	case coleo.EventStopped:
		r, _ := payload[coleo.Reading](e)
		s = s.afterExit()
		s.State, s.Rule, s.Detail = coleo.Dead, r.Rule, r.Detail
	case coleo.EventRemoved:
		return Snapshot{Arm: s.Arm, Host: s.Host, Epoch: s.Epoch, Seq: s.Seq, Time: s.Time}
	case coleo.EventState, coleo.EventUnrecognised:
		return s.read(e)
	case coleo.EventBudget:
		if c, ok := payload[coleo.BudgetChange](e); ok {
			s.Budget = c.After(s.Budget)
		}
	case coleo.EventRunStart:
		return s.begin(e)
	case coleo.EventRunEnd:
		return s.end(e)
	default:
		if e.Kind.IsWork() {
			return s.work(e)
		}
	}
	return s
}

// afterExit returns s without the values that only a living agent CLI has, such as an open dialog.
func (s Snapshot) afterExit() Snapshot {
	s.Dialog, s.Tools, s.Background, s.Detail, s.Thinking = nil, nil, "", "", false
	return s
}

func (s Snapshot) read(e coleo.Event) Snapshot {
	c, ok := payload[coleo.Change](e)
	if !ok || !c.Reading.State.Valid() {
		return s
	}
	r := c.Reading
	if r.State == coleo.Dead {
		s = s.afterExit()
	}
	s.State, s.Rule, s.Detail, s.Background, s.Dialog = r.State, r.Rule, r.Detail, r.Background, r.Dialog
	return s
}

func (s Snapshot) begin(e coleo.Event) Snapshot {
	r, ok := payload[coleo.Receipt](e)
	if !ok {
		return s
	}
	s.Run, s.Open, s.Began, s.Prompt = e.Run, true, e.Time, head(r.Text, MaxPrompt)
	s.Turn, s.RunUsage, s.Text, s.block, s.Problem, s.Compacts = 0, Tokens{}, "", "", "", 0
	s.Thinking, s.Partial = false, false
	return s
}

func (s Snapshot) end(e coleo.Event) Snapshot {
	end, ok := payload[coleo.RunEnd](e)
	if !ok {
		return s
	}
	if u := end.Usage; u != nil {
		s.Usage = &Tokens{u.Input, u.Cached, u.Output, u.Cost}
	}
	s.Tools = without(s.Tools, func(t Tool) bool { return t.Run == e.Run })
	if e.Run == s.Run {
		s.Open, s.Thinking = false, false
	}
	return s
}

func (s Snapshot) work(e coleo.Event) Snapshot {
	w, err := decode(e)
	if err != nil {
		return s
	}
	if m := modelOf(w); m != "" {
		s.Model = m
	}
	switch w := w.(type) {
	case coleo.ModeChanged:
		s.Mode = w.To
	case coleo.TasksUpdated:
		s.Tasks = w.Tasks
	case coleo.ToolCall:
		return s.call(e, w)
	case coleo.ToolEnd:
		s.Tools = without(s.Tools, func(t Tool) bool { return t.ID == w.ID && t.Run == e.Run })
	default:
		// work of the other kinds changes the snapshot only if it belongs to the newest run
		if e.Run == s.Run {
			return s.withWork(e, w)
		}
	}
	return s
}

// modelOf returns the model that the work names, or "" if it names none.
func modelOf(w coleo.Work) string {
	switch w := w.(type) {
	case coleo.ModelChanged:
		return w.To
	case coleo.Turn:
		return w.Model
	case coleo.ReplyUsage:
		if !w.Subagent {
			return w.Model
		}
	}
	return ""
}

// decode decodes the payload of an event of work. A turn may have no payload; decode then returns an
// empty Turn. For every other kind, a missing payload is an error.
func decode(e coleo.Event) (coleo.Work, error) {
	if len(e.Payload) == 0 && e.Kind != coleo.EventTurn {
		return nil, coleo.Errorf(coleo.EInvalid, "event %d of host %s has no payload", e.Seq, e.Host)
	}
	if len(e.Payload) == 0 {
		return coleo.Turn{}, nil
	}
	return coleo.DecodeWork(e)
}

func (s Snapshot) call(e coleo.Event, c coleo.ToolCall) Snapshot {
	s.Thinking = false
	tool := Tool{ID: c.ID, Run: e.Run, Name: c.Name, Kind: c.Kind, Title: title(c), Since: e.Time}
	s.Tools = without(s.Tools, func(t Tool) bool { return t.ID == c.ID && t.Run == e.Run })
	s.Tools = append(slices.Clone(s.Tools), tool)
	s.Tools = s.Tools[max(0, len(s.Tools)-MaxTools):]
	return s
}

// withWork applies an event of work that belongs to the newest run. The caller does not pass events of other runs.
func (s Snapshot) withWork(e coleo.Event, w coleo.Work) Snapshot {
	switch w := w.(type) {
	case coleo.Turn:
		s.Turn = max(s.Turn, e.Turn)
	case coleo.Thinking:
		s.Thinking = true
	case coleo.AssistantText:
		if w.ID != s.block {
			s.Text, s.block = "", w.ID
		}
		s.Text, s.Thinking = tail(s.Text+w.Text, MaxText), false
	case coleo.ReplyUsage:
		u := s.RunUsage
		s.RunUsage = Tokens{u.Input + w.Input, u.Cached + w.Cached, u.Output + w.Output, u.Cost + w.Cost}
	case coleo.Problem:
		s.Problem = head(w.Text, MaxPrompt)
	case coleo.Compaction:
		s.Compacts++
	default: // a snapshot has no field for work of other types
	}
	return s
}
