package api

import (
	"context"
	"testing"

	"coleo.dev"
)

func (b *scriptedBrain) OnLimit(_ context.Context, arm string, on coleo.OnLimit) (coleo.OnLimitReport, error) {
	return coleo.OnLimitReport{Arm: arm, OnLimit: on.OrDefault()}, b.fail
}

func TestWhatAnArmDoesAtALimitThroughTheClient(t *testing.T) {
	t.Parallel()
	c, ctx := socketClient(t, newServer(t, &scriptedBrain{})), t.Context()
	for on, want := range map[coleo.OnLimit]coleo.OnLimit{"": "wait", "model:m,ask": "model:m,ask"} {
		if r, err := c.OnLimit(ctx, "a1", on); err != nil || r.OnLimit != want || r.Arm != "a1" {
			t.Errorf("%q: %+v, %v", on, r, err)
		}
	}
}
