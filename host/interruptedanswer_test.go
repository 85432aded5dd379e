package host

import (
	"context"
	"testing"

	"coleo.dev"
	"coleo.dev/host/armrecord"
)

// oldScreenSession is a real session whose screen still shows the answer of an earlier turn.
type oldScreenSession struct{ coleo.Session }

func (oldScreenSession) Answer(context.Context, coleo.Receipt) (coleo.Answer, error) {
	return coleo.Answer{Text: "the answer before", Source: armrecord.OnScreen}, nil
}

func TestAnInterruptedRunDoesNotGetTheAnswerOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, session := s.hijack(id, func(real coleo.Session) coleo.Session { return oldScreenSession{real} })
	run := s.prompt(id, "pause 10m")
	ends := func(when string, interrupted bool, text, source string) {
		t.Helper()
		run.Interrupted = interrupted
		end, _ := a.endOf(t.Context(), session, run, coleo.Reading{State: coleo.Idle, Known: true})
		if end.Answer != text || end.Source != source {
			t.Errorf("%s, the answer is %q from %q, want %q from %q", when, end.Answer, end.Source, text, source)
		}
	}
	ends("without a record", true, "the answer before", armrecord.OnScreen)
	text := func(at int64, text string) coleo.Activity {
		return coleo.Activity{Position: at, Work: coleo.AssistantText{Block: coleo.Block{Text: text, Done: true}}}
	}
	s.noteWork(id, []coleo.Activity{text(1, "the answer before")}) // this text belongs to no run
	ends("without a text of the run", true, "", "")
	ends("without an interrupt", false, "the answer before", armrecord.OnScreen)
	s.noteWork(id, []coleo.Activity{{Position: 2, Work: coleo.Prompted{Text: "pause 10m"}}, text(3, "first I")})
	ends("with a text of the run", true, "first I", armrecord.FromRecord)
}
