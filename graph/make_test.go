package graph

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"coleo.dev"
)

// maker creates random logs of one host.
type maker struct {
	*rand.Rand
	log  []coleo.Event
	runs int
	now  time.Time
}

func newMaker(seed uint64) *maker {
	return &maker{Rand: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (m *maker) put(e coleo.Event, payload any) {
	m.now = m.now.Add(time.Duration(m.IntN(2000)) * time.Millisecond)
	e.Host, e.Epoch, e.Seq, e.Time = "h", "e", uint64(len(m.log)+1), m.now
	if payload != nil {
		raw, err := json.Marshal(payload)
		if err != nil {
			panic(err)
		}
		e.Payload = raw
	}
	m.log = append(m.log, e)
}

func (m *maker) work(run coleo.Event, w coleo.Work) {
	run.Kind, run.Source = coleo.KindOf(w), coleo.SourceTranscript
	m.put(run, w)
}

// valid returns a valid log of two arms whose events alternate.
func (m *maker) valid() []coleo.Event {
	m.log = nil
	a, b := m.arm("a"), m.arm("b")
	for a != nil || b != nil {
		if a != nil && m.IntN(2) == 0 {
			a = a()
		} else if b != nil {
			b = b()
		}
	}
	return m.log
}

// step appends the next events of an arm, and returns the step after it, or nil at the end of the
// log.
type step func() step

func (m *maker) arm(name string) step {
	e := coleo.Event{Arm: name}
	m.put(coleo.Event{Arm: name, Kind: coleo.EventSpawned}, coleo.Handle{Harness: "x", Generation: 1})
	left := 1 + m.IntN(3)
	parent := ""
	var next step
	next = func() step {
		if left--; left < 0 {
			return nil
		}
		m.runs++
		e := e
		e.Run, e.Parent = fmt.Sprintf("run%d", m.runs), parent
		if m.IntN(2) == 0 {
			parent = e.Run
		}
		start := e
		start.Kind = coleo.EventRunStart
		m.put(start, coleo.Receipt{ID: e.Run, Text: "do " + e.Run, Offset: int64(m.IntN(9999))})
		return m.turns(e, 1, next)
	}
	return next
}

func (m *maker) turns(e coleo.Event, n int, then step) step {
	return func() step {
		e := e
		e.Turn = n
		m.work(e, coleo.Turn{Reply: fmt.Sprint("r", n), Model: "m"})
		m.texts(e)
		calls := m.calls(e)
		return func() step {
			m.asks(e, calls)
			open := m.ends(e, calls)
			if m.IntN(3) > 0 {
				return m.turns(e, n+1, then)
			}
			if m.IntN(5) == 0 {
				return nil // the log ends in the middle of the run
			}
			end := e
			end.Kind, end.Turn = coleo.EventRunEnd, 0
			m.put(end, coleo.RunEnd{Status: coleo.Idle, Outcome: coleo.OutcomeFinished, Answer: "ok", Orphans: open})
			return then
		}
	}
}

func (m *maker) texts(e coleo.Event) {
	for b := range m.IntN(3) {
		id := fmt.Sprintf("t%d.%d", e.Turn, b)
		for p := range 1 + m.IntN(4) {
			block := coleo.Block{ID: id, Text: fmt.Sprintf("piece %d of %s ", p, id)}
			if b == 0 {
				m.work(e, coleo.Thinking{Block: block})
			} else {
				m.work(e, coleo.AssistantText{Block: block})
			}
		}
	}
	if m.IntN(4) == 0 {
		id := fmt.Sprint("s", len(m.log))
		m.work(e, coleo.ShellInput{ID: id, Command: "ls"})
		m.work(e, coleo.ShellOutput{ID: id, Output: "a"})
		m.work(e, coleo.Problem{Text: id})
	}
	if m.IntN(3) == 0 {
		m.work(e, coleo.ReplyUsage{Usage: coleo.Usage{Input: m.IntN(100)}})
	}
}

func (m *maker) calls(e coleo.Event) []coleo.ToolCall {
	var out []coleo.ToolCall
	for c := range m.IntN(4) {
		call := coleo.ToolCall{ID: fmt.Sprintf("c%d.%d", e.Turn, c), Name: "bash", Kind: coleo.ToolExecute,
			Command: fmt.Sprintf("make %d", m.IntN(3)), Arguments: json.RawMessage(`{"a":1}`)}
		switch m.IntN(4) {
		case 0:
			call.Name, call.Kind, call.Command, call.Files = "edit", coleo.ToolEdit, "", []string{fmt.Sprintf("f%d", m.IntN(3))}
		case 1:
			call.Arguments, call.Malformed = nil, &coleo.Malformed{Error: "no", Raw: "{\"a"}
		case 2:
			call.Name, call.Kind, call.Command = "task", coleo.ToolSubagent, ""
			m.work(e, call)
			m.work(e, coleo.SubagentStart{ID: call.ID, Type: "helper", Task: "look"})
			out = append(out, call)
			continue
		}
		m.work(e, call)
		out = append(out, call)
	}
	return out
}

// asks opens a dialog for a call, and usually answers it. The answer names no run.
func (m *maker) asks(e coleo.Event, calls []coleo.ToolCall) {
	if len(calls) == 0 || m.IntN(2) == 0 {
		return
	}
	d := coleo.Dialog{Kind: coleo.DialogPermission, Title: "May I?", Subject: calls[m.IntN(len(calls))].Command,
		Fingerprint: coleo.Fingerprint(fmt.Sprint("f", len(m.log)))}
	e.Kind, e.Turn = coleo.EventState, 0
	m.put(e, coleo.Change{Reading: coleo.Reading{State: coleo.WaitingApproval, Dialog: &d}})
	if m.IntN(4) > 0 {
		answered := e
		answered.Run, answered.Kind = "", coleo.EventDecision
		m.put(answered, coleo.Decided{Dialog: d, Decision: coleo.Decision{Choice: coleo.ChoiceApprove}})
	}
	m.put(e, coleo.Change{Reading: coleo.Reading{State: coleo.Executing}})
}

// ends ends most calls, and returns the ids of the calls that stay open.
func (m *maker) ends(e coleo.Event, calls []coleo.ToolCall) []string {
	var open []string
	for _, c := range calls {
		if m.IntN(6) == 0 {
			open = append(open, c.ID)
			continue
		}
		if m.IntN(3) == 0 {
			m.work(e, coleo.ToolProgress{ID: c.ID, Output: "…"})
		}
		end := coleo.ToolEnd{ID: c.ID, Outcome: coleo.ToolSuccess, Output: "out"}
		switch m.IntN(4) {
		case 0:
			end.Outcome, end.Reason = coleo.ToolDenied, "not now"
		case 1:
			end.Outcome, end.Reason = coleo.ToolError, "broke"
		}
		m.work(e, end)
		if c.Kind == coleo.ToolSubagent {
			m.work(e, coleo.SubagentEnd{ID: c.ID, Outcome: end.Outcome})
		}
		if c.Kind == coleo.ToolEdit && end.Outcome == coleo.ToolSuccess {
			m.work(e, coleo.FileChanged{Path: c.Files[0], Call: c.ID})
		}
	}
	return open
}

// hostile returns a valid log after random changes: missing, repeated, malformed and foreign
// events.
func (m *maker) hostile() []coleo.Event {
	log := m.valid()
	for range 1 + m.IntN(40) {
		i := m.IntN(len(log))
		switch m.IntN(9) {
		case 0: // an event is missing
			log = append(log[:i:i], log[i+1:]...)
		case 1: // an event is repeated
			log = append(log, log[i])
		case 2:
			log[i].Payload = nil
		case 3:
			log[i].Payload = json.RawMessage(`{"id":17,"kind":[]`)
		case 4:
			log[i].Kind = coleo.EventKind([]string{"unknown", "", "tool_call_end", "tool_call_start", "run_start",
				"run_end", "approval", "state", "subagent_end", "file_changed", "turn", "tool_progress"}[m.IntN(12)])
		case 5:
			log[i].Run = []string{"", "run1", "arm:a", "run1/turn:1", "x/y"}[m.IntN(5)]
		case 6:
			log[i].Turn = []int{-1, 0, 1, 99}[m.IntN(4)]
		case 7:
			log[i].Payload = json.RawMessage(`{"id":"turn:1","name":"x","path":"/","call":"turn:1","text":"x"}`)
		case 8:
			log[i].Arm, log[i].Parent, log[i].Epoch = []string{"", "a", "c"}[m.IntN(3)], "run2", "f"
		}
		if len(log) == 0 {
			return m.valid()
		}
		for j := range log { // new numbers, because Reduce would skip most events with their old numbers
			if m.IntN(20) > 0 {
				log[j].Seq = uint64(j + 1)
			}
		}
	}
	return log
}
