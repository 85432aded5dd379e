package placement

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

func beat(id string, arms, most int, can ...string) bus.Beat {
	return bus.Beat{ID: id, Arms: make([]bus.ArmBeat, arms), MaxArms: most, Capabilities: can}
}

func TestAnArmIsPlacedWhereItCanRun(t *testing.T) {
	t.Parallel()
	busy, free := beat("h1", 3, 9, "aider"), beat("h2", 1, 9, "aider")
	for name, c := range map[string]struct {
		live        []bus.Beat
		asked, last string
		want        string
		code        coleo.Code
		words       string
	}{
		"nobody is there":              {nil, "", "", "", coleo.EUnavailable, "Start an arm agent daemon"},
		"the one with the fewest arms": {[]bus.Beat{free, busy}, "", "", "h2", "", ""},
		"the one that had it":          {[]bus.Beat{free, busy}, "", "h1", "h1", "", ""},
		"the one that had it is full":  {[]bus.Beat{free, beat("h1", 9, 9, "aider")}, "", "h1", "h2", "", ""},
		"no limit":                     {[]bus.Beat{beat("h1", 40, 0, "aider")}, "", "", "h1", "", ""},
		"all are full": {[]bus.Beat{beat("h1", 2, 2, "aider")}, "", "", "", coleo.EConflict,
			"every host with Aider has its maximum number of arms"},
		"not installed": {[]bus.Beat{beat("h1", 0, 9, "codex")}, "", "", "", coleo.ENotInstalled,
			`Aider is not installed: no program "aider" on any host; install it with: pipx`},
		"the one that was asked for": {[]bus.Beat{free, busy}, "h1", "h2", "h1", "", ""},
		"one that was asked for without the agent CLI": {[]bus.Beat{beat("h1", 0, 9, "codex")}, "h1", "", "h1", "",
			""},
		"one that was asked for is not here": {[]bus.Beat{busy}, "h9", "", "", coleo.EUnavailable,
			"h9 is not connected"},
		"host local was asked for": {[]bus.Beat{free}, coleo.LocalHost, "", "", coleo.EInvalid, "--allow-local"},
	} {
		i := coleo.Info{Name: "aider", Title: "Aider", Command: "aider", Install: "pipx install aider-chat"}
		got, err := Hosts{Live: c.live}.Choose(HostRequest{Harness: i, Host: c.asked, Last: c.last})
		if got.ID != c.want || coleo.ErrorCode(err) != c.code || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: placed on %q, %v; want %q, %s %q", name, got.ID, err, c.want, c.code, c.words)
		}
	}
}

func TestServeItselfStartsAnArmOnlyIfNoHostAgentCan(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	able, other := []bus.Beat{beat("h1", 0, 9, "aider")}, []bus.Beat{beat("h1", 0, 9, "codex")}
	managed, plain := coleo.Info{Name: "aider", DaemonManaged: true}, coleo.Info{Name: "aider"}
	for name, c := range map[string]struct {
		hosts   Hosts
		request HostRequest
		want    string
		code    coleo.Code
		words   string
	}{
		"a host agent can": {Hosts{Live: able, Local: true}, HostRequest{Harness: plain}, "h1", "", ""},
		"no host agent can": {Hosts{Live: other, Local: true}, HostRequest{Harness: plain}, coleo.LocalHost, "",
			""},
		"no host agent runs": {Hosts{Local: true}, HostRequest{Harness: plain}, coleo.LocalHost, "", ""},
		"serve drives none":  {Hosts{}, HostRequest{Harness: plain}, "", coleo.EUnavailable, "coleo agent start"},
		"a host agent is wanted": {Hosts{Local: true}, HostRequest{Harness: plain, Host: "h9"}, "", coleo.EUnavailable,
			"h9"},
		"daemon-managed": {Hosts{Local: true}, HostRequest{Harness: managed}, "", coleo.EUnavailable, "daemon"},
		"daemon-managed, allowed": {Hosts{Local: true, AllowLocal: true}, HostRequest{Harness: managed}, coleo.LocalHost, "",
			""},
		"daemon-managed, allowed by the request": {Hosts{Local: true}, HostRequest{Harness: managed, AllowLocal: &yes},
			coleo.LocalHost, "", ""},
		"daemon-managed, forbidden by the request": {Hosts{Local: true, AllowLocal: true},
			HostRequest{Harness: managed, AllowLocal: &no}, "", coleo.EUnavailable, "daemon"},
		"only with a host agent": {Hosts{Local: true, RemoteOnly: true}, HostRequest{Harness: plain}, "", coleo.EUnavailable,
			"COLEO_REMOTE_ARMS_ONLY"},
		"only with a host agent, whatever the request allows": {Hosts{Local: true, RemoteOnly: true},
			HostRequest{Harness: managed, AllowLocal: &yes}, "", coleo.EUnavailable, "COLEO_REMOTE_ARMS_ONLY"},
	} {
		got, err := c.hosts.Choose(c.request)
		if got.ID != c.want || coleo.ErrorCode(err) != c.code || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: placed on %q, %v; want %q, %s %q", name, got.ID, err, c.want, c.code, c.words)
		}
	}
}

func TestAHarnessIsListedOnceHoweverManyHostsHaveIt(t *testing.T) {
	t.Parallel()
	h := Hosts{Live: []bus.Beat{beat("h1", 0, 9, "codex", "aider"), beat("h2", 0, 9, "aider")}}
	if got := h.Installed(); !slices.Equal(got, []string{"aider", "codex"}) {
		t.Errorf("Installed = %v, want each harness once", got)
	}
}

