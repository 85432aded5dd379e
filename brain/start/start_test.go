package start

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/registry"
	"coleo.dev/wire"
)

func harnesses(t *testing.T) *registry.Registry {
	t.Helper()
	reg, err := registry.New("", []string{"none"})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// stopped returns an arm whose last start had the given configuration.
func stopped(t *testing.T, c coleo.SpawnConfig) coleo.Arm {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return coleo.Arm{Name: "one", Harness: "codex", Config: raw}
}

func TestTheHarnessIsTheOneAskedForOrTheOneThatIsThere(t *testing.T) {
	t.Parallel()
	two := []string{"aider", "opencode"}
	for name, c := range map[string]struct {
		installed  []string
		onlyServe  bool
		asked, own string
		preset     string
		want       string
		code       coleo.Code
	}{
		"asked for":                    {two, false, "aider", "opencode", "", "aider", ""},
		"the arm's own":                {two, false, "", "opencode", "aider", "opencode", ""},
		"the one of config.toml":       {two, false, "", "", "aider", "aider", ""},
		"the preferred one is there":   {[]string{"aider", "opencode-api"}, false, "", "", "", "opencode-api", ""},
		"the only one":                 {[]string{"aider"}, false, "", "", "", "aider", ""},
		"one of several":               {two, false, "", "", "", "", coleo.EInvalid},
		"none is installed":            {nil, false, "", "", "", "", coleo.ENotInstalled},
		"nobody knows what is there":   {nil, true, "", "", "", "", coleo.EInvalid},
		"one that nobody knows":        {two, false, "nope", "", "", "", coleo.EInvalid},
		"config.toml names no harness": {two, false, "", "", "nope", "", coleo.EInvalid},
	} {
		r := Rules{Harnesses: harnesses(t), Installed: c.installed, OnlyServe: c.onlyServe,
			Defaults: Defaults{Harness: c.preset}}
		got, err := r.harness(c.asked, c.own)
		if err == nil && got != c.want || coleo.ErrorCode(err) != c.code {
			t.Errorf("%s: %q, %v; want %q, %s", name, got, err, c.want, c.code)
		}
	}
}

func TestARequestComesBeforeTheLastStartAndThatBeforeTheDefaults(t *testing.T) {
	t.Parallel()
	r := Rules{Harnesses: harnesses(t), Defaults: Defaults{Provider: "set", Model: "set", ContinueWith: "set",
		OnPartition: "run", Policy: "read", OnLimit: "ask", Tools: true}}
	last := coleo.SpawnConfig{Workdir: "/last", Provider: "last", Model: "gpt-last", ContinueWith: "last",
		OnPartition: "freeze", Policy: "shadow", OnLimit: "wait", Cols: 80, Rows: 24, Wrap: []string{"last"}}
	asked := wire.SpawnRequest{Workdir: "/asked", Model: "asked/gpt-asked", ContinueWith: "asked", OnPartition: "run",
		Policy: "off", OnLimit: "handover:aider", Cols: 120, Wrap: []string{"asked"},
		Env: map[string]string{"B": "1", "A": "2"}}
	for name, c := range map[string]struct {
		q     wire.SpawnRequest
		known bool
		want  coleo.SpawnConfig
		model string // the model of the next start
	}{
		"a new arm gets the defaults": {wire.SpawnRequest{Workdir: "/w"}, false, coleo.SpawnConfig{Workdir: "/w",
			Provider: "set", Model: "set", ContinueWith: "set", OnPartition: "run", Policy: "read", OnLimit: "ask",
			Tools: coleo.ArmTools()}, "set/set"},
		"a stopped arm keeps its values": {wire.SpawnRequest{}, true, coleo.SpawnConfig{Workdir: "/last", Provider: "last",
			Model: "gpt-last", ContinueWith: "last", OnPartition: "freeze", Policy: "shadow", OnLimit: "wait",
			Conversation: "c9", Cols: 80, Rows: 24, Wrap: []string{"last"}}, "kept"},
		"a stopped arm gets what is asked for": {asked, true, coleo.SpawnConfig{Workdir: "/asked", Provider: "asked",
			Model: "gpt-asked", ContinueWith: "asked", OnPartition: "run", Policy: "off", OnLimit: "handover:aider",
			Conversation: "c9", Cols: 120, Rows: 24, Wrap: []string{"asked"}, EnvNames: []string{"A", "B"}},
			"asked/gpt-asked"},
	} {
		arm := coleo.Arm{Name: "one", Harness: "codex"}
		if c.known {
			arm = stopped(t, last)
			arm.SessionID, arm.DefaultModel = "c9", "kept"
		}
		got, err := r.Configure(&arm, c.q, c.known)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, c.want)
		}
		if arm.Workdir != c.want.Workdir || arm.Model != c.want.Model || arm.Provider != c.want.Provider ||
			arm.DefaultModel != c.model {
			t.Errorf("%s: the row has the folder %q and the model %s/%s, and %q for the next start", name, arm.Workdir,
				arm.Provider, arm.Model, arm.DefaultModel)
		}
	}
}

func TestARequestThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	type ask = wire.SpawnRequest
	yes, no := true, false
	for name, c := range map[string]struct {
		q     ask
		code  coleo.Code
		words string
	}{
		"a folder that is relative":        {ask{Workdir: "w"}, coleo.EInvalid, `"w" must be an absolute path`},
		"a variable that Coleo sets":       {ask{Env: map[string]string{"HOME": "/x"}}, coleo.EInvalid, "HOME"},
		"a copy that is also continued":    {ask{Fork: "a", Recover: true}, coleo.EInvalid, "not both"},
		"a copy of an option":              {ask{Fork: "-x"}, coleo.EInvalid, `"-x" is not an id`},
		"a conversation that is an option": {ask{Conversation: "--y"}, coleo.EInvalid, `"--y" is not an id`},
		"tools and none":                   {ask{Tools: []string{"all"}, NoTools: true}, coleo.EInvalid, "contradict"},
		"a tool that does not exist":       {ask{Tools: []string{"nope"}}, coleo.EInvalid, "nope"},
		"a budget below nothing":           {ask{Budget: &coleo.Budget{Dollars: -1}}, coleo.EInvalid, "-1"},
		"a list that is none":              {ask{OnLimit: "nope:x"}, coleo.EInvalid, "nothing was started: "},
		"a hand-over to a shell":           {ask{OnLimit: "handover:generic"}, coleo.EInvalid, "has no model"},
		"a hand-over to nobody":            {ask{OnLimit: "handover:nope"}, coleo.EInvalid, "nope"},
		"another model that does not exist": {ask{Harness: "claude-code", OnLimit: "model:gtp"},
			coleo.EInvalid, `"gtp"`},
		"a script for a real model": {ask{Script: "{}"}, coleo.EInvalid, "add --model scripted"},
		"the scripted model of a shell": {ask{Harness: "generic", Model: "scripted"},
			coleo.EUnsupported, "uses no model"},
		"the scripted model over HTTP": {ask{Harness: "opencode-api", Model: "scripted"},
			coleo.EUnsupported, "HTTP"},
		"the scripted model in a user's own": {ask{Model: "scripted", Profile: coleo.ProfileUser},
			coleo.EInvalid, "--profile"},
		"a window that there is not": {ask{Harness: "codex", Terminal: "tmux"},
			coleo.EUnsupported, "shows no window"},
		"no headless arm of such a harness": {ask{Headless: &no}, coleo.EUnsupported, "shows no window"},
		"a headless arm of a window": {ask{Harness: "opencode-tui", Headless: &yes},
			coleo.EUnsupported, "always shows"},
		"a variable that no window needs": {ask{Harness: "opencode-tui",
			WindowEnviron: map[string]string{"PATH": "/x"}}, coleo.EInvalid, "a window takes no variable PATH"},
	} {
		arm := coleo.Arm{Name: "one", Harness: "codex"}
		if c.q.Workdir == "" {
			c.q.Workdir = "/w"
		}
		_, err := Rules{Harnesses: harnesses(t)}.Configure(&arm, c.q, false)
		if coleo.ErrorCode(err) != c.code || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v; want %s, %q", name, err, c.code, c.words)
		}
	}
}

// A request for the scripted model may also name the hermetic profile, because an arm with the
// scripted model always has this profile.
func TestTheScriptedModelTakesTheHermeticProfile(t *testing.T) {
	t.Parallel()
	arm := coleo.Arm{Name: "one", Harness: "codex"}
	q := wire.SpawnRequest{Workdir: "/w", Model: coleo.ModelScripted, Profile: coleo.ProfileHermetic}
	r := Rules{Harnesses: harnesses(t)}
	if c, err := r.Configure(&arm, q, false); err != nil || !c.Scripted() {
		t.Errorf("%+v, %v; want the scripted model", c, err)
	}
	q.Home = "/home"
	if _, err := r.Configure(&arm, q, false); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("with another HOME: %v, want %s", err, coleo.EInvalid)
	}
}

func TestARowThatCannotBeReadStartsNothing(t *testing.T) {
	t.Parallel()
	arm := coleo.Arm{Name: "one", Harness: "codex", Config: json.RawMessage("{")}
	_, err := Rules{Harnesses: harnesses(t)}.Configure(&arm, wire.SpawnRequest{Workdir: "/w"}, true)
	if err == nil || !strings.Contains(err.Error(), "read the configuration of arm one") {
		t.Errorf("Configure = %v, want an error that names the arm", err)
	}
}

