package start

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

func TestASandboxIsKeptAndChangedByThePersonAlone(t *testing.T) {
	t.Parallel()
	box := func(network coleo.SandboxNetwork) *coleo.Sandbox {
		return &coleo.Sandbox{Kind: coleo.SandboxBwrap, Network: network}
	}
	none := &coleo.Sandbox{Kind: coleo.SandboxNone}
	r := Rules{Harnesses: harnesses(t)}
	for name, c := range map[string]struct {
		has, asked *coleo.Sandbox
		parent     string
		harness    string
		want       string
		code       coleo.Code
	}{
		"a new arm has none":              {want: "none"},
		"an arm keeps its own":            {has: box("none"), want: "bwrap (no network)"},
		"a person gives one":              {asked: box(""), want: "bwrap"},
		"the network stays too":           {has: box("none"), asked: box(""), want: "bwrap (no network)"},
		"a person gives the network back": {has: box("none"), asked: box("all"), want: "bwrap"},
		"a network with a list":           {asked: box("allow=a.example"), want: "bwrap (network: allow=a.example)"},
		"the list stays too": {has: box("allow=a.example"), asked: box(""),
			want: "bwrap (network: allow=a.example)"},
		"a subarm gets no longer list": {has: box("model"), parent: "arm-1", asked: box("allow=a.example"),
			code: coleo.EForbidden},
		"a list with a wrong host": {asked: box("allow=http://a.example"), code: coleo.EInvalid},
		"a limit stays": {has: &coleo.Sandbox{Kind: "bwrap", Limit: "pids=99"}, asked: box("none"),
			want: "bwrap (no network; limit: pids=99)"},
		"a person takes the limit away": {has: &coleo.Sandbox{Kind: "bwrap", Limit: "pids=99"},
			asked: &coleo.Sandbox{Kind: "bwrap", Limit: "none"}, want: "bwrap"},
		"a subarm gets no larger limit": {has: &coleo.Sandbox{Kind: "bwrap", Limit: "pids=99"}, parent: "arm-1",
			asked: &coleo.Sandbox{Kind: "bwrap", Limit: "pids=100"}, code: coleo.EForbidden},
		"a limit without a sandbox":         {asked: &coleo.Sandbox{Kind: "none", Limit: "pids=99"}, code: coleo.EInvalid},
		"words that only Coleo sets":        {asked: &coleo.Sandbox{Kind: "bwrap", LimitedBy: "x"}, code: coleo.EInvalid},
		"a person takes it away":            {has: box(""), asked: none, want: "none"},
		"a subarm keeps that of its parent": {has: box("none"), parent: "arm-1", want: "bwrap (no network)"},
		"a subarm gets no weaker one":       {has: box("none"), parent: "arm-1", asked: none, code: coleo.EForbidden},
		"nor one with a network":            {has: box("none"), parent: "arm-1", asked: box("all"), code: coleo.EForbidden},
		"a container without an image":      {asked: &coleo.Sandbox{Kind: coleo.SandboxDocker}, code: coleo.EInvalid},
		"a container": {asked: &coleo.Sandbox{Kind: coleo.SandboxPodman, Image: "img:1"},
			want: "podman (image: img:1)"},
		"the image stays too": {has: &coleo.Sandbox{Kind: coleo.SandboxPodman, Image: "img:1"},
			asked: &coleo.Sandbox{Kind: coleo.SandboxPodman, Network: "none"}, want: "podman (image: img:1; no network)"},
		"bubblewrap takes no image": {asked: &coleo.Sandbox{Kind: coleo.SandboxBwrap, Image: "img"}, code: coleo.EInvalid},
		"an image that would be an option": {asked: &coleo.Sandbox{Kind: coleo.SandboxPodman, Image: "--privileged"},
			code: coleo.EInvalid},
		"a subarm gets no other image": {has: &coleo.Sandbox{Kind: coleo.SandboxPodman, Image: "img:1"}, parent: "arm-1",
			asked: &coleo.Sandbox{Kind: coleo.SandboxPodman, Image: "img:2"}, code: coleo.EForbidden},
		"a word that is no kind":              {asked: &coleo.Sandbox{Kind: "jail"}, code: coleo.EInvalid},
		"a network without a sandbox":         {asked: &coleo.Sandbox{Kind: "none", Network: "none"}, code: coleo.EInvalid},
		"a folder that only Coleo sets":       {asked: &coleo.Sandbox{Kind: "bwrap", Folder: "/"}, code: coleo.EInvalid},
		"a harness that is reached over HTTP": {asked: box(""), harness: "opencode-api", code: coleo.EUnsupported},
		"the same harness without a sandbox":  {asked: none, harness: "opencode-api", want: "none"},
	} {
		config := coleo.SpawnConfig{Sandbox: c.has, Parent: c.parent}
		err := r.configureSandbox(&config, wire.SpawnRequest{Sandbox: c.asked}, cmp.Or(c.harness, "codex"), c.has != nil)
		if coleo.ErrorCode(err) != c.code || err == nil && config.Sandbox.String() != c.want {
			t.Errorf("%s: %s, %v; want %s, %s", name, config.Sandbox, err, c.want, c.code)
		}
	}
}

