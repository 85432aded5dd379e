package bus_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/busserver"
)

func TestAnAnswerThatCannotBeSentIsAnErrorAtBothEnds(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	unsent := make(chan bus.Op, 1)
	host.Unsent = func(op bus.Op, _ error) { unsent <- op }
	err := host.Serve(t.Context(), "host.one", func(context.Context, bus.Op, json.RawMessage) (any, error) {
		return strings.Repeat("x", busserver.MaxPayload+1), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = serve.Ask(t.Context(), "host.one", bus.OpProviders, nil, nil)
	if coleo.ErrorCode(err) != coleo.EInternal || !strings.Contains(err.Error(), "too large") || bus.IsUnanswered(err) {
		t.Errorf("ask = %v, want that its answer is too large", err)
	}
	if len(unsent) == 0 {
		t.Error("the host agent was told nothing")
	} else if got := <-unsent; got != bus.OpProviders {
		t.Errorf("the host agent was told of %q", got)
	}
}

func TestACommandThatIsTooLargeIsRefusedAndNotSent(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	err := host.Serve(t.Context(), "host.one", func(context.Context, bus.Op, json.RawMessage) (any, error) {
		t.Error("the command was carried out")
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = serve.Ask(t.Context(), "host.one", bus.OpPrompt, strings.Repeat("x", busserver.MaxPayload+1), nil)
	if coleo.ErrorCode(err) != coleo.EInvalid || bus.IsUnanswered(err) ||
		!strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("ask = %v, want that nothing was done", err)
	}
}
