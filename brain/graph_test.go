package brain

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

// projectWork adds events to the log of the arm "a", whose work folder is /w.
type projectWork struct {
	s    *scripted
	seq  uint64
	list []coleo.Event
}

func (p *projectWork) add(run string, kind coleo.EventKind, payload any) {
	raw, err := json.Marshal(payload)
	check(p.s.t, err)
	p.seq++
	p.list = append(p.list, coleo.Event{Host: scriptedHost, Epoch: "e", Seq: p.seq, Arm: "a", Run: run, Turn: 1,
		Kind: kind, Payload: raw, Time: time.Now().UTC()})
}

func (p *projectWork) work(run string, list ...coleo.Work) {
	for _, w := range list {
		p.add(run, coleo.KindOf(w), w)
	}
}

// write adds a successful tool call that writes a text into a file.
func (p *projectWork) write(run, id, file, text string) {
	arguments, err := json.Marshal(map[string]string{"path": file, "content": text})
	check(p.s.t, err)
	p.work(run, coleo.ToolCall{ID: id, Name: "write", Kind: coleo.ToolEdit, Files: []string{file}, Arguments: arguments},
		coleo.ToolEnd{ID: id, Outcome: coleo.ToolSuccess}, coleo.FileChanged{Path: file, Call: id})
}

func (p *projectWork) end(run string) {
	p.add(run, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle})
	check(p.s.t, p.s.db.Project(p.s.t.Context(), p.list))
	p.list = nil
}

func newWork(t *testing.T) *projectWork {
	p := &projectWork{s: newScripted(t)}
	p.add("", coleo.EventSpawned, coleo.Handle{Harness: "h", Workdir: "/w", Generation: 2})
	return p
}

func TestG1TheGraphOfARunHasItsApprovals(t *testing.T) {
	t.Parallel()
	p := newWork(t)
	for _, run := range []string{"r1", "r2"} {
		p.add(run, coleo.EventRunStart, coleo.Receipt{Text: "do " + run})
		p.work(run, coleo.Turn{}, coleo.ToolCall{ID: "c", Name: "bash", Kind: coleo.ToolExecute, Command: "make"})
		p.add("", coleo.EventDecision, coleo.Decided{Dialog: coleo.Dialog{Kind: coleo.DialogPermission, Subject: "make"},
			// without a run, because a host does not name the run of an approval
			Decision: coleo.Decision{Choice: coleo.ChoiceApprove}})
		p.work(run, coleo.ToolEnd{ID: "c", Outcome: coleo.ToolSuccess})
		p.end(run)
	}
	d, err := p.s.brain.Graph(t.Context(), "r2")
	check(t, err)
	kinds := map[graph.Kind]int{}
	for _, n := range d.Nodes {
		kinds[n.Kind]++
		if n.Run != "" && n.Run != "r2" {
			t.Errorf("the graph of r2 has %s", n.ID)
		}
		if n.Approval != nil && n.Approval.Call != "r2/c" {
			t.Errorf("the approval is %+v", n.Approval)
		}
	}
	if want := map[graph.Kind]int{graph.KindArm: 1, graph.KindRun: 1, graph.KindTurn: 1, graph.KindCall: 1,
		graph.KindApproval: 1}; fmt.Sprint(kinds) != fmt.Sprint(want) || d.Partial {
		t.Errorf("the graph has %v, want %v", kinds, want)
	}
	if _, err := p.s.brain.Graph(t.Context(), "r3"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the graph of an unknown run: %v", err)
	}
}

