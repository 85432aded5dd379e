package timelimit

import (
	"strings"
	"testing"
)

func TestALongPromptHasMoreTime(t *testing.T) {
	t.Parallel()
	if short, long := Prompt("hello"), Prompt(strings.Repeat("x", 10_000)); long-short != 10*perKB {
		t.Errorf("10,000 more bytes have %v more time, want %v", long-short, 10*perKB)
	}
}
