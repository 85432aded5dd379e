package roster

import (
	"slices"
	"testing"
	"time"

	"coleo.dev/bus"
)

func TestAHostAgentThatHasGoneSilentStartsNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := New(t.Context(), Config{Now: func() time.Time { return now }})
	for ago, beat := range map[time.Duration]bus.Beat{
		bus.HostStale + time.Second: {ID: "silent"},
		1:                           {ID: "full", Arms: make([]bus.ArmBeat, 3)},
		2:                           {ID: "free", Arms: make([]bus.ArmBeat, 1)},
	} {
		r.hosts[beat.ID] = &knownHost{beat: beat, seen: now.Add(-ago)}
	}
	var ids []string
	for _, beat := range r.Live() {
		ids = append(ids, beat.ID)
	}
	if !slices.Equal(ids, []string{"free", "full"}) {
		t.Errorf("the hosts that can start an arm = %v, want those that have been heard, with the fewest arms first", ids)
	}
}
