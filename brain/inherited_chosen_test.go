package brain

import (
	"encoding/json"
	"reflect"
	"testing"

	"coleo.dev"
	"coleo.dev/brain/choices"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// A Chosen is what a user has chosen for an arm, such as its mode and model. These maps contain the fields that a
// fork, a subarm or a successor does not inherit, each with the reason. A fork inherits all fields.
var (
	notOfChosenOfFork   = map[string]string{}
	notOfChosenOfSubarm = map[string]string{
		"Number": "counts the changes of one arm", "Mode": "the request for a subarm names the permission mode",
		"Unsaid": "the parent gets these instructions", "Modes": "a subarm has not left a mode",
		"Threads": "a subarm begins a conversation", "Budget": "the budget of the parent counts its subarms too",
	}
	notOfChosenOfSuccessor = map[string]string{
		"Number": "counts the changes of one arm", "Mode": "the successor's agent CLI has other modes",
		"Unsaid": "the first arm gets these instructions", "Model": "the successor's agent CLI has other models",
		"Modes": "the successor's agent CLI has other modes", "Threads": "a successor begins a conversation",
		"Budget": "a budget is for one arm",
	}
)

// A fork, a subarm and a successor inherit what the user has chosen, but three different functions copy it.
// This test fails if someone adds a field to Chosen and neither copies nor lists it. The copy must be in the
// new arm's configuration. A value that is only in the arm's row would be lost together with serve.db.
func TestEachFieldOfChosenIsInheritedOrListed(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "arm-1", Name: "ada", Harness: "aider",
		AgentID: scriptedHost, Status: coleo.StatusIdle, State: coleo.Idle}))
	for _, of := range []struct {
		name   string
		config func(coleo.Arm) (coleo.SpawnConfig, error)
		left   map[string]string
	}{
		{"fork", s.forkConfig, notOfChosenOfFork},
		{"subarm", s.subarmConfig, notOfChosenOfSubarm},
		{"successor", s.successorConfig, notOfChosenOfSuccessor},
	} {
		without := s.configAfter(of.config, &coleo.Chosen{})
		for field := range reflect.TypeFor[coleo.Chosen]().Fields() {
			chosen := coleo.Chosen{}
			fill(t, reflect.ValueOf(&chosen).Elem().FieldByIndex(field.Index))
			inherited := s.configAfter(of.config, &chosen) != without
			switch listed := of.left[field.Name] != ""; {
			case inherited && listed:
				t.Errorf("a %s inherits %s, but this test lists the field as left out", of.name, field.Name)
			case !inherited && !listed:
				t.Errorf("a %s loses %s of Chosen: pass it on, or list it here with a reason", of.name, field.Name)
			}
		}
		for name := range of.left {
			if _, there := reflect.TypeFor[coleo.Chosen]().FieldByName(name); !there {
				t.Errorf("this test lists %s, which is no field of Chosen", name)
			}
		}
	}
}

// configAfter gives the arm the choices in `chosen`. It then returns the start configuration that the function
// `config` makes from this arm, as JSON.
func (s *scripted) configAfter(config func(coleo.Arm) (coleo.SpawnConfig, error), chosen *coleo.Chosen) string {
	s.t.Helper()
	first, err := s.db.UpdateArm(s.t.Context(), "arm-1", func(row *coleo.Arm) error {
		config := coleo.SpawnConfig{Arm: row.ID, Workdir: "/w", Tools: []string{coleo.ToolSpawnArm}, Chosen: chosen}
		choices.ToRow(row, config)
		raw, err := json.Marshal(config)
		row.Config = raw
		return err
	})
	check(s.t, err)
	made, err := config(first)
	check(s.t, err)
	raw, err := json.Marshal(made)
	check(s.t, err)
	return string(raw)
}

func (s *scripted) forkConfig(first coleo.Arm) (coleo.SpawnConfig, error) {
	fork := spawnSteps{q: wire.SpawnRequest{Name: "fork"}, parent: &first}
	err := s.brain.nameStart(s.t.Context(), &fork)
	if err == nil {
		err = s.brain.configureStart(s.t.Context(), &fork)
	}
	return fork.config, err
}

func (s *scripted) subarmConfig(first coleo.Arm) (coleo.SpawnConfig, error) {
	config := first.SpawnConfig()
	s.alwaysAnswer(bus.OpReport, bus.ArmReport{Name: first.Name, Attached: true, Config: &config})
	row, made, err := s.brain.enterSubarm(s.t.Context(), scriptedHost, coleo.Suspension{Arm: first.ID,
		Request: &coleo.ArmRequest{Arm: "arm-sub", Name: first.Name + ".sub", Harness: first.Harness, Workdir: "/w"}})
	if err == nil {
		err = s.db.DeleteArm(s.t.Context(), row.ID) // the next field needs a new row
	}
	return made, err
}

func (s *scripted) successorConfig(first coleo.Arm) (coleo.SpawnConfig, error) {
	next, err := s.brain.successorOf(s.t.Context(), first, wire.HandoverRequest{To: "aider", Name: "next"}, nil)
	return next.config, err
}
