package subarm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// boss returns a parent that may have subarms. The folders are created in the parent's work folder.
func boss(t *testing.T, folders ...string) Parent {
	t.Helper()
	root := filepath.Join(t.TempDir(), "work")
	for _, f := range append(folders, ".") {
		if err := os.MkdirAll(filepath.Join(root, f), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return Parent{Name: "boss", Harness: "h", Config: coleo.SpawnConfig{Workdir: root,
		PermissionMode: coleo.PermissionEdit, Tools: coleo.ArmTools()}}
}

func TestM19ASubarmGetsNoMoreThanItsParent(t *testing.T) {
	t.Parallel()
	p := boss(t, "a/b", "../elsewhere")
	for link, target := range map[string]string{"in": "a", "out": "../elsewhere"} {
		if err := os.Symlink(target, filepath.Join(p.Config.Workdir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.Config.Workdir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		change func(*Parent, *SpawnRequest)
		want   coleo.Code // "" if Grant must allow it
	}{
		"the parent's own folder":    {func(*Parent, *SpawnRequest) {}, ""},
		"a folder below":             {func(_ *Parent, w *SpawnRequest) { w.Folder = "a/b" }, ""},
		"a link to a folder below":   {func(_ *Parent, w *SpawnRequest) { w.Folder = "in/b" }, ""},
		"a folder beside":            {func(_ *Parent, w *SpawnRequest) { w.Folder = "../elsewhere" }, coleo.EForbidden},
		"a link to a folder beside":  {func(_ *Parent, w *SpawnRequest) { w.Folder = "out" }, coleo.EForbidden},
		"the folder above":           {func(_ *Parent, w *SpawnRequest) { w.Folder = ".." }, coleo.EForbidden},
		"the root of the disk":       {func(_ *Parent, w *SpawnRequest) { w.Folder = "/" }, coleo.EForbidden},
		"a folder that is not there": {func(_ *Parent, w *SpawnRequest) { w.Folder = "nowhere" }, coleo.EInvalid},
		"a file":                     {func(_ *Parent, w *SpawnRequest) { w.Folder = "file" }, coleo.EInvalid},
		"the same harness by name":   {func(_ *Parent, w *SpawnRequest) { w.Harness = "h" }, ""},
		"another harness":            {func(_ *Parent, w *SpawnRequest) { w.Harness = "other" }, coleo.EForbidden},
		"the harness generic":        {func(_ *Parent, w *SpawnRequest) { w.Harness = "generic" }, coleo.EForbidden},
		"a lesser mode":              {func(_ *Parent, w *SpawnRequest) { w.PermissionMode = coleo.PermissionPlan }, ""},
		"the same mode":              {func(_ *Parent, w *SpawnRequest) { w.PermissionMode = coleo.PermissionEdit }, ""},
		"a mode that allows more": {func(_ *Parent, w *SpawnRequest) { w.PermissionMode = coleo.PermissionAll },
			coleo.EForbidden},
		"an unknown mode":                {func(_ *Parent, w *SpawnRequest) { w.PermissionMode = "root" }, coleo.EInvalid},
		"more than the mode of the hour": {lowered(coleo.PermissionEdit), coleo.EForbidden},
		"the mode of the hour":           {lowered(coleo.PermissionPlan), ""},
		"a parent that asks by default":  {defaultMode(coleo.PermissionAsk), ""},
		"more than the default mode":     {defaultMode(coleo.PermissionEdit), coleo.EForbidden},
		"a parent at the largest depth":  {func(p *Parent, _ *SpawnRequest) { p.Config.Depth = MaxDepth }, coleo.EForbidden},
		"a parent one above that":        {func(p *Parent, _ *SpawnRequest) { p.Config.Depth = MaxDepth - 1 }, ""},
		"a parent with a wrapper": {func(p *Parent, _ *SpawnRequest) { p.Config.Wrap = []string{"box"} },
			coleo.EForbidden},
		"a parent with arguments": {func(p *Parent, _ *SpawnRequest) { p.Config.Args = []string{"--less"} },
			coleo.EForbidden},
		"a parent without tools": {func(p *Parent, _ *SpawnRequest) { p.Config.Tools = nil }, coleo.EForbidden},
		"no name":                {func(_ *Parent, w *SpawnRequest) { w.Name = "" }, coleo.EInvalid},
		"a name with a dot":      {func(_ *Parent, w *SpawnRequest) { w.Name = "a.b" }, coleo.EInvalid},
		"a name with a slash":    {func(_ *Parent, w *SpawnRequest) { w.Name = "a/b" }, coleo.EInvalid},
		"a long name": {func(_ *Parent, w *SpawnRequest) { w.Name = strings.Repeat("x", 21) },
			coleo.EInvalid},
		"a long name with the parent's": {func(p *Parent, _ *SpawnRequest) { p.Name = strings.Repeat("x", 61) },
			coleo.EInvalid},
		"no prompt": {func(_ *Parent, w *SpawnRequest) { w.Prompt = " \n" }, coleo.EInvalid},
		"a prompt that nobody would read": {func(_ *Parent, w *SpawnRequest) { w.Prompt = strings.Repeat("x", MaxPrompt+1) },
			coleo.EInvalid},
	} {
		parent, request := p, SpawnRequest{Name: "kid", Prompt: "do it"}
		c.change(&parent, &request)
		r, err := Grant(parent, request)
		if code := coleo.ErrorCode(err); err == nil && c.want != "" || err != nil && code != c.want {
			t.Errorf("%s: %+v, %v, want %q", what, r, err, c.want)
		}
		if err == nil && Within(p.Config.Workdir, r.Workdir) != nil {
			t.Errorf("%s: the folder is %s", what, r.Workdir)
		}
	}
}

// lowered returns a change after which the parent is in the plan mode and wants the given mode for
// its subarm.
func lowered(wanted coleo.PermissionMode) func(*Parent, *SpawnRequest) {
	return func(p *Parent, w *SpawnRequest) {
		p.Permissions, w.PermissionMode = []coleo.PermissionMode{coleo.PermissionPlan}, wanted
	}
}

func defaultMode(wanted coleo.PermissionMode) func(*Parent, *SpawnRequest) {
	return func(p *Parent, w *SpawnRequest) { p.Config.PermissionMode, w.PermissionMode = "", wanted }
}

func TestM19WhatASubarmTakesOver(t *testing.T) {
	t.Parallel()
	c := coleo.SpawnConfig{Arm: "arm-1", Generation: 3, Nonce: "n", Dir: "/d", Workdir: "/w", Binary: "/b",
		Path: []string{"/p"}, Args: []string{"a"}, Environ: []string{"E=1"}, Env: map[string]string{"K": "v"},
		EnvNames: []string{"K"}, Wrap: []string{"w"}, Profile: coleo.ProfileHermetic, Home: "/h", Endpoint: "http://e",
		Provider: "p", Model: "m", PermissionMode: coleo.PermissionAll, Conversation: "c", Resume: true, Fork: "f",
		MCPServers: []coleo.MCPServer{{Name: "x"}}, Tools: coleo.ArmTools(), AllowSudo: true,
		Chosen: &coleo.Chosen{Model: "p2/m2"}}
	r := coleo.ArmRequest{Workdir: "/w/x", PermissionMode: coleo.PermissionAsk}
	got := Config("arm-1", c, r)
	if got.Workdir != "/w/x" || got.PermissionMode != coleo.PermissionAsk || got.Parent != "arm-1" || got.Depth != 1 ||
		got.Profile != c.Profile || got.Home != "/h" || got.Provider != "p2" || got.Model != "m2" ||
		!slices.Equal(got.Tools, c.Tools) {
		t.Errorf("a subarm starts with %+v", got)
	}
	if got.Arm != "" || got.Generation != 0 || got.Nonce != "" || got.Dir != "" || got.Binary != "" || got.Path != nil ||
		got.Args != nil || got.Environ != nil || got.Env != nil || got.EnvNames != nil || got.Wrap != nil ||
		got.Conversation != "" || got.Resume || got.Fork != "" || got.MCPServers != nil || got.AllowSudo ||
		got.Chosen != nil {
		t.Errorf("a subarm takes over too much: %+v", got)
	}
	if deepest := Config("arm-2", got, r); deepest.Depth != MaxDepth || slices.Contains(deepest.Tools,
		coleo.ToolSpawnArm) ||
		!slices.Contains(deepest.Tools, coleo.ToolMessageArm) {
		t.Errorf("at the largest depth a subarm has the depth %d and the tools %v", deepest.Depth, deepest.Tools)
	}
}

// A parent could replace its subarm's folder with a link to another folder. So the sandbox of the subarm
// contains the work folder of the first arm in the family. No arm can replace that folder from within its
// sandbox.
func TestASubarmHasTheSandboxOfItsParent(t *testing.T) {
	t.Parallel()
	c := coleo.SpawnConfig{Workdir: "/w", Sandbox: &coleo.Sandbox{Kind: coleo.SandboxBwrap, Network: coleo.NetworkNone}}
	child := Config("arm-1", c, coleo.ArmRequest{Workdir: "/w/sub"})
	want := coleo.Sandbox{Kind: coleo.SandboxBwrap, Network: coleo.NetworkNone, Folder: "/w"}
	if child.Sandbox == nil || *child.Sandbox != want {
		t.Errorf("the subarm has %+v, want %+v", child.Sandbox, want)
	}
	if again := Config("arm-2", child, coleo.ArmRequest{Workdir: "/w/sub/sub"}); *again.Sandbox != want {
		t.Errorf("its subarm has %+v, want %+v", again.Sandbox, want)
	}
	if c.Sandbox.Folder != "" {
		t.Error("the parent's own sandbox was changed")
	}
	if free := Config("arm-1", coleo.SpawnConfig{Workdir: "/w"}, coleo.ArmRequest{Workdir: "/w"}); free.Sandbox.On() {
		t.Errorf("without a sandbox the subarm has %+v", free.Sandbox)
	}
}

func TestM19SubarmsAreFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		children, fleet int
		ok              bool
	}{{0, 0, true}, {MaxChildren - 1, MaxFleet - 1, true}, {MaxChildren, MaxChildren, false}, {0, MaxFleet, false}} {
		if err := CheckLimit(c.children, c.fleet); (err == nil) != c.ok {
			t.Errorf("%d subarms, %d of all arms: %v", c.children, c.fleet, err)
		}
	}
}

func TestM19APersonReadsWhatIsAsked(t *testing.T) {
	t.Parallel()
	p := boss(t)
	r, err := Grant(p, SpawnRequest{Name: "kid", Prompt: "/clear and do it"})
	if err != nil || r.Name != "boss.kid" || r.Prompt != "Message from the arm boss: /clear and do it" {
		t.Fatalf("the request is %+v, %v", r, err)
	}
	asked := Question(coleo.SuspensionSubarm, r)
	for _, part := range []string{"boss.kid", "(h, permission mode edit)", p.Config.Workdir, "/clear and do it"} {
		if !strings.Contains(asked, part) {
			t.Errorf("the person is asked %q, without %q", asked, part)
		}
	}
	if text := Question(coleo.SuspensionMessage, r); !strings.HasPrefix(text, "Send a message to the arm boss.kid?") {
		t.Errorf("the person is asked %q", text)
	}
}