// After the database was lost, the row of an arm has no configuration until the host agent reports the arm. A start
// from such a row would have no sandbox.
func TestARowWithoutAConfigurationStartsNoFork(t *testing.T) {
	t.Parallel()
	fork := coleo.Arm{Name: "copy"}
	err := Inherit(&fork, coleo.Arm{Name: "one", SessionID: "c1"}, false)
	if coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("the fork of an arm without a configuration: %v, want EUnavailable", err)
	}
	if fork.Config != nil {
		t.Errorf("the fork has the configuration %s", fork.Config)
	}
}

func TestAWindowOpensWhereThePersonSeesIt(t *testing.T) {
	t.Parallel()
	r := Rules{Harnesses: harnesses(t)}
	arm := coleo.Arm{Name: "one"}
	c, err := r.Configure(&arm, wire.SpawnRequest{Workdir: "/w", Terminal: "tmux",
		WindowEnviron: map[string]string{"TMUX": "/s"}}, false)
	if err != nil || arm.Harness != "opencode-tui" || c.Window == nil || c.Window.Terminal != "tmux" ||
		c.Window.Environ["TMUX"] != "/s" {
		t.Fatalf("a request with a terminal alone: %q, %+v, %v; want the harness with a window", arm.Harness, c.Window, err)
	}
	if arm.Config, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	again, err := r.Configure(&arm, wire.SpawnRequest{}, true)
	if err != nil || !reflect.DeepEqual(again.Window, c.Window) {
		t.Errorf("the next start: %+v, %v; want the same place", again.Window, err)
	}
	moved, err := r.Configure(&arm, wire.SpawnRequest{Harness: "codex"}, true)
	if err != nil || moved.Window != nil {
		t.Errorf("with a harness without a window: %+v, %v; want no place", moved.Window, err)
	}
}

func TestAWorktreeStaysUnlessAnotherBranchIsAskedFor(t *testing.T) {
	t.Parallel()
	has := &coleo.Worktree{Branch: "b1", Path: "/tree", From: "/repo"}
	for name, c := range map[string]struct {
		has   *coleo.Worktree
		asked *wire.Worktree
		want  *coleo.Worktree
	}{
		"a new one": {nil, &wire.Worktree{Branch: "b2", Base: "main"},
			&coleo.Worktree{Branch: "b2", Base: "main"}},
		"one without a branch": {nil, &wire.Worktree{NoSetup: true}, &coleo.Worktree{NoSetup: true}},
		"not mentioned":        {has, nil, has},
		"asked for again":      {has, &wire.Worktree{Base: "main"}, has},
		"another branch": {has, &wire.Worktree{Branch: "b2"},
			&coleo.Worktree{Branch: "b2", From: "/repo"}},
	} {
		config := coleo.SpawnConfig{Worktree: c.has}
		if takeWorktree(&config, c.asked); !reflect.DeepEqual(config.Worktree, c.want) {
			t.Errorf("%s: %+v, want %+v", name, config.Worktree, c.want)
		}
	}
	subarm := stopped(t, coleo.SpawnConfig{Workdir: "/w", Parent: "arm-1", Sandbox: &coleo.Sandbox{Kind: "bwrap"}})
	q := wire.SpawnRequest{Worktree: &wire.Worktree{Branch: "b2"}}
	_, err := Rules{Harnesses: harnesses(t)}.Configure(&subarm, q, true)
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "it can have no worktree") {
		t.Errorf("a subarm in a sandbox: %v, want a refusal", err)
	}
}

func TestToolsOfConfigTomlAreForNewArmsThatSupportMCP(t *testing.T) {
	t.Parallel()
	own := []string{coleo.ToolAskUser}
	for name, c := range map[string]struct {
		harness string
		has     []string
		known   bool
		q       wire.SpawnRequest
		want    []string
	}{
		"a new arm":           {"codex", nil, false, wire.SpawnRequest{}, coleo.ArmTools()},
		"without MCP":         {"aider", nil, false, wire.SpawnRequest{}, nil},
		"a stopped arm":       {"codex", nil, true, wire.SpawnRequest{}, nil},
		"one that had some":   {"codex", own, true, wire.SpawnRequest{}, own},
		"one that loses them": {"codex", own, true, wire.SpawnRequest{NoTools: true}, nil},
		"all":                 {"aider", nil, true, wire.SpawnRequest{Tools: []string{"all"}}, coleo.ArmTools()},
		"some":                {"codex", nil, false, wire.SpawnRequest{Tools: own}, own},
	} {
		config := coleo.SpawnConfig{Tools: c.has}
		r := Rules{Harnesses: harnesses(t), Defaults: Defaults{Tools: true}}
		err := r.configureTools(&config, c.q, c.harness, c.known)
		if err != nil || !reflect.DeepEqual(config.Tools, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, config.Tools, err, c.want)
		}
	}
}