// current returns the beat, the sign of life, of a host agent that supports every part of an order. All its
// fields "Takes..." are true.
func current() bus.Beat {
	b := bus.Beat{ID: "now", PID: 2, Version: "v2"}
	v := reflect.ValueOf(&b).Elem()
	for i := range v.NumField() {
		if strings.HasPrefix(v.Type().Field(i).Name, "Takes") {
			v.Field(i).SetBool(true)
		}
	}
	return b
}

func TestAnOlderHostAgentIsNotGivenWhatItWouldLeaveOut(t *testing.T) {
	t.Parallel()
	box := func(s coleo.Sandbox) bus.SpawnOrder { return bus.SpawnOrder{Config: coleo.SpawnConfig{Sandbox: &s}} }
	config := func(c coleo.SpawnConfig) bus.SpawnOrder { return bus.SpawnOrder{Config: c} }
	budget := &coleo.Chosen{Budget: &coleo.Budget{Dollars: 1}}
	for what, c := range map[string]struct {
		flag string // the field that is true in the beat of a new host agent, and false in the beat of an older one
		o    bus.SpawnOrder
	}{
		"an environment":            {"TakesGiven", bus.SpawnOrder{Env: map[string]string{"A": "hunter2"}}},
		"one that was given before": {"TakesGiven", config(coleo.SpawnConfig{EnvNames: []string{"A"}})},
		"a script":                  {"TakesGiven", bus.SpawnOrder{Script: "{}"}},
		"the scripted model":        {"TakesGiven", config(coleo.SpawnConfig{Model: coleo.ModelScripted})},
		"a freeze":                  {"TakesGiven", config(coleo.SpawnConfig{OnPartition: coleo.PartitionFreeze})},
		"a copy of a conversation":  {"TakesForks", config(coleo.SpawnConfig{Fork: "c1"})},
		"a worktree":                {"TakesWorktrees", config(coleo.SpawnConfig{Worktree: &coleo.Worktree{}})},
		"a worktree in a sandbox": {"TakesClones", config(coleo.SpawnConfig{Worktree: &coleo.Worktree{},
			Sandbox: &coleo.Sandbox{Kind: coleo.SandboxBwrap}})},
		"several repositories": {"TakesWith",
			config(coleo.SpawnConfig{Worktree: &coleo.Worktree{With: []string{"/b"}}})},
		"a first prompt":              {"TakesSubarms", bus.SpawnOrder{First: &coleo.Queued{Text: "begin"}}},
		"a tool":                      {"TakesTools", config(coleo.SpawnConfig{Tools: []string{coleo.ToolAskUser}})},
		"a tool for subarms":          {"TakesSubarms", config(coleo.SpawnConfig{Tools: []string{coleo.ToolSpawnArm}})},
		"a container":                 {"TakesContainers", box(coleo.Sandbox{Kind: coleo.SandboxDocker})},
		"a sandbox":                   {"TakesSandbox", box(coleo.Sandbox{Kind: coleo.SandboxBwrap})},
		"a limit of a sandbox":        {"TakesSandboxLimit", box(coleo.Sandbox{Kind: "bwrap", Limit: "pids=9"})},
		"a sandbox with some hosts":   {"TakesSandboxNet", box(coleo.Sandbox{Kind: "bwrap", Network: "allow=a.example"})},
		"a policy":                    {"TakesPolicy", config(coleo.SpawnConfig{Policy: coleo.PolicyShadow})},
		"a budget":                    {"TakesBudget", config(coleo.SpawnConfig{Chosen: budget})},
		"an order of a trigger":       {"TakesTriggers", bus.SpawnOrder{Request: "r1"}},
		"an arm that ends by itself":  {"TakesEndWhenDone", config(coleo.SpawnConfig{EndWhenDone: true})},
		"an alternative at the limit": {"TakesAlternatives", config(coleo.SpawnConfig{OnLimit: "handover:codex"})},
	} {
		if err := CheckUnderstands(current(), c.o); err != nil {
			t.Errorf("%s: %v, want no error from a host agent of now", what, err)
		}
		old := current()
		old.ID, old.Version = "old", "v1"
		reflect.ValueOf(&old).Elem().FieldByName(c.flag).SetBool(false)
		err := CheckUnderstands(old, c.o)
		if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "old has version v1") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error that names the version", what, err)
		}
		if err := CheckUnderstands(bus.Beat{ID: "unheard"}, c.o); err != nil {
			t.Errorf("%s: %v, want no error before the first beat", what, err)
		}
	}
	plain := config(coleo.SpawnConfig{Model: "opus"})
	if err := CheckUnderstands(bus.Beat{ID: "old", PID: 1}, plain); err != nil {
		t.Errorf("an order that an older host agent understands: %v", err)
	}
}

func TestAnOlderHostAgentTakesNoFiles(t *testing.T) {
	t.Parallel()
	takes := func(b bus.Beat) bool { return b.TakesFiles }
	err := Require(bus.Beat{ID: "old", PID: 1, Version: "v1"}, takes, "takes no files with a prompt")
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "v1") {
		t.Errorf("files: %v, want an error that names the version", err)
	}
	if err := Require(current(), takes, "takes no files with a prompt"); err != nil {
		t.Errorf("files: %v, want no error from a host agent of now", err)
	}
}