func TestModeAllNeedsASandboxOrThePersonsYes(t *testing.T) {
	t.Parallel()
	box := &coleo.Sandbox{Kind: coleo.SandboxBwrap}
	none := &coleo.Sandbox{Kind: coleo.SandboxNone}
	has := func(mode coleo.PermissionMode, s *coleo.Sandbox) *coleo.SpawnConfig {
		return &coleo.SpawnConfig{Workdir: "/w", PermissionMode: mode, Sandbox: s}
	}
	all := wire.SpawnRequest{PermissionMode: coleo.PermissionAll}
	with := func(q wire.SpawnRequest, s *coleo.Sandbox, yes bool) wire.SpawnRequest {
		q.Sandbox, q.YesWithoutSandbox = s, yes
		return q
	}
	r := Rules{Harnesses: harnesses(t)}
	for name, c := range map[string]struct {
		before *coleo.SpawnConfig // nil for a new arm
		asked  wire.SpawnRequest
		code   coleo.Code
	}{
		"a new arm":                                {nil, all, coleo.EInvalid},
		"a new arm, agreed":                        {nil, with(all, nil, true), ""},
		"a new arm in a sandbox":                   {nil, with(all, box, false), ""},
		"a new arm with sandbox none":              {nil, with(all, none, false), coleo.EInvalid},
		"another mode":                             {nil, wire.SpawnRequest{PermissionMode: coleo.PermissionEdit}, ""},
		"one that had it starts again":             {has(coleo.PermissionAll, nil), wire.SpawnRequest{}, ""},
		"one that had it asks for it":              {has(coleo.PermissionAll, nil), all, ""},
		"one that asked gets it":                   {has(coleo.PermissionAsk, nil), all, coleo.EInvalid},
		"a sandboxed one gets it":                  {has(coleo.PermissionAsk, box), all, ""},
		"a sandboxed one that had it starts again": {has(coleo.PermissionAll, box), wire.SpawnRequest{}, ""},
		"a sandboxed one that had it loses the sandbox": {has(coleo.PermissionAll, box),
			with(wire.SpawnRequest{}, none, false), coleo.EInvalid},
		"the same, agreed": {has(coleo.PermissionAll, box), with(wire.SpawnRequest{}, none, true), ""},
		"a sandboxed one loses the sandbox and gets all": {has(coleo.PermissionAsk, box), with(all, none, false),
			coleo.EInvalid},
	} {
		arm, known := coleo.Arm{Name: "one", Harness: "codex"}, c.before != nil
		if known {
			raw, err := json.Marshal(c.before)
			if err != nil {
				t.Fatal(err)
			}
			arm.Config = raw
		}
		q := c.asked
		q.Workdir = "/w"
		_, err := r.Configure(&arm, q, known)
		if coleo.ErrorCode(err) != c.code {
			t.Errorf("%s: %v, want the code %q", name, err, c.code)
		}
		if err != nil && !strings.Contains(err.Error(), "add --sandbox bwrap, or --yes-without-sandbox") {
			t.Errorf("%s: %v does not say what to do", name, err)
		}
	}
}

func TestAnUntestedSandboxNeedsThePersonsYes(t *testing.T) {
	t.Parallel()
	bwrap := &coleo.Sandbox{Kind: coleo.SandboxBwrap}
	podman := &coleo.Sandbox{Kind: coleo.SandboxPodman, Image: "agents"}
	docker := &coleo.Sandbox{Kind: coleo.SandboxDocker, Image: "agents"}
	r := Rules{Harnesses: harnesses(t)}
	for name, c := range map[string]struct {
		harness string
		before  *coleo.Sandbox // nil for a new arm
		had     string         // the harness of the last start
		asked   *coleo.Sandbox
		agreed  bool
		code    coleo.Code
	}{
		"a tested kind":                   {harness: "claude-code", asked: bwrap},
		"another tested kind":             {harness: "codex", asked: podman},
		"an untested kind":                {harness: "claude-code", asked: podman, code: coleo.EInvalid},
		"an untested kind, agreed":        {harness: "claude-code", asked: podman, agreed: true},
		"an arm that had it starts again": {harness: "claude-code", before: podman, had: "claude-code", asked: podman},
		"an arm that had another one": {harness: "claude-code", before: podman, had: "claude-code", asked: docker,
			code: coleo.EInvalid},
		"an arm of another harness had it": {harness: "claude-code", before: podman, had: "codex", asked: podman,
			code: coleo.EInvalid},
		"no sandbox":                         {harness: "claude-code", asked: &coleo.Sandbox{Kind: coleo.SandboxNone}},
		"a harness that works in no sandbox": {harness: "gemini", asked: bwrap}, // another check refuses this start
	} {
		h, err := r.Harnesses.Get(c.harness)
		if err != nil {
			t.Fatal(err)
		}
		before, now := coleo.SpawnConfig{Sandbox: c.before}, coleo.SpawnConfig{Sandbox: c.asked}
		err = checkJudged(before, now, c.had, h.Info(), c.agreed)
		if coleo.ErrorCode(err) != c.code {
			t.Errorf("%s: %v, want the code %q", name, err, c.code)
		}
	}
	arm := coleo.Arm{Name: "one"}
	q := wire.SpawnRequest{Workdir: "/w", Harness: "claude-code", Sandbox: podman}
	if _, err := r.Configure(&arm, q, false); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("configured: %v, want %s", err, coleo.EInvalid)
	}
	q.Untested = true
	if _, err := r.Configure(&arm, q, false); err != nil {
		t.Errorf("configured with the agreement: %v", err)
	}
}
