package server

import (
	"context"
	"errors"
	"testing"
)

// TestServeEndsWhenOneOfItsPartsEnds: if one part of serve fails at once, serve must end the other
// part.
func TestServeEndsWhenOneOfItsPartsEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	fails := func(context.Context) error { return broken }
	waits := func(ctx context.Context) error { <-ctx.Done(); return nil }
	if err := bothUntilOneEnds(t.Context(), fails, waits); !errors.Is(err, broken) {
		t.Errorf("the first fails: %v", err)
	}
	if err := bothUntilOneEnds(t.Context(), waits, fails); !errors.Is(err, broken) {
		t.Errorf("the second fails: %v", err)
	}
}
