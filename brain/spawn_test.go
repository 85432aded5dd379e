package brain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/registry"
)

// withHosts returns a brain that heard of these hosts the given times ago.
func withHosts(t *testing.T, heard map[time.Duration]bus.Beat) *Brain {
	t.Helper()
	reg, err := registry.New("", []string{"none"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := New(Config{Registry: reg, Now: func() time.Time { return now }})
	for ago, beat := range heard {
		b.hosts[beat.ID] = &knownHost{beat: beat, seen: now.Add(-ago)}
	}
	return b
}

func TestAHostAgentThatHasGoneSilentStartsNothing(t *testing.T) {
	t.Parallel()
	b := withHosts(t, map[time.Duration]bus.Beat{
		bus.HostStale + time.Second: {ID: "silent"},
		1:                           {ID: "full", Arms: make([]bus.ArmBeat, 3)},
		2:                           {ID: "free", Arms: make([]bus.ArmBeat, 1)},
	})
	var ids []string
	for _, beat := range b.hostsNow().Live {
		ids = append(ids, beat.ID)
	}
	if !slices.Equal(ids, []string{"free", "full"}) {
		t.Errorf("the hosts that can start an arm = %v, want those that have been heard, with the fewest arms first", ids)
	}
}

func TestAnOlderHostAgentTakesNoFiles(t *testing.T) {
	t.Parallel()
	b := withHosts(t, map[time.Duration]bus.Beat{1: {ID: "old", PID: 1, Version: "v1"},
		2: {ID: "now", PID: 2, TakesFiles: true}})
	err := b.understandsFiles("old")
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "v1") {
		t.Errorf("files: %v, want an error that names the version", err)
	}
	if err := b.understandsFiles("now"); err != nil {
		t.Errorf("files: %v, want no error from a host agent of now", err)
	}
}
