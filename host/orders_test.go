package host

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

func TestOrdersThatCannotBeCarriedOutAreRefusedWithTheirCode(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	spawn := func(change func(*bus.SpawnOrder)) bus.SpawnOrder {
		o := bus.SpawnOrder{ID: id + "2", Name: "bob", Harness: "fake", Config: coleo.SpawnConfig{Workdir: s.dir}}
		change(&o)
		return o
	}
	for what, tt := range map[string]struct {
		op    bus.Op
		order any
		want  coleo.Code
	}{
		"an op of a newer serve":   {"juggle", nil, coleo.EUnsupported},
		"an arm that is not there": {bus.OpReport, bus.ArmOrder{Arm: "nobody"}, coleo.ENotFound},
		"an order of another form": {bus.OpPrompt, []string{"no"}, coleo.EInvalid},
		"an empty prompt":          {bus.OpPrompt, promptOrder(id, " "), coleo.EInvalid},
		"an answer to no question": {bus.OpRespond,
			bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.Deny}}, coleo.EStale},
		"usage that nobody counts":     {bus.OpUsage, bus.ArmOrder{Arm: id}, coleo.EUnsupported},
		"the removal of a running arm": {bus.OpRemove, bus.ArmOrder{Arm: id}, coleo.EConflict},
		"a second start": {bus.OpSpawn, spawn(func(o *bus.SpawnOrder) { o.ID, o.Name = id, "ada" }),
			coleo.EConflict},
		"another arm of that name": {bus.OpSpawn, spawn(func(o *bus.SpawnOrder) { o.Name = "ada" }), coleo.EConflict},
		"a name that is none":      {bus.OpSpawn, spawn(func(o *bus.SpawnOrder) { o.Name = "a b" }), coleo.EInvalid},
		"a harness that nobody knows": {bus.OpSpawn, spawn(func(o *bus.SpawnOrder) { o.Harness = "nothing" }),
			coleo.EInvalid},
		"a work folder that is not there": {bus.OpSpawn,
			spawn(func(o *bus.SpawnOrder) { o.Config.Workdir = s.path("nowhere") }), coleo.EInvalid},
	} {
		t.Run(what, func(t *testing.T) { (&stage{t: t, serve: s.serve, named: hostID}).refused(tt.want, tt.op, tt.order) })
	}
	if got := s.prompted("ada"); len(got) != 0 {
		t.Errorf("the agent CLI was prompted %q by what was refused", got)
	}
}

func TestAPromptForAnArmThatAsksIsRefusedWithTheDialog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "dialog run make")
	s.until("the arm tells what it asks", func() bool {
		return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Reading.Dialog != nil
	})
	s.refused(coleo.EBlocked, bus.OpPrompt, promptOrder(id, "yes"))
	s.refused(coleo.EStale, bus.OpRespond,
		bus.RespondOrder{Arm: id, Dialog: "another", Decision: coleo.Decision{Choice: coleo.Approve}})
	must[any](s, bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.Deny}})
	s.awaitState(id, coleo.Idle)
	if got := s.events(id, coleo.EventDecision); len(got) != 1 {
		t.Errorf("%d decisions are in the log, want one", len(got))
	}
}

func TestWhatAnArmHasPrintedIsThereAfterItsEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "say remember-me")
	s.awaitState(id, coleo.Idle)
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	for op, order := range map[bus.Op]any{
		bus.OpPrompt: promptOrder(id, "say no"), bus.OpScreen: bus.ScreenOrder{Arm: id},
		bus.OpInterrupt: bus.ArmOrder{Arm: id}, bus.OpExplain: bus.ArmOrder{Arm: id},
	} {
		s.refused(coleo.EExited, op, order)
	}
	for _, next := range []func(){func() {}, s.restart} { // of the host agent that saw the end, and of the next one
		next()
		whole := s.output(id, 0)
		if !strings.Contains(whole, "remember-me") {
			t.Errorf("the output is %q, want what the arm has said", whole)
		}
		const tail = 10
		if got := s.output(id, -tail); got != whole[len(whole)-tail:] {
			t.Errorf("the last %d bytes are %q, want %q", tail, got, whole[len(whole)-tail:])
		}
		if got := s.output(id, int64(len(whole))+1000); got != "" {
			t.Errorf("behind the end there is %q", got)
		}
	}
	must[any](s, bus.OpRemove, bus.ArmOrder{Arm: id})
	s.refused(coleo.ENotFound, bus.OpOutput, bus.OutputOrder{Arm: id})
}

// output reads an arm's output from an offset to its end.
func (s *stage) output(id string, from int64) string {
	s.t.Helper()
	var all []byte
	for {
		o := must[coleo.Output](s, bus.OpOutput, bus.OutputOrder{Arm: id, From: from})
		all = append(all, o.Data...)
		if o.End {
			return string(all)
		}
		if len(o.Data) == 0 {
			s.t.Fatalf("no more output at %d of an arm that has ended, and no end", o.Offset)
		}
		from = o.Offset + int64(len(o.Data))
	}
}
