package bus

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
)

// An order can wait in a queue. The host agent must refuse it if its time is up, or if its sender has stopped
// waiting for the answer.
func TestAnOrderThatComesTooLateIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	now := boottime.Now()
	for name, o := range map[string]order{
		"its time was up": {ID: "1", Op: OpPrompt, Timeout: time.Minute, End: now - time.Millisecond,
			Waiting: now + time.Minute},
		"its sender gave it up": {ID: "2", Op: OpPrompt, Timeout: time.Minute, End: now + time.Minute,
			Waiting: now - time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(Conn).carryOut(t.Context(), o, func(context.Context, Op, json.RawMessage) (any, error) {
				t.Error("it was carried out")
				return nil, nil
			})
			if r.Error == nil || r.Error.Code != coleo.ETimeout {
				t.Errorf("report = %+v, want %s", r.Error, coleo.ETimeout)
			}
		})
	}
}
