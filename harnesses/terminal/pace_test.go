package terminal

import (
	"testing"
	"time"
)

func TestAFloodIsSlowedUntilItIsOver(t *testing.T) {
	t.Parallel()
	var p pace
	now := time.Unix(1, 0)
	if p.take(floodBurst-1, now) {
		t.Error("slowed within the burst")
	}
	now = now.Add(time.Second / 2)
	if p.take(floodRate/2, now) {
		t.Error("slowed at the rate that is allowed")
	}
	if !p.take(floodRate, now.Add(time.Millisecond)) {
		t.Error("not slowed beyond the burst")
	}
	p.slow = true
	for range 20 {
		now = now.Add(time.Second)
		if p.take(floodRate, now) {
			t.Fatal("let go while it floods")
		}
	}
	if !p.take(1, now.Add(24*time.Hour)) {
		t.Error("not let go after the flood")
	}
}
