package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/cost"
)

// fleetBrain is a brain whose only arms are those in arms.
type fleetBrain struct {
	scriptedBrain
	arms []coleo.Arm
}

func (b *fleetBrain) Arms(context.Context, bool) ([]coleo.Arm, error) { return b.arms, nil }

func TestTheHealthOfOpenCodeIsThatOfItsArms(t *testing.T) {
	t.Parallel()
	arm := func(harness string, status coleo.Status, health coleo.Health) coleo.Arm {
		return coleo.Arm{Harness: harness, Status: status, Runtime: coleo.Runtime{State: health}}
	}
	good := arm("opencode-api", coleo.StatusIdle, coleo.HealthQuiet)
	hung := arm("opencode-api", coleo.StatusBusy, coleo.HealthHung)
	for want, arms := range map[string][]coleo.Arm{
		"false false 0": {arm("opencode", coleo.StatusIdle, coleo.HealthQuiet),
			arm("opencode-api", coleo.StatusStopped, coleo.HealthStopped)},
		"true true 1":  {good},
		"true false 1": {hung},
		"true false 2": {hung, good},
		"true false 3": {good, hung, good},
		"true true 2":  {good, arm("opencode-tui", coleo.StatusIdle, coleo.HealthQuiet)},
	} {
		h := newServer(t, &fleetBrain{arms: arms}).Handler(true)
		var got openCodeReply
		if _, body := ask(t, h, get, opencodePath, ""); json.Unmarshal([]byte(body), &got) != nil {
			t.Fatal(body)
		}
		if text := fmt.Sprint(got.Running, got.Healthy, len(got.Arms)); text != want {
			t.Errorf("the health is %s, want %s", text, want)
		}
	}
}

func (b *scriptedBrain) Cost(_ context.Context, arm string, by []cost.Key, since time.Time) (cost.Report, error) {
	return cost.Report{Rows: []cost.Row{{By: map[cost.Key]string{"arm": arm, "run": since.Format(time.RFC3339)},
		Amount: cost.Amount{Dollars: float64(len(by))}}}}, b.fail
}
