package host

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/workspace"
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
		"a label that is none":     {bus.OpLabel, bus.LabelOrder{Arm: id, Labels: coleo.Labels{"a b": "c"}}, coleo.EInvalid},
		"an empty prompt":          {bus.OpPrompt, promptOrder(id, " "), coleo.EInvalid},
		"an answer to no question": {bus.OpRespond,
			bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceDeny}}, coleo.EStale},
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
		bus.RespondOrder{Arm: id, Dialog: "another", Decision: coleo.Decision{Choice: coleo.ChoiceApprove}})
	must[any](s, bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceDeny}})
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
	for _, next := range []func(){func() {}, s.restart} { // the host agent that saw the end, then the next one
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

// The host agent must keep a copy of an arm's labels. The log must contain each change of the labels, even a
// change while the arm is stopped.
func TestLabelsAreKeptAndTold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	label := func(labels coleo.Labels) {
		t.Helper()
		report := must[bus.LabelReport](s, bus.OpLabel, bus.LabelOrder{Arm: id, Labels: labels})
		now := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Config.Chosen
		if !maps.Equal(report.Chosen.Labels, labels) || !maps.Equal(now.Labels, labels) ||
			now.Number != report.Chosen.Number {
			t.Errorf("the order reports %+v and the arm has %+v, want %v", report.Chosen, now, labels)
		}
	}
	label(coleo.Labels{"team": "a"})
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	label(coleo.Labels{"team": "b", "k": "v"})
	var told []string
	for _, e := range s.events(id, coleo.EventLabels) {
		var l coleo.Labelled
		s.check(json.Unmarshal(e.Payload, &l))
		told = append(told, coleo.Labels(l.Labels).String())
	}
	if want := []string{"team=a", "k=v,team=b"}; !slices.Equal(told, want) {
		t.Errorf("the log tells %q, want %q", told, want)
	}
}

// Each order that types must hold the arm's lock, so that the arm cannot move meanwhile.
func TestEachOrderThatTypesHoldsTheArm(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("orders.go")
	if err != nil {
		t.Fatal(err)
	}
	constants, err := os.ReadFile(filepath.Join("..", "bus", "orders.go"))
	if err != nil {
		t.Fatal(err)
	}
	holds := map[string]bool{"OpAlternative": true} // this order takes the lock itself, for a change of the model
	for _, m := range regexp.MustCompile(`bus\.(Op\w+): +typingOrder`).FindAllStringSubmatch(string(source), -1) {
		holds[m[1]] = true
	}
	found := 0
	for _, m := range regexp.MustCompile(`\t(Op\w+) +Op = "([^"]+)"`).FindAllStringSubmatch(string(constants), -1) {
		if bus.Op(m[2]).Types() {
			found++
			if !holds[m[1]] {
				t.Errorf("%s types, and is no typingOrder", m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d orders were found that type", found)
	}
}

// A rename of an arm fails because the record of its worktree is unreadable. The arm must keep its name.
func TestARenameThatFailsChangesNoName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newStageOf(t, "", &stage{alter: func(c *Config) { c.Workspaces = workspace.Workspaces{Dir: dir} }})
	id := s.arm("ada")
	s.check(os.WriteFile(filepath.Join(dir, id+".worktree.json"), []byte("damaged"), 0o600))
	if err := s.ask(bus.OpRename, bus.RenameOrder{Arm: id, Name: "bob"}, nil); err == nil {
		t.Fatal("an arm was renamed although the record of its worktree is damaged")
	}
	if got := s.report(id).Name; got != "ada" {
		t.Errorf("the arm is called %q after a rename that failed", got)
	}
}

// The log must have the labels and the budget of an arm even if its first start failed.
func TestLabelsAreToldEvenIfTheFirstStartFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.order("ada")
	o.Config.Workdir = s.path("work-ada")
	labels := coleo.Labels{"team": "a"}
	o.Config.Chosen = (*coleo.Chosen)(nil).Change(func(c *coleo.Chosen) {
		c.Labels, c.Budget = labels, &coleo.Budget{Dollars: 1}
	})
	if err := s.ask(bus.OpSpawn, o, nil); err == nil {
		t.Fatal("an arm started in a folder that does not exist")
	}
	o.Config.Workdir = s.workdir("ada")
	must[bus.ArmReport](s, bus.OpSpawn, o)
	for _, kind := range []coleo.EventKind{coleo.EventLabels, coleo.EventBudget} {
		if got := s.events(o.ID, kind); len(got) != 1 {
			t.Errorf("%d events %s are in the log, want one", len(got), kind)
		}
	}
}
