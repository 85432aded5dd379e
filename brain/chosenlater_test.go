package brain

import (
	"context"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// choosing makes the host agent report a Chosen, what a user has chosen for an arm, for example a mode. The
// host agent's pulses, its short reports about arms, then contain the number of the Chosen. They also contain
// an arm without a row.
func (s *scripted) choosing(arm string, chosen coleo.Chosen) {
	s.answerWith(bus.OpReport, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.ArmOrder
		err := json.Unmarshal(data, &o)
		report := bus.ArmReport{ID: o.Arm, Name: o.Arm}
		if o.Arm == arm {
			report.Config = &coleo.SpawnConfig{Chosen: &chosen}
		}
		return report, err
	})
	pulses := []bus.ArmPulse{{ID: "nobody", Chosen: 9}, {ID: arm, Chosen: chosen.Number}}
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{Arms: pulses})
}

// chosen returns the Chosen in the row of an arm.
func (s *scripted) chosen(arm string) coleo.Chosen {
	s.t.Helper()
	row, err := s.db.Arm(s.t.Context(), arm)
	check(s.t, err)
	c, err := row.DecodeConfig()
	check(s.t, err)
	if c.Chosen == nil {
		return coleo.Chosen{}
	}
	return *c.Chosen
}

// A Chosen is what a user has chosen for an arm, such as its mode and model. The host agent may have a newer
// Chosen than the row, if the last serve could not store it. A new serve must copy such a Chosen, with two
// exceptions:
//   - It keeps its own Chosen if the one of the host agent is older.
//   - It copies nothing from a host agent if the arm belongs to another host.
func TestANewServeLearnsWhatAUserHasChosen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host          string
		row, told     coleo.Chosen
		model         string // the model of the next start, before serve copies the Chosen
		mode, nextHas string
	}{
		"a newer choice": {scriptedHost, coleo.Chosen{Number: 1}, coleo.Chosen{Number: 2, Mode: "plan"},
			"p/m", "plan", "p/m"},
		"a newer model": {scriptedHost, coleo.Chosen{Number: 1}, coleo.Chosen{Number: 2, Model: "p/n"},
			"p/m", "", "p/n"},
		"an older choice": {scriptedHost, coleo.Chosen{Number: 3, Mode: "edits"}, coleo.Chosen{Number: 2, Model: "p/n"},
			"p/m", "edits", "p/m"},
		"another host's arm": {"other", coleo.Chosen{Number: 1}, coleo.Chosen{Number: 2, Mode: "plan"},
			"p/m", "", "p/m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			config, err := json.Marshal(coleo.SpawnConfig{Chosen: &c.row})
			check(t, err)
			for id, host := range map[string]string{"a": c.host} {
				check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: id, Name: id, Harness: "aider", AgentID: host,
					Status: coleo.StatusIdle, State: coleo.Idle, Config: config, DefaultModel: c.model}))
			}
			s.choosing("a", c.told)
			s.brain.roster.TakePulse(t.Context(), scriptedHost)
			s.brain.roster.TakePulse(t.Context(), scriptedHost)
			row, err := s.db.Arm(t.Context(), "a")
			check(t, err)
			if got := s.chosen("a").Mode; got != c.mode || row.DefaultModel != c.nextHas {
				t.Errorf("the row has the mode %q and the next model %q, want %q and %q", got, row.DefaultModel, c.mode, c.nextHas)
			}
		})
	}
}

// Only serve knows an arm if the host has lost its database. A change of the labels must then also change the
// arm's stored configuration. Otherwise the next start would give the host agent the old labels.
func TestLabelsOfAnArmThatItsHostDoesNotKnowAreInItsConfiguration(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.answerWith(bus.OpLabel, func(context.Context, json.RawMessage) (any, error) {
		return nil, coleo.Errorf(coleo.ENotFound, "no such arm")
	})
	for name, host := range map[string]string{"unknown": scriptedHost, "new": ""} {
		config, err := json.Marshal(coleo.SpawnConfig{Chosen: &coleo.Chosen{Number: 4, Mode: "plan",
			Labels: coleo.Labels{"team": "a"}}})
		check(t, err)
		check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: name, Name: name, Harness: "aider", AgentID: host, Config: config,
			Status: coleo.StatusStopped, State: coleo.Dead, Labels: coleo.Labels{"team": "a"}}))
		arm, err := s.brain.Label(t.Context(), name, coleo.LabelChange{Set: coleo.Labels{"team": "b"}})
		check(t, err)
		chosen := s.chosen(name)
		if arm.Labels["team"] != "b" || chosen.Labels["team"] != "b" || chosen.Number != 5 || chosen.Mode != "plan" {
			t.Errorf("arm %s: the row has %v, and its configuration contains %+v", name, arm.Labels, chosen)
		}
	}
}

// Two people change the model of an arm at about the same time. The host agent carries out the first order and then
// the second, but the reply to the first comes last. The row must show the model that the arm has.
func TestTheLaterOfTwoModelsIsInTheRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ second, want string }{
		"the second order names another model": {"p/second", "p/second"},
		"the second order is about labels":     {"p/first", "p/first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "ada", Name: "ada", Harness: "aider", AgentID: scriptedHost,
				Status: coleo.StatusIdle, State: coleo.Idle, DefaultModel: "p/before"}))
			later := coleo.Chosen{Number: 6, Model: c.second}
			s.answerWith(bus.OpModel, func(context.Context, json.RawMessage) (any, error) {
				// the second order is done, and its reply has come, before the reply to the first
				check(t, s.brain.keepChosenWith(t.Context(), "ada", &later, func(row *coleo.Arm, _, _ *coleo.Chosen) {
					if c.second != "p/first" {
						row.DefaultModel = c.second
					}
				}))
				return bus.ModelReport{Chosen: &coleo.Chosen{Number: 5, Model: "p/first"}}, nil
			})
			_, err := s.brain.SwitchModel(t.Context(), "ada", coleo.ModelOrder{Model: "p/first"})
			check(t, err)
			row := s.row("ada")
			if got := s.chosen("ada"); row.DefaultModel != c.want || got.Number != 6 || got.Model != c.want {
				t.Errorf("the row has the model %q, and the configuration %+v", row.DefaultModel, got)
			}
		})
	}
}
