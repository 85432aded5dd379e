package bus_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
)

func TestOnlyTheRightKeyEntersTheBus(t *testing.T) {
	t.Parallel()
	key, err := bus.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Dial(bustest.New(t).Path(), key, "another"); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Fatalf("dial with another key = %v", err)
	}
}

// An arm's agent CLI can read the host agents' key, and could use it to act as a host agent. A
// connection with this key must not be able to give orders.
func TestAHostAgentsKeyGivesNoOrders(t *testing.T) {
	t.Parallel()
	testBus := bustest.New(t)
	victim, other, serve := testBus.Host(), testBus.Host(), testBus.Serve()
	t.Cleanup(func() { victim.Close(); other.Close(); serve.Close() })
	ordered := make(chan bus.Op, 2)
	err := victim.Serve(t.Context(), "victim", func(_ context.Context, op bus.Op, _ json.RawMessage) (any, error) {
		ordered <- op
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := other.Ask(ctx, "victim", bus.OpRespond, bus.RespondOrder{Arm: "a"}, nil); err == nil {
		t.Error("a host agent's order was answered")
	}
	if err := serve.Ask(t.Context(), "victim", bus.OpList, nil, nil); err != nil {
		t.Fatal(err)
	}
	if first := <-ordered; first != bus.OpList {
		t.Errorf("the host agent was ordered to %q by another host agent", first)
	}
}
