package container

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

func planOf(kind coleo.SandboxKind) Plan {
	return Plan{Kind: kind, Program: "/usr/bin/" + string(kind), Image: "img", Coleo: "/opt/coleo", Link: "/s/a/link",
		Home: "/home/u", Workdir: "/w", Mounts: []Mount{{"/real/w", "/w", false}, {"/w", "/w", false},
			{"/home/u/.x/s", "/home/u/.x/s", true}}}
}

// has reports whether the command line contains the words in this order, without others between
// them.
func has(argv []string, words ...string) bool {
	return strings.Contains("\x00"+strings.Join(argv, "\x00")+"\x00", "\x00"+strings.Join(words, "\x00")+"\x00")
}

func TestTheCommandLineOfAContainerTakesEverythingAway(t *testing.T) {
	t.Parallel()
	id, err := identify("arm-1/2/0a1b")
	if err != nil || id.name() != "coleo-arm-1-2-0a1b" {
		t.Fatalf("%+v, %v", id, err)
	}
	for _, kind := range []coleo.SandboxKind{coleo.SandboxDocker, coleo.SandboxPodman} {
		argv := planOf(kind).run(id, user{1000, 100})
		for _, words := range [][]string{{"--pull=never"}, {"--rm"}, {"--name", "coleo-arm-1-2-0a1b"},
			{"--label", "dev.coleo.arm=arm-1"}, {"--label", "dev.coleo.start=arm-1/2/0a1b"}, {"--user", "1000:100"},
			{"--cap-drop", "ALL"}, {"--security-opt", "no-new-privileges"}, {"--read-only"}, {"--ipc", "private"},
			{"--network", "none"}, {"--mount", "type=bind,source=/real/w,target=/w"},
			{"--mount", "type=bind,source=/home/u/.x/s,target=/home/u/.x/s,readonly"},
			{"--entrypoint", "/opt/coleo", "img", InitVerb, Linked}} {
			if !has(argv, words...) {
				t.Errorf("%s: %v is missing in %q", kind, words, argv)
			}
		}
		if has(argv, "type=bind,source=/w,target=/w") {
			t.Errorf("%s: a place is shown twice: %q", kind, argv)
		}
		if got := has(argv, "--userns", "keep-id"); got != (kind == coleo.SandboxPodman) {
			t.Errorf("%s: keep-id is %t", kind, got)
		}
		for _, word := range []string{"--memory", "--pids-limit", "--cpus", "--privileged", "--tty"} {
			if slices.Contains(argv, word) {
				t.Errorf("%s: there is %s", kind, word)
			}
		}
		p := planOf(kind)
		p.Network, p.Limits = true, coleo.SandboxLimits{Memory: 1 << 30, PIDs: 99, CPUs: 1.5}
		for _, words := range [][]string{{"--network", "host"}, {"--memory", "1073741824", "--memory-swap", "1073741824"},
			{"--pids-limit", "99"}, {"--cpus", "1.5"}} {
			if argv := p.run(id, user{}); !has(argv, words...) || has(argv, "--userns") {
				t.Errorf("%s: %v is missing in %q", kind, words, argv)
			}
		}
	}
}

func TestOnlyTheMarkOfAStartIsAnIdentity(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{"", "a", "a/1", "a/1/", "a/x/ab", "/1/ab", "-a/1/ab", "a b/1/ab", "a/1/ab\n", "a/1/ab/c",
		"a^.*/1/ab"} {
		if id, err := identify(mark); err == nil {
			t.Errorf("%q is %+v", mark, id)
		}
	}
}

func TestAPathThatAnEngineWouldReadAsOptionsIsRefused(t *testing.T) {
	t.Parallel()
	if err := planOf(coleo.SandboxDocker).Check(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/a,readonly=false", "/a:rw", "/a\"b", "/a\nb", "a"} {
		p := planOf(coleo.SandboxDocker)
		p.Mounts[0].Source = path
		if err := p.Check(); coleo.ErrorCode(err) != coleo.EUnsupported {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestAnEngineGetsNoSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	got := Environ([]string{"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "DOCKER_HOST=unix:///x", "XDG_RUNTIME_DIR=/run",
		"GITHUB_TOKEN=t", "CONTAINERS_CONF=/c", "PATHS=x"})
	want := []string{"PATH=/bin", "HOME=/h", "DOCKER_HOST=unix:///x", "XDG_RUNTIME_DIR=/run", "CONTAINERS_CONF=/c"}
	if !slices.Equal(got, want) {
		t.Errorf("the engine gets %q", got)
	}
}
