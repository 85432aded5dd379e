package brain

import (
	"context"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// The removal of an arm deletes settings that a start needs. So the arm must not be started during its removal.
func TestNoArmIsStartedWhileItIsRemoved(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	arm := s.withLocal(func(bus.Op) (any, error) { return nil, nil })
	s.giveToHost(arm)
	stop := func() {
		_, err := s.db.UpdateArm(t.Context(), arm.ID, func(row *coleo.Arm) error {
			row.Status, row.State = coleo.StatusStopped, coleo.Dead
			return nil
		})
		check(t, err)
	}
	stop()
	again := wire.SpawnRequest{Name: "ada", Harness: "aider", Workdir: "/w", Recover: true}

	removing := make(chan error, 1)
	s.answerWith(bus.OpSpawn, func(context.Context, json.RawMessage) (any, error) {
		_, err := s.brain.Remove(t.Context(), "ada", false)
		removing <- err
		return bus.ArmReport{}, nil
	})
	if _, err := s.brain.Spawn(t.Context(), again); err != nil {
		t.Fatalf("a start during which a removal is refused: %v", err)
	}
	if err := <-removing; coleo.ErrorCode(err) != coleo.EBusy {
		t.Errorf("a removal during a start: %v", err)
	}

	stop()
	starting := make(chan error, 2)
	s.answerWith(bus.OpSpawn, func(context.Context, json.RawMessage) (any, error) {
		t.Error("the host agent was asked to start an arm that is being removed")
		return bus.ArmReport{}, nil
	})
	s.answerWith(bus.OpRemove, func(context.Context, json.RawMessage) (any, error) {
		_, err := s.brain.Recover(t.Context(), "ada", wire.RecoverRequest{})
		starting <- err
		_, err = s.brain.Spawn(t.Context(), again)
		starting <- err
		return bus.Removed{}, nil
	})
	if _, err := s.brain.Remove(t.Context(), "ada", false); err != nil {
		t.Fatalf("a removal during which starts are refused: %v", err)
	}
	for range 2 {
		if err := <-starting; coleo.ErrorCode(err) != coleo.EBusy {
			t.Errorf("a start during a removal: %v", err)
		}
	}
	if _, err := s.brain.Recover(t.Context(), "ada", wire.RecoverRequest{}); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a start after the removal: %v", err)
	}
}
