package host

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/store"
)

// notices is a session that reports the changes that a test chooses. The tests report them in the order in
// which a real Claude Code 2.1.329 does.
type notices struct {
	*stage
	a       *arm
	session coleo.Session
	cursor  coleo.Cursor
	at      int64 // position of the last work in the record
}

func newNotices(t *testing.T) *notices {
	t.Helper()
	n := &notices{stage: newStage(t), cursor: 100}
	var err error
	n.a, err = n.host.arm(n.arm("ada"))
	n.check(err)
	n.session, err = n.a.liveSession()
	n.check(err)
	return n
}

func (n *notices) note(c coleo.Change) {
	n.t.Helper()
	n.cursor++
	c.Cursor, c.Time = n.cursor, time.Now()
	n.check(n.a.note(n.t.Context(), n.session, c))
}

func (n *notices) state(state coleo.State) {
	n.t.Helper()
	n.note(coleo.Change{Kind: coleo.ChangeState, Reading: coleo.Reading{State: state, Rule: "test", Known: true}})
}

// turn reports a turn that the agent CLI has begun by itself. `prompt` is the prompt of that turn in the
// record.
func (n *notices) turn(prompt string, ended coleo.State) {
	n.t.Helper()
	n.note(coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginSelf, Note: prompt, Ended: ended,
		Reading: coleo.Reading{State: coleo.Processing}})
	n.works(coleo.Prompted{Text: prompt})
}

// works reports work from the record.
func (n *notices) works(list ...coleo.Work) {
	n.t.Helper()
	c := coleo.Change{Kind: coleo.ChangeWork, Record: "r", Reading: coleo.Reading{State: coleo.Processing}}
	for _, w := range list {
		n.at++
		c.Work = append(c.Work, coleo.Activity{Work: w, Source: coleo.SourceTranscript, Position: n.at})
	}
	n.note(c)
}

func said(text string) coleo.Work {
	return coleo.AssistantText{Block: coleo.Block{Text: text, Done: true}}
}

// intends stores a prompt that is about to be typed.
func (n *notices) intends(id, text string) coleo.Receipt {
	n.t.Helper()
	run := coleo.Receipt{ID: id, Text: text, Time: time.Now()}
	n.check(n.a.intend(n.t.Context(), func(r *store.ArmRecord) []coleo.Event {
		r.Intended = append(r.Intended, run)
		return nil
	}))
	return run
}

// types stores a prompt and reports that it has arrived.
func (n *notices) types(id, text string) {
	n.t.Helper()
	n.arrives(n.intends(id, text))
}

func (n *notices) arrives(run coleo.Receipt) {
	n.t.Helper()
	run.Cursor = n.cursor
	n.check(n.a.open(n.t.Context(), run))
}

// told returns one line for each thing that the log says about a run. A line begins with the run's prompt, such
// as "notice says read" or "notice is finished".
func (n *notices) told() (out []string) {
	n.t.Helper()
	prompts := map[string]string{}
	all, _ := n.readLog()
	for _, e := range all {
		switch e.Kind {
		case coleo.EventRunStart:
			var run coleo.Receipt
			n.check(json.Unmarshal(e.Payload, &run))
			prompts[e.Run] = run.Text
			out = append(out, run.Text+" begins "+string(run.Origin))
		case coleo.EventAssistantText:
			var text coleo.AssistantText
			n.check(json.Unmarshal(e.Payload, &text))
			out = append(out, prompts[e.Run]+" says "+text.Text)
		case coleo.EventUsage:
			out = append(out, prompts[e.Run]+" costs")
		case coleo.EventRunEnd:
			end, err := coleo.DecodeRunEnd(e)
			n.check(err)
			out = append(out, prompts[e.Run]+" is "+string(end.Outcome))
		}
	}
	return out
}

// A subagent ends in the background, and the agent CLI begins a turn by itself because of this notice. The turn
// must be a separate run, not a part of the previous run. Its changes can come in three orders, each seen in a
// real Claude Code 2.1.329.
func TestANoticeOfASubagentIsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	usage := coleo.ReplyUsage{Usage: coleo.Usage{Input: 1}}
	for name, c := range map[string]struct {
		do   func(*notices)
		want []string
	}{
		"after the arm was idle": {func(n *notices) {
			n.state(coleo.Idle)
			n.turn("notice", coleo.Idle)
			n.state(coleo.Processing)
			n.works(said("read"), usage)
			n.state(coleo.Idle)
		}, []string{"start is finished", "notice begins self", "notice says read", "notice costs", "notice is finished"}},
		"before the arm is idle": {func(n *notices) {
			n.turn("notice", coleo.Idle)
			n.works(said("read"), usage)
			n.state(coleo.Idle)
		}, []string{"start is finished", "notice begins self", "notice says read", "notice costs", "notice is finished"}},
		"and a second one": {func(n *notices) {
			n.turn("notice", coleo.Idle)
			n.works(said("read"))
			n.turn("other notice", coleo.Idle)
			n.works(said("read too"), usage)
			n.state(coleo.Idle)
		}, []string{"start is finished", "notice begins self", "notice says read", "notice is finished",
			"other notice begins self", "other notice says read too", "other notice costs", "other notice is finished"}},
		"while a prompt is typed": {func(n *notices) {
			n.state(coleo.Idle)
			next := n.intends("r2", "next")
			n.turn("notice", coleo.Idle)
			n.works(said("read"), usage)
			n.arrives(next)
			n.state(coleo.Processing)
			n.works(coleo.Prompted{Text: "next"}, said("nonce"))
			n.state(coleo.Idle)
		}, []string{"start is finished", "notice begins self", "notice says read", "notice costs", "next begins ",
			"next says nonce", "notice is finished", "next is finished"}},
		"while a prompt waits in the queue of the agent CLI": {func(n *notices) {
			n.types("r2", "next")
			n.turn("notice", coleo.Idle)
			n.works(said("read"), usage, coleo.Prompted{Text: "next"}, said("nonce"))
			n.state(coleo.Idle)
		}, []string{"next begins ", "start is finished", "notice begins self", "notice says read", "notice costs",
			"next says nonce", "notice is finished", "next is finished"}},
		"after a turn that has failed": {func(n *notices) {
			n.turn("notice", coleo.Failed)
			n.works(said("read"))
			n.state(coleo.Idle)
		}, []string{"start is failed", "notice begins self", "notice says read", "notice is finished"}},
		"in the middle of a turn": {func(n *notices) {
			n.turn("notice", "")
			n.works(said("read"))
			n.state(coleo.Idle)
		}, []string{"start says read", "start is finished"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotices(t)
			n.types("r1", "start")
			n.state(coleo.Processing)
			n.works(coleo.Prompted{Text: "start"}, said("started"))
			c.do(n)
			want := append([]string{"start begins ", "start says started"}, c.want...)
			if got := n.told(); !slices.Equal(got, want) {
				t.Errorf("the log tells\n%q, want\n%q", got, want)
			}
			if n.a.run != nil || n.a.record.Run != nil || len(n.a.record.Earlier) > 0 {
				t.Errorf("open runs are left: %+v, %+v", n.a.record.Run, n.a.record.Earlier)
			}
		})
	}
}
