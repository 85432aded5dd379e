package brain

import (
	"context"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/pricebook"
	"coleo.dev/wire"
)

// A stopped arm is started with another model. While serve prepares the start, a user sets the arm's budget. The start
// must not forget the budget: either the order contains it, or nothing is started.
func TestAStartKeepsABudgetThatIsSetMeanwhile(t *testing.T) {
	t.Parallel()
	for what, starts := range map[string]func(s *scripted, setsBudget func()) error{
		"recover": func(s *scripted, setsBudget func()) error {
			s.answerWith(bus.OpReport, func(context.Context, json.RawMessage) (any, error) {
				setsBudget()
				return nil, coleo.Errorf(coleo.ENotFound, "no such arm")
			})
			_, err := s.brain.Recover(s.t.Context(), "a", wire.RecoverRequest{Model: "gpt-4o"})
			return err
		},
		"spawn": func(s *scripted, setsBudget func()) error {
			book := s.brain.Prices()
			s.brain.Prices = func() *pricebook.Book {
				setsBudget()
				return book
			}
			_, err := s.brain.Spawn(s.t.Context(), wire.SpawnRequest{Name: "a", Model: "gpt-4o"})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, Capabilities: []string{"aider"}, MaxArms: 9,
				TakesBudget: true})
			config := func(c coleo.Chosen) json.RawMessage {
				raw, err := json.Marshal(coleo.SpawnConfig{Workdir: "/w", Chosen: &c})
				check(t, err)
				return raw
			}
			check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "a", Name: "a", Harness: "aider", AgentID: scriptedHost,
				Status: coleo.StatusStopped, State: coleo.Dead, Workdir: "/w",
				Config: config(coleo.Chosen{Number: 1, Model: "m"})}))
			var ordered *bus.SpawnOrder
			s.answerWith(bus.OpSpawn, func(_ context.Context, data json.RawMessage) (any, error) {
				err := json.Unmarshal(data, &ordered)
				return bus.ArmReport{ID: "a"}, err
			})
			err := starts(s, func() {
				s.change(func(row *coleo.Arm) {
					row.Config = config(coleo.Chosen{Number: 2, Model: "m", Budget: &coleo.Budget{Dollars: 5}})
				})
			})
			if ordered == nil && coleo.ErrorCode(err) != coleo.EConflict {
				t.Fatalf("nothing was ordered: %v, want the code %s", err, coleo.EConflict)
			}
			if ordered != nil && (ordered.Config.Chosen.Budget == nil || ordered.Config.Chosen.Number <= 2) {
				t.Errorf("the order has %+v, want the budget and a higher number", ordered.Config.Chosen)
			}
			if c := s.chosen("a"); c.Budget == nil {
				t.Errorf("the row has %+v, want the budget", c)
			}
		})
	}
}
