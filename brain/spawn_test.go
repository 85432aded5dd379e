package brain

import (
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

func TestAnArmIsPlacedWhereItCanRun(t *testing.T) {
	t.Parallel()
	beat := func(id string, arms, most int, can ...string) bus.Beat {
		return bus.Beat{ID: id, Arms: make([]bus.ArmBeat, arms), MaxArms: most, Capabilities: can}
	}
	for name, c := range map[string]struct {
		heard       map[time.Duration]bus.Beat
		asked, last string
		want        string
		code        coleo.Code
		words       string
	}{
		"nobody is there": {nil, "", "", "", coleo.EUnavailable, "Start an arm agent daemon"},
		"the only one has gone silent": {map[time.Duration]bus.Beat{bus.HostStale + time.Second: beat("h1", 0, 9,
			"aider")}, "", "", "", coleo.EUnavailable, "Start an arm agent daemon"},
		"the one with the fewest arms": {map[time.Duration]bus.Beat{1: beat("h1", 3, 9, "aider"),
			2: beat("h2", 1, 9, "aider")}, "", "", "h2", "", ""},
		"the one that had it": {map[time.Duration]bus.Beat{1: beat("h1", 3, 9, "aider"),
			2: beat("h2", 1, 9, "aider")}, "", "h1", "h1", "", ""},
		"not the one that lacks it": {map[time.Duration]bus.Beat{1: beat("h1", 3, 9, "aider"),
			2: beat("h2", 1, 9, "opencode")}, "", "h2", "h1", "", ""},
		"not the one that is full": {map[time.Duration]bus.Beat{1: beat("h1", 3, 9, "aider"),
			2: beat("h2", 1, 1, "aider")}, "", "h2", "h1", "", ""},
		"all are full": {map[time.Duration]bus.Beat{1: beat("h1", 1, 1, "aider")}, "", "", "",
			coleo.EConflict, "number of arms"},
		"it is installed nowhere": {map[time.Duration]bus.Beat{1: beat("h1", 0, 9, "opencode")}, "", "", "",
			coleo.ENotInstalled, "install it with: pipx install aider-chat"},
		"the one that was asked for": {map[time.Duration]bus.Beat{1: beat("h1", 3, 9, "aider"),
			2: beat("h2", 1, 9, "aider")}, "h1", "h2", "h1", "", ""},
		"who was asked for is not here": {map[time.Duration]bus.Beat{1: beat("h1", 3, 9, "aider")}, "h9", "", "",
			coleo.EUnavailable, "h9 is not connected"},
	} {
		got, err := withHosts(t, c.heard).chooseHost("aider", c.asked, c.last)
		if got.ID != c.want || coleo.ErrorCode(err) != c.code || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: placed on %q, %v; want %q, %s %q", name, got.ID, err, c.want, c.code, c.words)
		}
	}
}

func TestTheHarnessIsTheOneAskedForOrTheOneThatIsThere(t *testing.T) {
	t.Parallel()
	only := map[time.Duration]bus.Beat{1: {ID: "h1", Capabilities: []string{"aider"}}}
	two := map[time.Duration]bus.Beat{1: {ID: "h1", Capabilities: []string{"aider", "opencode"}}}
	for name, c := range map[string]struct {
		heard      map[time.Duration]bus.Beat
		asked, own string
		want       string
		code       coleo.Code
	}{
		"asked for":             {two, "aider", "opencode", "aider", ""},
		"the arm's own":         {two, "", "opencode", "opencode", ""},
		"the only one":          {only, "", "", "aider", ""},
		"none is installed":     {nil, "", "", "", coleo.ENotInstalled},
		"one that nobody knows": {only, "nope", "", "", coleo.EInvalid},
	} {
		got, err := withHosts(t, c.heard).harness(c.asked, c.own)
		if err == nil && got != c.want || coleo.ErrorCode(err) != c.code {
			t.Errorf("%s: %q, %v; want %q, %s", name, got, err, c.want, c.code)
		}
	}
}

func TestAnOlderHostAgentIsNotGivenWhatItWouldLeaveOut(t *testing.T) {
	t.Parallel()
	old, now := bus.Beat{ID: "old", PID: 1, Version: "v1"}, bus.Beat{ID: "now", PID: 2, TakesGiven: true, TakesForks: true,
		TakesFiles: true, TakesSandbox: true, TakesSandboxNet: true, TakesSandboxLimit: true,
		TakesSubarms: true, TakesTriggers: true}
	b := withHosts(t, map[time.Duration]bus.Beat{1: old, 2: now})
	for what, o := range map[string]bus.SpawnOrder{
		"an environment":            {Env: map[string]string{"A": "hunter2"}},
		"one that was given before": {Config: coleo.SpawnConfig{EnvNames: []string{"A"}}},
		"a script":                  {Script: "{}"},
		"a copy of a conversation":  {Config: coleo.SpawnConfig{Fork: "c1"}},
		"a freeze":                  {Config: coleo.SpawnConfig{OnPartition: coleo.PartitionFreeze}},
		"the scripted model":        {Config: coleo.SpawnConfig{Model: coleo.ModelScripted}},
		"a first prompt":            {First: &coleo.Queued{Text: "begin"}},
		"an order of a trigger":     {Request: "r1"},
		"a sandbox":                 {Config: coleo.SpawnConfig{Sandbox: &coleo.Sandbox{Kind: coleo.SandboxBwrap}}},
	} {
		if err := b.checkHostUnderstands("now", o); err != nil {
			t.Errorf("%s: %v, want no error from a host agent of now", what, err)
		}
		err := b.checkHostUnderstands("old", o)
		if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "v1") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error that names the version", what, err)
		}
	}
	if err := b.understandsFiles("old"); coleo.ErrorCode(err) != coleo.EUnsupported ||
		!strings.Contains(err.Error(), "v1") {
		t.Errorf("files: %v, want an error that names the version", err)
	}
	if err := b.understandsFiles("now"); err != nil {
		t.Errorf("files: %v, want no error from a host agent of now", err)
	}
	if err := b.checkHostUnderstands("old", bus.SpawnOrder{Config: coleo.SpawnConfig{Model: "opus"}}); err != nil {
		t.Errorf("an order that an older host agent understands: %v", err)
	}
}
