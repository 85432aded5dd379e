package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// boxedSpec is a description of an agent CLI with its needs in a sandbox.
var boxedSpec = strings.Replace(plainSpec, "[keys]", `[launch]
credentials_env = ["X_HOME", "X_KEY"]
[launch.permission]
ask = ""
[launch.sandbox]
writable = [".x/", ".x.json"]
readable = [".x/settings"]
folder_env = ["X_HOME"]
[keys]`, 1)

// boxed is a start in a sandbox with a fake bubblewrap. No process is started.
type boxed struct {
	home string
	c    coleo.SpawnConfig
	spec string
}

func newBoxed(t *testing.T) *boxed {
	t.Helper()
	dir := t.TempDir()
	b := &boxed{home: filepath.Join(dir, "home"), spec: boxedSpec}
	for _, name := range []string{"bin", "home/work", "home/.ssh", "home/.x/settings", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bin/bwrap"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	b.c = coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: filepath.Join(dir, "state/g1"), Workdir: filepath.Join(b.home,
		"work"), Binary: "/bin/true", Sandbox: &coleo.Sandbox{Kind: coleo.SandboxBwrap},
		Environ: []string{"HOME=" + b.home, "PATH=" + filepath.Join(dir, "bin") + ":/usr/bin", "X_KEY=k",
			"XDG_RUNTIME_DIR=/run/u", "SSH_AUTH_SOCK=/run/a", "TMPDIR=/run/t"}}
	return b
}

// plan returns the command line and the environment of the start.
func (b *boxed) plan(t *testing.T) (argv, env []string, err error) {
	t.Helper()
	spec, err := rules.ParseSpec("x.toml", []byte(b.spec))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Plan(spec, &b.c, []string{"/bin/cat", hook.Verb})
	return made.Argv, made.Env, err
}

// bound returns the options and sources of the mounts in a command line, by the paths in the
// sandbox.
func bound(argv []string) map[string]string {
	out := map[string]string{}
	for i, word := range argv {
		if word == "--bind" || word == "--ro-bind" {
			out[argv[i+2]] = word + " " + argv[i+1]
		}
	}
	return out
}

func TestASandboxHasWhatTheAgentCLINeeds(t *testing.T) {
	t.Parallel()
	b := newBoxed(t)
	b.c.Wrap = []string{"/bin/env"}
	argv, env, err := b.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	if argv[0] != "/bin/env" || argv[1] != "/bin/cat" || argv[len(argv)-1] != "/bin/true" {
		t.Errorf("the wrapper is to be outside, and the agent CLI inside: %q", argv)
	}
	mine := func(name string) string { return filepath.Join(b.home, name) }
	got := bound(argv)
	want := map[string]string{mine("work"): "--bind " + mine("work"), mine(".x"): "--bind " + mine(".x"),
		mine(".x/settings"): "--ro-bind " + mine(".x/settings"), hook.Path(b.c.Dir): "--bind " + hook.Path(b.c.Dir)}
	for path, how := range want {
		if got[path] != how {
			t.Errorf("%s is %q, want %q", path, got[path], how)
		}
	}
	for _, path := range []string{mine(".x.json"), mine(".ssh"), b.home, b.c.Dir, filepath.Dir(b.c.Dir)} {
		if how, shown := got[path]; shown {
			t.Errorf("%s is shown: %s", path, how)
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "TMPDIR"} {
		if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			t.Errorf("inside there is %s", name)
		}
	}
	if !slices.Contains(env, "X_KEY=k") {
		t.Errorf("the key is missing: %q", env)
	}
}

func TestOnlyASandboxWithoutTheScriptedModelLosesTheNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		network coleo.SandboxNetwork
		own     bool
		want    bool
	}{{"", false, false}, {coleo.NetworkAll, false, false}, {coleo.NetworkNone, false, true},
		{coleo.NetworkNone, true, false}} {
		b := newBoxed(t)
		b.c.Sandbox.Network, b.c.OwnNetwork = c.network, c.own
		argv, _, err := b.plan(t)
		if got := slices.Contains(argv, "--unshare-net"); err != nil || got != c.want {
			t.Errorf("network %q, a network by the wrapper %t: %t, %v; want %t", c.network, c.own, got, err, c.want)
		}
	}
}

func TestASandboxThatWouldShowTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	list := map[string]struct {
		change func(t *testing.T, b *boxed)
		want   string
	}{
		"the work folder is HOME": {func(_ *testing.T, b *boxed) { b.c.Workdir = b.home }, "contains your home folder"},
		"the work folder is HOME, and the arm has a HOME of its own": {func(_ *testing.T, b *boxed) {
			b.c.Profile, b.c.Home, b.c.Workdir = coleo.ProfileHermetic, filepath.Join(filepath.Dir(b.c.Dir), "home"), b.home
		}, "contains your home folder"},
		"the work folder has Coleo's configuration": {func(t *testing.T, b *boxed) {
			b.c.Workdir = filepath.Join(b.home, ".config")
			if err := os.MkdirAll(filepath.Join(b.c.Workdir, "coleo"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "contains Coleo's configuration"},
		"the work folder is in Coleo's configuration": {func(t *testing.T, b *boxed) {
			b.c.Workdir = filepath.Join(b.home, ".config/coleo/harnesses/new")
			if err := os.MkdirAll(b.c.Workdir, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is in Coleo's configuration"},
		"the work folder has Coleo's own": {func(_ *testing.T, b *boxed) {
			b.c.Workdir = filepath.Dir(filepath.Dir(b.c.Dir))
		}, "contains"},
		"the work folder is a link to HOME": {func(t *testing.T, b *boxed) {
			b.c.Workdir = filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(b.home, b.c.Workdir); err != nil {
				t.Fatal(err)
			}
		}, "contains your home folder"},
		"an earlier sandbox has planted a link to a secret": {func(t *testing.T, b *boxed) {
			settings := filepath.Join(b.home, ".x/settings")
			if err := os.Remove(settings); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(b.home, ".ssh"), settings); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
		"an earlier sandbox has planted a link in place of a server's program": {func(t *testing.T, b *boxed) {
			server := filepath.Join(b.c.Workdir, "server")
			if err := os.Symlink(filepath.Join(b.home, ".ssh"), server); err != nil {
				t.Fatal(err)
			}
			b.spec = strings.Replace(boxedSpec, "[launch]", "[capabilities]\nmcp = true\n[launch]", 1)
			b.c.MCPServers = []coleo.MCPServer{{Name: "s", Command: server}}
		}, "a sandboxed program can change where it leads"},
		"a variable names another folder": {func(_ *testing.T, b *boxed) {
			b.c.Environ = append(b.c.Environ, "X_HOME=/elsewhere")
		}, "X_HOME names another folder"},
		"the harness says nothing": {func(_ *testing.T, b *boxed) {
			b.spec = strings.Replace(boxedSpec, `writable = [".x/", ".x.json"]`, "", 1)
		}, "which of its files it needs"},
		"bubblewrap is missing": {func(_ *testing.T, b *boxed) {
			b.c.Environ = []string{"HOME=" + b.home, "PATH=/nowhere"}
		}, "bwrap is missing"},
		"a container without an image": {func(_ *testing.T, b *boxed) {
			b.c.Sandbox.Kind = coleo.SandboxDocker
		}, "needs an image"},
		"a container without its engine": {func(_ *testing.T, b *boxed) {
			b.c.Sandbox.Kind, b.c.Sandbox.Image = coleo.SandboxPodman, "img"
			b.c.Environ = []string{"HOME=" + b.home, "PATH=/nowhere"}
		}, "the program podman is missing"},
		"a container with the scripted model": {func(_ *testing.T, b *boxed) {
			b.c.Sandbox.Kind, b.c.Sandbox.Image, b.c.OwnNetwork = coleo.SandboxPodman, "img", true
		}, "scripted model"},
	}
	for name, c := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoxed(t)
			c.change(t, b)
			if argv, _, err := b.plan(t); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v; want %q", argv, err, c.want)
			}
		})
	}
}

// The folder of an agent CLI in HOME may be a link. The user has made this link, because no agent CLI in a
// sandbox can create a link in HOME. The sandbox must contain the link's target.
func TestTheFolderOfAnAgentCLIMayBeALink(t *testing.T) {
	t.Parallel()
	b := newBoxed(t)
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Rename(filepath.Join(b.home, ".x"), disk); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(disk, filepath.Join(b.home, ".x")); err != nil {
		t.Fatal(err)
	}
	argv, _, err := b.plan(t)
	if got := bound(argv)[filepath.Join(b.home, ".x")]; err != nil || got != "--bind "+disk {
		t.Errorf("%q, %v", got, err)
	}
}

func TestASubarmHasTheFolderOfItsParent(t *testing.T) {
	t.Parallel()
	b := newBoxed(t)
	sub := filepath.Join(b.c.Workdir, "sub")
	if err := os.Symlink(b.home, sub); err != nil { // the parent arm may have replaced the folder by a link
		t.Fatal(err)
	}
	b.c.Sandbox.Folder, b.c.Workdir = b.c.Workdir, sub
	argv, _, err := b.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	got := bound(argv)
	if got[b.c.Sandbox.Folder] == "" || got[sub] != "" || got[b.home] != "" {
		t.Errorf("%q", got)
	}
	if at := slices.Index(argv, "--chdir"); at < 0 || argv[at+1] != sub {
		t.Errorf("it does not begin in %s: %q", sub, argv)
	}
}

// One sandboxed arm works in a folder, and another one in a folder below it. The first arm can put a link in
// place of the lower folder. The next start of the second arm must not show the link's target in the sandbox.
func TestASandboxDoesNotFollowAWorkFolderThatAnotherSandboxHasReplaced(t *testing.T) {
	t.Parallel()
	b := newBoxed(t)
	lower := filepath.Join(b.home, "work/lower")
	if err := os.Mkdir(lower, 0o700); err != nil {
		t.Fatal(err)
	}
	b.c.Workdir = lower
	for _, start := range []string{"g1", "g2"} {
		b.c.Dir = filepath.Join(filepath.Dir(b.c.Dir), start)
		if argv, _, err := b.plan(t); err != nil || bound(argv)[lower] != "--bind "+lower {
			t.Fatalf("%s: %q, %v", start, argv, err)
		}
	}
	if err := os.Remove(lower); err != nil {
		t.Fatal(err)
	}
	secrets := filepath.Join(b.home, ".ssh")
	if err := os.Symlink(secrets, lower); err != nil {
		t.Fatal(err)
	}
	b.c.Dir = filepath.Join(filepath.Dir(b.c.Dir), "g3")
	argv, _, err := b.plan(t)
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), secrets) {
		t.Errorf("it shows %q, %v", bound(argv), err)
	}
}