func TestWhyFindsTheRunThatWroteTheLine(t *testing.T) {
	t.Parallel()
	p := newWork(t)
	for _, run := range []string{"r1", "r2"} {
		p.add(run, coleo.EventRunStart, coleo.Receipt{Text: run, Offset: 5})
		p.work(run, coleo.Turn{})
		p.write(run, "other", "b.go", "three")
		p.end(run)
	}
	p.add("r3", coleo.EventRunStart, coleo.Receipt{Text: "write it", Offset: 77})
	p.work("r3", coleo.Turn{})
	p.write("r3", "c1", "a.go", "one\ntwo\n")
	p.work("r3", coleo.ToolCall{ID: "c2", Name: "bash", Kind: coleo.ToolExecute, Command: "gofmt -w a.go"})
	p.end("r3")
	p.add("r4", coleo.EventRunStart, coleo.Receipt{Text: "again"})
	p.write("r4", "c3", "/w/a.go", "three\n")
	p.end("r4")
	ask := func(text string) graph.Answer {
		a, err := p.s.brain.Why(t.Context(), wire.WhyQuestion{Paths: []string{"/link/a.go", "/w/a.go"}, Line: 2, Text: text})
		check(t, err)
		return a
	}
	a := ask("two")
	if a.Certainty != graph.Wrote || a.ArmName != "a" || a.Run.ID != "r3" || a.Run.Prompt.Offset != 77 ||
		a.Call.ID != "r3/c1" ||
		a.Generation != 2 || len(a.Possible) != 1 {
		t.Errorf("the answer for a line of r3 is %+v", a)
	}
	if a := ask("by hand"); a.Certainty != graph.Changed || a.Run.ID != "r4" {
		t.Errorf("the answer for a line of nobody is %+v", a)
	}
	if none, err := p.s.brain.Why(t.Context(), wire.WhyQuestion{Paths: []string{"/w/c.go"}, Line: 1}); err != nil ||
		none.Certainty != graph.Nothing {
		t.Errorf("the answer for another file is %+v, %v", none, err)
	}
	for _, wrong := range []wire.WhyQuestion{{Paths: []string{"a.go"}, Line: 1}, {Line: 1}, {Paths: []string{"/w/a.go"}}} {
		if _, err := p.s.brain.Why(t.Context(), wrong); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// TestWhyNamesWhoApproved checks that Why finds the approver in the audit, and reports how the
// audit record was matched.
func TestWhyNamesWhoApproved(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{`{"dialog":"f"}`: "dialog", `{}`: "time", `{"dialog":"other"}`: ""} {
		p := newWork(t)
		p.add("r", coleo.EventRunStart, coleo.Receipt{})
		p.work("r", coleo.Turn{}, coleo.ToolCall{ID: "c", Kind: coleo.ToolEdit, Files: []string{"a.go"},
			Arguments: json.RawMessage(`{"path":"a.go","content":"x"}`)})
		check(t, p.s.db.Project(t.Context(), p.list))
		p.list = nil
		id, err := p.s.brain.BeginAudit(t.Context(), coleo.Audit{Time: time.Now(), Command: "respond", Arm: "a",
			Detail: json.RawMessage(detail), Caller: coleo.Caller{Kind: coleo.CallerCookie, ID: "b1"}})
		check(t, err)
		check(t, p.s.brain.EndAudit(t.Context(), id, coleo.AuditDone, ""))
		p.add("", coleo.EventDecision, coleo.Decided{Dialog: coleo.Dialog{Kind: coleo.DialogPermission, Subject: "a.go",
			Fingerprint: "f"}, Decision: coleo.Decision{Choice: coleo.ChoiceApprove}})
		p.work("r", coleo.ToolEnd{ID: "c", Outcome: coleo.ToolSuccess}, coleo.FileChanged{Path: "a.go", Call: "c"})
		p.end("r")
		a, err := p.s.brain.Why(t.Context(), wire.WhyQuestion{Paths: []string{"/w/a.go"}, Line: 1, Text: "x"})
		check(t, err)
		if a.Approval == nil || a.ApproverMatched != want || (a.Approver != nil) != (want != "") {
			t.Errorf("with the audit %s: approval %+v, approver %+v by %q", detail, a.Approval, a.Approver, a.ApproverMatched)
		}
	}
}
