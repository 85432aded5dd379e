package model

import (
	"context"
	"strings"
	"testing"

	"coleo.dev"
)

func TestACancelledCheckSaysNothingAboutTheMachine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := CheckScripted(ctx)
	if err == nil || !strings.Contains(err.Error(), "no arm was started") || strings.Contains(err.Error(), "provide") ||
		coleo.ErrorCode(err) != coleo.EInternal {
		t.Errorf("a cancelled check says %v", err)
	}
}
